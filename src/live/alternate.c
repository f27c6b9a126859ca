/* Which of two builds does a launch run?
 *
 * Launches of one shape (kernel, grid, block, shared memory) are taken four at a time: a b b a, or
 * b a a b, by the toss of a coin. A drift that is linear over the four cancels; work that repeats
 * with a period of two cancels; work of another period comes out with either sign and so widens the
 * interval instead of shifting it. Of the blocks that are timed, every fourth runs a alone and is
 * read as if it alternated: the control, which must show nothing.
 *
 * What runs as loaded, always: launches into a graph that is being captured (a graph would replay
 * one build for ever), cooperative launches (their grid must be resident at once), and shapes whose
 * grid fits on the device at once as loaded and not with the other build: a program may count on
 * that, and would hang. A launch of the other build that the driver refuses is made again as
 * loaded.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "live/live.h"

enum { kControlEach = 4, kPlainBlocks = 16, kPairBlocks = 1024 };

static uint64_t next_random(uint64_t* state) {
  *state += 0x9e3779b97f4a7c15ull;
  uint64_t z = *state;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}

/* --- graphs --- */

static int captures;

int capturing(void) {
  return __atomic_load_n(&captures, __ATOMIC_RELAXED) > 0;
}

int exchange_capture_mode(int mode) {
  driver()->cuThreadExchangeStreamCaptureMode(&mode);
  return mode;
}

static int capture_status(handle stream, int per_thread, int* status) {
  const struct driver* call = driver();
  *status = CU_CAPTURE_NONE;
  return !call        ? CU_NOT_FOUND
         : per_thread ? call->cuStreamIsCapturing_ptsz(stream, status)
                      : call->cuStreamIsCapturing(stream, status);
}

static int is_captured(handle stream, int per_thread) {
  int status;
  return capture_status(stream, per_thread, &status) == CU_SUCCESS && status != CU_CAPTURE_NONE;
}

/* The driver is asked only while there are captures: a question takes as long as all else that we
 * do. Where it does not say, the launch is taken for captured: that leaves it as it is. */
static int into_graph(const struct launch* launch) {
  int status;
  return capturing() &&
         (capture_status(launch->stream, launch->per_thread, &status) != CU_SUCCESS ||
          status != CU_CAPTURE_NONE);
}

/* --- shapes --- */

/* In the records: a kernel that is loaded again, or in another context, goes on in its entries. */
static int entry_for(const struct function* function, const struct launch* launch,
                     uint32_t* index) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  struct ns_live_record* all = record();
  struct ns_live_shape wanted = {.kernel = (uint32_t)function->index,
                                 .shared = launch->shared,
                                 .attributes = launch->attributes};
  memcpy(wanted.grid, launch->grid, sizeof wanted.grid);
  memcpy(wanted.block, launch->block, sizeof wanted.block);
  pthread_mutex_lock(&lock);
  int found = all->shapes < NS_LIVE_SHAPES;
  if (found) {
    for (*index = 0; *index < all->shapes; ++*index)
      if (memcmp(record_shape(*index), &wanted, offsetof(struct ns_live_shape, launches)) == 0)
        break;
    if (*index == all->shapes) {
      *record_shape(*index) = wanted;
      all->shapes++;
    }
  } else {
    all->lost++;
  }
  pthread_mutex_unlock(&lock);
  return found;
}

static struct shape* shape_of(struct function* function, const struct launch* launch) {
  struct shape** list =
      &function
           ->shapes[(launch->grid[0] * 9 + launch->grid[1] * 3 + launch->grid[2]) % kShapeLists];
  for (struct shape** at = list; *at; at = &(*at)->next) {
    struct shape* each = *at;
    if (memcmp(each->grid, launch->grid, sizeof each->grid) != 0 ||
        memcmp(each->block, launch->block, sizeof each->block) != 0 ||
        each->shared != launch->shared || each->attributes != launch->attributes)
      continue;
    *at = each->next; /* the last one used comes first */
    each->next = *list;
    *list = each;
    return each;
  }
  uint32_t index = 0;
  if (!entry_for(function, launch, &index)) return NULL;
  struct shape* shape = calloc(1, sizeof *shape);
  if (!shape) return NULL;
  memcpy(shape->grid, launch->grid, sizeof shape->grid);
  memcpy(shape->block, launch->block, sizeof shape->block);
  shape->shared = launch->shared;
  shape->attributes = launch->attributes;
  shape->index = (int32_t)index;
  /* A kernel that is loaded again must not begin as it has begun before. */
  static uint64_t count;
  shape->random = board()->seed ^ hash_text(function->symbol) ^
                  hash_bytes(shape->grid, sizeof shape->grid) ^
                  __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED) << 32;
  shape->next = *list;
  *list = shape;
  return shape;
}

