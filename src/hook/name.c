/* Readable names inside the assembler.
 *
 * A user names kernels as they are written, `ns::sgemm`, and the assembler asks about symbols. The
 * names are known only while it runs, so the tool cannot translate them beforehand, and a whole
 * demangler (some 5,000 lines, substitutions, expressions, memory) does not belong into a library
 * that sits in every process. We decode what a rule needs, the qualified name: namespaces, classes
 * and the function, without template arguments and parameters. For that, template arguments have
 * only to be stepped over, and no substitution has to be resolved: the first name of a symbol has
 * nothing before it to refer to.
 *
 * Not decoded, so that only a glob on the symbol reaches them: operators and conversions, functions
 * local to functions, members of std's abbreviated classes, template arguments that hold
 * expressions (other than literals and addresses of functions), and what is no Itanium mangling at
 * all. A text that is not mangled is its own readable name; the callers try the symbol itself
 * first.
 */
#include "name.h"

#include "text.h"

enum { kDeepest = 64 };

struct parser {
  const char* at;
  int depth;
  int failed;
};

struct output {
  char* start;
  char* at;
  char* end;
  char* last; /* start of the last component, for constructors */
};

static int skip_type(struct parser* p);
static int skip_name(struct parser* p, struct output* out);

static int fail(struct parser* p) {
  p->failed = 1;
  return 0;
}

static int accept(struct parser* p, char c) {
  if (*p->at != c) return 0;
  p->at++;
  return 1;
}

static int is_digit(char c) {
  return c >= '0' && c <= '9';
}

static void put_component(struct output* out, const char* text, size_t length) {
  if (!out) return;
  if (out->at > out->start) out->at = text_append(out->at, out->end, "::");
  out->last = out->at;
  for (size_t i = 0; i < length && out->at + 1 < out->end; i++) *out->at++ = text[i];
  *out->at = 0;
}

static int skip_source_name(struct parser* p, struct output* out) {
  size_t length = 0;
  if (!is_digit(*p->at)) return fail(p);
  while (is_digit(*p->at)) {
    length = length * 10 + (size_t)(*p->at++ - '0');
    if (length > 1u << 20) return fail(p);
  }
  for (size_t i = 0; i < length; i++)
    if (!p->at[i]) return fail(p);
  if (length >= 10 && text_starts(p->at, "_GLOBAL__N"))
    put_component(out, "(anonymous namespace)", 21);
  else
    put_component(out, p->at, length);
  p->at += length;
  while (accept(p, 'B'))
    if (!skip_source_name(p, 0)) return 0;
  return 1;
}

/* S_ S0_ SZ_ T_ T12_, from behind the letter. */
static int skip_reference(struct parser* p) {
  while (is_digit(*p->at) || (*p->at >= 'A' && *p->at <= 'Z')) p->at++;
  return accept(p, '_') || fail(p);
}

static int skip_number(struct parser* p) {
  accept(p, 'n');
  if (!is_digit(*p->at)) return fail(p);
  while (is_digit(*p->at)) p->at++;
  return 1;
}

/* From behind the L: a type and a value, or a function. */
static int skip_literal(struct parser* p) {
  if (text_starts(p->at, "_Z")) {
    p->at += 2;
    if (!skip_name(p, 0)) return 0;
    while (*p->at && *p->at != 'E')
      if (!skip_type(p)) return 0;
  } else {
    if (!skip_type(p)) return 0;
    while (*p->at && *p->at != 'E') p->at++; /* digits, n, hexadecimal floats */
  }
  return accept(p, 'E') || fail(p);
}

static int skip_argument(struct parser* p) {
  if (accept(p, 'L')) return skip_literal(p);
  if (accept(p, 'J')) {
    while (*p->at && *p->at != 'E')
      if (!skip_argument(p)) return 0;
    return accept(p, 'E') || fail(p);
  }
  if (text_starts(p->at, "XadL_Z")) {
    p->at += 4;
    return skip_literal(p) && (accept(p, 'E') || fail(p));
  }
  return skip_type(p);
}

/* From behind the I. */
static int skip_arguments(struct parser* p) {
  while (*p->at && *p->at != 'E')
    if (!skip_argument(p)) return 0;
  return accept(p, 'E') || fail(p);
}

/* From behind the S: std, one of its abbreviated classes, or something met before. A name of its
 * own can begin with the first only. */
