/* What the hook and the tool say to each other: three file layouts in the run folder.
 *
 *   <folder>/control       written whole by the tool before anything is started, mapped read-only
 * by the hook: what to watch, how to answer, where to record <folder>/table         one entry per
 * hooked process, claimed in the hook's constructor <folder>/rings/P.N     segments of process P, a
 * log of the name tests it made
 *
 * Everything is little-endian, naturally aligned and relocatable: texts are offsets from the file's
 * start, ended by a zero. The hook never parses: it only follows offsets that the tool has written.
 * The tool trusts nothing in table and rings: any process may scribble there or die while writing.
 *
 * NAMESAKE_PROTOCOL must be raised whenever a layout or the meaning of a value changes. The hook is
 * embedded in the tool, so the two never differ within a run; the number is what lets a ring that
 * was kept from an older tool be refused by name instead of being misread.
 */
#ifndef NAMESAKE_HOOK_PROTOCOL_H
#define NAMESAKE_HOOK_PROTOCOL_H

#include <stdint.h>

#define NAMESAKE_PROTOCOL 1u
#define NAMESAKE_CONTROL_MAGIC 0x4c5254436b73616eull /* "naskCTRL" */
#define NAMESAKE_TABLE_MAGIC 0x4c4241546b73616eull   /* "naskTABL" */
#define NAMESAKE_RING_MAGIC 0x474e49526b73616eull    /* "naskRING" */
#define NAMESAKE_RECORD_MAGIC 0x746b736eu            /* "nskt" */

/* The run folder's path stands inside the library itself: the tool finds this text in the embedded
 * bytes and writes the path behind it. So the hook needs no environment to find its run. */
#define NAMESAKE_SLOT_MARK "namesake run folder:"
#define NAMESAKE_SLOT_SIZE 1024

/* Set for a run's whole tree: its value is the run folder; the tool refuses to nest. */
#define NAMESAKE_SESSION_VARIABLE "NAMESAKE_SESSION"
/* Set by the guard for the two runs of one assembler: "treated" or "natural". */
#define NAMESAKE_GUARD_VARIABLE "NAMESAKE_GUARD"
/* argv[1] with which the hook starts the guard; argv[2] the run folder, argv[3] the assembler's
 * executable, argv[4…] the assembler's own argument vector. */
#define NAMESAKE_GUARD_WORD "guard-assembler"

enum ns_function {
  NS_STRSTR = 1,
  NS_STRCMP,
  NS_STRNCMP,
  NS_STRCASECMP,
  NS_STRCASESTR,
  NS_MEMCMP,
  NS_MEMMEM,
};

enum ns_treatment { NS_NATURAL = 0, NS_TREATED = 1, NS_UNTREATED = 2 };

/* Why the given answer is what it is. */
enum ns_reason {
  NS_OBSERVED = 0,       /* no rule speaks of this text */
  NS_NO_RULE = 1,        /* rules speak of this text, none of this function */
  NS_RULE = 2,           /* ns_record.rule decided */
  NS_ARCH_UNKNOWN = 3,   /* rules depend on the architecture, which is not known here: natural */
  NS_NATURAL_RUN = 4,    /* the natural half of a guarded assembler: natural */
  NS_OTHER_ASSEMBLER = 5 /* the rules were made for another assembler: natural */
};

enum ns_image_kind {
  NS_IMAGE_OTHER = 0,
  NS_IMAGE_PROGRAM = 1, /* an assembler that is a program of its own: can be guarded */
  NS_IMAGE_LIBRARY = 2, /* an assembler inside somebody's process */
};

enum ns_control_flag {
  NS_RECORD = 1,        /* keep table and rings */
  NS_RECORD_OTHERS = 2, /* also tests for texts that no rule names */
  NS_GUARD = 4,         /* run treated programs under the guard */
};

/* Architectures: 90 'a' → 90 << 8 | 'a'; 80 → 80 << 8. 0 is "any" in a rule, "unknown" in a record.
 */

