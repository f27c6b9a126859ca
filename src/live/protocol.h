/* What the live library and the tool say to each other: files below <run folder>/live.
 *
 *   board            written by the tool, mapped by the library: whether to go on, what is answered
 *   requests/NAME    a loaded image ("i.HASH"), a program given to NVRTC ("n.PID.N"), or a run of
 *                    an assembler that is a program ("p.PID", written by the tool's own witness)
 *   answers/HASH     the tool's answer to an image; HASH.a and HASH.b are the builds to load
 *   records/PID      what a process launched and how long it took; "PID.N" after an exec
 *
 * Everything is little-endian and naturally aligned. Requests and answers appear whole, by rename.
 * The library follows answers, which only the tool writes; the tool trusts nothing in requests and
 * records: any process may scribble there or die while writing.
 *
 * NAMESAKE_LIVE_PROTOCOL must be raised whenever a layout or the meaning of a value changes.
 */
#ifndef NAMESAKE_LIVE_PROTOCOL_H
#define NAMESAKE_LIVE_PROTOCOL_H

#include <stdint.h>

#define NAMESAKE_LIVE_PROTOCOL 1u
#define NAMESAKE_BOARD_MAGIC 0x4452424f6b73616eull   /* "naskOBRD" */
#define NAMESAKE_REQUEST_MAGIC 0x545351526b73616eull /* "naskRQST" */
#define NAMESAKE_ANSWER_MAGIC 0x5257534e6b73616eull  /* "naskNSWR" */
#define NAMESAKE_LIVE_MAGIC 0x4556494c6b73616eull    /* "naskLIVE" */

/* The run folder's path stands inside the library, behind this text. */
#define NAMESAKE_LIVE_MARK "namesake live folder:"
#define NAMESAKE_LIVE_ROOM 1024

struct ns_board {
  uint64_t magic;
  uint32_t protocol;
  uint32_t generation;       /* raised after every answer */
  uint32_t stopped;          /* 1: the time given is over, everything runs as loaded */
  uint32_t timed_per_second; /* launches, over all kernels */
  uint32_t check_launches;   /* of each kernel whose results are compared; 0: none */
  uint32_t unused;
  uint64_t check_bytes; /* the most device memory that is saved for that */
  uint64_t seed;
};

/* --- requests --- */

enum ns_request_kind { NS_REQUEST_IMAGE = 1, NS_REQUEST_NVRTC = 2, NS_REQUEST_PROGRAM = 3 };

/* The driver was given options that change the code it makes of PTX. */
#define NS_REQUEST_OPTIONS 1u

/* An image follows as it was loaded; of the other kinds, texts: each a uint64_t length and as many
 * bytes. NVRTC: library, source, name, then lists of headers, their names, options and name
 * expressions; a program: file, folder, arguments, then the text of its input. A list is a length
 * and so many texts. */
struct ns_request {
  uint64_t magic;
  uint32_t protocol;
  uint32_t kind;
  uint32_t flags;
  uint32_t major, minor; /* of the device */
  uint32_t process;
  uint64_t hash; /* of the image, as records name it */
  uint64_t size; /* bytes that follow */
};

#define NS_LARGEST_IMAGE (64u << 20)

/* --- answers --- */

enum ns_answer_flag {
  NS_ANSWER_PAIR = 1,   /* launches alternate; else the kernel is left alone */
  NS_ANSWER_FILE_A = 2, /* a is HASH.a's; else what the application has loaded */
  NS_ANSWER_FILE_B = 4,
  NS_ANSWER_CHECK = 8, /* launches may be repeated: nothing but memory comes of them */
};

struct ns_answer_kernel {
  uint64_t symbol; /* hash */
  uint32_t flags;
  uint32_t unused;
};

struct ns_answer {
  uint64_t magic;
  uint32_t protocol;
  uint32_t count; /* of kernels that follow */
};

/* --- records --- */

