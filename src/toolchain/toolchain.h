// Front ends and assemblers: which are at hand, where they come from, and how to run one.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "util/error.h"

namespace namesake::toolchain {

enum class Kind { ptxas, nvcc, nvlink, nvdisasm, nvrtc, nvjitlink, cicc };
std::string_view kind_name(Kind);

struct Tool {
  Kind kind = Kind::ptxas;
  std::filesystem::path path;   // the program or library
  std::string version;          // "13.0.88"
  std::string build;            // "cuda_13.0.r13.0/compiler.36424714_0", as it says itself
  std::string source;           // "project" (our own folder), "PATH", "CUDA_HOME", "triton", "python", "given"
  std::filesystem::path root;   // of a tool set: holds bin/, include/, nvvm/ (nvcc)
};

// All tools at hand: the project's folder, $CUDA_HOME, $CUDA_PATH, /usr/local/cuda*, PATH, and what
// Python environments bring (Triton's ptxas, NVIDIA's wheels). Newest first, each file once. Versions
// are cached by path, size and time, so that a second start costs nothing.
std::vector<Tool> find_tools();

// The same, and what looks like a tool but does not say its version, with the reason.
struct BrokenTool {
  std::filesystem::path path;
  std::string why;
};
struct Survey {
  std::vector<Tool> tools;
  std::vector<BrokenTool> broken;
};
Survey survey();

// One file as a tool, by asking it; an error says why it is none.
Result<Tool> identify(const std::filesystem::path& path, std::string_view source = "given");

// The project's own folder: $NAMESAKE_TOOLCHAINS, else toolchains/ of the build folder the executable
// lies in, else $XDG_DATA_HOME/namesake/toolchains.
std::filesystem::path store();

// "13.0", "13.0.88", "newest", "12", a source ("triton") or a path → one tool of that kind; the error
// lists what is at hand and the command that adds the missing one.
Result<Tool> choose(const std::vector<Tool>& tools, Kind kind, std::string_view wish);

// Adds a release from PyPI into store(): whole or not at all, checked by asking the new tool its
// version; never touches the system. A wish is a release ("13.0", "13.0.88", "newest": ptxas, and
// nvlink from 13.0 on) or a package with or without one: "nvdisasm", "nvrtc-13.0", "nvjitlink-12.9",
// "nvcc-13.0.88" (the whole set that compiles CUDA; the same as with_front_end).
struct Added {
  std::string version;
  std::vector<Tool> tools;
  bool was_there = false;
};
Result<Added> add(std::string_view wish, bool with_front_end);
Result<std::string> newest_release();                     // asks PyPI
Result<std::vector<std::string>> available_releases();    // 11.7 … newest, as PyPI lists them

// One assembly.
struct Job {
  std::string ptx;                            // module text
  std::string architecture;                   // "sm_90a"
  int opt_level = 3;
  std::vector<std::string> options;           // further ptxas options
  std::vector<std::string> environment;       // the hook's variables
  bool fixed_addresses = true;
  bool relocatable = false;                   // -c
  std::chrono::milliseconds timeout{std::chrono::minutes(5)};
};
struct FunctionReport {                       // what -v says
  int registers = 0;
  int64_t stack_bytes = 0, spill_store_bytes = 0, spill_load_bytes = 0;
};
struct Assembly {
  std::string cubin;                          // empty where it failed
  std::map<std::string, FunctionReport> functions;
  std::string diagnostics;                    // what it said less the -v lines
  std::string failure;                        // "" or how it ended, with the assembler's own first error line
  bool crashed = false, timed_out = false;
  bool addresses_fixed = false;
  double wall_seconds = 0, cpu_seconds = 0;
  bool ok() const { return failure.empty(); }
};
// An error only if the assembler could not be started; a failed assembly is a result.
Result<Assembly> assemble(const Tool& ptxas, const Job& job);

// CUDA C++ → PTX by a front end (nvcc -ptx, host compiler found or its absence said). An error holds
// the front end's own first error line.
struct FrontEndJob {
  std::filesystem::path source;
  std::string architecture;                   // "compute_90a" is derived
  std::vector<std::string> options;
  std::vector<std::string> environment;
  std::chrono::milliseconds timeout{std::chrono::minutes(5)};
};
Result<std::string> compile_to_ptx(const Tool& nvcc, const FrontEndJob& job);

// What a machine has and lacks for the rooms above, for `doctor`: a fact, and where it is bad the
// command or the step that cures it.
struct Fact {
  std::string subject;                        // "ptxas", "host compiler"
  bool good = false;
  std::string what;                           // "13.5.37, 13.0.88 (project)", "none on PATH"
  std::string cure;                           // "namesake toolchain add newest"
};
std::vector<Fact> facts(const Survey& survey);

}  // namespace namesake::toolchain
