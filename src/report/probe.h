// What `namesake probe` found, as data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace namesake::report {

struct ProbeReaction {  // of one kernel on one architecture to one trigger
  std::string kernel, architecture;
  std::string change;  // "code", "crash", "hang"; "" where the trigger changes nothing
  std::string why;     // of a crash
};

struct ProbeFinding {
  std::string text;
  std::string match;  // "substring", "prefix", "suffix", "exact", "together"
  bool any_case = false;
  bool at_far_end = true;                // of a substring: found at the end of a long name too
  std::string found_in;                  // the word of the dictionary that led to it
  int64_t runs = 0;                      // that confirmed it, each beside its neutral twin
  std::vector<ProbeReaction> reactions;  // of every kernel that was probed
};

struct ProbeSearch {  // one kernel on one architecture
  std::string kernel, architecture;
  std::string failure;                     // why it was not searched
  int64_t inside = 0;                      // texts tried inside names
  int64_t names = 0;                       // texts tried as whole names
  int64_t assemblies = 0, remembered = 0;  // made now, and known clean from an earlier run
  int64_t neutral_codes =
      0;  // distinct codes under neutral names; more than one: a lottery, or their length counts
  int64_t dismissed = 0;  // suspicions that repetition did not confirm
  bool given_up = false;  // too many of these
  double inside_seconds = 0, names_seconds = 0, cpu_seconds = 0;  // wall, and the program's own
};

struct ProbeRefusal {
  std::string text, why;
};

struct ProbedProgram {
  std::string kind, version, build, path;  // of a command: "command", and the command
  int64_t texts_in_file = 0, texts_in_rot13 = 0, texts_added = 0;  // distinct, in this order
  std::vector<ProbeSearch> searches;
  std::vector<ProbeFinding> findings;
  std::vector<ProbeRefusal> refused;     // no name for a kernel here
  std::vector<std::string> unexplained;  // change the code, though no shorter text was found to
  std::vector<std::string> notes;
  double wall_seconds = 0, cpu_seconds = 0;
};

struct Probe {
  std::string command, date;
  bool inside = true, names = true;  // the passes asked for
  std::vector<ProbedProgram> programs;
  std::vector<std::string> notes;
  std::string conclusion;
  std::vector<std::string> limits;  // what this does not say
  std::string next_command;
};

}  // namespace namesake::report
