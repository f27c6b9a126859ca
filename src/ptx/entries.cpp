#include "ptx/entries.h"

namespace namesake::ptx {
namespace {

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$' || c == '%';
}

// Behind the brace that stands first in its line, which closes a body: compilers indent all others.
// Braces are rare and found fast; bodies are nearly all of a module.
size_t end_of_body(std::string_view text, size_t from) {
  for (size_t at = text.find('}', from); at != std::string_view::npos;
       at = text.find('}', at + 1)) {
    if (at > 0 && text[at - 1] == '\n') return at + 1;
  }
  return text.size();
}

// The word behind a directive that stands in code, not in a comment or as part of a longer word.
std::string_view word_behind(std::string_view text, size_t directive, size_t length) {
  size_t at = directive + length;
  if (at >= text.size() || is_name(text[at])) return {};
  size_t line = text.rfind('\n', directive);
  line = line == std::string_view::npos ? 0 : line + 1;
  if (text.substr(line, directive - line).find("//") != std::string_view::npos) return {};
  while (at < text.size() &&
         (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r'))
    ++at;
  size_t end = at;
  while (end < text.size() && is_name(text[end])) ++end;
  return text.substr(at, end - at);
}

}  // namespace

ListedText list_entries(std::string_view text) {
  constexpr std::string_view kTarget = ".target", kEntry = ".entry";
  ListedText listed;
  for (size_t at = text.find(kTarget); at != std::string_view::npos;
       at = text.find(kTarget, at + 1)) {
    listed.target = word_behind(text, at, kTarget.size());
    if (!listed.target.empty()) break;
  }
  for (size_t at = text.find(kEntry); at != std::string_view::npos;
       at = text.find(kEntry, at + 1)) {
    std::string_view symbol = word_behind(text, at, kEntry.size());
    if (symbol.empty()) continue;
    size_t begin = static_cast<size_t>(symbol.data() - text.data());
    // A body, or a declaration alone.
    size_t brace = text.find('{', begin), semicolon = text.find(';', begin);
    if (brace > semicolon || brace == std::string_view::npos) continue;
    size_t end = end_of_body(text, brace);
    listed.entries.push_back({symbol, end - begin});
    at = end - 1;
  }
  return listed;
}

std::string with_entry_alone(std::string_view text, std::string_view symbol) {
  if (text.find("\n\t.section") != std::string_view::npos ||
      text.find("\n.section") != std::string_view::npos)
    return std::string(text);
  std::string alone;
  size_t done = 0;
  for (const ListedEntry& entry : list_entries(text).entries) {
    if (entry.symbol == symbol) continue;
    size_t name = static_cast<size_t>(entry.symbol.data() - text.data());
    size_t line = text.rfind('\n', name);
    line = line == std::string_view::npos ? 0 : line + 1;
    // Only an entry that has its lines for itself can be taken out.
    if (line < done || text.find_first_not_of(" \t.abcdefghijklmnopqrstuvwxyz", line) < name)
      continue;
    alone += text.substr(done, line - done);
    done = name + entry.bytes;
  }
  return alone += text.substr(done);
}

}  // namespace namesake::ptx
