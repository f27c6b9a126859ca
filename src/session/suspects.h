// Functions whose treated assembly killed the process that they were assembled in.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "session/control.h"
#include "session/records.h"

namespace namesake::session {

struct Suspect {
  std::string name;          // the symbol
  std::string architecture;  // "" where it was not known
  uint64_t assembler = 0;    // identity of the library's file
  bool operator==(const Suspect&) const = default;
};

// The functions that an assembler in a library was last asked to treat, on each thread of processes
// that did not come to an orderly end. `died` tells which did not.
std::vector<Suspect> suspects_of(const Recording& recording, const std::vector<uint32_t>& died);

// Kept in a file below the state folder. A missing file is an empty list; a damaged line is
// skipped.
std::vector<Suspect> load_suspects(const std::filesystem::path& file);
Status add_suspects(const std::filesystem::path& file, const std::vector<Suspect>& more);

// A rule each that leaves them natural; to stand before all others.
std::vector<Rule> rules_against(const std::vector<Suspect>& suspects);

}  // namespace namesake::session
