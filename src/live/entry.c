/* How programs reach the driver, and how we come to stand there.
 *
 * Nobody calls cuLaunchKernel by a linked symbol alone. The runtime, in its static and its shared
 * form, opens libcuda.so.1, asks dlsym for cuGetProcAddress and that for everything else; Triton's
 * launchers ask dlsym; ctypes asks dlsym; a C program links. So there are three doors: exported
 * symbols of the driver's names, which the loader finds before the driver's; dlsym; and
 * cuGetProcAddress, which hands out itself, too. All three give out the same wrappers.
 *
 * dlsym finds out who called it from its return address (RTLD_NEXT means "behind the caller"), so
 * what is none of ours must reach the real one by a jump, as the compiler makes of a call in tail
 * position; a test holds it to that.
 */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "live/live.h"

typedef void* dlsym_t(void* from, const char* name);

static dlsym_t* real_dlsym(void) {
  static dlsym_t* found;
  dlsym_t* mine = __atomic_load_n(&found, __ATOMIC_RELAXED);
  if (mine) return mine;
  /* The version it has had since 2.34, and the first one of each processor. */
  static const char* const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
  for (int i = 0; i < 3 && !mine; i++) mine = (dlsym_t*)dlvsym(RTLD_NEXT, "dlsym", versions[i]);
  __atomic_store_n(&found, mine, __ATOMIC_RELAXED);
  return mine;
}

static void* driver_library(void) {
  static void* found;
  void* mine = __atomic_load_n(&found, __ATOMIC_ACQUIRE);
  if (!mine) {
    mine = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (mine) __atomic_store_n(&found, mine, __ATOMIC_RELEASE);
  }
  return mine;
}

static void* find_in_driver(const char* symbol) {
  void* library = driver_library();
  return library ? real_dlsym()(library, symbol) : NULL;
}

/* --- the driver's own functions --- */

