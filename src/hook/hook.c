/* The preloaded library: one strstr for a whole tree of processes.
 *
 * It is freestanding C that needs no symbol of any other library (a test holds it to that), so
 * there is nothing to re-enter, nothing to initialise before the first call, nothing that clashes
 * with the program's libc, sanitizer or C++ runtime, and it loads under any libc. Before anything
 * is set up all state is zero, which means: answer the truth.
 *
 * The same file serves as an audit library (LD_AUDIT, glibc only), which also sees callers that
 * preloading misses: RTLD_DEEPBIND, dlmopen, dlsym on a handle of libc.
 */
#include "hook.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT char* strstr(const char* haystack, const char* needle) {
  char* found = text_find(haystack, needle);
  struct question question = {
      haystack,      needle,   text_length(needle), (uintptr_t)__builtin_return_address(0),
      found != NULL, NS_STRSTR};
  int given = answer(&question);
  if (given == question.truth) return found;
  /* The answer has to lie in the haystack; its start always does. */
  return given ? (char*)haystack : NULL;
}

__attribute__((constructor)) static void start(void) {
  const struct ns_control* c = control();
  if (!c) return;
  char program[4096];
  size_t n = sys_read_link("/proc/self/exe", program, sizeof program - 1);
  program[n] = 0;
  uint32_t flags = 0;
  int hand_over = 0;
  if (image_kind(program) == NS_IMAGE_PROGRAM) {
    flags = NS_PROCESS_PROGRAM;
    if (c->flags & NS_GUARD) {
      enum half half = guard_half();
      hand_over = half == HALF_NONE;
      flags |= half == HALF_TREATED   ? NS_PROCESS_TREATED
               : half == HALF_NATURAL ? NS_PROCESS_NATURAL
                                      : NS_PROCESS_GUARDED;
    }
  }
  if (c->flags & NS_RECORD) record_process(flags, program);
  if (hand_over) {
    guard_enter(c, program);
    record_flags(NS_PROCESS_UNGUARDED);
  }
}

__attribute__((destructor)) static void end(void) {
  record_end();
}

/* --- LD_AUDIT --- */

EXPORT unsigned la_version(unsigned offered) {
  return offered ? 1 : 0;
}

/* Bindings from and to every object are of interest. */
EXPORT unsigned la_objopen(void* map, long list, uintptr_t* cookie) {
  (void)map, (void)list, (void)cookie;
  return 3;
}

struct elf_symbol {
  uint32_t name;
  uint8_t info, other;
  uint16_t section;
  uint64_t value, size;
};

uintptr_t other_test(const char* name);

EXPORT uintptr_t la_symbind64(struct elf_symbol* symbol, unsigned index, uintptr_t* from,
                              uintptr_t* to, unsigned* flags, const char* name) {
  (void)index, (void)from, (void)to, (void)flags;
  if (text_equal(name, "strstr")) return (uintptr_t)strstr;
  uintptr_t other = other_test(name);
  return other ? other : (uintptr_t)symbol->value;
}
