/* Which handle is which function of which image.
 *
 * The application loads an image and asks for its functions by name; so at a launch we know from
 * the handle alone what is run. An image, hashed, goes to the tool, which makes the builds
 * meanwhile and answers; the first launch that finds an answer loads them where the application has
 * loaded its own: as a module into the same context, or as a library. Until then, and wherever
 * anything fails, the function runs as loaded.
 *
 * Handles are found by open addressing without a lock; whoever changes the table holds one. A
 * handle that the driver gives out a second time is registered a second time, over the first.
 * Functions are never freed, so that a thread may hold one while another unloads it; they are used
 * again for the next image instead.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "live/live.h"

enum { kSlots = 1 << 14, kNeighbours = 64, kImages = 4096 };

enum holding { kModule, kLibrary, kModuleOfLibrary };

/* What the tool says of an image, once for all who loaded it. */
struct image {
  uint64_t hash;
  uint32_t generation; /* of the board when an answer was last looked for */
  int answered;
  uint32_t count;
  struct ns_answer_kernel* kernels;
};

struct holder {
  struct holder* next;
  handle handle;
  enum holding kind;
  handle context;      /* of a module */
  struct image* image; /* NULL: too large */
  handle build[2];     /* a and b, where loaded */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
  handle handle;
  struct function* function;
} slots[kSlots];
static struct holder* holders;
static struct image images[kImages];
static uint32_t image_count;
static uint32_t epoch;
static struct function* unused;
static uint32_t unused_count;

static size_t place(handle handle) {
  uint64_t value = (uint64_t)(uintptr_t)handle * 0x9e3779b97f4a7c15ull;
  return (size_t)(value >> 50);
}

struct function* find_function(handle handle) {
  for (size_t i = place(handle), n = 0; n < kNeighbours; i = (i + 1) % kSlots, n++) {
    void* there = __atomic_load_n(&slots[i].handle, __ATOMIC_ACQUIRE);
    if (!there) return NULL;
    if (there != handle) continue;
    struct function* function = __atomic_load_n(&slots[i].function, __ATOMIC_ACQUIRE);
    return function && function->epoch == __atomic_load_n(&epoch, __ATOMIC_RELAXED) ? function
                                                                                    : NULL;
  }
  return NULL;
}

/* With the lock held. The place of a handle that went stays its own. */
static void set_function(handle handle, struct function* function) {
  for (size_t i = place(handle), n = 0; n < kNeighbours; i = (i + 1) % kSlots, n++) {
    if (slots[i].handle && slots[i].handle != handle) continue;
    __atomic_store_n(&slots[i].function, function, __ATOMIC_RELEASE);
    __atomic_store_n(&slots[i].handle, handle, __ATOMIC_RELEASE);
    return;
  }
}

struct ns_live_kernel* record_of(const struct function* function) {
  return function->index == NO_INDEX ? NULL : record_kernel((uint32_t)function->index);
}

void end_contexts(void) {
  pthread_mutex_lock(&lock);
  __atomic_fetch_add(&epoch, 1, __ATOMIC_RELAXED);
  if (record()) record()->contexts_ended++;
  holders = NULL; /* what they held went with the contexts */
  pthread_mutex_unlock(&lock);
  forget_events();
}

/* --- images --- */

static uint64_t at8(const char* bytes, size_t offset) {
  uint64_t value;
  memcpy(&value, bytes + offset, sizeof value);
  return value;
}
static uint32_t at4(const char* bytes, size_t offset) {
  uint32_t value;
  memcpy(&value, bytes + offset, sizeof value);
  return value;
}
static uint16_t at2(const char* bytes, size_t offset) {
  uint16_t value;
  memcpy(&value, bytes + offset, sizeof value);
  return value;
}

/* Where a cubin ends: behind the last of its headers and sections. */
static uint64_t elf_size(const char* elf) {
  uint64_t sections = at8(elf, 0x28), segments = at8(elf, 0x20);
  uint64_t entry = at2(elf, 0x3a), count = at2(elf, 0x3c);
  uint64_t end = sections + entry * count;
  uint64_t segments_end = segments + (uint64_t)at2(elf, 0x36) * at2(elf, 0x38);
  if (segments_end > end) end = segments_end;
  for (uint64_t i = 0; i < count && entry >= 64; i++) {
    const char* section = elf + sections + i * entry;
    uint32_t type = at4(section, 4);
    int no_room = type == 8 || type == 0x70000007 || type == 0x70000008 || type == 0x7000000a;
    uint64_t last = at8(section, 0x18) + at8(section, 0x20);
    if (!no_room && last > end) end = last;
  }
  return end;
}

