/* What is kept, so that it outlives the process and never harms it.
 *
 * A process may be killed, fork, close every descriptor, run out of disk, live under a file size
 * limit, or have threads in here at any moment. So records go into files mapped shared (their pages
 * survive a SIGKILL), whose descriptors are closed at once, and whose space is allocated before the
 * first store: a store into a hole of a full disk would be a SIGBUS, and growing a file beyond
 * RLIMIT_FSIZE a SIGXFSZ, both deaths that we would have caused. What cannot be kept is counted in
 * the process's entry of the table and forgotten.
 *
 * A process's ring is a row of segments, each twice as large as the one before. A writer claims
 * room with one atomic addition and publishes its record by a release store. Whoever finds the
 * segment full makes the next and tries to hang it in; a thread that comes second throws its own
 * away. So there is no lock, nothing waits, and nothing is lost to a race.
 *
 * A forked child must not write on in its parent's ring: the pointer to the segment lives in a page
 * that the kernel empties on fork, so the child finds none and starts a ring of its own. On kernels
 * that cannot do that, the process number is compared at each record instead.
 */
#include "hook.h"

/* On the page that a fork empties. */
struct local {
  struct ns_ring* ring;
  uint32_t process;
  uint32_t sequence;
  uint32_t failures;
};

enum { kMostFailures = 4, kTries = 8, kPathRoom = NAMESAKE_SLOT_SIZE + 64, kPage = 4096 };

static struct local* local_page;
static int page_survives_fork;
static struct ns_process* entry;
static uint64_t started;
static char program_path[sizeof((struct ns_process*)0)->program];

