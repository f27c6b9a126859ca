/* A CUDA driver without a GPU, for programs that find it as libcuda.so.1: it keeps count of what is
 * launched, and lets a clock of its own run by each launch.
 *
 * A kernel takes 100 µs, give or take a little; if its code is the stand-in assembler's treated
 * one, FAKE_TREATED (0.8) times that. FAKE_OCCUPANCY is how many blocks of a treated kernel fit on
 * one of the four multiprocessors (2, as of any other). FAKE_REFUSE=load or launch: no second image
 * of a kernel is taken, or it cannot be launched; events: none is made. FAKE_STUCK=1: no event
 * passes. FAKE_REUSE=1: the handle of what was unloaded is given to what is loaded next. Where the
 * real one would break a capture into a graph, it aborts. At its end a process writes what it
 * launched to FAKE_LOG: a line for each kernel and kind of code, "SYMBOL treated|untreated launches
 * captured".
 */
#include <dlfcn.h>
#include <elf.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef int result;
enum {
  kInvalid = 1,
  kNoMemory = 2,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalState = 401,
  kRefused = 209,
  kNoContext = 201
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t now_ns = 1000000, launches, events, random_state = 1;
static int context_object;
#define CONTEXT ((void*)&context_object)

static uint64_t next_random(void) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return random_state >> 33;
}

static const char* setting(const char* name, const char* otherwise) {
  const char* value = getenv(name);
  return value && *value ? value : otherwise;
}

/* --- images --- */

struct module {
  const unsigned char* image;
  size_t size;
  int is_copy;
  struct function* functions;
  struct module* next; /* unloaded */
};
struct function {
  struct module* module;
  char symbol[128];
  int treated, attributes[2][32], cache_config, limit; /* of each device */
  char kind;
  uint64_t launched, captured;
  struct function *next, *next_in_module;
};
struct stream {
  int capturing;
};
static struct module* unloaded;
static int captures;                  /* under way, each of the strictest mode */
static __thread int capture_mode = 0; /* 2: relaxed */
static __thread int device_now;       /* of two */

static void no_part_of_a_capture(const char* what) {
  if (__atomic_load_n(&captures, __ATOMIC_SEQ_CST) == 0 || capture_mode == 2) return;
  fprintf(stderr, "fake driver: %s would break a capture\n", what);
  abort();
}
struct event {
  uint64_t ns, launches;
  int recorded;
};

static struct function* functions;

static const unsigned char* section_of(const struct module* module, const char* name,
                                       size_t* size) {
  const Elf64_Ehdr* head = (const Elf64_Ehdr*)module->image;
  const Elf64_Shdr* sections = (const Elf64_Shdr*)(module->image + head->e_shoff);
  const char* names = (const char*)module->image + sections[head->e_shstrndx].sh_offset;
  for (int i = 0; i < head->e_shnum; i++) {
    if (strcmp(names + sections[i].sh_name, name) != 0) continue;
    *size = sections[i].sh_size;
    return module->image + sections[i].sh_offset;
  }
  return NULL;
}

static result load(void** out, const void* image, int library) {
  (void)library;
  static int loads;
  if (memcmp(image,
             "\x7f"
             "ELF",
             4) != 0)
    return 200;
  no_part_of_a_capture("loading");
  loads++;
  if (loads > 1 && strcmp(setting("FAKE_REFUSE", ""), "load") == 0) return kRefused;
  const Elf64_Ehdr* head = image;
  struct module* module = unloaded;
  if (module) {
    unloaded = module->next;
    memset(module, 0, sizeof *module);
  } else {
    module = calloc(1, sizeof *module);
  }
  module->size = head->e_shoff + (size_t)head->e_shnum * sizeof(Elf64_Shdr);
  const Elf64_Shdr* sections = (const Elf64_Shdr*)((const char*)image + head->e_shoff);
  for (int i = 0; i < head->e_shnum; i++)
    if (sections[i].sh_type != SHT_NOBITS &&
        sections[i].sh_offset + sections[i].sh_size > module->size)
      module->size = sections[i].sh_offset + sections[i].sh_size;
  unsigned char* copy = malloc(module->size);
  memcpy(copy, image, module->size);
  module->image = copy;
  module->is_copy = loads > 1;
  *out = module;
  return 0;
}