static int skip_substitution(struct parser* p, struct output* out) {
  char c = *p->at;
  if (accept(p, 't')) {
    put_component(out, "std", 3);
    return 1;
  }
  if (out) return fail(p);
  if (c >= 'a' && c <= 'z') {
    p->at++;
    return 1;
  }
  return skip_reference(p);
}

static void put_again(struct output* out, const char* prefix) {
  if (!out) return;
  char* name = out->last;
  char* end = out->at;
  out->at = text_append(out->at, out->end, "::");
  out->last = out->at;
  out->at = text_append(out->at, out->end, prefix);
  while (name < end && out->at + 1 < out->end) *out->at++ = *name++;
  *out->at = 0;
}

/* From behind the N: [qualifiers] component… E. */
static int skip_nested(struct parser* p, struct output* out) {
  while (*p->at == 'r' || *p->at == 'V' || *p->at == 'K' || *p->at == 'R' || *p->at == 'O') p->at++;
  while (*p->at != 'E') {
    char c = *p->at;
    int done;
    if (is_digit(c)) {
      done = skip_source_name(p, out);
    } else if (accept(p, 'L')) {
      done = skip_source_name(p, out);
    } else if (accept(p, 'S')) {
      done = skip_substitution(p, out);
    } else if (accept(p, 'I')) {
      done = skip_arguments(p);
    } else if (c == 'T' && !out) {
      p->at++;
      done = skip_reference(p);
    } else if ((c == 'C' || c == 'D') && p->at[1] >= '0' && p->at[1] <= '9') {
      p->at += 2;
      put_again(out, c == 'D' ? "~" : "");
      done = 1;
    } else {
      return fail(p);
    }
    if (!done) return 0;
  }
  p->at++;
  return 1;
}

static int skip_name(struct parser* p, struct output* out) {
  if (++p->depth > kDeepest) return fail(p);
  int done;
  if (accept(p, 'N')) {
    done = skip_nested(p, out);
  } else {
    accept(p, 'L');
    done = accept(p, 'S')
               ? skip_substitution(p, out) && (!is_digit(*p->at) || skip_source_name(p, out))
               : skip_source_name(p, out);
    if (done && accept(p, 'I')) done = skip_arguments(p);
  }
  p->depth--;
  return done;
}

/* From behind the F: result and parameters. */
static int skip_function(struct parser* p) {
  accept(p, 'Y');
  while (*p->at && *p->at != 'E')
    if (!skip_type(p)) return 0;
  return accept(p, 'E') || fail(p);
}

static int skip_simple_type(struct parser* p) {
  char c = *p->at;
  if (is_digit(c) || c == 'N') return skip_name(p, 0);
  p->at++;
  switch (c) {
    case 'P':
    case 'R':
    case 'O':
    case 'K':
    case 'V':
    case 'r':
    case 'C':
    case 'G':
      return skip_type(p);
    case 'S':
      if (!skip_substitution(p, 0)) return 0;
      return !(p->at[-1] == 't' && is_digit(*p->at)) || skip_source_name(p, 0);
    case 'T':
      return skip_reference(p);
    case 'F':
      return skip_function(p);
    case 'A':
      return skip_number(p) && (accept(p, '_') || fail(p)) && skip_type(p);
    case 'M':
      return skip_type(p) && skip_type(p);
    case 'U':
    case 'u':
      return skip_source_name(p, 0) && (c == 'u' || skip_type(p));
    case 'D':
      c = *p->at;
      if (!c) return fail(p);
      p->at++;
      if (c == 'p') return skip_type(p);
      if (c == 'v') return skip_number(p) && (accept(p, '_') || fail(p)) && skip_type(p);
      if (c == 'o') return skip_type(p); /* noexcept function */
      return c == 'T' || c == 't' || c == 'O' || c == 'w' || c == 'x' ? fail(p) : 1;
    default:
      return (c >= 'a' && c <= 'z') || fail(p);
  }
}

static int skip_type(struct parser* p) {
  if (p->failed || ++p->depth > kDeepest) return fail(p);
  int done = skip_simple_type(p);
  while (done && accept(p, 'I')) done = skip_arguments(p);
  p->depth--;
  return done;
}

int name_qualified(const char* symbol, char* to, size_t room) {
  if (!text_starts(symbol, "_Z") || room < 2) return 0;
  struct parser p = {symbol + 2, 0, 0};
  struct output out = {to, to, to + room, to};
  *to = 0;
  return skip_name(&p, &out) && *to != 0;
}
