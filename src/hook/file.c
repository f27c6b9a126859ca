/* Files of /proc: of unknown size, so read into more and more room until the end is met. */
#include "hook.h"

enum { kFirstRoom = 64 << 10, kLargestRoom = 64 << 20 };

char* read_whole(const char* path, size_t* room, size_t* length) {
  for (*room = kFirstRoom; *room <= kLargestRoom; *room *= 4) {
    int fd = sys_open(path, SYS_READ_ONLY);
    if (fd < 0) return NULL;
    char* text = sys_memory(*room);
    size_t have = 0;
    long n = -1;
    while (text && have < *room - 1 && (n = sys_read(fd, text + have, *room - 1 - have)) > 0)
      have += (size_t)n;
    sys_close(fd);
    if (!text) return NULL;
    if (n == 0) {
      *length = have;
      return text;
    }
    sys_unmap(text, *room);
    if (n < 0) return NULL;
  }
  return NULL;
}