/* The driver takes an image without a size; its own words say where it ends. */
static const char* image_bytes(const void* data, size_t* size) {
  const char* bytes = data;
  if (at4(bytes, 0) == 0x466243b1) memcpy(&bytes, bytes + 8, sizeof bytes); /* nvcc's wrapper */
  if (memcmp(bytes,
             "\x7f"
             "ELF",
             4) == 0) {
    *size = elf_size(bytes);
  } else if (at4(bytes, 0) == 0xba55ed50) {
    *size = at2(bytes, 6) + at8(bytes, 8);
  } else {
    *size = strnlen(bytes, NS_LARGEST_IMAGE + 1);
  }
  return bytes;
}

static void ask_tool(uint64_t hash, const char* bytes, size_t size, uint32_t flags) {
  const struct driver* call = driver();
  if (!call) return;
  struct ns_request head = {NAMESAKE_REQUEST_MAGIC,
                            NAMESAKE_LIVE_PROTOCOL,
                            NS_REQUEST_IMAGE,
                            flags,
                            0,
                            0,
                            (uint32_t)getpid(),
                            hash,
                            size};
  handle context = NULL;
  int device = 0, value = 0;
  if (call->cuCtxGetCurrent(&context) == CU_SUCCESS && context) call->cuCtxGetDevice(&device);
  if (call->cuDeviceGetAttribute(&value, CU_MAJOR, device) == CU_SUCCESS)
    head.major = (uint32_t)value;
  if (call->cuDeviceGetAttribute(&value, CU_MINOR, device) == CU_SUCCESS)
    head.minor = (uint32_t)value;
  char name[32];
  snprintf(name, sizeof name, "i.%016llx", (unsigned long long)hash);
  struct piece piece = {bytes, size};
  put_request(name, &head, &piece, 1);
}

/* With the lock held. */
static struct image* image_of(uint64_t hash, int* is_new) {
  for (uint32_t i = 0; i < image_count; i++)
    if (images[i].hash == hash) return &images[i];
  if (image_count == kImages) return NULL;
  *is_new = 1;
  images[image_count].hash = hash;
  return &images[image_count++];
}

static void add_holder(handle handle, enum holding kind, struct image* image) {
  const struct driver* call = driver();
  struct holder* holder = calloc(1, sizeof *holder);
  if (!holder || !call) return free(holder);
  holder->handle = handle;
  holder->kind = kind;
  holder->image = image;
  if (kind != kLibrary) call->cuCtxGetCurrent(&holder->context);
  holder->next = holders;
  holders = holder;
}

static void loaded(handle handle, enum holding kind, const void* data, size_t given,
                   uint32_t flags) {
  if (!data || !record()) return;
  size_t size = given;
  const char* bytes = given ? data : image_bytes(data, &size);
  uint64_t hash = 0;
  if (size <= NS_LARGEST_IMAGE) hash = hash_bytes(bytes, size) ^ flags;
  int is_new = 0;
  pthread_mutex_lock(&lock);
  struct image* image = hash ? image_of(hash, &is_new) : NULL;
  add_holder(handle, kind, image);
  pthread_mutex_unlock(&lock);
  if (is_new) ask_tool(hash, bytes, size, flags);
}

static void loaded_file(handle handle, enum holding kind, const char* path, uint32_t flags) {
  struct stat status;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  if (fstat(file, &status) == 0 && status.st_size > 64) {
    void* mapped = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (mapped != MAP_FAILED) {
      loaded(handle, kind, mapped, (size_t)status.st_size, flags);
      munmap(mapped, (size_t)status.st_size);
    }
  }
  close(file);
}

/* Options that only tell more, or where to: the code is the same. */
static uint32_t flags_of(const int* options, unsigned count) {
  for (unsigned i = 0; options && i < count; i++) {
    switch (options[i]) {
      case 2:
      case 3:
      case 4:
      case 5:
      case 6:
      case 12:
      case 14:
        break;
      default:
        return NS_REQUEST_OPTIONS;
    }
  }
  return 0;
}

