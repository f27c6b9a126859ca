/* An application for the tests: it has a kernel assembled, loads it and launches it again and
 * again.
 *
 *   application DOOR HOLDING [key=value …]
 *
 * DOOR: how it reaches the driver: dlsym, procaddress, ptsz (by procaddress, the thread's stream),
 * linked (by the handle of the main program, as a linked symbol is found). HOLDING: module, library
 * (kernels launched as such), kernelfunction, librarymodule. Keys: ptxas=FILE ptx=FILE arch=sm_90
 * options=… symbol=NAME launches=N milliseconds=N (at least so long, in real time) grid=N shared=N
 * capture=N cooperative=N threads=N ex=1 unload=N (load anew after so many launches) cache=N
 * sleep=N (µs between launches) burst=N (launches between two sleeps) memory=N (bytes, which the
 * kernel gets) variable=1 (a variable's instead) beside=capture (another thread captures meanwhile)
 * then=WHAT (a step of its own, and the launches once more). */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int argument_count;
static char** words;
static const char* get(const char* key, const char* otherwise) {
  size_t length = strlen(key);
  for (int i = 3; i < argument_count; i++)
    if (strncmp(words[i], key, length) == 0 && words[i][length] == '=')
      return words[i] + length + 1;
  return otherwise;
}
static long number(const char* key, long otherwise) {
  const char* text = get(key, NULL);
  return text ? atol(text) : otherwise;
}

static void* library;
static int (*procaddress)(const char*, void**, int, uint64_t, int*);

static void* entry(const char* symbol) {
  const char* door = words[1];
  void* found = NULL;
  if (strcmp(door, "dlsym") == 0 || strcmp(door, "linked") == 0) {
    char name[80];
    static const char* const second[] = {"cuStreamBeginCapture", "cuCtxDestroy",
                                         "cuModuleGetGlobal", "cuGraphAddNode"};
    snprintf(name, sizeof name, "%s", symbol);
    for (int i = 0; i < 4; i++)
      if (strcmp(symbol, second[i]) == 0) strcat(name, "_v2");
    return dlsym(strcmp(door, "linked") == 0 ? dlopen(NULL, RTLD_LAZY) : library, name);
  }
  if (!procaddress) {
    /* As the runtime does it: the function asks for itself. */
    int (*first)(const char*, void**, int, uint64_t, int*) = dlsym(library, "cuGetProcAddress_v2");
    void* again = NULL;
    first("cuGetProcAddress", &again, 12000, 0, NULL);
    procaddress = again;
  }
  procaddress(symbol, &found, 13000, strcmp(door, "ptsz") == 0 ? 2 : 0, NULL);
  return found;
}

