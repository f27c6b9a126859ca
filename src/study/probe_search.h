// The search itself: from words to the shortest texts that do it. It knows nothing of assemblers;
// it asks what happens under a name, and is tested against answers that are made up.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "study/probe_bench.h"
#include "util/error.h"

namespace namesake::study {

enum class Match { substring, prefix, suffix, exact, together };

struct Trigger {
  std::string text;  // the shortest; of several together, joined by " + "
  Match match = Match::substring;
  bool any_case = false;
  Change change = Change::code;
  std::string why;                 // of a crash
  std::string found_in;            // the word that led to it
  int runs = 0;                    // that confirmed it, each with its twin
  bool at_far_end = true;          // found at the end of a long name too (substrings)
  std::vector<std::string> parts;  // of several together
};

struct Refusal {
  std::string word, why;
};

struct Search {
  std::vector<Trigger> triggers;
  std::vector<Refusal> refused;
  std::vector<std::string>
      unexplained;        // words that change the code, though no shorter text was found to
  size_t texts = 0;       // tried
  size_t left_out = 0;    // words that hold a trigger already known, or are no name
  size_t dismissed = 0;   // suspicions that no repetition confirmed
  bool given_up = false;  // too many of these: the code varies of itself
};

// What happens to a kernel under names: one answer each, and one name looked at closely.
struct Oracle {
  std::function<Result<std::vector<Answer>>(const std::vector<std::string>&)> ask;
  std::function<Result<Verdict>(const std::string&)> verify;
};

constexpr size_t kNameLength = 1000;  // of names that hold many words

// Words inside names that hold many of them.
Result<Search> search_inside(const Oracle& oracle, const std::vector<std::string>& words);

// Each word as the whole name; those that hold one of `inside` are left out, since they react
// anyway.
Result<Search> search_names(const Oracle& oracle, const std::vector<std::string>& words,
                            const std::vector<Trigger>& inside);

// A name in which the trigger stands where it must, and the rest is neutral.
std::string name_for(const Trigger& trigger);

// Whether a kernel of that name reacts, as far as the trigger goes.
bool explains(const Trigger& trigger, std::string_view name);

}  // namespace namesake::study
