// Which texts to try is the whole claim of a probe, so the rule is wide and simple: whatever in the
// assembler's file looks like a part of a name. It is taken from the file and not from a list of
// ours, so that a text nobody has thought of is tried too. Not in it: texts put together at run
// time, kept as hashes, or compared a few bytes at a time.
#include "study/probe_words.h"

#include <algorithm>
#include <unordered_set>

#include "util/cursor.h"
#include "util/text.h"

namespace namesake::study {
namespace {

constexpr size_t kShortestWord = 3, kShortestRun = 6;
constexpr size_t kLongestWord = 4000;  // a longer run is data

bool in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$';
}

bool printable(char c) {
  return (c >= ' ' && c <= '~') || c == '\t' || c == '\n' || c == '\r';
}

// Maximal runs of characters that `belongs` accepts: receive(text, whether a zero byte ends it).
template <class Belongs, class Receive>
void for_each_run(std::string_view bytes, Belongs belongs, Receive receive) {
  for (size_t at = 0; at < bytes.size();) {
    if (!belongs(bytes[at])) {
      ++at;
      continue;
    }
    size_t end = at;
    while (end < bytes.size() && belongs(bytes[end])) ++end;
    receive(bytes.substr(at, end - at), end < bytes.size() && bytes[end] == '\0');
    at = end;
  }
}

class Words {
 public:
  bool add(std::string word) {
    if (!known_.insert(word).second) return false;
    list_.push_back(std::move(word));
    return true;
  }
  size_t size() const { return list_.size(); }
  const std::string& operator[](size_t i) const { return list_[i]; }
  std::vector<std::string> take() { return std::move(list_); }

 private:
  std::vector<std::string> list_;
  std::unordered_set<std::string> known_;
};

}  // namespace

std::string rot13(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if ((c >= 'a' && c <= 'm') || (c >= 'A' && c <= 'M')) {
      c = static_cast<char>(c + 13);
    } else if ((c >= 'n' && c <= 'z') || (c >= 'N' && c <= 'Z')) {
      c = static_cast<char>(c - 13);
    }
  }
  return result;
}

bool can_be_in_a_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), in_name);
}

Dictionary dictionary(std::string_view file, const std::vector<std::string>& added) {
  Words words;
  auto add = [&](std::string_view text) {
    if (text.size() <= kLongestWord) words.add(std::string(text));
  };
  for_each_run(file, printable, [&](std::string_view string, bool ended) {
    if (!ended || string.size() < kShortestWord) return;
    for_each_run(string, in_name, [&](std::string_view word, bool) {
      if (word.size() >= kShortestWord) add(word);
    });
  });
  for_each_run(file, in_name, [&](std::string_view run, bool) {
    if (run.size() >= kShortestRun) add(run);
  });
  Dictionary result;
  result.from_file = words.size();
  for (size_t i = 0; i < result.from_file; ++i) result.from_rot13 += words.add(rot13(words[i]));
  for (const std::string& word : added) {
    if (!can_be_in_a_name(word) || word.size() > kLongestWord) {
      result.unusable.push_back(word);
    } else {
      result.added += words.add(word);
    }
  }
  result.words = words.take();
  return result;
}

std::vector<std::string> words_of(std::string_view list) {
  std::vector<std::string> words;
  Cursor cursor(list);
  while (!cursor.at_end()) {
    std::string_view line = cursor.take_line();
    line = line.substr(0, line.find('#'));
    auto belongs = [](char c) { return static_cast<unsigned char>(c) > ' '; };
    for_each_run(line, belongs, [&](std::string_view word, bool) { words.emplace_back(word); });
  }
  return words;
}

}  // namespace namesake::study
