/* Do both builds compute the same, on the application's own data?
 *
 * Which memory a kernel reads and writes is not known: pointers lie in structs and in memory. So
 * all device memory that the application holds is saved; b runs, and what it left is kept;
 * everything is put back, a runs, and the two results are compared byte for byte. What a left
 * stays, so the application goes on as if a had run once. Where they differ, a runs once more on
 * the same memory: a kernel that is not repeatable in itself cannot be compared.
 *
 * That is sound only where all memory can be saved and nobody else writes to it meanwhile. So it
 * is not done where the application has pinned, managed or mapped host memory, memory of other
 * processes, arrays or mapped address ranges; where launches or allocations come from several
 * threads, or memory lies in several contexts; while a graph is captured; beyond the bytes allowed;
 * and for kernels that the tool's answer excludes (they print, allocate or launch). The report says
 * what kept it from comparing.
 *
 * The cost: the whole memory goes over the bus four times and the device is idle around it. It is
 * for a few launches: the first, the tenth, the hundredth … of each kernel.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "live/live.h"

enum { kRanges = 1 << 14, kChunk = 8 << 20 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct range {
  address at;
  size_t size;
} ranges[kRanges];
static unsigned range_count;
static uint64_t total;
static int exotic;               /* some memory cannot be saved */
static handle context_of_memory; /* of all of it */
static pthread_t driving;        /* the thread that does all */
static int driven, several;

static int wanted(void) {
  return board() && board()->check_launches;
}

/* With the lock held. */
static void note_thread(void) {
  if (!driven) {
    driving = pthread_self();
    driven = 1;
  } else if (!pthread_equal(driving, pthread_self())) {
    several = 1;
  }
}

static void allocated(address at, size_t size) {
  const struct driver* call = driver();
  handle context = NULL;
  if (!wanted() || !call || call->cuCtxGetCurrent(&context) != CU_SUCCESS) return;
  pthread_mutex_lock(&lock);
  note_thread();
  if (!context_of_memory) context_of_memory = context;
  if (context != context_of_memory || range_count == kRanges) {
    exotic = 1;
  } else {
    ranges[range_count++] = (struct range){at, size};
    total += size;
  }
  pthread_mutex_unlock(&lock);
}

/* A module's variable, which no kernel of a pair uses by its name; but its address may be given to
 * one. */
static void told(address at, size_t size) {
  int known = 0;
  pthread_mutex_lock(&lock);
  for (unsigned i = 0; i < range_count; i++) known |= ranges[i].at == at;
  pthread_mutex_unlock(&lock);
  if (!known && at && size) allocated(at, size);
}

static void freed(address at) {
  if (!wanted()) return;
  pthread_mutex_lock(&lock);
  note_thread();
  for (unsigned i = 0; i < range_count; i++) {
    if (ranges[i].at != at) continue;
    total -= ranges[i].size;
    ranges[i] = ranges[--range_count];
    break;
  }
  pthread_mutex_unlock(&lock);
}

static void cannot_be_saved(void) {
  __atomic_store_n(&exotic, 1, __ATOMIC_RELAXED);
}

/* --- comparing --- */

static int copy_out(char* to) {
  for (unsigned i = 0; i < range_count; i++) {
    if (driver()->cuMemcpyDtoH_v2(to, ranges[i].at, ranges[i].size) != CU_SUCCESS) return 0;
    to += ranges[i].size;
  }
  return 1;
}

static int copy_in(const char* from) {
  for (unsigned i = 0; i < range_count; i++) {
    if (driver()->cuMemcpyHtoD_v2(ranges[i].at, from, ranges[i].size) != CU_SUCCESS) return 0;
    from += ranges[i].size;
  }
  /* A copy from pageable memory may return before it has arrived, and the launch that follows may
   * be on a stream that does not wait for it. */
  return driver()->cuCtxSynchronize() == CU_SUCCESS;
}

/* Compares what is on the device with `kept`, and keeps it there instead. -1: a copy failed. */
static int differs(char* kept, char* chunk) {
  int result = 0;
  for (unsigned i = 0; i < range_count; i++) {
    for (size_t done = 0; done < ranges[i].size; done += kChunk) {
      size_t size = ranges[i].size - done < kChunk ? ranges[i].size - done : kChunk;
      if (driver()->cuMemcpyDtoH_v2(chunk, ranges[i].at + done, size) != CU_SUCCESS) return -1;
      result |= memcmp(chunk, kept, size) != 0;
      memcpy(kept, chunk, size);
      kept += size;
    }
  }
  return result;
}

