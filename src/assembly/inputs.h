// What a study works on: one PTX module for one architecture, from a PTX file or through a front end.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ptx/ptx.h"
#include "report/difference.h"
#include "toolchain/toolchain.h"
#include "util/error.h"

namespace namesake::assembly {

struct Unit {
  std::string file;           // as the user wrote it, for people
  std::string architecture;   // "sm_90a"
  ptx::Module module;
  std::filesystem::path source;  // the .cu file, where a front end made the module
  std::vector<std::string> kernels;  // symbols studied: defined functions that the glob matches
};

struct InputRequest {
  std::vector<std::filesystem::path> files;
  std::vector<std::string> architectures;   // empty: each module's own target
  std::string kernel_glob;                  // on symbol or readable name; empty: all
  std::optional<toolchain::Tool> front_end; // nvcc, needed for .cu files only
  std::vector<std::string> front_end_options;
};

struct Inputs {
  std::vector<Unit> units;
  std::vector<std::string> notes;  // what was left out and why ("wgmma.ptx needs sm_90a: left out for sm_80")
};

Result<Inputs> load(const InputRequest& request);

// "sm_90a" → 90; 0 for what is no architecture.
int architecture_number(std::string_view name);

// Whether PTX written for `target` can be assembled for `architecture`: sm_80 text for sm_90, but
// sm_90a text for sm_90a alone, and sm_100f text for its family.
bool assembles_for(std::string_view target, std::string_view architecture);

// For a .cu unit: how the front end's PTX changes with the kernel's name alone (and with the pragma,
// where the front end knows it). The renaming is a macro, so the source is not touched.
struct FrontEndStudy {
  std::vector<report::FrontEndDifference> differences;
  std::optional<ptx::Module> renamed;       // the PTX of the renamed source, names put back
};
Result<FrontEndStudy> study_front_end(const Unit& unit, const toolchain::Tool& front_end,
                                      const std::vector<std::string>& options);

}  // namespace namesake::assembly