/* --- functions --- */

static struct holder* holder_of(handle handle, int library) {
  for (struct holder* each = holders; each; each = each->next)
    if (each->handle == handle && (each->kind == kLibrary) == library) return each;
  return NULL;
}

/* A kernel that is loaded again, or in another context, goes on in its entry. */
static int32_t index_of(uint64_t image, const char* symbol) {
  struct ns_live_record* all = record();
  uint32_t count = all->kernels < NS_LIVE_KERNELS ? all->kernels : NS_LIVE_KERNELS;
  uint64_t hash = hash_text(symbol);
  for (uint32_t i = 0; i < count; i++)
    if (record_kernel(i)->image == image && record_kernel(i)->symbol_hash == hash)
      return (int32_t)i;
  if (all->kernels >= NS_LIVE_KERNELS) {
    all->lost++;
    return NO_INDEX;
  }
  struct ns_live_kernel* mine = record_kernel(all->kernels);
  mine->image = image;
  mine->symbol_hash = hash;
  strncpy(mine->symbol, symbol, sizeof mine->symbol - 1);
  __atomic_store_n(&mine->whole, 1, __ATOMIC_RELEASE);
  return (int32_t)all->kernels++;
}

static void reset(struct function* function) {
  struct shape* shapes = function->shapes;
  while (shapes) {
    struct shape* next = shapes->next;
    free(shapes);
    shapes = next;
  }
  free(function->symbol);
  size_t kept = offsetof(struct function, handle);
  memset((char*)function + kept, 0, sizeof *function - kept);
}

/* With the lock held. The one that has been out of use for longest, and not before many are. */
static struct function* fresh(void) {
  enum { kKept = 64 };
  if (unused_count > kKept) {
    struct function** last = &unused;
    while ((*last)->holder) last = (struct function**)&(*last)->holder;
    struct function* function = *last;
    *last = NULL;
    unused_count--;
    pthread_mutex_lock(&function->lock);
    reset(function);
    pthread_mutex_unlock(&function->lock);
    return function;
  }
  struct function* function = calloc(1, sizeof *function);
  if (function) pthread_mutex_init(&function->lock, NULL);
  return function;
}

static void named(handle handle, const char* symbol, struct holder* holder, int is_kernel,
                  int by_kernel, const struct function* kernel) {
  struct function* known = find_function(handle);
  if (known && known->holder == holder && strcmp(known->symbol, symbol) == 0) return;
  struct function* function = fresh();
  char* copy = function ? strdup(symbol) : NULL;
  if (!copy) return;
  const struct driver* call = driver();
  function->handle = handle;
  function->symbol = copy;
  function->holder = holder;
  function->is_kernel = is_kernel;
  function->by_kernel = by_kernel;
  function->epoch = epoch;
  function->cache_config = kernel ? kernel->cache_config : -1;
  function->generation = ~0u;
  function->context = holder->context;
  if (by_kernel) call->cuCtxGetCurrent(&function->context);
  function->index = index_of(holder->image ? holder->image->hash : 0, symbol);
  if (!holder->image) function->state = NS_LIVE_LARGE;
  function->next_check = 1;
  struct ns_live_kernel* entry = record_of(function);
  if (entry && !entry->state) entry->state = function->state;
  if (entry && entry->checked + entry->unchecked == 0)
    function->checks_left = board()->check_launches;
  set_function(handle, function);
}

static void unload(handle handle, int library) {
  pthread_mutex_lock(&lock);
  struct holder** at = &holders;
  while (*at && !((*at)->handle == handle && ((*at)->kind == kLibrary) == library))
    at = &(*at)->next;
  struct holder* gone = *at;
  if (gone) {
    *at = gone->next;
    for (size_t i = 0; i < kSlots; i++) {
      struct function* function = slots[i].function;
      if (!function || function->holder != gone) continue;
      __atomic_store_n(&slots[i].function, NULL, __ATOMIC_RELEASE);
      function->holder = (struct holder*)unused; /* the list goes through this member */
      unused = function;
      unused_count++;
    }
  }
  pthread_mutex_unlock(&lock);
  if (!gone) return;
  for (int i = 0; i < 2; i++) {
    if (!gone->build[i]) continue;
    if (gone->kind == kLibrary) {
      real_cuLibraryUnload()(gone->build[i]);
    } else {
      real_cuModuleUnload()(gone->build[i]);
    }
  }
  free(gone);
}