#define DEFINE(name, parameters)                                         \
  static void* found_##name;                                             \
  name##_t* real_##name(void) {                                          \
    void* mine = __atomic_load_n(&found_##name, __ATOMIC_ACQUIRE);       \
    if (!mine) {                                                         \
      mine = find_in_driver(#name);                                      \
      if (mine) __atomic_store_n(&found_##name, mine, __ATOMIC_RELEASE); \
    }                                                                    \
    return (name##_t*)mine;                                              \
  }
WRAPPED(DEFINE)
#undef DEFINE

const struct driver* driver(void) {
  static struct driver calls;
  static int state; /* 1: whole, 2: not to be had */
  int now_known = __atomic_load_n(&state, __ATOMIC_ACQUIRE);
  if (!now_known) {
    /* Threads may do this at once: all write the same. */
    int missing = 0;
#define FIND(name, parameters)                  \
  *(void**)&calls.name = find_in_driver(#name); \
  missing += !calls.name;
    CALLED(FIND)
#undef FIND
    now_known = missing ? 2 : 1;
    if (driver_library()) __atomic_store_n(&state, now_known, __ATOMIC_RELEASE);
  }
  return now_known == 1 ? &calls : NULL;
}

/* --- the wrappers by name --- */

struct door {
  const char* symbol;
  void* wrapper;
  void** found;
};

static const struct door doors[] = {
#define DOOR(name, parameters) {#name, (void*)name, &found_##name},
    WRAPPED(DOOR)
#undef DOOR
};

static const struct door* door_named(const char* symbol) {
  for (size_t i = 0; i < sizeof doors / sizeof *doors; i++)
    if (strcmp(doors[i].symbol, symbol) == 0) return &doors[i];
  return NULL;
}

static int lies_in(const void* function, const char* library) {
  Dl_info info;
  if (!dladdr(function, &info) || !info.dli_fname) return 0;
  const char* base = strrchr(info.dli_fname, '/');
  base = base ? base + 1 : info.dli_fname;
  return strncmp(base, library, strlen(library)) == 0;
}

static void* through(const struct door* door, void* found) {
  void* before = NULL;
  if (found == door->wrapper) return found; /* whoever looked it up came through us already */
  __atomic_compare_exchange_n(door->found, &before, found, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  return door->wrapper;
}

/* --- NVRTC's, in nvrtc.c --- */

EXPORT int nvrtcCreateProgram(void** program, const char* source, const char* name, int headers,
                              const char* const* header_texts, const char* const* header_names);
EXPORT int nvrtcAddNameExpression(void* program, const char* expression);
EXPORT int nvrtcCompileProgram(void* program, int count, const char* const* options);
EXPORT int nvrtcDestroyProgram(void** program);

static void* nvrtc_wrapper(const char* symbol) {
  if (strcmp(symbol, "nvrtcCreateProgram") == 0) return (void*)nvrtcCreateProgram;
  if (strcmp(symbol, "nvrtcAddNameExpression") == 0) return (void*)nvrtcAddNameExpression;
  if (strcmp(symbol, "nvrtcCompileProgram") == 0) return (void*)nvrtcCompileProgram;
  if (strcmp(symbol, "nvrtcDestroyProgram") == 0) return (void*)nvrtcDestroyProgram;
  return NULL;
}

static int find_nvrtc(struct dl_phdr_info* info, size_t size, void* path) {
  (void)size;
  const char* base = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
  if (!base || strncmp(base, "/libnvrtc.so", 12) != 0) return 0;
  *(const char**)path = info->dlpi_name;
  return 1;
}

/* Of the library loaded first; programs of a second one pass by us (entry_for below). */
void* find_in_nvrtc(const char* symbol) {
  static void* library;
  if (!__atomic_load_n(&library, __ATOMIC_ACQUIRE)) {
    const char* path = NULL;
    dl_iterate_phdr(find_nvrtc, &path);
    void* mine = path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    __atomic_store_n(&library, mine, __ATOMIC_RELEASE);
  }
  return library ? real_dlsym()(library, symbol) : NULL;
}

/* --- the doors --- */

static void* entry_for(void* from, const char* name) {
  void* found = real_dlsym()(from, name);
  if (!found || !board()) return found;
  if (name[0] == 'c') {
    const struct door* door = door_named(name);
    return door && lies_in(found, "libcuda.so") ? through(door, found) : found;
  }
  return lies_in(found, "libnvrtc.so") && found == find_in_nvrtc(name) ? nvrtc_wrapper(name)
                                                                       : found;
}

static int concerns_us(const char* name) {
  if (name[0] == 'c') return name[1] == 'u' && door_named(name);
  return name[0] == 'n' && name[1] == 'v' && nvrtc_wrapper(name);
}

EXPORT void* dlsym(void* from, const char* name);
EXPORT void* dlsym(void* from, const char* name) {
  if (from == RTLD_NEXT || from == RTLD_DEFAULT || !concerns_us(name))
    return real_dlsym()(from, name);
  return entry_for(from, name);
}

enum { kNameRoom = 64 };

/* The exported name of what cuGetProcAddress gives out: newer forms of a function have numbers, and
 * those whose default stream is the thread's an ending. */
static const struct door* door_for(const char* base, int version, uint64_t flags, int* form) {
  static const struct {
    const char* base;
    int since;
  } second[] = {{"cuGetProcAddress", 12000},
                {"cuStreamBeginCapture", 10010},
                {"cuCtxDestroy", 4000},
                {"cuDevicePrimaryCtxReset", 11000},
                {"cuDevicePrimaryCtxRelease", 11000},
                {"cuMemAlloc", 3020},
                {"cuMemAllocPitch", 3020},
                {"cuMemFree", 3020},
                {"cuMemAllocHost", 3020},
                {"cuMemHostRegister", 6050},
                {"cuIpcOpenMemHandle", 11000},
                {"cuModuleGetGlobal", 3020},
                {"cuGraphAddNode", 12030},
                {"cuArrayCreate", 3020},
                {"cuArray3DCreate", 3020}};
  char name[kNameRoom];
  snprintf(name, sizeof name, "%s", base);
  *form = 1;
  for (size_t i = 0; i < sizeof second / sizeof *second; i++)
    if (strcmp(base, second[i].base) == 0 && version >= second[i].since) *form = 2;
  if (*form == 2) strcat(name, "_v2");
  const struct door* door = door_named(name);
  if (!(flags & CU_PER_THREAD_STREAM)) return door;
  strcat(name, "_ptsz");
  const struct door* per_thread = door_named(name);
  return per_thread ? per_thread : door;
}

/* A form of the function that came after us, with parameters of its own: nobody stands before it.
 */
static int is_newer(const char* base, int form, uint64_t flags, const void* function) {
  char name[kNameRoom + 16];
  int length = snprintf(name, sizeof name, "%s_v%d", base, form + 1);
  if (find_in_driver(name) == function) return 1;
  snprintf(name + length, sizeof name - (size_t)length, "_ptsz");
  return (flags & CU_PER_THREAD_STREAM) && find_in_driver(name) == function;
}

static void give_out(const char* symbol, void** function, int version, uint64_t flags) {
  if (!symbol || !function || !*function || !board()) return;
  int form = 1;
  if (strlen(symbol) + 10 > kNameRoom) return;
  const struct door* door = door_for(symbol, version, flags, &form);
  if (door && !is_newer(symbol, form, flags, *function)) *function = through(door, *function);
}

result cuGetProcAddress(const char* symbol, void** function, int version, uint64_t flags) {
  cuGetProcAddress_t* call = real_cuGetProcAddress();
  if (!call) return CU_NOT_FOUND;
  result code = call(symbol, function, version, flags);
  if (code == CU_SUCCESS) give_out(symbol, function, version, flags);
  return code;
}

result cuGetProcAddress_v2(const char* symbol, void** function, int version, uint64_t flags,
                           int* status) {
  cuGetProcAddress_v2_t* call = real_cuGetProcAddress_v2();
  if (!call) return CU_NOT_FOUND;
  result code = call(symbol, function, version, flags, status);
  if (code == CU_SUCCESS) give_out(symbol, function, version, flags);
  return code;
}
