#include "sass/normal.h"

namespace namesake::sass {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

// Letters of a numbered register at the start of a word, 0 if it is none.
size_t register_letters(std::string_view word) {
  for (std::string_view file : {"R", "UR", "P", "UP", "B", "SB", "gsb"}) {
    if (!word.starts_with(file) || word.size() == file.size()) continue;
    if (word.find_first_not_of("0123456789", file.size()) == std::string_view::npos) {
      return file.size();
    }
  }
  return 0;
}

}  // namespace

std::string_view without_target(const Instruction& instruction) {
  std::string_view text = instruction.text;
  if (instruction.branch_target < 0) return text;
  size_t target = text.rfind("0x");
  return target == std::string_view::npos ? text : text.substr(0, target);
}

void normalise(const Instruction& instruction, std::string& out) {
  constexpr std::string_view kReuse = ".reuse";
  out.clear();
  std::string_view text = without_target(instruction);
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '.' && text.substr(i).starts_with(kReuse)) {
      i += kReuse.size();
      continue;
    }
    if (!is_word(text[i])) {
      out += text[i++];
      continue;
    }
    size_t end = i;
    while (end < text.size() && is_word(text[end])) ++end;
    std::string_view word = text.substr(i, end - i);
    size_t letters = register_letters(word);
    out += letters > 0 ? word.substr(0, letters) : word;
    i = end;
  }
}

}  // namespace namesake::sass
