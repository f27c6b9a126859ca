// Whatever turns PTX or CUDA C++ into a cubin, run once: ptxas, NVRTC and nvJitLink in a child of
// ours, or any command.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "toolchain/toolchain.h"
#include "util/error.h"

namespace namesake::study {

enum class Language { ptx, cuda };

struct Program {
  toolchain::Tool tool;  // ptxas, NVRTC or nvJitLink; of a command: its program, if it is a file
  std::string command;   // a shell's command line with {in} and {out}, and {arch} where needed
  Language language = Language::ptx;
  std::filesystem::path own;  // the executable that runs the libraries in a child
  int opt_level = 3;
  std::vector<std::string> options;  // of ptxas
};

// {in} and {out} must be there; an error says what is missing.
Status check_command(std::string_view command);

struct Made {
  std::string cubin;
  std::string failure;  // "" or what it said, or how it ended
  bool crashed = false, timed_out = false;
  bool addresses_fixed = false;
  std::vector<size_t> lines;  // of the text that its errors name
  double cpu_seconds = 0;
  bool ok() const { return failure.empty(); }
};

// An error only if the program could not be started.
Result<Made> make(const Program& program, const std::string& text, const std::string& architecture,
                  bool fixed_addresses, std::chrono::milliseconds timeout);

// "ptxas module.ptx, line 25; error …" and "kernel.cu(25): error: …" → 25.
std::vector<size_t> lines_named(std::string_view diagnostics);

}  // namespace namesake::study