static int blocks_at_once(const struct launch* launch, handle build) {
  int blocks = 0, threads = (int)(launch->block[0] * launch->block[1] * launch->block[2]);
  int mode = exchange_capture_mode(CU_CAPTURE_RELAXED); /* it may load what was not loaded yet */
  int code = driver()->cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, build, threads,
                                                                   launch->shared);
  exchange_capture_mode(mode);
  return code == CU_SUCCESS ? blocks : -1;
}

/* Could a program rely on this grid being resident at once, and would it not be? */
static int fits(const struct function* function, const struct launch* launch) {
  const struct driver* call = driver();
  uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
  int device = 0, multiprocessors = 0, loaded = blocks_at_once(launch, function->handle);
  if (loaded < 0 || call->cuCtxGetDevice(&device) != CU_SUCCESS ||
      call->cuDeviceGetAttribute(&multiprocessors, CU_MULTIPROCESSORS, device) != CU_SUCCESS)
    return 0;
  for (int i = 0; i < 2; i++) {
    if (function->build[i] == function->handle) continue;
    int other = blocks_at_once(launch, function->build[i]);
    if (other <= 0 || ((uint64_t)loaded * (uint64_t)multiprocessors >= blocks &&
                       (uint64_t)other * (uint64_t)multiprocessors < blocks))
      return 0;
  }
  return 1;
}

/* --- the decision --- */

struct decision {
  handle function;
  int is_b, alternates;
  int timed;
  uint32_t slot, generation;
  unsigned position;
};

static void begin_block(struct shape* shape, int pair, int timeable) {
  shape->b_first = (uint8_t)(next_random(&shape->random) & 1);
  shape->kind = pair ? NS_BLOCK_PAIR : NS_BLOCK_PLAIN;
  uint32_t begun = pair ? shape->pairs : shape->plains;
  shape->timed = 0;
  if (!timeable || begun >= (pair ? kPairBlocks : kPlainBlocks) ||
      !may_time(4, next_random(&shape->random)))
    return;
  if (pair && begun % kControlEach == kControlEach - 1) shape->kind = NS_BLOCK_CONTROL;
  int32_t slot = open_block(shape, &shape->slot_generation);
  if (slot == NO_INDEX) {
    if (pair) shape->kind = NS_BLOCK_PAIR;
    return;
  }
  shape->slot = (uint32_t)slot;
  shape->timed = 1;
  if (pair) {
    shape->pairs++;
  } else {
    shape->plains++;
  }
}

/* With the function's lock held. */
static struct decision decide(struct function* function, const struct launch* launch, int pair) {
  struct decision decision = {function->handle, 0, 0, 0, 0, 0, 0};
  struct shape* shape = shape_of(function, launch);
  if (!shape) return decision;
  __atomic_fetch_add(&record_shape((uint32_t)shape->index)->launches, 1, __ATOMIC_RELAXED);
  if (pair && !shape->fits) shape->fits = fits(function, launch) ? 1 : 2;
  if (pair && shape->fits == 2) {
    __atomic_fetch_add(&record_of(function)->not_resident, 1, __ATOMIC_RELAXED);
    pair = 0;
  }
  if (shape->position && pair != (shape->kind != NS_BLOCK_PLAIN)) {
    if (shape->timed) lose_block(shape->slot, shape->slot_generation);
    shape->position = 0; /* its other build has come, or its time is over */
  }
  if (!shape->position) begin_block(shape, pair, !launch->programmatic && !board()->stopped);
  unsigned position = shape->position;
  shape->position = (position + 1) & 3;
  decision.timed = shape->timed;
  decision.slot = shape->slot;
  decision.generation = shape->slot_generation;
  decision.position = position;
  if (!pair) return decision;
  int outer = position == 0 || position == 3;
  decision.alternates = 1;
  decision.is_b = shape->kind == NS_BLOCK_PAIR && outer == shape->b_first;
  decision.function = function->build[decision.is_b];
  return decision;
}

static result issue_timed(const struct launch* launch, const struct decision* decision) {
  struct mark mark;
  if (!begin_timing(launch, &mark)) {
    lose_block(decision->slot, decision->generation);
    return launch->issue(launch, decision->function);
  }
  result code = launch->issue(launch, decision->function);
  if (code == CU_SUCCESS) {
    end_timing(launch, &mark, decision->slot, decision->generation, decision->position);
  } else {
    forget_timing(&mark);
    lose_block(decision->slot, decision->generation);
  }
  return code;
}