/* --- the other builds --- */

/* Shared memory, carve-out, cluster and scheduling: what the application has asked of its own. */
static void copy_attributes(const struct function* function, handle build) {
  static const int attributes[] = {8, 9, 10, 11, 12, 13, 14, 15};
  const struct driver* call = driver();
  int device = 0;
  call->cuCtxGetDevice(&device);
  for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
    int wanted = 0, has = 0;
    if (function->is_kernel) {
      if (call->cuKernelGetAttribute(&wanted, attributes[i], function->handle, device) == 0 &&
          call->cuKernelGetAttribute(&has, attributes[i], build, device) == 0 && wanted != has)
        real_cuKernelSetAttribute()(attributes[i], wanted, build, device);
    } else {
      if (call->cuFuncGetAttribute(&wanted, attributes[i], function->handle) == 0 &&
          call->cuFuncGetAttribute(&has, attributes[i], build) == 0 && wanted != has)
        real_cuFuncSetAttribute()(build, attributes[i], wanted);
    }
  }
  if (function->cache_config < 0) return;
  if (function->is_kernel) {
    real_cuKernelSetCacheConfig()(build, function->cache_config, device);
  } else {
    real_cuFuncSetCacheConfig()(build, function->cache_config);
  }
}

/* With the lock held. */
static const struct ns_answer_kernel* answer_for(struct function* function, uint32_t generation) {
  struct image* image = function->holder->image;
  if (!image->answered && image->generation != generation) {
    image->generation = generation;
    size_t size = 0;
    char* text = read_answer(image->hash, "", &size);
    struct ns_answer* head = (struct ns_answer*)text;
    if (text && size >= sizeof *head && head->magic == NAMESAKE_ANSWER_MAGIC &&
        head->protocol == NAMESAKE_LIVE_PROTOCOL &&
        head->count <= (size - sizeof *head) / sizeof(struct ns_answer_kernel)) {
      image->answered = 1;
      image->count = head->count;
      image->kernels = (struct ns_answer_kernel*)(head + 1);
    } else {
      free(text);
    }
  }
  uint64_t symbol = hash_text(function->symbol);
  for (uint32_t i = 0; image->answered && i < image->count; i++)
    if (image->kernels[i].symbol == symbol) return &image->kernels[i];
  return NULL;
}

static int load_build(struct holder* holder, int which) {
  if (holder->build[which]) return CU_SUCCESS;
  size_t size = 0;
  char* image = read_answer(holder->image->hash, which ? ".b" : ".a", &size);
  if (!image) return CU_NOT_FOUND;
  int code = holder->kind == kLibrary ? real_cuLibraryLoadData()(&holder->build[which], image, NULL,
                                                                 NULL, 0, NULL, NULL, 0)
                                      : real_cuModuleLoadData()(&holder->build[which], image);
  free(image);
  if (code != CU_SUCCESS) holder->build[which] = NULL;
  return code;
}

static int find_build(const struct function* function, int which, handle* build) {
  struct holder* holder = function->holder;
  int code = load_build(holder, which);
  if (code != CU_SUCCESS) return code;
  if (holder->kind != kLibrary)
    return real_cuModuleGetFunction()(build, holder->build[which], function->symbol);
  code = real_cuLibraryGetKernel()(build, holder->build[which], function->symbol);
  if (code != CU_SUCCESS || !function->by_kernel) return code;
  handle kernel = *build;
  return real_cuKernelGetFunction()(build, kernel);
}

static int load_pair(struct function* function, uint32_t flags) {
  static const uint32_t from_file[2] = {NS_ANSWER_FILE_A, NS_ANSWER_FILE_B};
  function->may_check = (flags & NS_ANSWER_CHECK) != 0;
  for (int which = 0; which < 2; which++) {
    function->build[which] = function->handle;
    if (!(flags & from_file[which])) continue;
    int code = find_build(function, which, &function->build[which]);
    if (code != CU_SUCCESS) return code;
    copy_attributes(function, function->build[which]);
  }
  return CU_SUCCESS;
}