enum ns_live_state {
  NS_LIVE_WAITING = 0, /* for the tool's answer */
  NS_LIVE_PAIR = 1,    /* alternates */
  NS_LIVE_ALONE = 2,   /* by the tool's answer, whose notes say why */
  NS_LIVE_REFUSED = 3, /* the driver would not load or launch the other build: `error` */
  NS_LIVE_LARGE = 4,   /* its image is larger than what is looked at, or one too many */
};

struct ns_live_kernel {
  uint64_t image;
  uint64_t launches;
  uint64_t of_b;         /* launches that ran b */
  uint64_t captured;     /* into graphs: ran as loaded */
  uint64_t cooperative;  /* ran as loaded */
  uint64_t not_resident; /* ran as loaded: the grid is resident at once, with the other build not */
  uint32_t state;
  int32_t error;          /* the driver's */
  uint32_t failed;        /* launches of the other build that the driver refused */
  uint32_t checked;       /* launches whose results were compared */
  uint32_t differing;     /* of them */
  uint32_t unrepeatable;  /* of them: the same build gives other results each time */
  uint32_t unchecked;     /* launches that were to be compared and could not: `why_unchecked` */
  uint32_t why_unchecked; /* ns_why_unchecked */
  uint32_t whole;         /* 1: the entry is whole */
  uint32_t unused;
  uint64_t symbol_hash; /* of all of it */
  char symbol[408];     /* its first characters */
};

enum ns_why_unchecked {
  NS_CHECK_LARGE = 1,     /* more device memory than check_bytes */
  NS_CHECK_EXOTIC = 2,    /* memory that cannot be saved: mapped, managed, shared, virtual */
  NS_CHECK_FAILED = 3,    /* a copy failed, or memory ran out */
  NS_CHECK_CAPTURING = 4, /* a graph is being captured */
  NS_CHECK_THREADS = 5,   /* several threads launch or allocate */
  NS_CHECK_EFFECTS = 6,   /* it prints, allocates or launches */
};

struct ns_live_shape {
  uint32_t kernel;
  uint32_t grid[3], block[3];
  uint32_t shared;
  uint32_t attributes; /* a hash of the launch's, 0: none */
  uint32_t unused;
  uint64_t launches;
};

enum ns_block_kind {
  NS_BLOCK_PLAIN = 0,   /* all four as loaded */
  NS_BLOCK_PAIR = 1,    /* a b b a, or b a a b */
  NS_BLOCK_CONTROL = 2, /* a a a a, to be read like the former */
};

/* Four launches of one shape, one after the other. */
struct ns_live_block {
  uint32_t shape;
  uint8_t kind;
  uint8_t b_first; /* b a a b */
  uint8_t unused;
  uint8_t whole; /* 1 */
  float milliseconds[4];
};

#define NS_LIVE_KERNELS 2048u
#define NS_LIVE_SHAPES 8192u
#define NS_LIVE_BLOCKS 65536u

struct ns_live_record {
  uint64_t magic;
  uint32_t protocol;
  uint32_t pid;
  uint64_t started;                 /* nanoseconds since boot, at the first load */
  uint64_t unknown;                 /* launches of handles that we never saw named */
  uint64_t timed;                   /* launches */
  uint32_t kernels, shapes, blocks; /* claimed, possibly beyond the room */
  uint32_t lost;                    /* kernels and shapes without room */
  uint32_t contexts_ended;          /* what was known before is left alone afterwards */
  uint32_t driver;                  /* 13000 */
  uint32_t major, minor;
  uint32_t multiprocessors;
  uint32_t unused;
  char device[128];
};

/* ns_live_record, then kernels, shapes, blocks. */
#define NS_LIVE_SIZE                                                                 \
  (sizeof(struct ns_live_record) + NS_LIVE_KERNELS * sizeof(struct ns_live_kernel) + \
   NS_LIVE_SHAPES * sizeof(struct ns_live_shape) + NS_LIVE_BLOCKS * sizeof(struct ns_live_block))

#endif
