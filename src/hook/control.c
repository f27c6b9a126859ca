/* The control file: found through the path that the tool wrote into this library, mapped once. */
#include "hook.h"

/* Volatile, for the compiler must not take the empty text for its value. */
__attribute__((
    used)) static volatile const char slot[sizeof(NAMESAKE_SLOT_MARK) - 1 + NAMESAKE_SLOT_SIZE] =
    NAMESAKE_SLOT_MARK;

static const struct ns_control* const kNone = (const struct ns_control*)1;
static const struct ns_control* mapped; /* NULL: not tried yet */

static const struct ns_control* open_control(void) {
  char path[NAMESAKE_SLOT_SIZE + 16];
  size_t n = 0;
  while (n < NAMESAKE_SLOT_SIZE && slot[sizeof(NAMESAKE_SLOT_MARK) - 1 + n]) {
    path[n] = slot[sizeof(NAMESAKE_SLOT_MARK) - 1 + n];
    n++;
  }
  if (n == 0 || n == NAMESAKE_SLOT_SIZE) return kNone;
  path[n] = 0;
  text_append(path + n, path + sizeof path, "/control");

  int fd = sys_open(path, SYS_READ_ONLY);
  if (fd < 0) return kNone;
  struct ns_control head;
  if (sys_read(fd, &head, sizeof head) != (long)sizeof head ||
      head.magic != NAMESAKE_CONTROL_MAGIC || head.protocol != NAMESAKE_PROTOCOL ||
      head.size < sizeof head) {
    sys_close(fd);
    return kNone;
  }
  const struct ns_control* result = sys_map(head.size, SYS_PROT_READ, SYS_PRIVATE, fd);
  sys_close(fd);
  return result ? result : kNone;
}

const struct ns_control* control(void) {
  const struct ns_control* now = __atomic_load_n(&mapped, __ATOMIC_ACQUIRE);
  if (!now) {
    /* Threads may race here: each maps, the first one's stays. Nobody waits. */
    const struct ns_control* mine = open_control();
    if (__atomic_compare_exchange_n(&mapped, &now, mine, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
      now = mine;
    } else if (mine != kNone) {
      sys_unmap((void*)mine, mine->size);
    }
  }
  return now == kNone ? NULL : now;
}
