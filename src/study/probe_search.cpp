// Two passes. The first puts many words into one long name: whatever is looked for anywhere in a
// name is found so, at one assembly for some seventy words. The second makes each word the whole
// name: what must begin a name, end it or be all of it is found so, at one assembly a word.
//
// A name that changes the code is halved until one word is left, and the word is cut from both
// ends. Then every known trigger is blotted out in the names that are still suspected and they are
// asked again, until none is left: so several triggers in one name, or in all of them, are found
// one by one. Where neither half does it alone, words are left out one by one as long as it stays:
// what remains is a condition of several texts.
#include "study/probe_search.h"

#include <algorithm>
#include <cctype>

#include "ptx/lexer.h"

namespace namesake::study {
namespace {

constexpr std::string_view kGap =
    "Q0";  // between words; no word of a dictionary is likely to go on in it
constexpr size_t kMostDismissed = 200;  // suspicions; beyond, the code varies of itself
constexpr size_t kMostTriggers = 200;

bool same_letter(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

size_t find_text(std::string_view name, std::string_view text, bool any_case, size_t from = 0) {
  if (!any_case) return name.find(text, from);
  if (from > name.size()) return name.npos;
  auto found = std::search(name.begin() + static_cast<std::ptrdiff_t>(from), name.end(),
                           text.begin(), text.end(), same_letter);
  return found == name.end() ? name.npos : static_cast<size_t>(found - name.begin());
}

bool equal_text(std::string_view a, std::string_view b, bool any_case) {
  return a.size() == b.size() && find_text(a, b, any_case) == 0;
}

// The word without the trigger: its first letter becomes one it does not have.
std::string blotted(std::string word, const Trigger& trigger) {
  std::vector<std::string> texts = trigger.parts;
  if (texts.empty()) texts = {trigger.text};
  for (const std::string& text : texts) {
    char blot = std::isdigit(static_cast<unsigned char>(text[0])) ? 'Q' : '0';
    for (size_t at; (at = find_text(word, text, trigger.any_case)) != word.npos;) word[at] = blot;
  }
  return word;
}

std::string other_case(std::string text) {
  for (char& c : text) {
    unsigned char letter = static_cast<unsigned char>(c);
    c = static_cast<char>(std::islower(letter) ? std::toupper(letter) : std::tolower(letter));
  }
  return text;
}

using Words = std::vector<std::string>;

// Q0Q, word, Q0, word, …, and Q up to the length.
std::string packed(const Words& words, size_t length = kNameLength) {
  std::string name = "Q0Q";
  for (const std::string& word : words) name.append(word).append(kGap);
  if (name.size() < length) name.append(length - name.size(), 'Q');
  return name;
}

std::string beginning_with(const std::string& text) {
  return text + "Q0QQ";
}
std::string ending_with(const std::string& text) {
  return "Q0Q" + text;
}

std::vector<Words> packs_of(const Words& words) {
  std::vector<Words> packs;
  size_t length = kNameLength;
  for (const std::string& word : words) {
    size_t added = word.size() + kGap.size();
    if (length + added > kNameLength) {
      packs.emplace_back();
      length = 3;
    }
    packs.back().push_back(word);
    length += added;
  }
  return packs;
}

class Searcher {
 public:
  explicit Searcher(const Oracle& oracle) : oracle_(oracle) {}

  Result<Search> inside(const Words& all) {
    TRY_ASSIGN(Words words, without_refused_letters(all));
    search_.texts = words.size();
    search_.left_out = all.size() - words.size();
    std::vector<Words> suspected = packs_of(words);
    for (;;) {
      for (Words& pack : suspected) blot(pack);
      std::vector<std::string> names;
      for (const Words& pack : suspected) names.push_back(packed(pack));
      TRY_ASSIGN(std::vector<Answer> answers, oracle_.ask(names));
      std::vector<Words> still;
      for (size_t i = 0; i < suspected.size(); ++i) {
        if (answers[i].change != Change::none) still.push_back(std::move(suspected[i]));
      }
      suspected = std::move(still);
      if (suspected.empty() || search_.given_up) break;
      // From the first name that proves real; those that do not are done with.
      bool progress = false;
      while (!suspected.empty() && !progress && !search_.given_up) {
        TRY_ASSIGN(progress, isolate(suspected.front()));
        if (!progress) suspected.erase(suspected.begin());
      }
      if (search_.triggers.size() >= kMostTriggers) search_.given_up = true;
    }
    return std::move(search_);
  }

  Result<Search> names(const Words& all, const std::vector<Trigger>& inside) {
    TRY_ASSIGN(Words words, without_refused_letters(all));
    Words names;
    for (const std::string& word : words) {
      bool known = std::any_of(inside.begin(), inside.end(),
                               [&](const Trigger& trigger) { return explains(trigger, word); });
      if (!known && ptx::is_identifier(word)) names.push_back(word);
    }
    search_.texts = names.size();
    search_.left_out = all.size() - names.size();
    TRY_ASSIGN(std::vector<Answer> answers, oracle_.ask(names));
    // Short ones first: a prefix explains the longer names that begin with it.
    std::vector<size_t> changed;
    for (size_t i = 0; i < names.size(); ++i) {
      if (answers[i].change == Change::refused)
        search_.refused.push_back({names[i], answers[i].why});
      else if (answers[i].change != Change::none)
        changed.push_back(i);
    }
    std::stable_sort(changed.begin(), changed.end(),
                     [&](size_t a, size_t b) { return names[a].size() < names[b].size(); });
    for (size_t at = 0; at < changed.size(); ++at) {
      const std::string& name = names[changed[at]];
      if (explained(name)) continue;
      if (search_.given_up || search_.triggers.size() >= kMostTriggers) {
        search_.given_up = true;
        break;
      }
      TRY_ASSIGN(bool real, confirmed(name));
      if (real) {
        TRY(classify(name, answers[changed[at]]));
      } else {
        // More neutral codes are known now: ask again about what is still suspected.
        std::vector<std::string> rest;
        for (size_t k = at + 1; k < changed.size(); ++k) rest.push_back(names[changed[k]]);
        TRY_ASSIGN(std::vector<Answer> again, oracle_.ask(rest));
        std::vector<size_t> still;
        for (size_t k = 0; k < rest.size(); ++k) {
          if (again[k].change != Change::none) still.push_back(changed[at + 1 + k]);
        }
        changed.resize(at + 1);
        changed.insert(changed.end(), still.begin(), still.end());
      }
    }
    return std::move(search_);
  }

 private:
  // CUDA C++ is not always given a '$' in names. Thousands of words have one, and to be refused one
  // by one takes longer than all the rest.
  Result<Words> without_refused_letters(Words words) {
    auto has = [](const std::string& word) { return word.find('$') != word.npos; };
    if (std::none_of(words.begin(), words.end(), has)) return words;
    TRY_ASSIGN(std::vector<Answer> answers, oracle_.ask({"Q0Q$Q0Q"}));
    if (answers[0].change != Change::refused) return words;
    search_.refused.push_back({"$", answers[0].why});
    std::erase_if(words, has);
    return words;
  }

  // Whether each name changes something; once a suspicion proved wrong, each is looked at closely.
  Result<std::vector<bool>> differ(const std::vector<std::string>& names) {
    TRY_ASSIGN(std::vector<Answer> answers, oracle_.ask(names));
    std::vector<bool> result;
    for (size_t i = 0; i < names.size(); ++i) {
      bool differs = answers[i].change != Change::none;
      if (differs && search_.dismissed > 0 && answers[i].change == Change::code) {
        TRY_ASSIGN(Verdict verdict, oracle_.verify(names[i]));
        differs = verdict.real;
      }
      result.push_back(differs);
    }
    return result;
  }
  Result<bool> differs(const std::string& name) {
    TRY_ASSIGN(std::vector<bool> result, differ({name}));
    return result[0];
  }

  Result<bool> confirmed(const std::string& name) {
    TRY_ASSIGN(Verdict verdict, oracle_.verify(name));
    last_runs_ = verdict.runs;
    if (!verdict.real && ++search_.dismissed > kMostDismissed) search_.given_up = true;
    return verdict.real;
  }

  void blot(Words& pack) {
    for (const Trigger& trigger : search_.triggers) {
      for (std::string& word : pack) word = blotted(std::move(word), trigger);
    }
    for (const Refusal& refusal : search_.refused) std::erase(pack, refusal.word);
    for (const std::string& word : search_.unexplained) std::erase(pack, word);
  }

  bool explained(std::string_view name) const {
    return std::any_of(search_.triggers.begin(), search_.triggers.end(),
                       [&](const Trigger& trigger) { return explains(trigger, name); });
  }

  // False where the pack's change is none, or cannot be pursued further.
  Result<bool> isolate(Words pack) {
    TRY_ASSIGN(std::vector<Answer> whole, oracle_.ask({packed(pack)}));
    if (whole[0].change == Change::none) return false;
    if (whole[0].change != Change::refused) {
      TRY_ASSIGN(bool real, confirmed(packed(pack)));
      if (!real) return false;
    }
    while (pack.size() > 1) {
      auto middle = pack.begin() + static_cast<std::ptrdiff_t>(pack.size() / 2);
      Words left(pack.begin(), middle), right(middle, pack.end());
      TRY_ASSIGN(std::vector<bool> halves, differ({packed(left), packed(right)}));
      if (!halves[0] && !halves[1]) break;
      pack = halves[0] ? std::move(left) : std::move(right);
    }
    TRY_ASSIGN(std::vector<Answer> answers, oracle_.ask({packed(pack)}));
    if (answers[0].change == Change::refused) {
      search_.refused.push_back({pack.front(), answers[0].why});
      return true;
    }
    Trigger trigger;
    trigger.change = answers[0].change;
    trigger.why = answers[0].why;
    trigger.found_in = pack.front();
    if (pack.size() > 1) return take_together(std::move(pack), std::move(trigger));
    auto build = [](const std::string& text) { return packed({text}); };
    TRY_ASSIGN(trigger.text, shortest(pack.front(), build, true, true));
    return take(std::move(trigger), pack.front());
  }

  // Neither half does it alone: which words does it need?
  Result<bool> take_together(Words pack, Trigger trigger) {
    for (size_t i = 0; i < pack.size() && pack.size() > 1;) {
      Words fewer = pack;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      TRY_ASSIGN(bool stays, differs(packed(fewer)));
      if (stays) {
        pack = std::move(fewer);
      } else {
        ++i;
      }
    }
    trigger.match = Match::together;
    trigger.found_in = pack.front();
    trigger.parts = pack;
    for (const std::string& word : pack) trigger.text += (trigger.text.empty() ? "" : " + ") + word;
    return take(std::move(trigger), pack.front());
  }

  // The shortest part of the word that does it, its beginning or its end kept where they must be.
  template <class Build>
  Result<std::string> shortest(const std::string& word, Build build, bool cut_front,
                               bool cut_back) {
    size_t begin = 0, end = word.size();
    if (cut_back) {
      size_t low = 0;  // too short
      while (end - low > 1) {
        size_t middle = low + (end - low) / 2;
        TRY_ASSIGN(bool does, differs(build(word.substr(0, middle))));
        (does ? end : low) = middle;
      }
    }
    if (cut_front) {
      size_t high = end;  // nothing left
      while (high - begin > 1) {
        size_t middle = begin + (high - begin) / 2;
        TRY_ASSIGN(bool does, differs(build(word.substr(middle, end - middle))));
        (does ? begin : high) = middle;
      }
    }
    return word.substr(begin, end - begin);
  }

  // A trigger is one when its own name proves it; else its word is put aside.
  Result<bool> take(Trigger trigger, const std::string& word) {
    TRY_ASSIGN(bool real, confirmed(name_for(trigger)));
    if (!real) {
      search_.unexplained.push_back(word);
      return true;
    }
    trigger.runs = last_runs_;
    Trigger swapped = trigger;
    swapped.text = other_case(trigger.text);
    for (std::string& part : swapped.parts) part = other_case(part);
    if (swapped.text != trigger.text) {
      TRY_ASSIGN(trigger.any_case, differs(name_for(swapped)));
    }
    if (trigger.match == Match::substring) {
      std::string far(kNameLength - trigger.text.size() % kNameLength, 'Q');
      TRY_ASSIGN(trigger.at_far_end, differs(far + trigger.text));
    }
    search_.triggers.push_back(std::move(trigger));
    return true;
  }

  Status classify(const std::string& word, const Answer& answer) {
    Trigger trigger;
    trigger.change = answer.change;
    trigger.why = answer.why;
    trigger.found_in = word;
    auto within = [](const std::string& text) { return ending_with(beginning_with(text)); };
    TRY_ASSIGN(std::vector<bool> does,
               differ({within(word), beginning_with(word), ending_with(word)}));
    if (does[0]) {
      TRY_ASSIGN(trigger.text, shortest(word, within, true, true));
    } else if (does[1]) {
      trigger.match = Match::prefix;
      TRY_ASSIGN(trigger.text, shortest(word, beginning_with, false, true));
    } else if (does[2]) {
      trigger.match = Match::suffix;
      TRY_ASSIGN(trigger.text, shortest(word, ending_with, true, false));
    } else {
      trigger.match = Match::exact;
      trigger.text = word;
    }
    TRY(take(std::move(trigger), word));
    return {};
  }

  const Oracle& oracle_;
  Search search_;
  int last_runs_ = 0;
};

}  // namespace

Result<Search> search_inside(const Oracle& oracle, const std::vector<std::string>& words) {
  return Searcher(oracle).inside(words);
}

Result<Search> search_names(const Oracle& oracle, const std::vector<std::string>& words,
                            const std::vector<Trigger>& inside) {
  return Searcher(oracle).names(words, inside);
}

std::string name_for(const Trigger& trigger) {
  switch (trigger.match) {
    case Match::substring:
      return ending_with(beginning_with(trigger.text));
    case Match::prefix:
      return beginning_with(trigger.text);
    case Match::suffix:
      return ending_with(trigger.text);
    case Match::exact:
      return trigger.text;
    case Match::together:
      return packed(trigger.parts);
  }
  return trigger.text;
}

bool explains(const Trigger& trigger, std::string_view name) {
  std::string_view text = trigger.text;
  switch (trigger.match) {
    case Match::substring:
      return find_text(name, text, trigger.any_case) != name.npos;
    case Match::prefix:
      return equal_text(name.substr(0, text.size()), text, trigger.any_case);
    case Match::suffix:
      return name.size() >= text.size() &&
             equal_text(name.substr(name.size() - text.size()), text, trigger.any_case);
    case Match::exact:
      return equal_text(name, text, trigger.any_case);
    case Match::together:
      return std::all_of(trigger.parts.begin(), trigger.parts.end(), [&](const std::string& part) {
        return find_text(name, part, trigger.any_case) != name.npos;
      });
  }
  return false;
}

}  // namespace namesake::study