static result find(void** out, struct module* module, const char* symbol, char kind) {
  char name[160];
  size_t size = 0;
  snprintf(name, sizeof name, ".text.%s", symbol);
  const unsigned char* code = section_of(module, name, &size);
  if (!code) return kNotFound;
  pthread_mutex_lock(&lock);
  for (struct function* each = module->functions; each; each = each->next_in_module) {
    if (strcmp(each->symbol, symbol) != 0 || each->kind != kind) continue;
    pthread_mutex_unlock(&lock);
    *out = each;
    return 0;
  }
  struct function* function = calloc(1, sizeof *function);
  function->module = module;
  snprintf(function->symbol, sizeof function->symbol, "%s", symbol);
  function->kind = kind;
  function->limit = 48 << 10;
  function->attributes[0][8] = function->attributes[1][8] = 48 << 10;
  /* The stand-in ends treated code with "mov r7, 1". */
  const uint64_t mark = 0x7802ull | 7ull << 16 | 1ull << 32;
  for (size_t at = 0; at + 16 <= size; at += 16)
    function->treated |= memcmp(code + at, &mark, 8) == 0;
  function->next = functions;
  functions = function;
  function->next_in_module = module->functions;
  module->functions = function;
  pthread_mutex_unlock(&lock);
  *out = function;
  return 0;
}

__attribute__((destructor)) static void tell(void) {
  const char* path = getenv("FAKE_LOG");
  FILE* file = path ? fopen(path, "a") : NULL;
  if (!file) return;
  for (struct function* each = functions; each; each = each->next)
    fprintf(file, "%s %s %llu %llu shared=%d cache=%d\n", each->symbol,
            each->treated ? "treated" : "untreated", (unsigned long long)each->launched,
            (unsigned long long)each->captured, each->attributes[0][8], each->cache_config);
  fprintf(file, "events %llu\n", (unsigned long long)events);
  fclose(file);
}

/* --- what the library calls and stands before --- */

result cuInit(unsigned flags) {
  (void)flags;
  return 0;
}
result cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}
result cuDeviceGetName(char* name, int length, int device) {
  (void)device;
  snprintf(name, (size_t)length, "a stand-in");
  return 0;
}
result cuDeviceGetAttribute(int* value, int attribute, int device) {
  (void)device;
  *value = attribute == 16 ? 4 : attribute == 75 ? 9 : 0;
  return 0;
}
result cuCtxGetCurrent(void** context) {
  *context = CONTEXT;
  return 0;
}
void fakeSetDevice(int device) {
  device_now = device;
}
result cuCtxGetDevice(int* device) {
  *device = device_now;
  return 0;
}
result cuDeviceGetCount(int* count) {
  *count = 2;
  return 0;
}
result cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  (void)device;
  *flags = 0;
  *active = 1;
  return 0;
}
result cuDevicePrimaryCtxRelease_v2(int device) {
  (void)device;
  return 0;
}
result cuDevicePrimaryCtxReset_v2(int device) {
  (void)device;
  return 0;
}
result cuCtxCreate_v2(void** context, unsigned flags, int device) {
  static int another;
  (void)flags;
  (void)device;
  *context = &another; /* and popped: what is current stays so */
  return 0;
}
result cuCtxDestroy_v2(void* context) {
  (void)context;
  return 0;
}
result cuThreadExchangeStreamCaptureMode(int* mode) {
  int before = capture_mode;
  capture_mode = *mode;
  *mode = before;
  return 0;
}

