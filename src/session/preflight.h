// Why hooking a program cannot work, told before it silently does not.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "session/hook.h"

namespace namesake::session {

enum class Obstacle {
  not_found,
  not_executable,
  static_program,
  privileged,       // setuid, setgid or file capabilities: the loader drops preloads
  foreign_machine,  // 32 bit, or another processor
  no_strstr,        // it cannot ask through libc
  other_libc,       // musl and others: preloading works, auditing does not
  sanitizer,        // answers strstr before a preloaded hook
  no_run_folder,
  fixed_addresses_refused,
};

struct Finding {
  Obstacle obstacle;
  bool fatal;            // the hook will see nothing; otherwise only something is lost
  std::string sentence;  // what, where, and what to do
};

// About one program, found on PATH like a shell does; scripts are followed to their interpreter.
std::vector<Finding> examine_program(const std::string& program, Via via = Via::preload);

// About an assembler: also whether it can ask through libc at all.
std::vector<Finding> examine_assembler(const std::filesystem::path& file);

// About this machine and user.
std::vector<Finding> examine_system();

// The file a shell would run.
std::optional<std::filesystem::path> find_program(const std::string& name);

}  // namespace namesake::session
