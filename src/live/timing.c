/* Times of a few launches, without making anybody wait.
 *
 * Two events stand around a timed launch; nobody waits for them. Later launches look which have
 * passed, and read the time then. How many are timed is bounded by a rate over all kernels, so that
 * the cost does not grow with the application's launches: an event is about a microsecond of the
 * host's and of the GPU's. Events are made once for each context, kEvents pairs, and used again;
 * where all are under way, a launch goes untimed.
 *
 * In the strictest mode of capturing, a graph that some thread captures would be broken by whoever
 * asks for an event meanwhile; so a thread says for the moment that what it asks is no part of it.
 */
#include <string.h>
#include <time.h>

#include "live/live.h"

enum { kContexts = 8, kEvents = 64, kBlocks = 512, kBurst = 64 };
static const uint64_t kWindow = 50000000u;     /* ns over which launches are counted */
static const uint64_t kPatience = 5000000000u; /* ns until an unfinished block makes room */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* --- how many --- */

static uint64_t coarse(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Spread over the launches, not over time: an application that queues a thousand launches and waits
 * for them would else have those timed that find the device idle, whenever the wait has brought new
 * room. */
int may_time(unsigned count, uint64_t random) {
  static uint64_t last, window;
  static double tokens = kBurst, offered, rate;
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* that of events may be held for long */
  const double each_second = board()->timed_per_second;
  int granted = 0;
  pthread_mutex_lock(&lock);
  uint64_t time = coarse();
  if (last) tokens += (double)(time - last) * 1e-9 * each_second;
  if (tokens > kBurst) tokens = kBurst;
  last = time;
  if (!window) window = time;
  offered += count;
  if (time - window > kWindow) {
    rate = offered * 1e9 / (double)(time - window);
    offered = 0;
    window = time;
  }
  double share = (double)(random >> 11) / (double)(1ull << 53);
  if (tokens >= count && share * rate <= each_second) {
    tokens -= count;
    granted = 1;
  }
  pthread_mutex_unlock(&lock);
  return granted;
}

/* --- blocks of four --- */

static struct block {
  uint32_t generation; /* odd: in use */
  uint32_t shape;
  uint8_t kind, b_first;
  uint8_t got;
  uint64_t begun;
  float milliseconds[4];
} blocks[kBlocks];

/* With the lock held. A free one; else the one begun first, if that is long ago. */
static struct block* room_for_block(uint64_t time) {
  static uint32_t next;
  struct block* oldest = &blocks[0];
  for (uint32_t n = 0; n < kBlocks; n++) {
    struct block* block = &blocks[next++ % kBlocks];
    if (!(block->generation & 1)) return block;
    if (block->begun < oldest->begun) oldest = block;
  }
  if (time - oldest->begun < kPatience) return NULL;
  oldest->generation++; /* given up: whoever still holds it will see that */
  return oldest;
}

int32_t open_block(const struct shape* shape, uint32_t* generation) {
  pthread_mutex_lock(&lock);
  uint64_t time = coarse();
  struct block* block = record()->blocks < NS_LIVE_BLOCKS ? room_for_block(time) : NULL;
  if (block) {
    block->generation++;
    block->shape = (uint32_t)shape->index;
    block->kind = shape->kind;
    block->b_first = shape->b_first;
    block->got = 0;
    block->begun = time;
    *generation = block->generation;
  }
  pthread_mutex_unlock(&lock);
  return block ? (int32_t)(block - blocks) : NO_INDEX;
}

static void lose(uint32_t slot, uint32_t generation) {
  if (blocks[slot].generation == generation) blocks[slot].generation++;
}

void lose_block(uint32_t slot, uint32_t generation) {
  pthread_mutex_lock(&lock);
  lose(slot, generation);
  pthread_mutex_unlock(&lock);
}

/* With the lock held. */
static void put_time(uint32_t slot, uint32_t generation, unsigned position, float milliseconds) {
  struct block* block = &blocks[slot];
  if (block->generation != generation) return;
  block->milliseconds[position] = milliseconds;
  if (++block->got < 4) return;
  struct ns_live_record* all = record();
  if (all->blocks < NS_LIVE_BLOCKS) {
    struct ns_live_block* entry = record_block(all->blocks++);
    entry->shape = block->shape;
    entry->kind = block->kind;
    entry->b_first = block->b_first;
    memcpy(entry->milliseconds, block->milliseconds, sizeof entry->milliseconds);
    __atomic_store_n(&entry->whole, 1, __ATOMIC_RELEASE);
  }
  block->generation++;
}

/* --- events --- */

static struct pool {
  handle context;      /* NULL: free */
  uint32_t generation; /* raised when its context goes, and its events with it */
  unsigned made, free_count;
  struct {
    handle begin, end;
  } free_events[kEvents];
} pools[kContexts];

static struct pending {
  struct mark mark;
  uint32_t slot, generation;
  unsigned position;
} pending[kContexts * kEvents];
static unsigned pending_count;
static uint64_t harvested;

/* With the lock held. */
static struct pool* pool_of(handle context) {
  struct pool* unused = NULL;
  for (int i = kContexts - 1; i >= 0; i--) {
    if (pools[i].context == context) return &pools[i];
    if (!pools[i].context) unused = &pools[i];
  }
  if (unused) unused->context = context;
  return unused;
}

/* With the lock held. */
static int is_alive(const struct mark* mark) {
  return pools[mark->pool].generation == mark->pool_generation;
}

/* With the lock held. */
static void give_back(const struct mark* mark) {
  struct pool* pool = &pools[mark->pool];
  if (!is_alive(mark) || pool->free_count == kEvents) return;
  pool->free_events[pool->free_count].begin = mark->begin;
  pool->free_events[pool->free_count++].end = mark->end;
}

/* With the lock held. Where the driver has none, it is not asked again. */
static int make_events(struct pool* pool, struct mark* mark) {
  const struct driver* call = driver();
  if (pool->made == kEvents) return 0;
  int mode = exchange_capture_mode(CU_CAPTURE_RELAXED);
  int made = call->cuEventCreate(&mark->begin, 0) == CU_SUCCESS &&
             call->cuEventCreate(&mark->end, 0) == CU_SUCCESS;
  exchange_capture_mode(mode);
  pool->made = made ? pool->made + 1 : kEvents;
  return made;
}

/* With the lock held. 0 if all are under way. */
static int take_events(struct pool* pool, struct mark* mark) {
  if (pool->free_count) {
    pool->free_count--;
    mark->begin = pool->free_events[pool->free_count].begin;
    mark->end = pool->free_events[pool->free_count].end;
  } else if (!make_events(pool, mark)) {
    return 0;
  }
  mark->pool = (uint32_t)(pool - pools);
  mark->pool_generation = pool->generation;
  return 1;
}

static int record_event(const struct launch* launch, handle event) {
  return launch->per_thread ? driver()->cuEventRecord_ptsz(event, launch->stream)
                            : driver()->cuEventRecord(event, launch->stream);
}

int begin_timing(const struct launch* launch, struct mark* mark) {
  handle context = NULL;
  if (driver()->cuCtxGetCurrent(&context) != CU_SUCCESS || !context) return 0;
  pthread_mutex_lock(&lock);
  struct pool* pool = pool_of(context);
  int ready = pool && take_events(pool, mark);
  pthread_mutex_unlock(&lock);
  if (!ready) harvest();
  if (ready && record_event(launch, mark->begin) != CU_SUCCESS) {
    forget_timing(mark);
    ready = 0;
  }
  return ready;
}

void forget_timing(struct mark* mark) {
  pthread_mutex_lock(&lock);
  give_back(mark);
  pthread_mutex_unlock(&lock);
}

void end_timing(const struct launch* launch, struct mark* mark, uint32_t slot, uint32_t generation,
                unsigned position) {
  int marked = record_event(launch, mark->end) == CU_SUCCESS;
  int due = 0;
  pthread_mutex_lock(&lock);
  if (marked && is_alive(mark) && pending_count < sizeof pending / sizeof *pending) {
    pending[pending_count++] = (struct pending){*mark, slot, generation, position};
    record()->timed++;
    due = pending_count >= kEvents / 2 || coarse() - harvested > 10000000u;
  } else {
    give_back(mark);
    lose(slot, generation);
  }
  pthread_mutex_unlock(&lock);
  if (due) harvest();
}

/* With the lock held. */
static void read_time(const struct pending* each, int code) {
  float milliseconds = 0;
  if (code == CU_SUCCESS &&
      driver()->cuEventElapsedTime(&milliseconds, each->mark.begin, each->mark.end) == CU_SUCCESS) {
    put_time(each->slot, each->generation, each->position, milliseconds);
  } else {
    lose(each->slot, each->generation);
  }
  give_back(&each->mark);
}

void harvest(void) {
  const struct driver* call = driver();
  int mode = exchange_capture_mode(CU_CAPTURE_RELAXED);
  pthread_mutex_lock(&lock);
  harvested = coarse();
  unsigned kept = 0;
  for (unsigned i = 0; i < pending_count; i++) {
    int code = call->cuEventQuery(pending[i].mark.end);
    if (code == CU_NOT_READY) {
      pending[kept++] = pending[i];
    } else {
      read_time(&pending[i], code);
    }
  }
  pending_count = kept;
  pthread_mutex_unlock(&lock);
  exchange_capture_mode(mode);
}

void forget_events(handle context) {
  pthread_mutex_lock(&lock);
  for (int i = 0; i < kContexts; i++) {
    if (!pools[i].context || (context && pools[i].context != context)) continue;
    pools[i].generation++;
    pools[i].context = NULL;
    pools[i].made = pools[i].free_count = 0;
  }
  unsigned kept = 0;
  for (unsigned i = 0; i < pending_count; i++) {
    if (is_alive(&pending[i].mark)) {
      pending[kept++] = pending[i];
    } else {
      lose(pending[i].slot, pending[i].generation);
    }
  }
  pending_count = kept;
  pthread_mutex_unlock(&lock);
}