result cuCtxSynchronize(void) {
  if (captures) {
    fprintf(stderr, "fake driver: waiting for everything would break a capture\n");
    abort();
  }
  return 0;
}
/* Every module has a variable, and all the same. */
result cuModuleGetGlobal_v2(unsigned long long* at, size_t* size, void* module, const char* name) {
  static uint32_t variable[64];
  (void)module;
  (void)name;
  if (at) *at = (unsigned long long)(uintptr_t)variable;
  if (size) *size = sizeof variable;
  return 0;
}
result cuGraphAddNode_v2(void** node, void* graph, const void* before, const void* edges,
                         size_t count, void* parameters) {
  (void)graph;
  (void)before;
  (void)edges;
  (void)count;
  *node = parameters;
  return 0;
}
result cuMemAlloc_v2(unsigned long long* at, size_t size) {
  *at = (unsigned long long)(uintptr_t)calloc(1, size);
  return 0;
}
result cuMemFree_v2(unsigned long long at) {
  free((void*)(uintptr_t)at);
  return 0;
}
result cuMemHostAlloc(void** at, size_t size, unsigned flags) {
  (void)flags;
  *at = calloc(1, size);
  return 0;
}
result cuMemcpyDtoH_v2(void* to, unsigned long long from, size_t size) {
  memcpy(to, (void*)(uintptr_t)from, size);
  return 0;
}
result cuMemcpyHtoD_v2(unsigned long long to, const void* from, size_t size) {
  memcpy((void*)(uintptr_t)to, from, size);
  return 0;
}

result cuModuleLoad(void** module, const char* file) {
  (void)module;
  (void)file;
  return kNotFound;
}
result cuModuleLoadData(void** module, const void* image) {
  return load(module, image, 0);
}
result cuModuleLoadDataEx(void** module, const void* image, unsigned n, int* options,
                          void** values) {
  (void)n;
  (void)options;
  (void)values;
  return load(module, image, 0);
}
result cuModuleLoadFatBinary(void** module, const void* image) {
  return load(module, image, 0);
}
result cuModuleUnload(void* handle) {
  struct module* module = handle;
  if (!*setting("FAKE_REUSE", "")) return 0;
  module->next = unloaded;
  unloaded = module;
  return 0;
}
result cuModuleGetFunction(void** function, void* module, const char* name) {
  return find(function, module, name, 'f');
}
result cuLibraryLoadData(void** library, const void* image, int* a, void** b, unsigned c, int* d,
                         void** e, unsigned f) {
  (void)a;
  (void)b;
  (void)c;
  (void)d;
  (void)e;
  (void)f;
  return load(library, image, 1);
}
result cuLibraryLoadFromFile(void** library, const char* file, int* a, void** b, unsigned c, int* d,
                             void** e, unsigned f) {
  (void)library;
  (void)file;
  (void)a;
  (void)b;
  (void)c;
  (void)d;
  (void)e;
  (void)f;
  return kNotFound;
}
result cuLibraryUnload(void* library) {
  return cuModuleUnload(library);
}
result cuLibraryGetKernel(void** kernel, void* library, const char* name) {
  return find(kernel, library, name, 'k');
}
result cuLibraryGetModule(void** module, void* library) {
  *module = library;
  return 0;
}
result cuKernelGetFunction(void** function, void* kernel) {
  struct function* known = kernel;
  return find(function, known->module, known->symbol, 'f');
}
result cuKernelGetAttribute(int* value, int attribute, void* kernel, int device) {
  *value = ((struct function*)kernel)->attributes[device][attribute & 31];
  return 0;
}
result cuFuncGetAttribute(int* value, int attribute, void* function) {
  return cuKernelGetAttribute(value, attribute, function, device_now);
}
result cuFuncSetAttribute(void* function, int attribute, int value) {
  ((struct function*)function)->attributes[device_now][attribute & 31] = value;
  return 0;
}
/* A kernel's is that of its function, too. */
result cuKernelSetAttribute(int attribute, int value, void* kernel, int device) {
  void* function = NULL;
  cuKernelGetFunction(&function, kernel);
  ((struct function*)function)->attributes[device][attribute & 31] = value;
  ((struct function*)kernel)->attributes[device][attribute & 31] = value;
  return 0;
}
result cuFuncSetCacheConfig(void* function, int config) {
  ((struct function*)function)->cache_config = config;
  return 0;
}
/* What a later driver might have. */
result cuFuncSetCacheConfig_v2(int config, void* function) {
  return cuFuncSetCacheConfig(function, config);
}
result cuKernelSetCacheConfig(void* kernel, int config, int device) {
  (void)device;
  return cuFuncSetCacheConfig(kernel, config);
}
result cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void* function, int threads,
                                                   size_t shared) {
  no_part_of_a_capture("loading what is asked for");
  (void)threads;
  struct function* known = function;
  if (shared > (size_t)known->attributes[device_now][8]) return kInvalid;
  *blocks = known->treated ? atoi(setting("FAKE_OCCUPANCY", "2")) : 2;
  return 0;
}

