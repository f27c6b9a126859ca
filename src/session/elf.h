// What the loader will make of a program: just enough of its ELF file to tell.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "util/cursor.h"
#include "util/error.h"

namespace namesake::session {

struct Elf {
  bool is_64_bit = false;
  uint16_t machine = 0;
  std::string interpreter;  // "" in a static program and in a library
  bool dynamic = false;
  std::vector<std::string> needed;  // DT_NEEDED
  bool imports_strstr = false;
  std::string build_id;  // hex, "" if it has none
};

// The runtime of a sanitizer, which insists on being the first library of a program?
bool is_sanitizer(std::string_view library);

Result<Elf> parse_elf(Bytes file);
Result<Elf> read_elf(const std::filesystem::path& file);

}  // namespace namesake::session
