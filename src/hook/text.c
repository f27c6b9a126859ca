/* Texts without libc, among them the strstr that every program of a run gets.
 *
 * The true answer has to come from somewhere. The known ways are dlsym(RTLD_NEXT), which may
 * allocate, lock and re-enter, and walking the link map, which has to run libc's resolver by hand.
 * We search ourselves. Two things must hold for programs that have nothing to do with assemblers:
 * a search must stop at its match (callers loop over huge texts), and no input may make it
 * quadratic. So it steps through aligned words to the needle's first character and compares there;
 * when comparing has cost too much, it changes to Crochemore and Perrin's two-way search, which is
 * linear and needs no memory. Aligned words may be read beyond the final zero: they cross no page.
 */
#include "text.h"

size_t text_length(const char* text) {
  size_t n = 0;
  while (text[n]) n++;
  return n;
}

int text_equal(const char* a, const char* b) {
  while (*a && *a == *b) a++, b++;
  return *a == *b;
}

int text_starts(const char* text, const char* prefix) {
  while (*prefix && *text == *prefix) text++, prefix++;
  return !*prefix;
}

void text_copy(char* to, const char* from, size_t count) {
  for (size_t i = 0; i < count; i++) to[i] = from[i];
}

char* text_append(char* at, const char* end, const char* text) {
  while (*text && at + 1 < end) *at++ = *text++;
  *at = 0;
  return at;
}

char* text_append_number(char* at, const char* end, uint64_t number) {
  char digits[21];
  int i = 20;
  digits[i] = 0;
  do digits[--i] = (char)('0' + number % 10);
  while (number /= 10);
  return text_append(at, end, digits + i);
}

/* protocol.h has the constants; they are repeated here by nobody else than the tool. */
uint64_t text_hash(const char* text, size_t length) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (size_t i = 0; i < length; i++) hash = (hash ^ (uint8_t)text[i]) * 0x100000001b3ull;
  return hash;
}

/* Does one set, from behind its '[', hold c? *after gets what follows its ']'; a set without an end
 * is a plain '['. */
static int glob_set(const char* set, char c, const char** after) {
  int negated = *set == '!' || *set == '^';
  int found = 0;
  const char* at = set + negated;
  do {
    if (!*at) {
      *after = set;
      return c == '[';
    }
    if (at[1] == '-' && at[2] && at[2] != ']') {
      found |= (uint8_t)at[0] <= (uint8_t)c && (uint8_t)c <= (uint8_t)at[2];
      at += 3;
    } else {
      found |= *at++ == c;
    }
  } while (*at != ']');
  *after = at + 1;
  return found != negated;
}

int text_glob(const char* pattern, const char* text) {
  const char* star = 0;
  const char* resume = 0;
  for (;;) {
    const char* next = pattern + 1;
    if (*pattern == '*') {
      star = ++pattern;
      resume = text;
      continue;
    }
    if (!*text && !*pattern) return 1;
    if (*text && *pattern &&
        (*pattern == '?' ||
         (*pattern == '[' ? glob_set(pattern + 1, *text, &next) : *pattern == *text))) {
      pattern = next;
      text++;
      continue;
    }
    if (!star || !*resume) return 0;
    pattern = star;
    text = ++resume;
  }
}

/* --- two-way search --- */

/* The start (less one) and period of the needle's greatest suffix, in the alphabet's order or, with
 * `reversed`, in the opposite one. */
static ptrdiff_t greatest_suffix(const uint8_t* needle, ptrdiff_t length, int reversed,
                                 ptrdiff_t* period) {
  ptrdiff_t suffix = -1, at = 0, k = 1, p = 1;
  while (at + k < length) {
    uint8_t a = needle[at + k], b = needle[suffix + k];
    if (a == b) {
      if (k == p) {
        at += p;
        k = 1;
      } else {
        k++;
      }
    } else if (reversed ? a > b : a < b) {
      at += k;
      k = 1;
      p = at - suffix;
    } else {
      suffix = at++;
      k = p = 1;
    }
  }
  *period = p;
  return suffix;
}

