// The dictionary of a probe: the texts that an assembler could be looking for.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace namesake::study {

struct Dictionary {
  std::vector<std::string>
      words;  // distinct; the file's in order, their ROT13 forms, then the user's
  size_t from_file = 0, from_rot13 = 0, added = 0;
  std::vector<std::string> unusable;  // of the user's: holds what no PTX name can
};

// Every text in the file that could be part of a name: words of three characters and more in its C
// strings, and runs of six and more anywhere, since an inlined comparison keeps its text inside an
// instruction. Each also in ROT13, the form in which the assembler stores the names of its options.
Dictionary dictionary(std::string_view file, const std::vector<std::string>& added);

// The words of a list: one a line, or several with blanks between; '#' begins a comment.
std::vector<std::string> words_of(std::string_view list);

std::string rot13(std::string_view text);

// Letters, digits, _ and $ alone: what can stand inside a kernel's name.
bool can_be_in_a_name(std::string_view text);

}  // namespace namesake::study
