// Names for experiments. Two builds may differ only in what is asked about the name, so their names
// have one length and one ending, and differ in the few characters in front:
//
//     _ZN4mine5sgemmILi128EEEviPKf      the symbol
//     neutrale02kd9x4ILi128EEEviPKf     neutral: a word of our own, a mark that keeps names apart
//     cutlassse02kd9x4Li128EEEviPKf     with the trigger, which stands first (some are prefixes)
//
// Symbols too short to hold the text and a mark of four characters get longer; both kinds alike.
#include <algorithm>
#include <array>
#include <set>

#include "ptx/lexer.h"
#include "ptx/ptx.h"
#include "util/hash.h"

namespace namesake::ptx {
namespace {

constexpr std::array<std::string_view, 2> kTriggers = {"cutlass", "__cuda_uf_stub_"};
constexpr std::string_view kNeutralWord = "neutral";  // as long as the trigger that matters
constexpr size_t kShortMark = 4, kLongMark = 10;

std::string mark_of(std::string_view symbol, int salt) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789";
  Hash hash = hash_bytes(std::string(symbol) + '\0' + std::to_string(salt));
  std::string mark;
  for (uint64_t rest = hash.low; mark.size() < kLongMark; rest /= kLetters.size()) {
    mark += kLetters[rest % kLetters.size()];
  }
  return mark;
}

// word, mark and the symbol's own ending; of the known triggers only those that lie inside `word`.
std::string built(std::string_view symbol, std::string_view word, int salt) {
  std::string name(word);
  size_t length = std::max(symbol.size(), word.size() + kShortMark);
  name += mark_of(symbol, salt).substr(0, length - word.size());
  if (name.size() < length) name += symbol.substr(name.size());
  for (size_t i = word.size(); i < name.size(); ++i) {
    if (!is_identifier(std::string{'k', name[i]})) name[i] = '_';
  }
  for (std::string_view trigger : kTriggers) {
    for (size_t at = 0; (at = name.find(trigger, at)) != std::string::npos; ++at) {
      size_t last = at + trigger.size() - 1;
      if (last >= word.size()) name[last] = name[last] == 'x' ? 'y' : 'x';
    }
  }
  return name;
}

std::string neutral(std::string_view symbol, int which, int salt) {
  // The word varies too, so that two neutral names differ where a trigger would stand.
  std::string word(kNeutralWord);
  word.back() = static_cast<char>('a' + (which % 26 + 26) % 26);
  return built(symbol, word, which + 1000 * salt);
}

std::string with(std::string_view symbol, std::string_view trigger, int salt) {
  bool may_begin = !trigger.empty() && !(trigger[0] >= '0' && trigger[0] <= '9');
  return built(symbol, std::string(may_begin ? "" : "k").append(trigger), 1000 * salt);
}

// make(symbol, salt) for each symbol, salted again where a short mark meets a name that is taken.
template <class Make>
std::map<std::string, std::string> apart(const Module& module,
                                         const std::vector<std::string>& symbols, Make make) {
  std::set<std::string, std::less<>> taken;
  for (const Function& function : module.functions) taken.insert(function.symbol);
  std::map<std::string, std::string> names;
  for (const std::string& symbol : symbols) {
    if (names.contains(symbol)) continue;
    std::string name = make(symbol, 0);
    for (int salt = 1; taken.contains(name); ++salt) name = make(symbol, salt);
    taken.insert(name);
    names.emplace(symbol, std::move(name));
  }
  return names;
}

}  // namespace

std::string neutral_name(std::string_view symbol, int which) { return neutral(symbol, which, 0); }

std::string name_with(std::string_view symbol, std::string_view trigger) {
  return with(symbol, trigger, 0);
}

std::map<std::string, std::string> neutral_names(const Module& module,
                                                 const std::vector<std::string>& symbols,
                                                 int which) {
  return apart(module, symbols,
               [&](std::string_view symbol, int salt) { return neutral(symbol, which, salt); });
}

std::map<std::string, std::string> names_with(const Module& module,
                                              const std::vector<std::string>& symbols,
                                              std::string_view trigger) {
  return apart(module, symbols,
               [&](std::string_view symbol, int salt) { return with(symbol, trigger, salt); });
}

}  // namespace namesake::ptx
