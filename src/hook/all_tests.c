/* The larger library: also watches the other ways to ask about a name.
 *
 * strcmp and memcmp are among the hottest calls of an assembler (its symbol tables live on them),
 * so these are only loaded when a user asks for all tests, and they only ever record: the answer is
 * the truth. Of millions of comparisons the few are kept in which one side is a function's name, or
 * a part of it of at least four characters, and the other side is not: a name compared with a name
 * is a table being searched. Which names are functions' is told by the control file, or learned
 * from the strstr tests of this process; what came before the first of those is missed. Each
 * distinct test is kept once.
 */
#include "hook.h"

#define EXPORT __attribute__((visibility("default")))

enum { kShortestPart = 4, kMostLearned = 256, kArena = 256 << 10, kSeen = 1 << 14, kProbes = 8 };

uintptr_t other_test(const char* name);

/* --- names that were asked about --- */

static char arena[kArena];
static uint32_t arena_used;
static const char* learned[kMostLearned];
static uint32_t learned_count;

static const char* known_name(uint32_t i) {
  const struct ns_control* c = control();
  if (i < c->name_count) return control_text(c, control_numbers(c, c->names)[i]);
  i -= c->name_count;
  return i < kMostLearned ? __atomic_load_n(&learned[i], __ATOMIC_ACQUIRE) : NULL;
}

/* The function's name that holds these characters, the whole of it or some. */
static const char* name_holding(const char* text, size_t length) {
  const char* name;
  if (length < kShortestPart) return NULL;
  for (uint32_t i = 0; (name = known_name(i)) != NULL; i++)
    if (text_find_bytes(name, text_length(name), text, length)) return name;
  return NULL;
}

void learn_name(const char* name) {
  size_t length = text_length(name);
  const char* known;
  for (uint32_t i = 0; (known = known_name(i)) != NULL; i++)
    if (text_equal(known, name)) return;
  if (length + 1 > kArena / 16) return;
  uint32_t at = __atomic_fetch_add(&arena_used, (uint32_t)length + 1, __ATOMIC_RELAXED);
  if (at > kArena - length - 1) return;
  text_copy(arena + at, name, length + 1);
  uint32_t i = __atomic_fetch_add(&learned_count, 1, __ATOMIC_RELAXED);
  if (i < kMostLearned) __atomic_store_n(&learned[i], arena + at, __ATOMIC_RELEASE);
}

/* --- once each --- */

static uint64_t seen[kSeen];

static int is_new(uint64_t hash) {
  hash |= 1;
  for (uint32_t i = 0; i < kProbes; i++) {
    uint64_t* place = &seen[(hash + i * 2) / 2 % kSeen];
    uint64_t value = 0;
    if (__atomic_compare_exchange_n(place, &value, hash, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      return 1;
    if (value == hash) return 0;
  }
  return 1;
}

static void watch(int function, const char* a, size_t a_length, const char* b, size_t b_length,
                  int truth, uintptr_t address) {
  const struct ns_control* c = control();
  if (!c || !(c->flags & NS_RECORD)) return;
  const char* name = name_holding(a, a_length);
  const char* other = name_holding(b, b_length);
  if (!name == !other) return;
  const char* needle = name ? b : a;
  size_t needle_length = name ? b_length : a_length;
  if (!name) name = other;
  if (!needle_length) return;
  const struct image* image = image_at(address, 0);
  if (!image || !image_answers(image, address)) return;
  uint64_t key = text_hash(needle, needle_length) * 31 + text_hash(name, text_length(name));
  if (!is_new((key * 31 + address) * 31 + (uint64_t)function)) return;
  struct question question = {name, needle, needle_length, address, truth, function};
  struct verdict verdict = {architecture_here(), 0, (uint8_t)truth, NS_OBSERVED};
  record_test(&question, image, &verdict);
}

#define CALLER ((uintptr_t)__builtin_return_address(0))

static uint8_t lower(char c) {
  return (uint8_t)(c >= 'A' && c <= 'Z' ? c + 32 : c);
}

static size_t length_within(const char* text, size_t limit) {
  size_t n = 0;
  while (n < limit && text[n]) n++;
  return n;
}

EXPORT int strcmp(const char* a, const char* b) {
  size_t i = 0;
  while (a[i] && a[i] == b[i]) i++;
  int order = (uint8_t)a[i] - (uint8_t)b[i];
  watch(NS_STRCMP, a, text_length(a), b, text_length(b), order == 0, CALLER);
  return order;
}

EXPORT int strncmp(const char* a, const char* b, size_t count) {
  size_t i = 0;
  while (i < count && a[i] && a[i] == b[i]) i++;
  int order = i < count ? (uint8_t)a[i] - (uint8_t)b[i] : 0;
  watch(NS_STRNCMP, a, length_within(a, count), b, length_within(b, count), order == 0, CALLER);
  return order;
}

EXPORT int strcasecmp(const char* a, const char* b) {
  size_t i = 0;
  while (a[i] && lower(a[i]) == lower(b[i])) i++;
  int order = lower(a[i]) - lower(b[i]);
  watch(NS_STRCASECMP, a, text_length(a), b, text_length(b), order == 0, CALLER);
  return order;
}

EXPORT char* strcasestr(const char* haystack, const char* needle) {
  const char* found = NULL;
  for (const char* at = haystack;; at++) {
    size_t i = 0;
    while (needle[i] && lower(at[i]) == lower(needle[i])) i++;
    if (!needle[i]) found = at;
    if (found || !*at) break;
  }
  watch(NS_STRCASESTR, haystack, text_length(haystack), needle, text_length(needle), found != NULL,
        CALLER);
  return (char*)found;
}

EXPORT int memcmp(const void* a, const void* b, size_t count) {
  const uint8_t *x = a, *y = b;
  size_t i = 0;
  while (i < count && x[i] == y[i]) i++;
  int order = i < count ? x[i] - y[i] : 0;
  watch(NS_MEMCMP, a, count, b, count, order == 0, CALLER);
  return order;
}

EXPORT void* memmem(const void* haystack, size_t size, const void* needle, size_t length) {
  const char* found = text_find_bytes(haystack, size, needle, length);
  watch(NS_MEMMEM, haystack, size, needle, length, found != NULL, CALLER);
  return (void*)found;
}

uintptr_t other_test(const char* name) {
  static const char* const names[] = {"strcmp",     "strncmp", "strcasecmp",
                                      "strcasestr", "memcmp",  "memmem"};
  uintptr_t const functions[] = {(uintptr_t)strcmp,     (uintptr_t)strncmp, (uintptr_t)strcasecmp,
                                 (uintptr_t)strcasestr, (uintptr_t)memcmp,  (uintptr_t)memmem};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (text_equal(name, names[i])) return functions[i];
  return 0;
}