/* The kernel counts its runs in the first word and writes into the second; FAKE_RESULT=differs: a
 * treated one writes something else; varies: no two runs write the same. */
static void compute(const struct function* function, void** arguments) {
  if (!arguments) return;
  uint32_t* words = *(uint32_t**)arguments[0];
  const char* how = setting("FAKE_RESULT", "");
  words[0]++;
  words[1] = 7 + (uint32_t)(function->treated && strcmp(how, "differs") == 0);
  if (strcmp(how, "varies") == 0) words[1] = (uint32_t)next_random();
}

static result launch(void* handle, unsigned blocks, unsigned shared, void* stream,
                     void** arguments) {
  struct function* function = handle;
  struct stream* on = stream;
  pthread_mutex_lock(&lock);
  int refused = (function->module->is_copy && strcmp(setting("FAKE_REFUSE", ""), "launch") == 0) ||
                shared > (unsigned)function->attributes[device_now][8] || blocks == 0;
  if (!refused) {
    double factor = function->treated ? atof(setting("FAKE_TREATED", "0.8")) : 1;
    double jitter = 0.998 + 0.004 * (double)(next_random() % 1000) / 1000;
    launches++;
    /* A device that has run empty waits for the host, after the event that stands before the
     * launch. */
    static uint64_t last;
    struct timespec real;
    clock_gettime(CLOCK_MONOTONIC, &real);
    uint64_t host = (uint64_t)real.tv_sec * 1000000000u + (uint64_t)real.tv_nsec;
    if (last && host - last > 3000000) now_ns += (uint64_t)(1000 * atof(setting("FAKE_IDLE", "0")));
    last = host;
    if (on && on->capturing) {
      function->captured++;
    } else {
      function->launched++;
      now_ns += (uint64_t)(100000 * factor * jitter);
      compute(function, arguments);
    }
  }
  pthread_mutex_unlock(&lock);
  return refused ? kInvalid : 0;
}

result cuLaunchKernel(void* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                      unsigned bz, unsigned shared, void* stream, void** arguments, void** extra) {
  (void)gy;
  (void)gz;
  (void)bx;
  (void)by;
  (void)bz;

  (void)extra;
  return launch(f, gx, shared, stream, arguments);
}
result cuLaunchKernel_ptsz(void* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                           unsigned bz, unsigned shared, void* stream, void** arguments,
                           void** extra) {
  (void)gy;
  (void)gz;
  (void)bx;
  (void)by;
  (void)bz;

  (void)extra;
  return launch(f, gx, shared, stream, arguments);
}
struct config {
  unsigned grid[3], block[3], shared;
  void* stream;
  void* attributes;
  unsigned count;
};
result cuLaunchKernelEx(const struct config* config, void* f, void** arguments, void** extra) {
  (void)extra;
  return launch(f, config->grid[0], config->shared, config->stream, arguments);
}
result cuLaunchKernelEx_ptsz(const struct config* config, void* f, void** arguments, void** extra) {
  (void)extra;
  return launch(f, config->grid[0], config->shared, config->stream, arguments);
}
result cuLaunchCooperativeKernel(void* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                 unsigned by, unsigned bz, unsigned shared, void* stream,
                                 void** arguments) {
  (void)gy;
  (void)gz;
  (void)bx;
  (void)by;
  (void)bz;

  return launch(f, gx, shared, stream, arguments);
}
result cuLaunchCooperativeKernel_ptsz(void* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                      unsigned by, unsigned bz, unsigned shared, void* stream,
                                      void** arguments) {
  (void)gy;
  (void)gz;
  (void)bx;
  (void)by;
  (void)bz;

  return launch(f, gx, shared, stream, arguments);
}

