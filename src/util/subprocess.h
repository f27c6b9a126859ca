// Run a program and collect what it says, within a time and an output bound.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "util/error.h"

namespace namesake {

struct Command {
  std::vector<std::string> arguments;             // arguments[0] is looked up on PATH unless it holds a slash
  std::vector<std::string> environment;           // NAME=value, added to (or replacing in) our own
  std::vector<std::string> unset;                 // names removed from the environment
  std::filesystem::path folder;                   // working directory; empty: ours
  std::string input;                              // its standard input
  std::chrono::milliseconds timeout{std::chrono::minutes(10)};
  uint64_t output_limit = uint64_t{1} << 30;      // bytes of stdout or stderr kept; more ends the child
  bool fixed_addresses = false;                   // address-space randomisation off for the child
  std::optional<std::filesystem::path> output_file;  // stdout goes there instead of into `out`
};

struct Completed {
  int exit_status = -1;        // of a normal end
  int signal = 0;              // that ended it, else 0
  bool timed_out = false;      // ended by us
  bool flooded = false;        // ended by us: too much output
  bool addresses_fixed = false;  // personality() was granted
  std::string out, err;
  double wall_seconds = 0;
  double cpu_seconds = 0;      // user + system, its waited-for children included
  int64_t peak_kilobytes = 0;
  bool ok() const { return signal == 0 && !timed_out && !flooded && exit_status == 0; }
  // "exit status 2", "killed by signal 11 (Segmentation fault)", "no answer within 10 s".
  std::string how_it_ended() const;
};

// An error only if the program could not be started at all. The child leads its own process group,
// which is killed whole on a time-out.
Result<Completed> run(const Command& command);

// One line for messages: the words, quoted where a shell would need it.
std::string quoted(const std::vector<std::string>& arguments);

}  // namespace namesake