struct ns_control {
  uint64_t magic;
  uint32_t protocol;
  uint32_t size; /* of the whole file */
  uint32_t flags;
  uint32_t guard_seconds;
  int64_t spill_limit;            /* bytes a treated function may spill; -1: no bound */
  uint32_t folder;                /* texts, by offset */
  uint32_t helper;                /* the guard's executable; 0: none */
  uint32_t needles, needle_count; /* uint32_t offsets of watched texts */
  uint32_t rules, rule_count;
  uint32_t images, image_count;
  uint32_t names, name_count; /* uint32_t offsets: functions whose every test is to be recorded */
};

/* The first rule that fits wins. Patterns are globs, tried on the symbol and on the qualified name
 * (name.h). `exact_hash` is the hash of a pattern without wildcards, else 0. */
struct ns_rule {
  uint64_t assembler; /* identity of the image's file; 0: any */
  uint64_t exact_hash;
  uint32_t needle;
  uint32_t pattern;
  uint32_t architecture;
  uint32_t treatment;
};

/* Globs on an image's base name, or on its whole path when they hold a slash. */
struct ns_image_pattern {
  uint64_t site; /* only calls returning to this file offset; 0: any */
  uint32_t pattern;
  uint32_t kind;
};

struct ns_table {
  uint64_t magic;
  uint32_t protocol;
  uint32_t capacity;       /* entries that follow */
  uint32_t reserved_first; /* entries from here on are kept for assemblers that are programs */
  uint32_t next_ordinary;  /* counters: what was asked for, so possibly beyond the room */
  uint32_t next_reserved;
  uint32_t not_entered; /* processes that found no room */
  uint64_t unused[4];
};

enum ns_process_flag {
  NS_PROCESS_PROGRAM = 1,    /* an assembler that is a program of its own */
  NS_PROCESS_GUARDED = 2,    /* handed to the guard: its runs report for themselves */
  NS_PROCESS_TREATED = 4,    /* the treated half under the guard */
  NS_PROCESS_NATURAL = 8,    /* the natural half under the guard */
  NS_PROCESS_UNGUARDED = 16, /* should have been guarded, but the guard could not be started */
};

struct ns_process {
  uint32_t state; /* 1: the entry is whole */
  uint32_t pid;
  uint32_t parent;
  uint32_t flags;
  uint64_t started;  /* nanoseconds since boot */
  uint32_t lost;     /* records that could not be kept */
  uint32_t ended;    /* 1: went through its destructors, so it did not crash */
  char program[224]; /* /proc/self/exe, its last characters if too long */
};

struct ns_ring {
  uint64_t magic;
  uint32_t protocol;
  uint32_t pid;
  uint32_t parent;
  uint32_t sequence; /* of this segment within the process */
  uint64_t started;  /* of the process that opened it, nanoseconds since boot */
  uint64_t size;
  uint64_t next; /* first byte not yet claimed; beyond `size` once the segment is full */
  char program[208];
};

/* Claimed by adding its size to ring.next, then `magic` and `size` are stored, then the rest, then
 * `state` (release). Records start at multiples of 16; a claim whose writer died before storing
 * anything is a run of zeros that a reader steps over. */
struct ns_record {
  uint32_t magic;
  uint32_t size;  /* with the texts, a multiple of 16 */
  uint32_t state; /* 1: whole */
  uint32_t thread;
  uint64_t address;   /* the call returns here */
  uint64_t site;      /* the same as an offset into the image's file */
  uint64_t assembler; /* identity of the image's file */
  uint64_t name_hash; /* of the whole name */
  uint32_t architecture;
  uint32_t name_length; /* as asked about; the text that follows may be shorter */
  uint32_t name_kept, needle_kept,
      path_kept; /* the texts that follow, each with a zero behind it */
  uint16_t rule; /* with NS_RULE: its index */
  uint8_t function;
  uint8_t truth, given; /* 1: yes, or equal */
  uint8_t reason;
  uint8_t kind; /* of the image */
  uint8_t unused[5];
};

#define NS_NAME_LIMIT (1u << 18) /* characters of a name that are kept */
#define NS_NEEDLE_LIMIT 255u
#define NS_FIRST_SEGMENT (16u << 10)
#define NS_LARGEST_SEGMENT (1u << 20)

/* FNV-1a, 64 bits: of names, and of the first page of an assembler's file (its identity). */
#define NS_HASH_START 0xcbf29ce484222325ull
#define NS_HASH_FACTOR 0x100000001b3ull
#define NS_IDENTITY_BYTES 4096u

#endif
