/* What is given to NVRTC, written down for the tool.
 *
 * NVRTC assembles inside the application, where a second, treated compilation could take it down.
 * So the application's own compilation is left alone; what it was given goes to the tool, which
 * compiles it again elsewhere with the same library and finds the code in what is loaded later.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "live/live.h"

enum { kPrograms = 256, kNoLibrary = 11 /* NVRTC_ERROR_INTERNAL_ERROR */ };
static const size_t kLargestText = 16u << 20;

/* Texts one behind the other, each with its length before it. */
struct texts {
  char* data;
  size_t size, room;
  uint32_t count;
  int failed;
};

static void put(struct texts* to, const void* data, size_t size) {
  if (to->failed) return;
  if (to->size + size > to->room) {
    size_t room = (to->size + size) * 2;
    char* more = room <= 2 * kLargestText ? realloc(to->data, room) : NULL;
    if (!more) {
      to->failed = 1;
      return;
    }
    to->data = more;
    to->room = room;
  }
  memcpy(to->data + to->size, data, size);
  to->size += size;
}

static void put_text(struct texts* to, const char* text) {
  uint64_t length = text ? strlen(text) : 0;
  put(to, &length, sizeof length);
  put(to, text ? text : "", length);
  to->count++;
}

static void put_list(struct texts* to, int count, const char* const* texts) {
  uint64_t n = count > 0 && texts ? (uint64_t)count : 0;
  put(to, &n, sizeof n);
  for (uint64_t i = 0; i < n; i++) put_text(to, texts[i]);
}

static struct program {
  void* handle;
  struct texts given; /* source, name, headers, their names */
  struct texts expressions;
} programs[kPrograms];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* With the lock held; of NULL: a free place. */
static struct program* find(void* handle) {
  for (int i = 0; i < kPrograms; i++)
    if (programs[i].handle == handle) return &programs[i];
  return NULL;
}

static void clear(struct program* program) {
  free(program->given.data);
  free(program->expressions.data);
  memset(program, 0, sizeof *program);
}

static void compiled(void* handle, const void* library_function, int count,
                     const char* const* options) {
  static unsigned number;
  Dl_info info;
  pthread_mutex_lock(&lock);
  struct program* program = find(handle);
  if (program && dladdr(library_function, &info) && info.dli_fname) {
    struct texts head = {0}, tail = {0};
    put_text(&head, info.dli_fname);
    put_list(&tail, count, options);
    uint64_t expressions = program->expressions.count;
    put(&tail, &expressions, sizeof expressions);
    if (!head.failed && !tail.failed && !program->given.failed && !program->expressions.failed) {
      struct ns_request request = {
          NAMESAKE_REQUEST_MAGIC,
          NAMESAKE_LIVE_PROTOCOL,
          NS_REQUEST_NVRTC,
          0,
          0,
          0,
          (uint32_t)getpid(),
          0,
          head.size + program->given.size + tail.size + program->expressions.size};
      struct piece pieces[] = {{head.data, head.size},
                               {program->given.data, program->given.size},
                               {tail.data, tail.size},
                               {program->expressions.data, program->expressions.size}};
      char name[48];
      snprintf(name, sizeof name, "n.%d.%u", (int)getpid(),
               __atomic_fetch_add(&number, 1, __ATOMIC_RELAXED));
      put_request(name, &request, pieces, 4);
    }
    free(head.data);
    free(tail.data);
  }
  pthread_mutex_unlock(&lock);
}

/* --- what stands before NVRTC --- */

EXPORT int nvrtcCreateProgram(void** program, const char* source, const char* name, int headers,
                              const char* const* header_texts, const char* const* header_names);
int nvrtcCreateProgram(void** program, const char* source, const char* name, int headers,
                       const char* const* header_texts, const char* const* header_names) {
  int (*call)(void**, const char*, const char*, int, const char* const*, const char* const*) =
      find_in_nvrtc("nvrtcCreateProgram");
  if (!call) return kNoLibrary;
  int code = call(program, source, name, headers, header_texts, header_names);
  if (code != 0 || !board()) return code;
  pthread_mutex_lock(&lock);
  struct program* mine = find(*program);
  if (mine) clear(mine);
  mine = find(NULL);
  if (mine) {
    mine->handle = *program;
    put_text(&mine->given, source);
    put_text(&mine->given, name);
    put_list(&mine->given, headers, header_texts);
    put_list(&mine->given, headers, header_names);
  }
  pthread_mutex_unlock(&lock);
  return code;
}

EXPORT int nvrtcAddNameExpression(void* program, const char* expression);
int nvrtcAddNameExpression(void* program, const char* expression) {
  int (*call)(void*, const char*) = find_in_nvrtc("nvrtcAddNameExpression");
  if (!call) return kNoLibrary;
  int code = call(program, expression);
  if (code != 0 || !board()) return code;
  pthread_mutex_lock(&lock);
  struct program* mine = find(program);
  if (mine) put_text(&mine->expressions, expression);
  pthread_mutex_unlock(&lock);
  return code;
}

EXPORT int nvrtcCompileProgram(void* program, int count, const char* const* options);
int nvrtcCompileProgram(void* program, int count, const char* const* options) {
  int (*call)(void*, int, const char* const*) = find_in_nvrtc("nvrtcCompileProgram");
  if (!call) return kNoLibrary;
  int code = call(program, count, options);
  if (code == 0 && board()) compiled(program, (const void*)call, count, options);
  return code;
}

EXPORT int nvrtcDestroyProgram(void** program);
int nvrtcDestroyProgram(void** program) {
  int (*call)(void**) = find_in_nvrtc("nvrtcDestroyProgram");
  if (!call) return kNoLibrary;
  if (board() && program) {
    pthread_mutex_lock(&lock);
    struct program* mine = *program ? find(*program) : NULL;
    if (mine) clear(mine);
    pthread_mutex_unlock(&lock);
  }
  return call(program);
}
