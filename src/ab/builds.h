// The two builds of what an application runs, made from what its assembler was given.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ab/requests.h"
#include "assembly/experiment.h"
#include "ptx/ptx.h"
#include "toolchain/toolchain.h"
#include "util/error.h"

namespace namesake::ab {

// One build of a function as the report tells of it.
struct FunctionFacts {
  std::string identity;
  int64_t registers = 0, spill_bytes = 0, code_bytes = 0;
};

// What one build of a source came to.
struct Made {
  std::string cubin;
  std::map<std::string, FunctionFacts> functions;
  std::string ptx;      // of NVRTC, where it gives it
  std::string failure;  // "" or why there is none
  bool ok() const { return failure.empty(); }
};

struct Settings {
  std::string a = "untreated", b = "treated";  // words, as for diff
  assembly::HookVariables hooks;
  std::vector<toolchain::Tool> tools;
  std::filesystem::path own_executable;
  std::string driver_library = "libcuda.so.1";
  std::chrono::milliseconds timeout{std::chrono::minutes(5)};
  int workers = 2;
};

// Both builds asked for are one: every kernel against its own double, which must show nothing.
inline bool is_control(const Settings& settings) {
  return settings.a == settings.b;
}

// Where machine code came from.
struct Source {
  enum class Kind {
    program,  // an assembler run below us, or one at hand for the PTX in a fatbin
    nvrtc,
    driver,  // PTX that the driver assembles
  } kind = Kind::program;
  toolchain::Tool assembler;  // program: the file; nvrtc: the library
  std::string architecture;
  int opt_level = 3;
  bool relocatable = false;
  std::vector<std::string> options;
  std::optional<ptx::Module> module;  // where there is PTX
  NvrtcProgram nvrtc;
  std::string said_by;  // "ptxas 12.8.93", "NVRTC 13.0.88", "driver JIT"

  enum Which { kA, kB, kNatural };
  std::map<Which, Made> made;
};

Result<Source> source_of(const ProgramRun& run);
Result<Source> source_of(const NvrtcProgram& program);
Result<Source> source_of_ptx(std::string text, int major, int minor, std::string_view driver);

// Makes what is wanted and not made yet, several at once.
void make(Source& source, const std::vector<Source::Which>& wanted, const Settings& settings);

// Could this source define the function?
bool may_define(const Source& source, const std::string& symbol);

}  // namespace namesake::ab
