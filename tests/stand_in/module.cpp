#include "module.h"

#include <algorithm>
#include <cstdlib>
#include <unordered_set>

namespace stand_in {
namespace {

bool in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$' || c == '%' || c == '.' || static_cast<unsigned char>(c) >= 128;
}

// Words, strings and single characters; blanks and comments dropped.
std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t at = 0; at < text.size();) {
    std::string_view rest = text.substr(at);
    size_t length = 1;
    if (rest.substr(0, 2) == "//") {
      at += std::min(rest.find('\n'), rest.size());
      continue;
    }
    if (rest.substr(0, 2) == "/*") {
      size_t end = rest.find("*/", 2);
      at += end == rest.npos ? rest.size() : end + 2;
      continue;
    }
    if (static_cast<unsigned char>(rest[0]) <= ' ') {
      ++at;
      continue;
    }
    if (rest[0] == '"') {
      size_t end = rest.find('"', 1);
      length = end == rest.npos ? rest.size() : end + 1;
    } else if (in_name(rest[0])) {
      while (length < rest.size() && in_name(rest[length])) ++length;
    }
    words.push_back(rest.substr(0, length));
    at += length;
  }
  return words;
}

}  // namespace

uint64_t mixed(uint64_t hash, std::string_view text) {
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return (hash ^ 0xff) * 0x100000001b3;
}

uint64_t mixed(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 29;
}

Module read_module(std::string_view text, const std::vector<std::string>& marks) {
  Module module;
  std::vector<std::string_view> words = words_of(text);
  auto word = [&](size_t i) { return i < words.size() ? words[i] : std::string_view(); };
  if (word(0) != ".version") {
    module.failure = "Missing .version directive at start of file";
    return module;
  }
  std::string version(word(1));
  module.major = std::atoi(version.c_str());
  module.minor = version.find('.') == version.npos ? 0 : std::atoi(version.c_str() + version.find('.') + 1);

  // Names first, so that a statement can leave them out wherever the function stands.
  auto name_at = [&](size_t i) {  // behind .entry or .func and what .func returns
    for (int depth = 0; i < words.size(); ++i) {
      if (words[i] == "(") ++depth;
      if (words[i] == ")") --depth;
      if (depth == 0 && words[i] != ")" && words[i][0] != '.') break;
    }
    return i;
  };
  auto begins_function = [](std::string_view each) { return each == ".entry" || each == ".func"; };
  std::unordered_set<std::string_view> names;
  for (size_t i = 0; i < words.size(); ++i) {
    if (begins_function(words[i])) names.insert(word(name_at(i + 1)));
  }

  for (size_t i = 0; i < words.size(); ++i) {
    if (!begins_function(words[i])) continue;
    Function function;
    function.entry = words[i] == ".entry";
    i = name_at(i + 1);
    function.symbol = word(i);
    while (i < words.size() && words[i] != "{" && words[i] != ";") ++i;
    if (word(i) != "{") continue;  // a declaration
    uint64_t statement = 0;
    int depth = 0;
    for (; i < words.size(); ++i) {
      if (words[i] == "{") ++depth;
      if (words[i] == "}" && --depth == 0) break;
      if (words[i] == ".pragma") {
        function.pragma |= word(i + 1) == "\"mma_throughput\"";
        while (i < words.size() && words[i] != ";") ++i;
        continue;
      }
      for (const std::string& mark : marks) {
        if (words[i] == mark) function.marks.push_back(mark);
      }
      // A front end puts the function's name before those of its parameters.
      size_t parameter = words[i].find("_param_");
      bool name = names.count(words[i]) > 0;
      statement = mixed(statement, name ? "@" : words[i].substr(parameter == std::string_view::npos ? 0 : parameter));
      if (words[i] == ";") {
        function.statements.push_back(statement);
        statement = 0;
      }
    }
    if (depth != 0) {
      module.failure = "Parsing error near end of file";
      return module;
    }
    module.functions.push_back(std::move(function));
  }
  return module;
}

}  // namespace stand_in
