// What the guard asks about a treated assembler's output.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace namesake::cli {

// Why this output must not count: a function whose stack frame, where spills live, is larger than
// the policy allows. "" if it may, also for a file that is no cubin (the assembler's own affair).
std::string check_spills(const std::filesystem::path& output, int64_t limit);

}  // namespace namesake::cli
