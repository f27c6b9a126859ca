/* What is answered, and why.
 *
 * Rules are read in order and the first that fits decides. Whatever is in doubt is answered by the
 * truth: an unknown architecture under a rule that depends on it, an assembler that the rules were
 * not made for, a run that the guard has ordered to be natural. Recording comes after the decision
 * and cannot influence it.
 */
#include "hook.h"
#include "name.h"

enum { kQualifiedRoom = 2048 };

static int watched(const struct ns_control* c, const char* needle) {
  const uint32_t* needles = control_numbers(c, c->needles);
  for (uint32_t i = 0; i < c->needle_count; i++)
    if (text_equal(control_text(c, needles[i]), needle)) return 1;
  return 0;
}

/* A symbol, as far as its characters tell: names are all that `trace` wants to see of other tests.
 */
static int looks_like_name(const char* text) {
  if ((*text >= '0' && *text <= '9') || *text == '.' || !*text) return 0;
  for (; *text; text++) {
    char c = *text;
    int fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '$' || c == '.' || c == '%' || (uint8_t)c >= 0x80;
    if (!fine) return 0;
  }
  return 1;
}

/* A name in the forms that patterns are tried on; the second is made when first needed. */
struct forms {
  const char* symbol;
  uint64_t hash;
  int decoded; /* 0: not tried, 1: yes, -1: cannot be */
  char qualified[kQualifiedRoom];
  uint64_t qualified_hash;
};

static int form_fits(const char* text, uint64_t hash, const char* pattern, uint64_t exact_hash) {
  return exact_hash ? exact_hash == hash && text_equal(text, pattern) : text_glob(pattern, text);
}

static int name_fits(const struct ns_control* c, const struct ns_rule* rule, struct forms* forms) {
  const char* pattern = control_text(c, rule->pattern);
  if (form_fits(forms->symbol, forms->hash, pattern, rule->exact_hash)) return 1;
  if (!forms->decoded) {
    forms->decoded = name_qualified(forms->symbol, forms->qualified, kQualifiedRoom) ? 1 : -1;
    if (forms->decoded > 0)
      forms->qualified_hash = text_hash(forms->qualified, text_length(forms->qualified));
  }
  return forms->decoded > 0 &&
         form_fits(forms->qualified, forms->qualified_hash, pattern, rule->exact_hash);
}

static struct verdict decide(const struct ns_control* c, const struct question* question,
                             const struct image* image) {
  struct verdict verdict = {architecture_here(), 0, (uint8_t)question->truth, NS_OBSERVED};
  struct forms forms;
  forms.symbol = question->name;
  forms.hash = text_hash(question->name, text_length(question->name));
  forms.decoded = 0;
  const struct ns_rule* rules = control_rules(c);
  for (uint32_t i = 0; i < c->rule_count; i++) {
    const struct ns_rule* rule = &rules[i];
    if (!text_equal(control_text(c, rule->needle), question->needle)) continue;
    if (verdict.reason == NS_OBSERVED) verdict.reason = NS_NO_RULE;
    if (!name_fits(c, rule, &forms)) continue;
    if (rule->assembler && rule->assembler != image->identity) {
      verdict.reason = NS_OTHER_ASSEMBLER;
      continue;
    }
    if (rule->architecture && !verdict.architecture) {
      verdict.reason = NS_ARCH_UNKNOWN;
      return verdict;
    }
    if (rule->architecture && rule->architecture != verdict.architecture) continue;
    if ((c->flags & NS_GUARD) && image->kind == NS_IMAGE_PROGRAM && guard_half() != HALF_TREATED) {
      verdict.reason = NS_NATURAL_RUN;
      return verdict;
    }
    verdict.reason = NS_RULE;
    verdict.rule = (uint16_t)i;
    if (rule->treatment != NS_NATURAL) verdict.given = rule->treatment == NS_TREATED;
    return verdict;
  }
  return verdict;
}

int answer(const struct question* question) {
  const struct ns_control* c = control();
  if (!c) return question->truth;
  int wanted = watched(c, question->needle);
  if (!wanted && !((c->flags & NS_RECORD_OTHERS) && looks_like_name(question->name)))
    return question->truth;
  const struct image* image = image_at(question->address, wanted);
  if (!image || !image_answers(image, question->address)) return question->truth;

  struct verdict verdict;
  if (text_equal(question->needle, "sm_")) {
    architecture_learn(question->name);
    verdict = (struct verdict){architecture_here(), 0, (uint8_t)question->truth, NS_OBSERVED};
  } else if (wanted) {
    verdict = decide(c, question, image);
    architecture_used();
    learn_name(question->name);
  } else {
    verdict = (struct verdict){architecture_here(), 0, (uint8_t)question->truth, NS_OBSERVED};
  }
  if (c->flags & NS_RECORD) record_test(question, image, &verdict);
  return verdict.given;
}
