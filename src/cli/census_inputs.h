// What a census is asked about, out of words on the command line.
#pragma once

#include <string>
#include <vector>

#include "toolchain/toolchain.h"
#include "util/error.h"

namespace namesake::cli {

struct KernelFile {
  std::string name, text;
  std::vector<std::string> kernels;  // symbols
};
// PTX files, and folders with all PTX below them; without any, the bundled kernels with Triton's. A
// file is called by its name without extension, one in a folder "folder/name".
Result<std::vector<KernelFile>> read_kernels(const std::vector<std::string>& words);

// Versions or paths; "all" and nothing: every ptxas at hand. Each release once, newest first.
Result<std::vector<toolchain::Tool>> choose_assemblers(const std::vector<std::string>& words);

}  // namespace namesake::cli
