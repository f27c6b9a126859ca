// What `namesake tune` decided, as data: the treatment that each kernel gets, and why.
//
// Ratios are time treated / time untreated, whatever the kernel's name says: below 1, the treatment
// gains.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace namesake::report {

// One timing that a decision rests on.
struct TuningSample {
  std::string setting;  // "m=4096 n=4096 k=4096, warm caches"
  double ratio = 1;
  std::optional<std::array<double, 2>> interval;
  std::string says;  // "gains", "costs", "level", "open": of the other answer against the natural
  std::string note;  // why it is open, where the interval does not say
};

// What a policy said before, where one is checked.
struct EarlierDecision {
  std::string treatment;
  std::optional<double> ratio;
  std::optional<std::array<double, 2>> interval;
  bool holds = false;
  std::string why;
};

struct Decision {
  std::string symbol, name;                              // mangled and readable
  std::string file, launch_file;                         // of the first measurement
  std::string architecture, assembler, assembler_build;  // what it speaks of
  bool natural_is_treated = false;                       // its own name holds the trigger
  std::string treatment;                                 // "treated", "untreated", "natural"
  bool settled = true;                                   // false: measuring longer may change it
  std::string why;                                       // one sentence
  double ratio = 1;  // of the timing in which the decision gains least
  std::optional<std::array<double, 2>> interval;
  int64_t spill_bytes = 0;  // of the treated build
  std::vector<TuningSample> samples;
  std::string place, advice;  // where in the source, and what to write there; "" where nothing
  std::optional<EarlierDecision> earlier;
};

struct Tuning {
  std::string command, date;
  std::string gpu, driver;
  double confidence = 0.95, threshold = 0.01;
  std::string policy, measurement;  // files written; "" where none was
  std::string checked;              // the policy that was checked; "" where none was
  std::vector<Decision> decisions;
  std::vector<std::string> notes;
  std::string next_command;
  bool as_source = false;  // the pages show what to write into the source
};

}  // namespace namesake::report
