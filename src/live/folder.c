/* What is shared with the tool: the board, the requests, the answers, and the record of launches.
 *
 * A record is one file of a fixed size, mapped shared: its pages survive whatever becomes of the
 * process, its room is allocated before the first store (a hole on a full disk would be a SIGBUS),
 * and its descriptor is closed at once, so that neither memory nor descriptors grow with the number
 * of launches. A forked child must not write on in its parent's record: the page that says whether
 * we take part is emptied by the kernel on fork, and a child has no use of its parent's context
 * anyway.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "live/live.h"

/* Volatile, for the compiler must not take the empty text for its value. */
__attribute__((
    used)) static volatile const char slot[sizeof(NAMESAKE_LIVE_MARK) - 1 + NAMESAKE_LIVE_ROOM] =
    NAMESAKE_LIVE_MARK;

enum { kPathRoom = NAMESAKE_LIVE_ROOM + 128, kPage = 4096 };

/* "FOLDER/live/WHAT"; 0 if we have no folder. */
static int path_of(char path[kPathRoom], const char* what) {
  size_t n = 0;
  while (n < NAMESAKE_LIVE_ROOM && (path[n] = slot[sizeof(NAMESAKE_LIVE_MARK) - 1 + n])) n++;
  if (n == 0 || n == NAMESAKE_LIVE_ROOM) return 0;
  return snprintf(path + n, kPathRoom - n, "/live/%s", what) < (int)(kPathRoom - n);
}

/* --- the board --- */

struct part {
  const struct ns_board* board;
};
static struct part* part; /* on the page that a fork empties */

