// The witness: what an assembler program becomes for a moment under `ab`, so that its input is
// kept.
#pragma once

#include <string>
#include <vector>

namespace namesake::ab {

// Where a run's live folder stands, for programs below it.
inline constexpr const char* kFolderVariable = "NAMESAKE_LIVE";

// Was this executable started by the hook, inside `ab`?
bool is_witness(int argc, char** argv);

// Writes down what the assembler was given and becomes the assembler, naturally. Does not return.
[[noreturn]] void witness_main(int argc, char** argv);

// An assembler's command line, as far as it decides the code.
struct AssemblerOptions {
  std::string architecture;  // "sm_90a"
  int opt_level = 3;
  bool relocatable = false;
  std::string input, output;
  std::vector<std::string> others;  // in their order
};
AssemblerOptions read_assembler_options(const std::vector<std::string>& arguments);

}  // namespace namesake::ab