/* A launch that fails as loaded, too, says nothing of the other build: the application asked for
 * what cannot be, or the device is lost. */
static result launch_decided(struct function* function, const struct launch* launch,
                             const struct decision* decision) {
  struct ns_live_kernel* entry = record_of(function);
  result code =
      decision->timed ? issue_timed(launch, decision) : launch->issue(launch, decision->function);
  if (code == CU_SUCCESS) {
    if (decision->is_b) __atomic_fetch_add(&entry->of_b, 1, __ATOMIC_RELAXED);
    return code;
  }
  if (decision->function == function->handle) return code;
  result again = launch->issue(launch, function->handle);
  if (again == CU_SUCCESS) {
    __atomic_fetch_add(&entry->failed, 1, __ATOMIC_RELAXED);
    entry->error = code;
    entry->state = NS_LIVE_REFUSED;
    __atomic_store_n(&function->state, NS_LIVE_REFUSED, __ATOMIC_RELEASE);
  }
  return again;
}

static int is_pair(const struct function* function) {
  return __atomic_load_n(&function->state, __ATOMIC_ACQUIRE) == NS_LIVE_PAIR &&
         !__atomic_load_n(&board()->stopped, __ATOMIC_RELAXED);
}

result on_launch(struct launch* launch) {
  struct ns_live_record* all = record();
  struct function* function = all && driver() ? find_function(launch->function) : NULL;
  struct ns_live_kernel* entry = function ? record_of(function) : NULL;
  if (!entry) {
    if (all) __atomic_fetch_add(&all->unknown, 1, __ATOMIC_RELAXED);
    return launch->issue(launch, launch->function);
  }
  __atomic_fetch_add(&entry->launches, 1, __ATOMIC_RELAXED);
  if (launch->cooperative) {
    __atomic_fetch_add(&entry->cooperative, 1, __ATOMIC_RELAXED);
    return launch->issue(launch, launch->function);
  }
  if (into_graph(launch)) {
    __atomic_fetch_add(&entry->captured, 1, __ATOMIC_RELAXED);
    return launch->issue(launch, launch->function);
  }
  if (__atomic_load_n(&function->state, __ATOMIC_ACQUIRE) == NS_LIVE_WAITING) try_pair(function);
  launched_by_this_thread();
  pthread_mutex_lock(&function->lock);
  const int pair = is_pair(function);
  if (pair) follow_attributes(function);
  if (pair && check_due(function)) {
    pthread_mutex_unlock(&function->lock);
    result code;
    if (fits(function, launch) && check_launch(function, launch, &code)) return code;
    pthread_mutex_lock(&function->lock);
  }
  struct decision decision = decide(function, launch, pair);
  pthread_mutex_unlock(&function->lock);
  return launch_decided(function, launch, &decision);
}

/* --- what stands before the driver --- */

/* A launch by the parameters that the driver's plain launch functions share, and what one has more.
 */
#define ON_LAUNCH(name, thread, ...)                 \
  on_launch(&(struct launch){.function = function,   \
                             .grid = {gx, gy, gz},   \
                             .block = {bx, by, bz},  \
                             .shared = shared,       \
                             .stream = stream,       \
                             .arguments = arguments, \
                             .per_thread = thread,   \
                             .issue = issue_##name,  \
                             __VA_ARGS__})

/* Each function has a twin whose default stream is the thread's. */
#define KERNEL(name, thread)                                                                       \
  static result issue_##name(const struct launch* l, handle function) {                            \
    return real_##name()(function, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1],   \
                         l->block[2], l->shared, l->stream, l->arguments, l->extra);               \
  }                                                                                                \
  result name(handle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,    \
              unsigned bz, unsigned shared, handle stream, void** arguments, void** extra) {       \
    CALL(name);                                                                                    \
    if (!board()) return call(function, gx, gy, gz, bx, by, bz, shared, stream, arguments, extra); \
    return ON_LAUNCH(name, thread, .extra = extra);                                                \
  }
KERNEL(cuLaunchKernel, 0)
KERNEL(cuLaunchKernel_ptsz, 1)

