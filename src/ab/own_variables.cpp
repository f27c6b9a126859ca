// The application writes to a module's variables by their address in the module it has loaded, and
// a kernel of one launch leaves there what the next one reads. The other build, loaded as a module
// of its own, has its own copies, which nobody fills. So a kernel that touches one is not
// alternated.
#include "ab/own_variables.h"

#include <algorithm>

namespace namesake::ab {
namespace {

bool in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$' || c == '%';
}

bool mentions(std::string_view text, std::string_view name) {
  for (size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    size_t end = at + name.size();
    if ((at == 0 || !in_name(text[at - 1])) && (end == text.size() || !in_name(text[end])))
      return true;
  }
  return false;
}

// What stands outside of bodies.
std::string outside(const ptx::Module& module) {
  std::vector<std::pair<uint64_t, uint64_t>> bodies;
  for (const ptx::Function& function : module.functions)
    if (function.defined) bodies.emplace_back(function.body_begin, function.body_end);
  std::sort(bodies.begin(), bodies.end());
  std::string text;
  uint64_t at = 0;
  for (const auto& [begin, end] : bodies) {
    if (begin < at || end > module.text.size()) continue;
    text += module.text.substr(at, begin - at) + ";";
    at = end;
  }
  return text + module.text.substr(at);
}

// ".visible .global .align 4 .b8 table[16] = {…};" declares table.
std::string declared(std::string_view statement) {
  bool variable = mentions(statement, "global") || mentions(statement, "const");
  bool of_function = mentions(statement, "entry") || mentions(statement, "func");
  if (!variable || of_function) return "";
  size_t end = statement.find_first_of("[=");
  statement = statement.substr(0, end);
  while (!statement.empty() && !in_name(statement.back())) statement.remove_suffix(1);
  size_t begin = statement.size();
  while (begin > 0 && in_name(statement[begin - 1])) --begin;
  if (begin > 0 && statement[begin - 1] == '.') return "";
  return std::string(statement.substr(begin));
}

bool of_compiler(std::string_view name) {
  return name.starts_with("$str") || name.starts_with("__unnamed_") || name.starts_with("$__str");
}

}  // namespace

std::vector<std::string> own_variables(const ptx::Module& module, std::string_view symbol) {
  std::string text = outside(module);
  std::vector<std::string> found;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find(';', at), text.size());
    std::string name = declared(std::string_view(text).substr(at, end - at));
    at = end + 1;
    if (name.empty() || of_compiler(name)) continue;
    bool touched = std::any_of(
        module.functions.begin(), module.functions.end(), [&](const ptx::Function& function) {
          if (!function.defined || (function.entry && function.symbol != symbol)) return false;
          std::string_view body =
              std::string_view(module.text)
                  .substr(function.body_begin, function.body_end - function.body_begin);
          return mentions(body, name);
        });
    if (touched) found.push_back(name);
  }
  return found;
}

}  // namespace namesake::ab
