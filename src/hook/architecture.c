/* For which architecture does this thread assemble?
 *
 * Every assembler asks strstr(target, "sm_") on the thread that will then ask about the names:
 * first of the architecture it assembles for, then of each word of the module's .target, which may
 * be older (sm_80 text for sm_90) and ends with words that are no architecture ("texmode_unified").
 * So the first answer of a group counts, and a word that is none, or a question about a name, ends
 * the group: the next architecture belongs to another module. A preloaded library should own no
 * thread-local storage (it needs libc's allocator, and in an audit library it silently disables
 * everything), so the answers stand in a fixed table by thread number, each entry one word that is
 * read and written whole. Threads die without telling: a full neighbourhood loses an old entry.
 *
 * Threads that never ask (those of split compilation) get the process's architecture if it has had
 * only one. Otherwise it is unknown, and whoever needs it answers naturally and says so.
 */
#include "hook.h"

enum { kEntries = 1024, kNeighbours = 16 };

static uint64_t entries[kEntries]; /* thread << 32 | architecture */
static uint32_t of_process;        /* 0: none yet */
static const uint32_t kSeveral = ~0u;
static const uint32_t kEnded = 1u << 31; /* the group this entry came from is over */

static uint32_t parse_target(const char* target) {
  const char* at = text_find(target, "sm_");
  if (!at) return 0;
  uint32_t number = 0;
  for (at += 3; *at >= '0' && *at <= '9' && number < 100000; at++)
    number = number * 10 + (uint32_t)(*at - '0');
  return number ? number << 8 | (*at >= 'a' && *at <= 'z' ? (uint8_t)*at : 0) : 0;
}

static uint64_t* place(uint32_t thread, uint32_t i) {
  return &entries[(thread * 2654435761u + i) % kEntries];
}

static uint64_t* find(uint32_t thread) {
  for (uint32_t i = 0; i < kNeighbours; i++) {
    uint64_t* entry = place(thread, i);
    if (__atomic_load_n(entry, __ATOMIC_RELAXED) >> 32 == thread) return entry;
  }
  return 0;
}

/* Only the thread itself writes its entry again, or another that takes its place. */
static void end_group(uint64_t* entry) {
  __atomic_fetch_or(entry, kEnded, __ATOMIC_RELAXED);
}

static void remember(uint32_t thread, uint32_t architecture) {
  uint64_t mine = (uint64_t)thread << 32 | architecture;
  for (uint32_t i = 0; i < kNeighbours; i++) {
    uint64_t* entry = place(thread, i);
    uint64_t value = __atomic_load_n(entry, __ATOMIC_RELAXED);
    if (value >> 32 == thread) {
      __atomic_store_n(entry, mine, __ATOMIC_RELAXED);
      return;
    }
    if (!value &&
        __atomic_compare_exchange_n(entry, &value, mine, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      return;
  }
  __atomic_store_n(place(thread, thread % kNeighbours), mine, __ATOMIC_RELAXED);
}

void architecture_learn(const char* target) {
  uint32_t architecture = parse_target(target);
  uint32_t thread = sys_thread();
  uint64_t* known = find(thread);
  if (!architecture) {
    if (known) end_group(known);
    return;
  }
  if (known && !(__atomic_load_n(known, __ATOMIC_RELAXED) & kEnded)) return;
  remember(thread, architecture);
  uint32_t before = 0;
  if (!__atomic_compare_exchange_n(&of_process, &before, architecture, 0, __ATOMIC_RELAXED,
                                   __ATOMIC_RELAXED) &&
      before != architecture)
    __atomic_store_n(&of_process, kSeveral, __ATOMIC_RELAXED);
}

uint32_t architecture_here(void) {
  uint64_t* known = find(sys_thread());
  if (known) return (uint32_t)__atomic_load_n(known, __ATOMIC_RELAXED) & ~kEnded;
  uint32_t all = __atomic_load_n(&of_process, __ATOMIC_RELAXED);
  return all == kSeveral ? 0 : all;
}

void architecture_used(void) {
  uint64_t* known = find(sys_thread());
  if (known) end_group(known);
}