#define COOPERATIVE(name, thread)                                                                \
  static result issue_##name(const struct launch* l, handle function) {                          \
    return real_##name()(function, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], \
                         l->block[2], l->shared, l->stream, l->arguments);                       \
  }                                                                                              \
  result name(handle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,  \
              unsigned bz, unsigned shared, handle stream, void** arguments) {                   \
    CALL(name);                                                                                  \
    if (!board()) return call(function, gx, gy, gz, bx, by, bz, shared, stream, arguments);      \
    return ON_LAUNCH(name, thread, .cooperative = 1);                                            \
  }
COOPERATIVE(cuLaunchCooperativeKernel, 0)
COOPERATIVE(cuLaunchCooperativeKernel_ptsz, 1)

/* Which attributes a launch has tells shapes apart; of their values, the cluster's. */
static void read_attributes(struct launch* launch, const struct launch_config* config) {
  for (unsigned i = 0; config->attributes && i < config->attribute_count; i++) {
    const struct launch_attribute* each = &config->attributes[i];
    launch->cooperative |= each->id == CU_LAUNCH_COOPERATIVE && each->value.number;
    launch->programmatic |= each->id == CU_LAUNCH_PROGRAMMATIC && each->value.number;
    launch->attributes = launch->attributes * 31 + (uint32_t)each->id + 1;
    if (each->id == CU_LAUNCH_CLUSTER)
      launch->attributes += (uint32_t)hash_bytes(each->value.bytes, 3 * sizeof(uint32_t));
  }
}

#define CONFIGURED(name, thread)                                                     \
  static result issue_##name(const struct launch* l, handle function) {              \
    return real_##name()(l->original, function, l->arguments, l->extra);             \
  }                                                                                  \
  result name(const struct launch_config* config, handle function, void** arguments, \
              void** extra) {                                                        \
    CALL(name);                                                                      \
    if (!board() || !config) return call(config, function, arguments, extra);        \
    struct launch launch = {.function = function,                                    \
                            .shared = config->shared,                                \
                            .stream = config->stream,                                \
                            .arguments = arguments,                                  \
                            .extra = extra,                                          \
                            .per_thread = thread,                                    \
                            .original = config,                                      \
                            .issue = issue_##name};                                  \
    memcpy(launch.grid, config->grid, sizeof launch.grid);                           \
    memcpy(launch.block, config->block, sizeof launch.block);                        \
    read_attributes(&launch, config);                                                \
    return on_launch(&launch);                                                       \
  }
CONFIGURED(cuLaunchKernelEx, 0)
CONFIGURED(cuLaunchKernelEx_ptsz, 1)

/* Counted before it begins, that nobody finds none in between. A check that is under way waits for
 * the device, which a capture does not suffer: it ends first. */
#define BEGIN_CAPTURE(name, parameters, arguments)                              \
  result name parameters {                                                      \
    CALL(name);                                                                 \
    if (!board()) return call arguments;                                        \
    __atomic_fetch_add(&captures, 1, __ATOMIC_RELAXED);                         \
    launched_by_this_thread();                                                  \
    result code = call arguments;                                               \
    if (code != CU_SUCCESS) __atomic_fetch_sub(&captures, 1, __ATOMIC_RELAXED); \
    return code;                                                                \
  }
BEGIN_CAPTURE(cuStreamBeginCapture, (handle stream), (stream))
BEGIN_CAPTURE(cuStreamBeginCapture_ptsz, (handle stream), (stream))
BEGIN_CAPTURE(cuStreamBeginCapture_v2, (handle stream, int mode), (stream, mode))
BEGIN_CAPTURE(cuStreamBeginCapture_v2_ptsz, (handle stream, int mode), (stream, mode))
BEGIN_CAPTURE(cuStreamBeginCaptureToGraph,
              (handle stream, handle graph, const handle* nodes, const void* edges, size_t count,
               int mode),
              (stream, graph, nodes, edges, count, mode))
BEGIN_CAPTURE(cuStreamBeginCaptureToGraph_ptsz,
              (handle stream, handle graph, const handle* nodes, const void* edges, size_t count,
               int mode),
              (stream, graph, nodes, edges, count, mode))

/* It may fail and yet end the capture, or fail and end nothing. */
#define END_CAPTURE(name, thread)                                                                \
  result name(handle stream, handle* graph) {                                                    \
    CALL(name);                                                                                  \
    const int was = board() && is_captured(stream, thread);                                      \
    result code = call(stream, graph);                                                           \
    if (was && !is_captured(stream, thread)) __atomic_fetch_sub(&captures, 1, __ATOMIC_RELAXED); \
    return code;                                                                                 \
  }
END_CAPTURE(cuStreamEndCapture, 0)
END_CAPTURE(cuStreamEndCapture_ptsz, 1)
