// The kernels of a PTX text by their heads alone, for lists of gigabytes: parse() reads every
// token.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace namesake::ptx {

struct ListedEntry {
  std::string_view symbol;  // a view into the text
  uint64_t bytes = 0;       // of its text, from the name to its closing brace
};

struct ListedText {
  std::string_view target;  // "sm_90a"; "" where there is no .target
  std::vector<ListedEntry> entries;
};

// What compilers write is listed as parse() would; nothing is checked, and nothing is an error.
ListedText list_entries(std::string_view text);

// The text without the other entries' bodies, which assembles in a fraction of the time. As it is
// where debug sections refer to all of them.
std::string with_entry_alone(std::string_view text, std::string_view symbol);

}  // namespace namesake::ptx
