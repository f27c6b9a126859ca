/* What the parts of the hook share. Nothing here is exported. */
#ifndef NAMESAKE_HOOK_HOOK_H
#define NAMESAKE_HOOK_HOOK_H

#include "protocol.h"
#include "system.h"
#include "text.h"

/* --- control.c: the run's wishes --- */

/* The control file, mapped at the first call; NULL while there is none, for good or not yet. */
const struct ns_control* control(void);

static inline const char* control_text(const struct ns_control* c, uint32_t offset) {
  return (const char*)c + offset;
}
static inline const uint32_t* control_numbers(const struct ns_control* c, uint32_t offset) {
  return (const uint32_t*)((const char*)c + offset);
}
static inline const struct ns_rule* control_rules(const struct ns_control* c) {
  return (const struct ns_rule*)((const char*)c + c->rules);
}
static inline const struct ns_image_pattern* control_images(const struct ns_control* c) {
  return (const struct ns_image_pattern*)((const char*)c + c->images);
}

/* --- images.c: whose code is calling --- */

struct image {
  uintptr_t start, end;
  uint64_t offset;   /* of `start` in the file */
  uint64_t identity; /* of an assembler's file, else 0 */
  const char* path;
  uint32_t kind;
};

/* What is mapped at `address`. With `look_again` an address that was not there at the last look
 * (a library opened since) causes another. */
const struct image* image_at(uintptr_t address, int look_again);
/* What the run's patterns say of a file. */
uint32_t image_kind(const char* path);
/* Is a call that returns to `address` in this image an assembler's? */
int image_answers(const struct image* image, uintptr_t address);

static inline uint64_t image_site(const struct image* image, uintptr_t address) {
  return address - image->start + image->offset;
}

/* --- architecture.c: for which architecture does this thread assemble --- */

void architecture_learn(const char* target);
uint32_t architecture_here(void);
void architecture_used(void); /* a name was tested: the next target is another module's */

/* --- answer.c --- */

struct question {
  const char* name;
  const char* needle;
  size_t needle_length;
  uintptr_t address; /* the call returns here */
  int truth;
  int function;
};

/* The answer to give to a strstr, 0 or 1; records the question if the run wants it. */
int answer(const struct question* question);

/* --- record.c --- */

struct verdict {
  uint32_t architecture;
  uint16_t rule;
  uint8_t given;
  uint8_t reason;
};

void record_test(const struct question* question, const struct image* image,
                 const struct verdict* verdict);
/* Enters this process into the run's table. */
void record_process(uint32_t flags, const char* program);
void record_flags(uint32_t more);
void record_end(void);

/* --- guard.c: treated and natural halves of an assembler that is a program --- */

enum half { HALF_UNKNOWN, HALF_NONE, HALF_TREATED, HALF_NATURAL };
enum half guard_half(void);
/* Becomes the guard. Returns only where that failed. */
void guard_enter(const struct ns_control* c, const char* program);

/* --- learned.c, only in the library that watches all tests --- */

void learn_name(const char* name);

/* --- file.c --- */

/* A file of /proc, whole, with a zero behind it, in memory of its own of *room bytes. */
char* read_whole(const char* path, size_t* room, size_t* length);

#endif