/* A haystack whose end is found as the search goes: by a size, or by a zero. */
struct haystack {
  const uint8_t* text;
  ptrdiff_t known; /* characters known to be there */
  int by_zero;
};

static int reaches(struct haystack* hay, ptrdiff_t end) {
  if (!hay->by_zero) return end <= hay->known;
  while (hay->known < end) {
    if (!hay->text[hay->known]) return 0;
    hay->known++;
  }
  return 1;
}

static const char* two_way(struct haystack hay, const uint8_t* needle, ptrdiff_t length) {
  ptrdiff_t period, other_period;
  ptrdiff_t middle = greatest_suffix(needle, length, 0, &period);
  ptrdiff_t other = greatest_suffix(needle, length, 1, &other_period);
  if (other > middle) {
    middle = other;
    period = other_period;
  }
  int periodic = 1;
  for (ptrdiff_t i = 0; i <= middle && periodic; i++)
    periodic = i + period < length && needle[i] == needle[i + period];
  if (!periodic) {
    ptrdiff_t right = length - middle - 1;
    period = (middle + 1 > right ? middle + 1 : right) + 1;
  }
  ptrdiff_t matched = -1; /* of a periodic needle: this much of it is known to fit already */
  for (ptrdiff_t at = 0; reaches(&hay, at + length);) {
    ptrdiff_t i = (middle > matched ? middle : matched) + 1;
    while (i < length && needle[i] == hay.text[at + i]) i++;
    if (i < length) {
      at += i - middle;
      matched = -1;
      continue;
    }
    i = middle;
    while (i > matched && needle[i] == hay.text[at + i]) i--;
    if (i <= matched) return (const char*)hay.text + at;
    at += period;
    matched = periodic ? length - period - 1 : -1;
  }
  return 0;
}

/* --- the ordinary search --- */

#define ONES 0x0101010101010101ull
#define HIGHS 0x8080808080808080ull

static uint64_t zeros_in(uint64_t word) {
  return (word - ONES) & ~word & HIGHS;
}

typedef uint64_t __attribute__((may_alias)) any_word;

/* The first c, or the final zero. Whole words reach beyond it, which a sanitizer would call an
 * error. */
__attribute__((no_sanitize("address"))) static const char* step_to(const char* text, char c) {
  for (; (uintptr_t)text & 7; text++)
    if (*text == c || !*text) return text;
  uint64_t pattern = ONES * (uint8_t)c;
  while (!(zeros_in(*(const any_word*)text) | zeros_in(*(const any_word*)text ^ pattern)))
    text += 8;
  while (*text != c && *text) text++;
  return text;
}

char* text_find(const char* haystack, const char* needle) {
  if (!*needle) return (char*)haystack;
  const char* at = haystack;
  size_t wasted = 0;
  for (;;) {
    at = step_to(at, *needle);
    if (!*at) return 0;
    size_t i = 1;
    while (needle[i] && at[i] == needle[i]) i++;
    if (!needle[i]) return (char*)at;
    if (!at[i]) return 0; /* what is left is shorter than the needle */
    wasted += i;
    at++;
    if (wasted > 256 + 4 * (size_t)(at - haystack)) {
      struct haystack hay = {(const uint8_t*)at, 0, 1};
      return (char*)two_way(hay, (const uint8_t*)needle, (ptrdiff_t)text_length(needle));
    }
  }
}

const char* text_find_bytes(const char* haystack, size_t size, const char* needle, size_t length) {
  if (!length) return haystack;
  if (length > size) return 0;
  struct haystack hay = {(const uint8_t*)haystack, (ptrdiff_t)size, 0};
  return two_way(hay, (const uint8_t*)needle, (ptrdiff_t)length);
}
