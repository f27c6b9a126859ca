/* Which handle is which function of which image.
 *
 * The application loads an image and asks for its functions by name; so at a launch we know from
 * the handle alone what is run. The first launch that finds the tool's answer to the image loads
 * the other builds where the application has loaded its own: as a module into the same context, or
 * as a library. Until then, and wherever anything fails, the function runs as loaded.
 *
 * Handles are found by open addressing without a lock; whoever changes the table holds one. A
 * handle that the driver gives out a second time is registered a second time, over the first.
 * Functions are never freed, so that a thread may hold one while another unloads it; they are used
 * again for the next image instead, the one first that has been out of use for longest.
 *
 * What the application asks of a function (shared memory, carve-out, cluster) is asked of its other
 * builds at the next launch, by reading it from the function itself: it may have been asked of the
 * kernel while the function is launched, or the other way round, and for another device.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "live/live.h"

enum { kSlots = 1 << 14, kNeighbours = 64 };

enum holding { kModule, kLibrary, kModuleOfLibrary };

struct holder {
  struct holder* next;
  handle handle;
  handle library; /* of kModuleOfLibrary */
  enum holding kind;
  handle context;      /* of a module */
  struct image* image; /* NULL: too large */
  handle build[2];     /* a and b, where loaded */
  struct function* functions;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
  handle handle;
  struct function* function;
} slots[kSlots];
static struct holder* holders;
static struct function *unused, **unused_end = &unused;
static uint32_t unused_count;

/* --- handles --- */

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
    return function && function->handle == handle ? function : NULL;
  }
  return NULL;
}

/* With the lock held. The place of a handle that went is taken by the next one. 0: no room. */
static int set_function(handle handle, struct function* function) {
  size_t found = kSlots;
  for (size_t i = place(handle), n = 0; n < kNeighbours; i = (i + 1) % kSlots, n++) {
    if (slots[i].handle == handle || !slots[i].handle) {
      if (found == kSlots || slots[i].handle) found = i;
      break;
    }
    if (!slots[i].function && found == kSlots) found = i;
  }
  if (found == kSlots) return 0;
  __atomic_store_n(&slots[found].function, function, __ATOMIC_RELEASE);
  __atomic_store_n(&slots[found].handle, handle, __ATOMIC_RELEASE);
  return 1;
}

/* With the lock held. Another function may have got its handle meanwhile. */
static void clear_function(const struct function* function) {
  for (size_t i = place(function->handle), n = 0; n < kNeighbours; i = (i + 1) % kSlots, n++)
    if (slots[i].function == function) __atomic_store_n(&slots[i].function, NULL, __ATOMIC_RELEASE);
}

struct ns_live_kernel* record_of(const struct function* function) {
  return function->index == NO_INDEX ? NULL : record_kernel((uint32_t)function->index);
}

/* --- holders --- */

/* With the lock held. */
static struct holder* holder_of(handle handle, int library) {
  for (struct holder* each = holders; each; each = each->next)
    if (each->handle == handle && (each->kind == kLibrary) == library) return each;
  return NULL;
}

/* With the lock held. */
static struct holder* add_holder(handle handle, enum holding kind, struct image* image) {
  const struct driver* call = driver();
  struct holder* holder = call ? calloc(1, sizeof *holder) : NULL;
  if (!holder) return NULL;
  holder->handle = handle;
  holder->kind = kind;
  holder->image = image;
  if (kind != kLibrary) call->cuCtxGetCurrent(&holder->context);
  holder->next = holders;
  holders = holder;
  return holder;
}