#define NEED(name, type)                      \
  __typeof__(type) name = (type)entry(#name); \
  if (!name) {                                \
    fprintf(stderr, "no %s\n", #name);        \
    exit(3);                                  \
  }

static char* read_all(const char* path) {
  FILE* file = fopen(path, "rb");
  if (!file) return NULL;
  char* text = calloc(1, 1 << 20);
  if (fread(text, 1, (1 << 20) - 1, file) == 0) return NULL;
  fclose(file);
  return text;
}

static double seconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

struct attribute {
  int id;
  char pad[4];
  char value[64];
};
struct config {
  unsigned grid[3], block[3], shared;
  void* stream;
  struct attribute* attributes;
  unsigned count;
};

static void *function, *module, *kernel;
static uint32_t* memory; /* the device's, which here is the host's */
static unsigned grid, shared;
typedef int launch_t(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                     void*, void**, void**);
typedef int launch_ex_t(const struct config*, void*, void**, void**);
static launch_t* launch_kernel;
static launch_ex_t* launch_ex;

static int launch(void* stream) {
  void* arguments[] = {&memory};
  void** given = memory ? arguments : NULL;
  if (!number("ex", 0))
    return launch_kernel(function, grid, 1, 1, 256, 1, 1, shared, stream, given, NULL);
  struct config config = {{grid, 1, 1}, {256, 1, 1}, shared, stream, NULL, 0};
  return launch_ex(&config, function, given, NULL);
}

static void load(const char* file) {
  char* image = read_all(file);
  const char* symbol = get("symbol", "kernel");
  if (!image) exit(4);
  int code;
  if (strcmp(words[2], "module") == 0) {
    NEED(cuModuleLoadData, int (*)(void**, const void*));
    NEED(cuModuleGetFunction, int (*)(void**, void*, const char*));
    code = cuModuleLoadData(&module, image) || cuModuleGetFunction(&function, module, symbol);
  } else {
    NEED(cuLibraryLoadData,
         int (*)(void**, const void*, int*, void**, unsigned, int*, void**, unsigned));
    NEED(cuLibraryGetKernel, int (*)(void**, void*, const char*));
    NEED(cuKernelGetFunction, int (*)(void**, void*));
    NEED(cuLibraryGetModule, int (*)(void**, void*));
    NEED(cuModuleGetFunction, int (*)(void**, void*, const char*));
    code = cuLibraryLoadData(&module, image, NULL, NULL, 0, NULL, NULL, 0);
    if (strcmp(words[2], "librarymodule") == 0) {
      void* inner = NULL;
      code = code || cuLibraryGetModule(&inner, module) ||
             cuModuleGetFunction(&function, inner, symbol);
    } else {
      code = code || cuLibraryGetKernel(&function, module, symbol);
      kernel = function;
      if (strcmp(words[2], "kernelfunction") == 0)
        code = code || cuKernelGetFunction(&function, function);
    }
  }
  free(image);
  if (code) exit(5);
}

static void* launch_many(void* count) {
  double end = seconds() + 1e-3 * (double)number("milliseconds", 0);
  long sleep = number("sleep", 0), burst = number("burst", 1);
  for (long i = 0; i < (long)(intptr_t)count || seconds() < end; i++) {
    if (launch(NULL) != 0) exit(6);
    if (sleep && i % burst == burst - 1) usleep((useconds_t)sleep);
  }
  return NULL;
}

/* Until the tool has answered for the image, however busy the machine is; as a program that runs
 * for long does by itself. The answers' number stands in the board (live/protocol.h). */
static void wait_for_answer(void) {
  const char* folder = getenv("NAMESAKE_LIVE");
  char path[512];
  if (!folder) return;
  snprintf(path, sizeof path, "%s/live/board", folder);
  for (double end = seconds() + 20; seconds() < end; usleep(2000)) {
    uint32_t words[4] = {0};
    FILE* file = fopen(path, "rb");
    size_t got = file ? fread(words, sizeof words, 1, file) : 0;
    if (file) fclose(file);
    if (!got || words[3]) return;
  }
}

/* Captures into graphs, one after the other, until the program ends. */
static void* capture_on(void* unused) {
  NEED(cuStreamBeginCapture, int (*)(void*, int));
  NEED(cuStreamEndCapture, int (*)(void*, void**));
  int (*create)(void**, unsigned) = dlsym(library, "cuStreamCreate");
  void *stream = NULL, *graph = NULL;
  create(&stream, 0);
  for (;;) {
    if (cuStreamBeginCapture(stream, 0) != 0 || launch(stream) != 0) exit(7);
    usleep(20000);
    if (cuStreamEndCapture(stream, &graph) != 0) exit(7);
  }
  return unused;
}

/* What happens between two rounds of launches. */
static void step(const char* what, char** argv) {
  if (strcmp(what, "context") == 0) {
    NEED(cuCtxDestroy, int (*)(void*));
    int (*create)(void**, unsigned, int) = dlsym(library, "cuCtxCreate_v2");
    void* another = NULL;
    create(&another, 0, 0);
    cuCtxDestroy(another);
  } else if (strcmp(what, "kernelattribute") == 0) {
    NEED(cuKernelSetAttribute, int (*)(int, int, void*, int));
    shared = 65536;
    cuKernelSetAttribute(8, (int)shared, kernel, 0);
  } else if (strcmp(what, "invalid") == 0) {
    unsigned before = grid;
    grid = 0;
    for (int i = 0; i < 8; i++)
      if (launch(NULL) == 0) exit(9);
    grid = before;
  } else if (strcmp(what, "second") == 0) {
    NEED(cuLibraryUnload, int (*)(void*));
    cuLibraryUnload(module);
    load("second.cubin");
  } else if (strcmp(what, "device") == 0) {
    void (*set)(int) = dlsym(library, "fakeSetDevice");
    set(1);
  } else if (strcmp(what, "newer") == 0) {
    int (*set)(int, void*) = NULL;
    procaddress("cuFuncSetCacheConfig", (void**)&set, 14000, 0, NULL);
    set(2, function);
  } else if (strcmp(what, "node") == 0) {
    NEED(cuGraphAddNode, int (*)(void**, void*, void*, void*, size_t, void*));
    int allocation = 10;
    void* node = NULL;
    cuGraphAddNode(&node, NULL, NULL, NULL, 0, &allocation);
  } else if (strcmp(what, "execute") == 0) {
    char* words_again[40] = {0};
    int count = 0;
    for (int i = 0; argv[i] && count < 39; i++)
      if (strncmp(argv[i], "then=", 5) != 0) words_again[count++] = argv[i];
    execv("/proc/self/exe", words_again);
  } else if (strcmp(what, "fork") == 0) {
    pid_t child = fork();
    for (int i = 0; child == 0 && i < 100; i++) launch(NULL);
    if (child == 0) _exit(0);
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) exit(9);
  } else if (strcmp(what, "killservice") == 0) { /* the tool's other child */
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", getppid(), getppid());
    FILE* file = fopen(path, "r");
    int child;
    while (file && fscanf(file, "%d", &child) == 1)
      if (child != getpid()) kill(child, SIGKILL);
    if (file) fclose(file);
  } else if (strcmp(what, "killtool") == 0) {
    kill(getppid(), SIGKILL);
  } else if (strcmp(what, "strayend") == 0) {
    NEED(cuStreamBeginCapture, int (*)(void*, int));
    NEED(cuStreamEndCapture, int (*)(void*, void**));
    int (*create)(void**, unsigned) = dlsym(library, "cuStreamCreate");
    void *captured = NULL, *other = NULL, *graph = NULL;
    create(&captured, 0);
    create(&other, 0);
    cuStreamBeginCapture(captured, 0);
    if (cuStreamEndCapture(other, &graph) == 0) exit(9);
    for (int i = 0; i < 20; i++) launch(NULL);
    cuStreamEndCapture(captured, &graph);
  }
}

int main(int argc, char** argv) {
  argument_count = argc;
  words = argv;
  char command[4096];
  if (get("ptxas", NULL)) {
    snprintf(command, sizeof command, "%s -arch=%s %s %s -o kernel.cubin", get("ptxas", ""),
             get("arch", "sm_90"), get("options", ""), get("ptx", "kernel.ptx"));
    if (system(command) != 0) return 2;
  }
  library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) return 3;
  grid = (unsigned)number("grid", 64);
  shared = (unsigned)number("shared", 0);
  NEED(cuLaunchKernel, launch_t*);
  NEED(cuLaunchKernelEx, launch_ex_t*);
  launch_kernel = cuLaunchKernel;
  launch_ex = cuLaunchKernelEx;
  if (number("memory", 0)) {
    int (*allocate)(void*, size_t) =
        entry(strcmp(words[1], "procaddress") == 0 ? "cuMemAlloc" : "cuMemAlloc_v2");
    allocate(&memory, (size_t)number("memory", 0));
  }
  if (number("pinned", 0)) {
    void* pinned = NULL;
    int (*allocate)(void**, size_t, unsigned) = entry("cuMemHostAlloc");
    allocate(&pinned, 4096, 0);
  }
  load("kernel.cubin");
  wait_for_answer();
  if (number("variable", 0)) {
    NEED(cuModuleGetGlobal, int (*)(void*, size_t*, void*, const char*));
    cuModuleGetGlobal(&memory, NULL, module, "table");
  }
  if (strcmp(get("beside", ""), "capture") == 0) {
    pthread_t beside;
    pthread_create(&beside, NULL, capture_on, NULL);
  }
  if (shared) {
    NEED(cuFuncSetAttribute, int (*)(void*, int, int));
    NEED(cuKernelSetAttribute, int (*)(int, int, void*, int));
    if (strcmp(words[2], "library") == 0) {
      cuKernelSetAttribute(8, (int)shared, function, 0);
      cuKernelSetAttribute(8, (int)shared, function, 1);
    } else {
      cuFuncSetAttribute(function, 8, (int)shared);
    }
  }
  if (number("cache", 0)) {
    NEED(cuFuncSetCacheConfig, int (*)(void*, int));
    cuFuncSetCacheConfig(function, (int)number("cache", 0));
  }
  long count = number("launches", 1000), threads = number("threads", 1),
       unload = number("unload", 0);
  if (unload) {
    NEED(cuModuleUnload, int (*)(void*));
    for (long done = 0; done < count; done += unload) {
      launch_many((void*)(intptr_t)unload);
      cuModuleUnload(module);
      load("kernel.cubin");
    }
  } else if (threads > 1) {
    pthread_t all[16];
    for (long i = 0; i < threads; i++)
      pthread_create(&all[i], NULL, launch_many, (void*)(intptr_t)(count / threads));
    for (long i = 0; i < threads; i++) pthread_join(all[i], NULL);
  } else {
    launch_many((void*)(intptr_t)count);
  }
  if (get("then", NULL)) {
    step(get("then", ""), argv);
    launch_many((void*)(intptr_t)count);
  }
  if (number("capture", 0)) {
    NEED(cuStreamBeginCapture, int (*)(void*, int));
    NEED(cuStreamEndCapture, int (*)(void*, void**));
    int (*create)(void**, unsigned) = dlsym(library, "cuStreamCreate");
    void *stream = NULL, *graph = NULL;
    create(&stream, 0);
    cuStreamBeginCapture(stream, 0);
    for (long i = 0; i < number("capture", 0); i++)
      if (launch(stream) != 0) return 7;
    cuStreamEndCapture(stream, &graph);
  }
  if (number("cooperative", 0)) {
    NEED(cuLaunchCooperativeKernel, int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned,
                                            unsigned, unsigned, void*, void**));
    for (long i = 0; i < number("cooperative", 0); i++)
      cuLaunchCooperativeKernel(function, grid, 1, 1, 256, 1, 1, shared, NULL, NULL);
  }
  if (memory) printf("runs %u\n", memory[0]);
  fflush(stdout);
  if (number("descriptors", 0)) {
    snprintf(command, sizeof command, "ls /proc/%d/fd | wc -l; grep VmRSS /proc/%d/status",
             getpid(), getpid());
    if (system(command) != 0) return 8;
  }
  if (number("signal", 0)) raise((int)number("signal", 0));
  return (int)number("status", 0);
}