static void set_state(struct function* function, uint32_t state, int error) {
  struct ns_live_kernel* entry = record_of(function);
  if (entry) {
    entry->state = state;
    if (error) entry->error = error;
  }
  __atomic_store_n(&function->state, state, __ATOMIC_RELEASE);
}

void try_pair(struct function* function) {
  const struct driver* call = driver();
  uint32_t generation = __atomic_load_n(&board()->generation, __ATOMIC_ACQUIRE);
  if (function->generation == generation || capturing()) return;
  if (pthread_mutex_trylock(&lock) != 0) return;
  handle context = NULL;
  if (find_function(function->handle) == function && function->state == NS_LIVE_WAITING &&
      call->cuCtxGetCurrent(&context) == CU_SUCCESS &&
      (function->is_kernel || context == function->context)) {
    function->generation = generation;
    const struct ns_answer_kernel* answer = answer_for(function, generation);
    if (answer && !(answer->flags & NS_ANSWER_PAIR)) {
      set_state(function, NS_LIVE_ALONE, 0);
    } else if (answer) {
      int mode = CU_CAPTURE_RELAXED;
      call->cuThreadExchangeStreamCaptureMode(&mode);
      int code = load_pair(function, answer->flags);
      call->cuThreadExchangeStreamCaptureMode(&mode);
      set_state(function, code ? NS_LIVE_REFUSED : NS_LIVE_PAIR, code);
    } else if (function->holder->image->answered) {
      set_state(function, NS_LIVE_ALONE, 0);
    }
  }
  pthread_mutex_unlock(&lock);
}

/* --- what stands before the driver --- */

#define CALL(name)                \
  name##_t* call = real_##name(); \
  if (!call) return CU_NOT_FOUND

result cuModuleLoad(handle* module, const char* file) {
  CALL(cuModuleLoad);
  result code = call(module, file);
  if (code == CU_SUCCESS && board()) loaded_file(*module, kModule, file, 0);
  return code;
}

result cuModuleLoadData(handle* module, const void* image) {
  CALL(cuModuleLoadData);
  result code = call(module, image);
  if (code == CU_SUCCESS && board()) loaded(*module, kModule, image, 0, 0);
  return code;
}

result cuModuleLoadDataEx(handle* module, const void* image, unsigned count, int* options,
                          void** values) {
  CALL(cuModuleLoadDataEx);
  result code = call(module, image, count, options, values);
  if (code == CU_SUCCESS && board()) loaded(*module, kModule, image, 0, flags_of(options, count));
  return code;
}

result cuModuleLoadFatBinary(handle* module, const void* image) {
  CALL(cuModuleLoadFatBinary);
  result code = call(module, image);
  if (code == CU_SUCCESS && board()) loaded(*module, kModule, image, 0, 0);
  return code;
}

result cuLibraryLoadData(handle* library, const void* image, int* jit_options, void** jit_values,
                         unsigned jit_count, int* options, void** values, unsigned count) {
  CALL(cuLibraryLoadData);
  result code = call(library, image, jit_options, jit_values, jit_count, options, values, count);
  if (code == CU_SUCCESS && board())
    loaded(*library, kLibrary, image, 0, flags_of(jit_options, jit_count));
  return code;
}

result cuLibraryLoadFromFile(handle* library, const char* file, int* jit_options, void** jit_values,
                             unsigned jit_count, int* options, void** values, unsigned count) {
  CALL(cuLibraryLoadFromFile);
  result code = call(library, file, jit_options, jit_values, jit_count, options, values, count);
  if (code == CU_SUCCESS && board())
    loaded_file(*library, kLibrary, file, flags_of(jit_options, jit_count));
  return code;
}

result cuModuleUnload(handle module) {
  CALL(cuModuleUnload);
  if (board()) unload(module, 0);
  return call(module);
}

result cuLibraryUnload(handle library) {
  CALL(cuLibraryUnload);
  if (board()) unload(library, 1);
  return call(library);
}