static void loaded(handle handle, enum holding kind, const void* data, size_t size,
                   uint32_t flags) {
  if (!data || !record() || !driver()) return;
  struct image* image = look_at_image(data, size, flags);
  pthread_mutex_lock(&lock);
  add_holder(handle, kind, image);
  pthread_mutex_unlock(&lock);
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

/* With the lock held. */
static void put_out_of_use(struct function* function) {
  function->next = NULL;
  *unused_end = function;
  unused_end = &function->next;
  unused_count++;
}

/* With the lock held: those of a context alone, or all. */
static void retire_functions(struct holder* holder, handle context) {
  struct function** at = &holder->functions;
  while (*at) {
    struct function* each = *at;
    if (context && each->context != context) {
      at = &each->next;
      continue;
    }
    *at = each->next;
    clear_function(each);
    each->holder = NULL;
    put_out_of_use(each);
  }
}

/* With the lock held. */
static struct holder* take_holder(struct holder** at) {
  struct holder* gone = *at;
  *at = gone->next;
  retire_functions(gone, NULL);
  return gone;
}

/* The modules that were asked of a library go with it. */
static void unload(handle handle, int library) {
  struct holder* gone = NULL;
  pthread_mutex_lock(&lock);
  for (struct holder** at = &holders; *at;) {
    struct holder* each = *at;
    if ((each->handle == handle && (each->kind == kLibrary) == library) ||
        (library && each->kind == kModuleOfLibrary && each->library == handle)) {
      take_holder(at);
      each->next = gone;
      gone = each;
    } else {
      at = &each->next;
    }
  }
  pthread_mutex_unlock(&lock);
  while (gone) {
    struct holder* each = gone;
    gone = each->next;
    for (int i = 0; i < 2; i++) {
      if (!each->build[i]) continue;
      if (each->kind == kLibrary) {
        real_cuLibraryUnload()(each->build[i]);
      } else {
        real_cuModuleUnload()(each->build[i]);
      }
    }
    free(each);
  }
}

/* What lay in a context goes with it, our builds too. A library lies in none, but its functions do;
 * whether it outlives the device's reset (NULL) is not known. */
void end_context(handle context) {
  pthread_mutex_lock(&lock);
  if (record()) record()->contexts_ended++;
  for (struct holder** at = &holders; *at;) {
    if (!context || (*at)->context == context) {
      free(take_holder(at));
    } else {
      retire_functions(*at, context);
      at = &(*at)->next;
    }
  }
  pthread_mutex_unlock(&lock);
  forget_events(context);
}

/* --- functions --- */

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

/* What was asked of all functions of an entry. */
static struct {
  uint32_t changes;
  int cache_config; /* one more than that; 0: never set */
} asked[NS_LIVE_KERNELS];

static void reset(struct function* function) {
  for (size_t i = 0; i < kShapeLists; i++) {
    while (function->shapes[i]) {
      struct shape* next = function->shapes[i]->next;
      free(function->shapes[i]);
      function->shapes[i] = next;
    }
  }
  free(function->symbol);
  size_t kept = offsetof(struct function, handle);
  memset((char*)function + kept, 0, sizeof *function - kept);
}

/* With the lock held. */
static struct function* fresh(void) {
  enum { kKept = 64 };
  struct function* function = unused;
  if (unused_count <= kKept) {
    function = calloc(1, sizeof *function);
    if (function) pthread_mutex_init(&function->lock, NULL);
    return function;
  }
  unused = function->next;
  unused_count--;
  pthread_mutex_lock(&function->lock);
  reset(function);
  pthread_mutex_unlock(&function->lock);
  return function;
}

/* With the lock held. */
static void named(handle handle, const char* symbol, struct holder* holder, int is_kernel,
                  int by_kernel) {
  struct function* known = find_function(handle);
  if (known && known->holder == holder && strcmp(known->symbol, symbol) == 0) return;
  struct function* function = fresh();
  if (!function) return;
  function->symbol = strdup(symbol);
  if (!function->symbol) return put_out_of_use(function);
  function->handle = handle;
  function->holder = holder;
  function->is_kernel = is_kernel;
  function->by_kernel = by_kernel;
  function->generation = ~0u;
  function->context = holder->context;
  if (by_kernel) driver()->cuCtxGetCurrent(&function->context);
  function->index = index_of(image_hash(holder->image), symbol);
  if (!holder->image) function->state = NS_LIVE_LARGE;
  function->next_check = 1;
  struct ns_live_kernel* entry = record_of(function);
  if (entry && !entry->state) entry->state = function->state;
  if (entry && entry->checked + entry->unchecked == 0)
    function->checks_left = board()->check_launches;
  if (!set_function(handle, function)) {
    record()->lost++;
    return put_out_of_use(function);
  }
  function->next = holder->functions;
  holder->functions = function;
}

/* --- the other builds --- */

/* Shared memory, carve-out, cluster and scheduling. */
static void copy_attributes(const struct function* function, handle build, int device) {
  static const int attributes[] = {8, 9, 10, 11, 12, 13, 14, 15};
  const struct driver* call = driver();
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
  int config = asked[function->index].cache_config - 1;
  if (config < 0) return;
  if (function->is_kernel) {
    real_cuKernelSetCacheConfig()(build, config, device);
  } else {
    real_cuFuncSetCacheConfig()(build, config);
  }
}

/* A CUfunction lies on one device; what is launched as a CUkernel, on that of the context. */
static int device_of(const struct function* function) {
  static int devices;
  int count = __atomic_load_n(&devices, __ATOMIC_RELAXED), device = 0;
  if (!count && driver()->cuDeviceGetCount(&count) == CU_SUCCESS)
    __atomic_store_n(&devices, count, __ATOMIC_RELAXED);
  if (function->is_kernel && count != 1) driver()->cuCtxGetDevice(&device);
  return device;
}

void follow_attributes(struct function* function) {
  uint32_t changes = __atomic_load_n(&asked[function->index].changes, __ATOMIC_ACQUIRE);
  if (function->changes != changes) {
    function->changes = changes;
    function->devices = 0;
    for (size_t i = 0; i < kShapeLists; i++)
      for (struct shape* each = function->shapes[i]; each; each = each->next) each->fits = 0;
  }
  int device = device_of(function);
  uint64_t bit = 1ull << (device & 63);
  if (function->devices & bit) return;
  function->devices |= bit;
  int mode = exchange_capture_mode(CU_CAPTURE_RELAXED);
  for (int i = 0; i < 2; i++)
    if (function->build[i] != function->handle)
      copy_attributes(function, function->build[i], device);
  exchange_capture_mode(mode);
}

static int load_build(struct holder* holder, int which) {
  if (holder->build[which]) return CU_SUCCESS;
  size_t size = 0;
  char* image = read_answer(image_hash(holder->image), which ? ".b" : ".a", &size);
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
  function->changes = 0;
  function->devices = 0;
  function->may_check = (flags & NS_ANSWER_CHECK) != 0;
  for (int which = 0; which < 2; which++) {
    function->build[which] = function->handle;
    if (!(flags & from_file[which])) continue;
    int code = find_build(function, which, &function->build[which]);
    if (code != CU_SUCCESS) return code;
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
  if (function->generation == generation) return;
  if (pthread_mutex_trylock(&lock) != 0) return;
  handle context = NULL;
  uint32_t flags = 0;
  if (find_function(function->handle) == function && function->state == NS_LIVE_WAITING &&
      call->cuCtxGetCurrent(&context) == CU_SUCCESS &&
      (function->is_kernel || context == function->context)) {
    function->generation = generation;
    int answered = answer_for(function->holder->image, function->symbol, generation, &flags);
    if (answered && !(flags & NS_ANSWER_PAIR)) {
      set_state(function, NS_LIVE_ALONE, 0);
    } else if (answered) {
      int mode = exchange_capture_mode(CU_CAPTURE_RELAXED);
      int code = load_pair(function, flags);
      exchange_capture_mode(mode);
      set_state(function, code ? NS_LIVE_REFUSED : NS_LIVE_PAIR, code);
    }
  }
  pthread_mutex_unlock(&lock);
}

/* --- what stands before the driver --- */

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
  if (code == CU_SUCCESS && board())
    loaded(*module, kModule, image, 0, option_flags(options, count));
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
    loaded(*library, kLibrary, image, 0, option_flags(jit_options, jit_count));
  return code;
}

result cuLibraryLoadFromFile(handle* library, const char* file, int* jit_options, void** jit_values,
                             unsigned jit_count, int* options, void** values, unsigned count) {
  CALL(cuLibraryLoadFromFile);
  result code = call(library, file, jit_options, jit_values, jit_count, options, values, count);
  if (code == CU_SUCCESS && board())
    loaded_file(*library, kLibrary, file, option_flags(jit_options, jit_count));
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
  if (holder) named(*function, name, holder, 0, 0);
  pthread_mutex_unlock(&lock);
  return code;
}

result cuLibraryGetKernel(handle* kernel, handle library, const char* name) {
  CALL(cuLibraryGetKernel);
  result code = call(kernel, library, name);
  if (code != CU_SUCCESS || !board() || !record()) return code;
  pthread_mutex_lock(&lock);
  struct holder* holder = holder_of(library, 1);
  if (holder) named(*kernel, name, holder, 1, 0);
  pthread_mutex_unlock(&lock);
  return code;
}

result cuLibraryGetModule(handle* module, handle library) {
  CALL(cuLibraryGetModule);
  result code = call(module, library);
  if (code != CU_SUCCESS || !board() || !record()) return code;
  pthread_mutex_lock(&lock);
  struct holder* holder = holder_of(library, 1);
  struct holder* known = holder_of(*module, 0);
  if (holder && !(known && known->library == library)) {
    known = add_holder(*module, kModuleOfLibrary, holder->image);
    if (known) known->library = library;
  }
  pthread_mutex_unlock(&lock);
  return code;
}

result cuKernelGetFunction(handle* function, handle kernel) {
  CALL(cuKernelGetFunction);
  result code = call(function, kernel);
  if (code != CU_SUCCESS || !board() || !record()) return code;
  pthread_mutex_lock(&lock);
  struct function* known = find_function(kernel);
  if (known && *function != kernel) named(*function, known->symbol, known->holder, 0, 1);
  pthread_mutex_unlock(&lock);
  return code;
}

static void note_asked(handle handle, int cache_config) {
  struct function* function = board() ? find_function(handle) : NULL;
  if (!function || function->index == NO_INDEX) return;
  if (cache_config >= 0) asked[function->index].cache_config = cache_config + 1;
  __atomic_fetch_add(&asked[function->index].changes, 1, __ATOMIC_RELEASE);
}

result cuFuncSetAttribute(handle function, int attribute, int value) {
  CALL(cuFuncSetAttribute);
  result code = call(function, attribute, value);
  if (code == CU_SUCCESS) note_asked(function, -1);
  return code;
}

result cuKernelSetAttribute(int attribute, int value, handle kernel, int device) {
  CALL(cuKernelSetAttribute);
  result code = call(attribute, value, kernel, device);
  if (code == CU_SUCCESS) note_asked(kernel, -1);
  return code;
}

result cuFuncSetCacheConfig(handle function, int config) {
  CALL(cuFuncSetCacheConfig);
  result code = call(function, config);
  if (code == CU_SUCCESS) note_asked(function, config);
  return code;
}

result cuKernelSetCacheConfig(handle kernel, int config, int device) {
  CALL(cuKernelSetCacheConfig);
  result code = call(kernel, config, device);
  if (code == CU_SUCCESS) note_asked(kernel, config);
  return code;
}

static void context_ends(handle context) {
  if (context && board() && record()) end_context(context);
}

static void contexts_end(void) {
  if (board() && record()) end_context(NULL);
}

result cuCtxDestroy(handle context) {
  CALL(cuCtxDestroy);
  context_ends(context);
  return call(context);
}

result cuCtxDestroy_v2(handle context) {
  CALL(cuCtxDestroy_v2);
  context_ends(context);
  return call(context);
}

/* Its context has a handle of its own. */
result cuGreenCtxDestroy(handle context) {
  CALL(cuGreenCtxDestroy);
  contexts_end();
  return call(context);
}

result cuDevicePrimaryCtxReset(int device) {
  CALL(cuDevicePrimaryCtxReset);
  contexts_end();
  return call(device);
}

result cuDevicePrimaryCtxReset_v2(int device) {
  CALL(cuDevicePrimaryCtxReset_v2);
  contexts_end();
  return call(device);
}

static void released(int device) {
  const struct driver* call = board() && record() ? driver() : NULL;
  unsigned flags = 0;
  int active = 1;
  if (call && call->cuDevicePrimaryCtxGetState(device, &flags, &active) == CU_SUCCESS && !active)
    end_context(NULL);
}

result cuDevicePrimaryCtxRelease(int device) {
  CALL(cuDevicePrimaryCtxRelease);
  result code = call(device);
  released(device);
  return code;
}

result cuDevicePrimaryCtxRelease_v2(int device) {
  CALL(cuDevicePrimaryCtxRelease_v2);
  result code = call(device);
  released(device);
  return code;
}