__attribute__((constructor)) static void take_part(void) {
  char path[kPathRoom];
  if (!path_of(path, "board")) return;
  int saved = errno;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  void* mapped = MAP_FAILED;
  if (file >= 0) {
    mapped = mmap(NULL, kPage, PROT_READ, MAP_SHARED, file, 0);
    close(file);
  }
  void* page = mmap(NULL, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const struct ns_board* board = mapped;
  if (mapped != MAP_FAILED && page != MAP_FAILED && madvise(page, kPage, MADV_WIPEONFORK) == 0 &&
      board->magic == NAMESAKE_BOARD_MAGIC && board->protocol == NAMESAKE_LIVE_PROTOCOL) {
    part = page;
    part->board = board;
  }
  errno = saved;
}

const struct ns_board* board(void) {
  return part ? part->board : NULL;
}

/* --- the record --- */

static struct ns_live_record* record_now;

static void describe_device(struct ns_live_record* record) {
  const struct driver* call = driver();
  handle context = NULL;
  int device = 0;
  if (!call) return;
  if (call->cuCtxGetCurrent(&context) == CU_SUCCESS && context) call->cuCtxGetDevice(&device);
  int value = 0;
  if (call->cuDriverGetVersion(&value) == CU_SUCCESS) record->driver = (uint32_t)value;
  if (call->cuDeviceGetAttribute(&value, CU_MAJOR, device) == CU_SUCCESS)
    record->major = (uint32_t)value;
  if (call->cuDeviceGetAttribute(&value, CU_MINOR, device) == CU_SUCCESS)
    record->minor = (uint32_t)value;
  if (call->cuDeviceGetAttribute(&value, CU_MULTIPROCESSORS, device) == CU_SUCCESS)
    record->multiprocessors = (uint32_t)value;
  call->cuDeviceGetName(record->device, sizeof record->device - 1, device);
}

/* A file beyond the limit would be the end of the process: SIGXFSZ. */
static int may_write(size_t size) {
  struct rlimit limit;
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= size;
}

static struct ns_live_record* open_record(void) {
  char name[64], path[kPathRoom];
  if (!may_write(NS_LIVE_SIZE)) return NULL;
  int file = -1;
  /* A program that was executed by one with a record has its number, too. */
  for (int i = 0; i < 100 && file < 0; i++) {
    snprintf(name, sizeof name, i ? "records/%d.%d" : "records/%d", (int)getpid(), i);
    if (!path_of(path, name)) return NULL;
    file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0 && errno != EEXIST) return NULL;
  }
  if (file < 0) return NULL;
  void* mapped = posix_fallocate(file, 0, NS_LIVE_SIZE) == 0
                     ? mmap(NULL, NS_LIVE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                     : MAP_FAILED;
  close(file);
  if (mapped == MAP_FAILED) {
    unlink(path);
    return NULL;
  }
  struct ns_live_record* record = mapped;
  record->protocol = NAMESAKE_LIVE_PROTOCOL;
  record->pid = (uint32_t)getpid();
  record->started = now();
  describe_device(record);
  record->magic = NAMESAKE_LIVE_MAGIC;
  return record;
}

static void open_record_once(void) {
  record_now = open_record();
}

struct ns_live_record* record(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (!board()) return NULL;
  pthread_once(&once, open_record_once);
  return record_now;
}

static char* behind_head(void) {
  return (char*)(record_now + 1);
}
struct ns_live_kernel* record_kernel(uint32_t index) {
  return (struct ns_live_kernel*)behind_head() + index;
}
struct ns_live_shape* record_shape(uint32_t index) {
  return (struct ns_live_shape*)(record_kernel(NS_LIVE_KERNELS)) + index;
}
struct ns_live_block* record_block(uint32_t index) {
  return (struct ns_live_block*)(record_shape(NS_LIVE_SHAPES)) + index;
}

/* --- requests and answers --- */

static int write_all(int file, const void* data, size_t size) {
  while (size) {
    ssize_t n = write(file, data, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return 0;
    data = (const char*)data + n;
    size -= (size_t)n;
  }
  return 1;
}

void put_request(const char* name, const struct ns_request* head, const struct piece* pieces,
                 size_t count) {
  static unsigned number;
  char below[96], path[kPathRoom], beside[kPathRoom];
  size_t size = sizeof *head;
  for (size_t i = 0; i < count; i++) size += pieces[i].size;
  if (!may_write(size)) return;
  snprintf(below, sizeof below, "requests/%s", name);
  if (!path_of(path, below) || access(path, F_OK) == 0) return;
  snprintf(below, sizeof below, "requests/.%d.%u", (int)getpid(),
           __atomic_fetch_add(&number, 1, __ATOMIC_RELAXED));
  if (!path_of(beside, below)) return;
  int file = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return;
  int whole = write_all(file, head, sizeof *head);
  for (size_t i = 0; i < count && whole; i++)
    whole = write_all(file, pieces[i].data, pieces[i].size);
  close(file);
  if (!whole || rename(beside, path) != 0) unlink(beside);
}

char* read_answer(uint64_t hash, const char* ending, size_t* size) {
  char below[64], path[kPathRoom];
  struct stat status;
  snprintf(below, sizeof below, "answers/%016llx%s", (unsigned long long)hash, ending);
  if (!path_of(path, below)) return NULL;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return NULL;
  char* text = NULL;
  if (fstat(file, &status) == 0 && status.st_size > 0 && (text = malloc((size_t)status.st_size))) {
    size_t have = 0;
    ssize_t n = 1;
    while (have < (size_t)status.st_size &&
           (n = read(file, text + have, (size_t)status.st_size - have)) > 0)
      have += (size_t)n;
    if (have < (size_t)status.st_size) {
      free(text);
      text = NULL;
    }
    *size = have;
  }
  close(file);
  return text;
}

/* --- small things --- */

uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_BOOTTIME, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Eight bytes a step: images are megabytes, and the application waits. */
uint64_t hash_bytes(const void* data, size_t size) {
  const char* at = data;
  uint64_t hash = 0x9e3779b97f4a7c15ull ^ size;
  for (; size >= 8; at += 8, size -= 8) {
    uint64_t word;
    memcpy(&word, at, 8);
    hash = (hash ^ word) * 0xbf58476d1ce4e5b9ull;
    hash ^= hash >> 29;
  }
  uint64_t rest = 0;
  memcpy(&rest, at, size);
  hash = (hash ^ rest) * 0x94d049bb133111ebull;
  return hash ^ hash >> 32;
}

uint64_t hash_text(const char* text) {
  return hash_bytes(text, strlen(text));
}
