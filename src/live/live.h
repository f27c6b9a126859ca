/* What the parts of the live library share. Nothing here is exported. */
#ifndef NAMESAKE_LIVE_LIVE_H
#define NAMESAKE_LIVE_LIVE_H

#include <pthread.h>

#include "live/driver.h"
#include "live/protocol.h"

#define EXPORT __attribute__((visibility("default")))

/* --- entry.c: how the driver is reached --- */

/* What stands before the driver; and the driver's own, found when first asked for: NULL if the
 * driver has none. */
#define DECLARE(name, parameters)     \
  EXPORT result name parameters;      \
  typedef result name##_t parameters; \
  name##_t* real_##name(void);
WRAPPED(DECLARE)
#undef DECLARE

/* How each of them begins. */
#define CALL(name)                \
  name##_t* call = real_##name(); \
  if (!call) return CU_NOT_FOUND

struct driver {
#define DECLARE(name, parameters) result(*name) parameters;
  CALLED(DECLARE)
#undef DECLARE
};
/* What is only called; NULL without a driver, or one that is too old. */
const struct driver* driver(void);

void* find_in_nvrtc(const char* symbol);

/* --- folder.c: what is shared with the tool --- */

/* NULL where this process has no part in the run: then everything passes as if we were not there.
 */
const struct ns_board* board(void);
struct ns_live_record* record(void); /* NULL if there is no room for one */
struct ns_live_kernel* record_kernel(uint32_t index);
struct ns_live_shape* record_shape(uint32_t index);
struct ns_live_block* record_block(uint32_t index);
enum { NO_INDEX = -1 };

/* Whole or not at all. Nothing happens if it is there already. */
struct piece {
  const void* data;
  size_t size;
};
void put_request(const char* name, const struct ns_request* head, const struct piece* pieces,
                 size_t count);
/* answers/HASH with what follows the hash; memory of its own, free() it; NULL if not there. */
char* read_answer(uint64_t hash, const char* ending, size_t* size);

uint64_t now(void); /* nanoseconds since boot, to some milliseconds */
uint64_t hash_bytes(const void* data, size_t size);
uint64_t hash_text(const char* text);

/* --- images.c: what the application loads, and what the tool says of it --- */

struct image;
/* The image, which the tool is asked about; of a size of 0, it says itself where it ends. NULL if
 * it is too large, or one too many. */
struct image* look_at_image(const void* data, size_t size, uint32_t flags);
uint64_t image_hash(const struct image* image); /* 0 of none */
/* Has the tool answered? If so, `flags` are the kernel's (ns_answer_flag): 0 where it has none. */
int answer_for(struct image* image, const char* symbol, uint32_t generation, uint32_t* flags);
/* NS_REQUEST_OPTIONS if options for the driver's assembler change the code. */
uint32_t option_flags(const int* options, unsigned count);

/* --- functions.c: which handle is which function of which image --- */

struct holder;

struct shape {
  struct shape* next;
  unsigned grid[3], block[3], shared;
  uint32_t attributes;
  int32_t index; /* in the records */
  uint8_t fits;  /* 0 not asked yet, 1 yes, 2 no */
  uint8_t kind, b_first, timed;
  uint8_t position;               /* of the next launch in its block */
  uint32_t slot, slot_generation; /* of a timed block */
  uint32_t pairs, plains;         /* timed blocks begun */
  uint64_t random;
};

enum { kShapeLists = 32 };

struct function {
  pthread_mutex_t lock;  /* for the shapes; it stays when the rest is used again */
  struct function* next; /* of its holder, or out of use */
  handle handle;         /* what the application has loaded */
  char* symbol;
  struct holder* holder;
  int is_kernel;       /* a CUkernel, which has no context of its own */
  int by_kernel;       /* a CUfunction that was asked of a kernel */
  int32_t index;       /* in the records */
  uint32_t state;      /* ns_live_state */
  uint32_t generation; /* of the board when an answer was last looked for */
  handle context;
  handle build[2];  /* a and b; one of them may be `handle` */
  uint32_t changes; /* what was asked of it so far is asked of the builds … */
  uint64_t devices; /* … on these devices */
  int may_check;    /* by the tool's answer */
  unsigned checks_left;
  uint64_t seen, next_check; /* launches since it is paired; the next to be compared */
  struct shape* shapes[kShapeLists];
};

struct function* find_function(handle handle);
struct ns_live_kernel* record_of(const struct function* function);
/* Looks for the tool's answer, and loads the other builds if there is one. */
void try_pair(struct function* function);
/* Asks of the other builds what the application has asked of its own. With the function's lock
 * held, of a pair. */
void follow_attributes(struct function* function);
/* What lies in this context goes with it; NULL: any may have gone. */
void end_context(handle context);

/* --- alternate.c: which build a launch runs --- */

struct launch {
  handle function;
  unsigned grid[3], block[3], shared;
  uint32_t attributes; /* a hash; 0: none */
  int cooperative, programmatic, per_thread;
  handle stream;
  void** arguments;
  result (*issue)(const struct launch* launch, handle function);
  const void* original; /* the caller's configuration */
  void** extra;
};
result on_launch(struct launch* launch);

/* What this thread asks of the driver is no part of a capture: returns what it said before. */
int exchange_capture_mode(int mode);
int capturing(void); /* is a graph being captured anywhere in this process? */

/* --- timing.c: events, a few at a time --- */

/* Takes `count` launches out of what may be timed, all or none. */
int may_time(unsigned count, uint64_t random);
/* Room for a block that four launches will fill; NO_INDEX if there is none. */
int32_t open_block(const struct shape* shape, uint32_t* generation);
struct mark {
  handle begin, end;
  uint32_t pool, pool_generation;
};
/* Marks the stream before and after a launch. 0 if it cannot be timed. */
int begin_timing(const struct launch* launch, struct mark* mark);
void end_timing(const struct launch* launch, struct mark* mark, uint32_t slot, uint32_t generation,
                unsigned position);
void forget_timing(struct mark* mark);
void lose_block(uint32_t slot, uint32_t generation);
void harvest(void);                 /* what has ended meanwhile */
void forget_events(handle context); /* NULL: of all */

/* --- check.c: do both builds compute the same? --- */

/* Is it this launch's turn? */
int check_due(struct function* function);
/* Runs the launch with both builds on the same memory and compares all of it; leaves what a left.
 * 0 if it did not run the launch. */
int check_launch(struct function* function, const struct launch* launch, result* code);
void launched_by_this_thread(void);

#endif