result cuModuleGetFunction(handle* function, handle module, const char* name) {
  CALL(cuModuleGetFunction);
  result code = call(function, module, name);
  if (code != CU_SUCCESS || !board() || !record()) return code;
  pthread_mutex_lock(&lock);
  struct holder* holder = holder_of(module, 0);
  if (holder) named(*function, name, holder, 0, 0, NULL);
  pthread_mutex_unlock(&lock);
  return code;
}

result cuLibraryGetKernel(handle* kernel, handle library, const char* name) {
  CALL(cuLibraryGetKernel);
  result code = call(kernel, library, name);
  if (code != CU_SUCCESS || !board() || !record()) return code;
  pthread_mutex_lock(&lock);
  struct holder* holder = holder_of(library, 1);
  if (holder) named(*kernel, name, holder, 1, 0, NULL);
  pthread_mutex_unlock(&lock);
  return code;
}

result cuLibraryGetModule(handle* module, handle library) {
  CALL(cuLibraryGetModule);
  result code = call(module, library);
  if (code != CU_SUCCESS || !board() || !record()) return code;
  pthread_mutex_lock(&lock);
  struct holder* holder = holder_of(library, 1);
  if (holder && !holder_of(*module, 0)) add_holder(*module, kModuleOfLibrary, holder->image);
  pthread_mutex_unlock(&lock);
  return code;
}

result cuKernelGetFunction(handle* function, handle kernel) {
  CALL(cuKernelGetFunction);
  result code = call(function, kernel);
  if (code != CU_SUCCESS || !board() || !record()) return code;
  pthread_mutex_lock(&lock);
  struct function* known = find_function(kernel);
  if (known && *function != kernel) named(*function, known->symbol, known->holder, 0, 1, known);
  pthread_mutex_unlock(&lock);
  return code;
}

/* What is asked of a function is asked of its builds, too; the application hears of its own. */
static struct function* paired(handle handle) {
  struct function* function = board() ? find_function(handle) : NULL;
  return function && function->state == NS_LIVE_PAIR ? function : NULL;
}

result cuFuncSetAttribute(handle function, int attribute, int value) {
  CALL(cuFuncSetAttribute);
  result code = call(function, attribute, value);
  struct function* known = code == CU_SUCCESS ? paired(function) : NULL;
  for (int i = 0; known && i < 2; i++)
    if (known->build[i] != function) call(known->build[i], attribute, value);
  return code;
}

result cuKernelSetAttribute(int attribute, int value, handle kernel, int device) {
  CALL(cuKernelSetAttribute);
  result code = call(attribute, value, kernel, device);
  struct function* known = code == CU_SUCCESS ? paired(kernel) : NULL;
  for (int i = 0; known && i < 2; i++)
    if (known->build[i] != kernel) call(attribute, value, known->build[i], device);
  return code;
}

result cuFuncSetCacheConfig(handle function, int config) {
  CALL(cuFuncSetCacheConfig);
  result code = call(function, config);
  struct function* known = board() ? find_function(function) : NULL;
  if (known) known->cache_config = config;
  known = paired(function);
  for (int i = 0; known && i < 2; i++)
    if (known->build[i] != function) call(known->build[i], config);
  return code;
}

result cuKernelSetCacheConfig(handle kernel, int config, int device) {
  CALL(cuKernelSetCacheConfig);
  result code = call(kernel, config, device);
  struct function* known = board() ? find_function(kernel) : NULL;
  if (known) known->cache_config = config;
  known = paired(kernel);
  for (int i = 0; known && i < 2; i++)
    if (known->build[i] != kernel) call(known->build[i], config, device);
  return code;
}

result cuCtxDestroy_v2(handle context) {
  CALL(cuCtxDestroy_v2);
  if (board() && record()) end_contexts();
  return call(context);
}

result cuDevicePrimaryCtxReset_v2(int device) {
  CALL(cuDevicePrimaryCtxReset_v2);
  if (board() && record()) end_contexts();
  return call(device);
}

result cuDevicePrimaryCtxRelease_v2(int device) {
  CALL(cuDevicePrimaryCtxRelease_v2);
  result code = call(device);
  const struct driver* calls = board() && record() ? driver() : NULL;
  unsigned flags = 0;
  int active = 1;
  if (calls && calls->cuDevicePrimaryCtxGetState(device, &flags, &active) == CU_SUCCESS && !active)
    end_contexts();
  return code;
}