static int run(const struct launch* launch, handle build) {
  result code = launch->issue(launch, build);
  return code == CU_SUCCESS ? driver()->cuCtxSynchronize() : code;
}

static void* room(size_t size) {
  void* memory =
      mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

enum outcome { kNotRun, kEqual, kDiffer, kUnrepeatable, kBroken };

/* With the lock held. After kNotRun memory is as before; else a has run once. */
static enum outcome compare(const struct function* function, const struct launch* launch,
                            char* saved, char* kept, char* chunk) {
  if (driver()->cuCtxSynchronize() != CU_SUCCESS || !copy_out(saved)) return kNotRun;
  if (run(launch, function->build[1]) != CU_SUCCESS || !copy_out(kept))
    return copy_in(saved) ? kNotRun : kBroken;
  if (!copy_in(saved) || run(launch, function->build[0]) != CU_SUCCESS) return kBroken;
  int different = differs(kept, chunk);
  if (different <= 0) return different ? kBroken : kEqual;
  if (!copy_in(saved) || run(launch, function->build[0]) != CU_SUCCESS) return kBroken;
  different = differs(kept, chunk);
  return different < 0 ? kBroken : different ? kUnrepeatable : kDiffer;
}

static uint32_t obstacle(const struct function* function, const struct launch* launch) {
  handle context = NULL;
  if (capturing()) return NS_CHECK_CAPTURING;
  if (several) return NS_CHECK_THREADS;
  if (!function->may_check) return NS_CHECK_EFFECTS;
  if (exotic || launch->programmatic || driver()->cuCtxGetCurrent(&context) != CU_SUCCESS ||
      (context_of_memory && context != context_of_memory))
    return NS_CHECK_EXOTIC;
  return total > board()->check_bytes ? NS_CHECK_LARGE : 0;
}

void launched_by_this_thread(void) {
  if (!wanted()) return;
  pthread_mutex_lock(&lock);
  note_thread();
  pthread_mutex_unlock(&lock);
}

int check_due(struct function* function) {
  if (!function->checks_left || ++function->seen < function->next_check) return 0;
  function->next_check *= 10;
  return 1;
}

int check_launch(struct function* function, const struct launch* launch, result* code) {
  struct ns_live_kernel* entry = record_of(function);
  function->checks_left--;
  pthread_mutex_lock(&lock);
  enum outcome outcome = kNotRun;
  uint32_t why = obstacle(function, launch);
  if (!why) {
    char *saved = room(total + 1), *kept = room(total + 1), *chunk = room(kChunk);
    if (saved && kept && chunk) outcome = compare(function, launch, saved, kept, chunk);
    if (saved) munmap(saved, total + 1);
    if (kept) munmap(kept, total + 1);
    if (chunk) munmap(chunk, kChunk);
    if (outcome == kNotRun || outcome == kBroken) why = NS_CHECK_FAILED;
  }
  pthread_mutex_unlock(&lock);
  if (why) {
    entry->unchecked++;
    entry->why_unchecked = why;
    function->checks_left = 0;
  } else {
    entry->checked++;
    entry->differing += outcome == kDiffer;
    entry->unrepeatable += outcome == kUnrepeatable;
  }
  *code = outcome == kBroken ? CU_LAUNCH_FAILED : CU_SUCCESS;
  return outcome != kNotRun;
}

/* --- what stands before the driver's memory --- */

result cuMemAlloc_v2(address* at, size_t size) {
  CALL(cuMemAlloc_v2);
  result code = call(at, size);
  if (code == CU_SUCCESS) allocated(*at, size);
  return code;
}

result cuMemAllocPitch_v2(address* at, size_t* pitch, size_t width, size_t height,
                          unsigned element) {
  CALL(cuMemAllocPitch_v2);
  result code = call(at, pitch, width, height, element);
  if (code == CU_SUCCESS) allocated(*at, *pitch * height);
  return code;
}

result cuMemFree_v2(address at) {
  CALL(cuMemFree_v2);
  freed(at);
  return call(at);
}

result cuMemAllocAsync(address* at, size_t size, handle stream) {
  CALL(cuMemAllocAsync);
  result code = call(at, size, stream);
  if (code == CU_SUCCESS) allocated(*at, size);
  return code;
}

result cuMemAllocAsync_ptsz(address* at, size_t size, handle stream) {
  CALL(cuMemAllocAsync_ptsz);
  result code = call(at, size, stream);
  if (code == CU_SUCCESS) allocated(*at, size);
  return code;
}

result cuMemFreeAsync(address at, handle stream) {
  CALL(cuMemFreeAsync);
  freed(at);
  return call(at, stream);
}

result cuMemFreeAsync_ptsz(address at, handle stream) {
  CALL(cuMemFreeAsync_ptsz);
  freed(at);
  return call(at, stream);
}

#define VARIABLE(name, holder)                                                        \
  result name(address* at, size_t* size, handle holder, const char* symbol) {         \
    CALL(name);                                                                       \
    address where = 0;                                                                \
    size_t bytes = 0;                                                                 \
    result code = call(at ? at : &where, size ? size : &bytes, holder, symbol);       \
    if (code == CU_SUCCESS && wanted()) told(at ? *at : where, size ? *size : bytes); \
    return code;                                                                      \
  }
VARIABLE(cuModuleGetGlobal_v2, module)
VARIABLE(cuLibraryGetGlobal, library)

/* A graph's own memory is not seen: it comes and goes with launches of the graph. */
static void node_added(const void* parameters) {
  enum { kAllocation = 10 };
  if (parameters && *(const int*)parameters == kAllocation) cannot_be_saved();
}

result cuGraphAddNode(handle* node, handle graph, const handle* before, size_t count,
                      void* parameters) {
  CALL(cuGraphAddNode);
  node_added(parameters);
  return call(node, graph, before, count, parameters);
}

result cuGraphAddNode_v2(handle* node, handle graph, const handle* before, const void* edges,
                         size_t count, void* parameters) {
  CALL(cuGraphAddNode_v2);
  node_added(parameters);
  return call(node, graph, before, edges, count, parameters);
}

/* Memory that is not the device's alone, or that lies where no copy of ours reaches. */
#define EXOTIC(name, parameters, arguments) \
  result name parameters {                  \
    CALL(name);                             \
    cannot_be_saved();                      \
    return call arguments;                  \
  }
EXOTIC(cuMemAllocFromPoolAsync, (address * at, size_t size, handle pool, handle stream),
       (at, size, pool, stream))
EXOTIC(cuMemAllocFromPoolAsync_ptsz, (address * at, size_t size, handle pool, handle stream),
       (at, size, pool, stream))
EXOTIC(cuMemAllocManaged, (address * at, size_t size, unsigned flags), (at, size, flags))
EXOTIC(cuMemHostAlloc, (void** at, size_t size, unsigned flags), (at, size, flags))
EXOTIC(cuMemAllocHost_v2, (void** at, size_t size), (at, size))
EXOTIC(cuMemHostRegister_v2, (void* at, size_t size, unsigned flags), (at, size, flags))
EXOTIC(cuMemMap, (address at, size_t size, size_t offset, uint64_t memory, uint64_t flags),
       (at, size, offset, memory, flags))
EXOTIC(cuIpcOpenMemHandle_v2, (address * at, struct memory_handle memory, unsigned flags),
       (at, memory, flags))
EXOTIC(cuImportExternalMemory, (handle * memory, const void* description), (memory, description))
EXOTIC(cuMemPoolImportPointer, (address * at, handle pool, void* data), (at, pool, data))
EXOTIC(cuGraphicsMapResources, (unsigned count, handle* resources, handle stream),
       (count, resources, stream))
EXOTIC(cuGraphicsMapResources_ptsz, (unsigned count, handle* resources, handle stream),
       (count, resources, stream))
EXOTIC(cuLibraryGetManaged, (address * at, size_t* size, handle library, const char* name),
       (at, size, library, name))
EXOTIC(cuGraphAddMemAllocNode,
       (handle * node, handle graph, const handle* before, size_t count, void* parameters),
       (node, graph, before, count, parameters))
EXOTIC(cuArrayCreate_v2, (handle * array, const void* description), (array, description))
EXOTIC(cuArray3DCreate_v2, (handle * array, const void* description), (array, description))
EXOTIC(cuMipmappedArrayCreate, (handle * array, const void* description, unsigned levels),
       (array, description, levels))
