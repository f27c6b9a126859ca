// A kernel as a stamp: its text cut where its name stands, so that a module of any number of
// copies, each under a name of its own, is a matter of joining.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "study/probe_program.h"
#include "util/error.h"

namespace namesake::study {

struct ProbeKernel {
  std::string name;  // for people: "mma" of mma.ptx
  Language language = Language::ptx;
  std::string target;         // of PTX: "sm_80"; empty for CUDA C++
  std::string head, foot;     // the module around its kernels
  std::string before, after;  // one copy, cut at its name
};

// Every kernel of a module, a stamp each. CUDA C++: extern "C" kernels only, since the name that is
// tried must be the symbol.
Result<std::vector<ProbeKernel>> probe_kernels(const std::string& text,
                                               const std::filesystem::path& file);

struct Stamped {
  std::string text;
  std::vector<size_t> first_lines;  // of each copy
};
Stamped stamp(const ProbeKernel& kernel, const std::vector<std::string>& names);

}  // namespace namesake::study
