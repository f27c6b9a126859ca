// The machine code of a kernel's two builds, read out of the program that runs them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cells.h"
#include "util/error.h"

namespace namesake::bench {

struct Code {
  std::string symbol, hash;
  int registers = 0, local = 0;  // local: loads and stores of spilled registers
};

struct CodePair {
  attention::Kernel kernel = attention::Kernel::hopper;
  attention::DType dtype = attention::DType::fp16;
  int64_t head_dim = 64;
  bool causal = false;  // the portable kernel has one build for both masks: false
  Code untreated, treated;
  bool same() const { return untreated.hash == treated.hash; }
};

// Every kernel of the file that is there for compute capability 9.0 in both builds.
Result<std::vector<CodePair>> code_pairs(const std::filesystem::path& binary);

// The pair that computes the cell, or null.
const CodePair* pair_for(const std::vector<CodePair>& pairs, attention::Kernel kernel,
                         const Cell& cell);

}  // namespace namesake::bench