static struct local* local(void) {
  struct local* page = __atomic_load_n(&local_page, __ATOMIC_ACQUIRE);
  if (!page) {
    struct local* mine = sys_memory(kPage);
    if (!mine) return NULL;
    if (system_call(NR_madvise, (long)mine, kPage, SYS_WIPE_ON_FORK, 0, 0, 0) != 0)
      page_survives_fork = 1;
    if (__atomic_compare_exchange_n(&local_page, &page, mine, 0, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
      page = mine;
    } else {
      sys_unmap(mine, kPage);
    }
  }
  if (page_survives_fork || !page->process) {
    uint32_t process = sys_process();
    if (page->process != process) {
      if (page->process) {
        page->ring = NULL;
        page->sequence = page->failures = 0;
      }
      page->process = process;
    }
  }
  return page;
}

static void count_lost(void) {
  if (entry) __atomic_fetch_add(&entry->lost, 1, __ATOMIC_RELAXED);
}

/* The last characters of a path, which tell more than its first. */
static void keep_path(char* to, size_t room, const char* path) {
  size_t length = text_length(path);
  if (length >= room) path += length - (room - 1);
  text_append(to, to + room, path);
}

/* --- segments --- */

static int allocate(int fd, size_t size) {
  uint64_t limit = sys_file_size_limit();
  if (size > limit) return 0;
  if (system_call(NR_fallocate, fd, 0, 0, (long)size, 0, 0) == 0) return 1;
  static const char zeros[kPage];
  for (size_t at = 0; at < size; at += kPage)
    if (system_call(NR_pwrite64, fd, (long)zeros, kPage, (long)at, 0, 0) != kPage) return 0;
  return 1;
}

static int open_segment(struct local* here, char path[kPathRoom], uint32_t* sequence) {
  const struct ns_control* c = control();
  const char* end = path + kPathRoom;
  for (int i = 0; i < 256; i++) {
    *sequence = __atomic_fetch_add(&here->sequence, 1, __ATOMIC_RELAXED);
    char* at = text_append(path, end, control_text(c, c->folder));
    at = text_append(at, end, "/rings/");
    at = text_append_number(at, end, here->process);
    at = text_append(at, end, ".");
    text_append_number(at, end, *sequence);
    int fd = sys_open(path, SYS_READ_WRITE | SYS_CREATE | SYS_EXCLUSIVE);
    if (fd >= 0 || fd != -17 /* taken by an earlier process of this number */) return fd;
  }
  return -1;
}

static struct ns_ring* make_segment(struct local* here, size_t size, char path[kPathRoom]) {
  uint32_t sequence;
  int fd = open_segment(here, path, &sequence);
  if (fd < 0) return NULL;
  struct ns_ring* ring =
      allocate(fd, size) ? sys_map(size, SYS_PROT_READ | SYS_PROT_WRITE, SYS_SHARED, fd) : NULL;
  sys_close(fd);
  if (!ring) {
    system_call(NR_unlinkat, SYS_HERE, (long)path, 0, 0, 0, 0);
    return NULL;
  }
  ring->protocol = NAMESAKE_PROTOCOL;
  ring->pid = here->process;
  ring->parent = sys_parent();
  ring->sequence = sequence;
  ring->started = started;
  ring->size = size;
  ring->next = sizeof *ring;
  keep_path(ring->program, sizeof ring->program, program_path);
  ring->magic = NAMESAKE_RING_MAGIC;
  return ring;
}

/* Puts a segment with room for `record` bytes behind `full` (NULL: the first). */
static void grow(struct local* here, struct ns_ring* full, size_t record) {
  size_t size = full ? full->size * 2 : NS_FIRST_SEGMENT;
  if (size > NS_LARGEST_SEGMENT) size = NS_LARGEST_SEGMENT;
  while (size < sizeof(struct ns_ring) + record) size *= 2;
  char path[kPathRoom];
  struct ns_ring* mine = make_segment(here, size, path);
  if (!mine) {
    __atomic_fetch_add(&here->failures, 1, __ATOMIC_RELAXED);
    return;
  }
  if (!__atomic_compare_exchange_n(&here->ring, &full, mine, 0, __ATOMIC_ACQ_REL,
                                   __ATOMIC_ACQUIRE)) {
    system_call(NR_unlinkat, SYS_HERE, (long)path, 0, 0, 0, 0);
    sys_unmap(mine, size);
  }
}

/* Room for a record, zeroed; NULL if there is none to be had. */
static struct ns_record* claim(size_t size) {
  struct local* here = local();
  if (!here) return NULL;
  for (int i = 0; i < kTries && here->failures < kMostFailures; i++) {
    struct ns_ring* ring = __atomic_load_n(&here->ring, __ATOMIC_ACQUIRE);
    if (ring && __atomic_load_n(&ring->next, __ATOMIC_RELAXED) < ring->size) {
      uint64_t at = __atomic_fetch_add(&ring->next, size, __ATOMIC_RELAXED);
      if (at + size <= ring->size) return (struct ns_record*)((char*)ring + at);
    }
    grow(here, ring, size);
  }
  return NULL;
}

static char* put_text(char* at, const char* text, size_t length) {
  text_copy(at, text, length);
  at[length] = 0;
  return at + length + 1;
}

void record_test(const struct question* question, const struct image* image,
                 const struct verdict* verdict) {
  size_t name_length = text_length(question->name);
  size_t name = name_length < NS_NAME_LIMIT ? name_length : NS_NAME_LIMIT;
  size_t needle =
      question->needle_length < NS_NEEDLE_LIMIT ? question->needle_length : NS_NEEDLE_LIMIT;
  size_t path = text_length(image->path);
  size_t size = (sizeof(struct ns_record) + name + needle + path + 3 + 15) & ~(size_t)15;
  struct ns_record* record = claim(size);
  if (!record) {
    count_lost();
    return;
  }
  record->magic = NAMESAKE_RECORD_MAGIC;
  record->size = (uint32_t)size;
  record->thread = sys_thread();
  record->address = question->address;
  record->site = image_site(image, question->address);
  record->assembler = image->identity;
  record->name_hash = text_hash(question->name, name_length);
  record->architecture = verdict->architecture;
  record->name_length = (uint32_t)name_length;
  record->name_kept = (uint32_t)name;
  record->needle_kept = (uint32_t)needle;
  record->path_kept = (uint32_t)path;
  record->rule = verdict->rule;
  record->function = (uint8_t)question->function;
  record->truth = (uint8_t)question->truth;
  record->given = verdict->given;
  record->reason = verdict->reason;
  record->kind = (uint8_t)image->kind;
  char* at = put_text((char*)(record + 1), question->name, name);
  at = put_text(at, question->needle, needle);
  put_text(at, image->path, path);
  __atomic_store_n(&record->state, 1, __ATOMIC_RELEASE);
}

/* --- the table of processes --- */

static struct ns_table* map_table(void) {
  const struct ns_control* c = control();
  char path[kPathRoom];
  char* at = text_append(path, path + sizeof path, control_text(c, c->folder));
  text_append(at, path + sizeof path, "/table");
  int fd = sys_open(path, SYS_READ_WRITE);
  if (fd < 0) return NULL;
  struct ns_table head;
  struct ns_table* table = NULL;
  if (sys_read(fd, &head, sizeof head) == (long)sizeof head && head.magic == NAMESAKE_TABLE_MAGIC &&
      head.protocol == NAMESAKE_PROTOCOL)
    table = sys_map(sizeof head + head.capacity * sizeof(struct ns_process),
                    SYS_PROT_READ | SYS_PROT_WRITE, SYS_SHARED, fd);
  sys_close(fd);
  return table;
}

void record_process(uint32_t flags, const char* program) {
  started = sys_now();
  keep_path(program_path, sizeof program_path, program);
  struct ns_table* table = map_table();
  if (!table) return;
  int reserved = (flags & NS_PROCESS_PROGRAM) != 0;
  uint32_t first = reserved ? table->reserved_first : 0;
  uint32_t end = reserved ? table->capacity : table->reserved_first;
  uint32_t* counter = reserved ? &table->next_reserved : &table->next_ordinary;
  uint32_t index = first + __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
  if (index >= end) {
    __atomic_fetch_add(&table->not_entered, 1, __ATOMIC_RELAXED);
    return;
  }
  entry = (struct ns_process*)(table + 1) + index;
  entry->pid = sys_process();
  entry->parent = sys_parent();
  entry->flags = flags;
  entry->started = started;
  keep_path(entry->program, sizeof entry->program, program);
  __atomic_store_n(&entry->state, 1, __ATOMIC_RELEASE);
}

void record_flags(uint32_t more) {
  if (entry) __atomic_fetch_or(&entry->flags, more, __ATOMIC_RELAXED);
}

void record_end(void) {
  /* A forked child has its parent's entry in its hands, and must leave it alone. */
  if (entry && entry->pid == sys_process()) __atomic_store_n(&entry->ended, 1, __ATOMIC_RELEASE);
}
