// The guard: what a treated assembler program becomes, so that a treatment can only help.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace namesake::session {

// Looks at the code that a treated assembler has written and says why it must not count ("spills
// 6144 bytes, the policy allows 64"); "" if it may. Called only where there is a bound.
using OutputCheck =
    std::function<std::string(const std::filesystem::path& output, int64_t spill_limit)>;

// Was this executable started by the hook to be the guard?
bool is_guard(int argc, char** argv);

// Runs the treated assembler and ends as it did, or becomes the natural one. Does not return.
[[noreturn]] void guard_main(int argc, char** argv, const OutputCheck& check);

// Becomes the assembler in this process, untouched. Does not return.
[[noreturn]] void become_natural(const char* program, char** arguments);

// The file that an assembler's command line names as its output (-o, --output-file); "" if none.
std::filesystem::path output_of(const std::vector<std::string>& arguments);

// The argument that can be read only once (a pipe, /dev/stdin), so that a second run would find it
// empty; "" if there is none.
std::string single_use_input(const std::vector<std::string>& arguments);

}  // namespace namesake::session
