// Which names were tested, by whom, from where, with what answer.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "report/trace.h"
#include "session/records.h"
#include "toolchain/toolchain.h"

namespace namesake::study {

// Settings of a hook whose recording trace() can read: nothing is answered, everything is kept.
session::Settings trace_settings(bool all_tests);

// A recording as a report: tests grouped by process and question, look-ups told from special cases.
report::Trace trace(const session::Recording& recording, const std::vector<toolchain::Tool>& tools);

// What a hooked assembler does with one small kernel, without a command of the user's.
struct Sample {
  std::string ptx;      // for ptxas, nvlink and nvJitLink
  std::string source;   // CUDA C++ for NVRTC
  std::string architecture;
};
// `own` is our executable, which runs the assemblers that are libraries in a child of ours.
Result<report::Trace> trace_assemblers(const std::vector<toolchain::Tool>& tools, const Sample& sample, bool all_tests,
                                       const std::filesystem::path& own,
                                       const std::function<void(std::string_view)>& progress);

}  // namespace namesake::study
