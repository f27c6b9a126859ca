// A command with its whole tree hooked: `namesake run` and `namesake trace` are this and a report.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "session/caches.h"
#include "session/hook.h"
#include "session/preflight.h"
#include "session/suspects.h"
#include "session/watch.h"

namespace namesake::session {

struct RunOptions {
  Settings settings;
  Via via = Via::preload;
  bool own_caches = true;        // compile caches of this run's own, keyed by Hook::key
  bool fixed_addresses = false;  // address-space randomisation off for the tree
  std::vector<std::filesystem::path> libraries;  // to preload behind the hook
  std::vector<std::string> variables;            // to add to the command's environment
  bool remember_crashes = true;  // leave natural what killed a process before (suspects.h)
  std::filesystem::path state;   // empty: state_folder()
  std::filesystem::path cache;   // empty: cache_folder()
};

struct Counts {
  uint64_t treated = 0;            // functions answered by a rule's treatment, treated or untreated
  uint64_t left = 0;               // functions that kept their natural answer
  uint64_t unseen = 0;             // assemblers that ran without the hook
  bool nothing_assembled = false;  // no assembler asked about any function: all from caches?
};

struct Outcome {
  int exit_status = 0;      // 126, 127 as env(1) if the command could not be started
  int signal = 0;           // that ended the command
  std::string not_started;  // why, if it could not be
  Recording recording;
  Counts counts;
  std::vector<Unseen> unseen;
  bool watched = true;  // false: this system does not tell who started what
  std::vector<MovedCache> moved_caches;
  std::vector<Suspect> left_natural;       // because they killed a process in an earlier run
  std::vector<Suspect> new_suspects;       // the next run will leave these
  std::vector<std::string> still_running;  // programs of the tree that live on, with the hook
  std::filesystem::path kept_folder;       // the run folder, left behind for them
  std::vector<Finding> findings;           // about the command, from before it started
  bool addresses_fixed = false;
};

// Counts one function once per process and architecture, whatever number of times it is asked
// about.
Counts count(const Recording& recording, const Settings& settings);

// Runs the command in our process group, on our terminal, and passes it the signals we are sent. An
// error only where the tool itself failed (exit status 125). Nothing else of the calling program
// may start or await children meanwhile.
Result<Outcome> run(const std::vector<std::string>& command, const RunOptions& options);

// Ends this program as the command ended: with its status, or by its signal.
[[noreturn]] void end_like(const Outcome& outcome);

}  // namespace namesake::session