result cuStreamCreate(void** stream, unsigned flags) {
  (void)flags;
  *stream = calloc(1, sizeof(struct stream));
  return 0;
}
result cuStreamIsCapturing(void* stream, int* status) {
  *status = stream && ((struct stream*)stream)->capturing;
  return 0;
}
result cuStreamIsCapturing_ptsz(void* stream, int* status) {
  return cuStreamIsCapturing(stream, status);
}
result cuStreamBeginCapture_v2(void* stream, int mode) {
  (void)mode;
  ((struct stream*)stream)->capturing = 1;
  __atomic_fetch_add(&captures, 1, __ATOMIC_SEQ_CST);
  return 0;
}
result cuStreamBeginCapture(void* stream) {
  return cuStreamBeginCapture_v2(stream, 0);
}
result cuStreamBeginCapture_v2_ptsz(void* stream, int mode) {
  return cuStreamBeginCapture_v2(stream, mode);
}
result cuStreamEndCapture(void* stream, void** graph) {
  if (!stream || !((struct stream*)stream)->capturing) return kIllegalState;
  ((struct stream*)stream)->capturing = 0;
  __atomic_fetch_sub(&captures, 1, __ATOMIC_SEQ_CST);
  *graph = stream;
  return 0;
}
result cuStreamEndCapture_ptsz(void* stream, void** graph) {
  return cuStreamEndCapture(stream, graph);
}

/* An event has passed once two more launches were made. */
result cuEventCreate(void** event, unsigned flags) {
  (void)flags;
  no_part_of_a_capture("making an event");
  if (strcmp(setting("FAKE_REFUSE", ""), "events") == 0) return kNoMemory;
  events++;
  *event = calloc(1, sizeof(struct event));
  return 0;
}
result cuEventRecord(void* event, void* stream) {
  struct event* mine = event;
  if (stream && ((struct stream*)stream)->capturing) {
    fprintf(stderr, "fake driver: an event is recorded into a capture\n");
    abort();
  }
  pthread_mutex_lock(&lock);
  mine->ns = now_ns;
  mine->launches = launches;
  mine->recorded = 1;
  pthread_mutex_unlock(&lock);
  return 0;
}
result cuEventRecord_ptsz(void* event, void* stream) {
  return cuEventRecord(event, stream);
}
result cuEventQuery(void* event) {
  no_part_of_a_capture("asking an event");
  pthread_mutex_lock(&lock);
  int passed = !*setting("FAKE_STUCK", "") && launches >= ((struct event*)event)->launches + 2;
  pthread_mutex_unlock(&lock);
  return passed ? 0 : kNotReady;
}
result cuEventElapsedTime(float* milliseconds, void* begin, void* end) {
  *milliseconds = (float)((double)(((struct event*)end)->ns - ((struct event*)begin)->ns) / 1e6);
  return 0;
}

/* --- the other door --- */

static void* exported(const char* symbol, int version, uint64_t flags) {
  static void* self;
  char name[96];
  if (!self) {
    Dl_info info;
    dladdr((void*)cuInit, &info);
    self = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  }
  static const char* const second[] = {"cuStreamBeginCapture",
                                       "cuCtxDestroy",
                                       "cuDevicePrimaryCtxReset",
                                       "cuDevicePrimaryCtxRelease",
                                       "cuGetProcAddress",
                                       "cuMemAlloc",
                                       "cuMemFree",
                                       "cuModuleGetGlobal",
                                       "cuGraphAddNode"};
  snprintf(name, sizeof name, "%s", symbol);
  for (size_t i = 0; i < sizeof second / sizeof *second; i++)
    if (strcmp(symbol, second[i]) == 0 && version >= 12000) strcat(name, "_v2");
  if (strcmp(symbol, "cuFuncSetCacheConfig") == 0 && version >= 14000) strcat(name, "_v2");
  size_t length = strlen(name);
  if (flags & 2) strcat(name, "_ptsz");
  void* found = dlsym(self, name);
  name[length] = 0;
  return found ? found : dlsym(self, name);
}
result cuGetProcAddress_v2(const char* symbol, void** function, int version, uint64_t flags,
                           int* status) {
  *function = exported(symbol, version, flags);
  if (status) *status = *function ? 0 : 1;
  return *function ? 0 : kNotFound;
}
result cuGetProcAddress(const char* symbol, void** function, int version, uint64_t flags) {
  return cuGetProcAddress_v2(symbol, function, version, flags, NULL);
}
