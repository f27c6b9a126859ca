#include "util/text.h"

#include <cxxabi.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <memory>

namespace namesake {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\f\v";
  size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string result;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i) result += separator;
    result += parts[i];
  }
  return result;
}

namespace {

// Matches one character against the pattern element at `i`; moves `i` past the element.
bool element_matches(std::string_view pattern, size_t& i, char c) {
  if (pattern[i] == '?') return ++i, true;
  if (pattern[i] != '[') return pattern[i++] == c;
  size_t end = pattern.find(']', i + 2);
  if (end == std::string_view::npos) return pattern[i++] == c;  // a lone '[' is itself
  std::string_view set = pattern.substr(i + 1, end - i - 1);
  i = end + 1;
  bool negated = set.starts_with('!') || set.starts_with('^');
  if (negated) set.remove_prefix(1);
  bool found = false;
  for (size_t k = 0; k < set.size(); ++k) {
    if (k + 2 < set.size() && set[k + 1] == '-') {
      found |= set[k] <= c && c <= set[k + 2];
      k += 2;
    } else {
      found |= set[k] == c;
    }
  }
  return found != negated;
}

}  // namespace

bool glob_match(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0;
  size_t star = std::string_view::npos, star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
      continue;
    }
    size_t next = p;
    if (p < pattern.size() && element_matches(pattern, next, text[t])) {
      p = next;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::optional<int64_t> parse_integer(std::string_view text) {
  int64_t value = 0;
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string demangled(std::string_view symbol) {
  std::string name(symbol);
  // The demangler also takes type encodings ("i" is int): only real mangled names may reach it.
  if (!symbol.starts_with("_Z")) return name;
  int status = 0;
  std::unique_ptr<char, decltype(&std::free)> readable(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && readable ? std::string(readable.get()) : name;
}

std::string demangled_name(std::string_view symbol) {
  std::string full = demangled(symbol);
  if (full == symbol) return full;
  // The parameter list is the last parenthesis at depth zero; a return type may stand before.
  int depth = 0;
  size_t open = std::string::npos;
  for (size_t i = full.size(); i-- > 0;) {
    if (full[i] == ')' || full[i] == '>') ++depth;
    if (full[i] == '(' || full[i] == '<') --depth;
    if (full[i] == '(' && depth == 0) {
      open = i;
      break;
    }
  }
  std::string name = full.substr(0, open);
  depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<' || name[i] == '(') ++depth;
    if (name[i] == '>' || name[i] == ')') --depth;
    if (name[i] == ' ' && depth == 0) begin = i + 1;
  }
  return name.substr(begin);
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

int compare_versions(std::string_view a, std::string_view b) {
  auto left = split(a, '.'), right = split(b, '.');
  for (size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    int64_t x = i < left.size() ? parse_integer(left[i]).value_or(0) : 0;
    int64_t y = i < right.size() ? parse_integer(right[i]).value_or(0) : 0;
    if (x != y) return x < y ? -1 : 1;
  }
  return 0;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[sizeof "2026-11-30T18:40:00Z"];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace namesake
