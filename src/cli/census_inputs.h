// What a census is asked about, out of words on the command line.
#pragma once

#include <string>
#include <vector>

#include "census/ledger.h"
#include "toolchain/toolchain.h"
#include "util/error.h"

namespace namesake::cli {

// PTX files, and folders with all PTX below them; without any, the bundled kernels with Triton's. A
// file is called by its name without extension, one in a folder "folder/name". Entered into the
// ledger.
Result<std::vector<census::Input>> enter_kernels(census::Ledger& ledger,
                                                 const std::vector<std::string>& words);

// Versions or paths; "all" and nothing: every ptxas at hand. Each release once, newest first.
Result<std::vector<toolchain::Tool>> choose_assemblers(const std::vector<std::string>& words);

}  // namespace namesake::cli
