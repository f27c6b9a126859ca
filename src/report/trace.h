// What `namesake trace` saw, as data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace namesake::report {

struct NameTest {
  std::string needle;             // the text asked for
  std::string function;           // libc function: strstr, strcmp, …
  std::string symbol, name;       // the kernel or device function asked about; mangled and readable
  std::string call_site;          // "ptxas+0x4d2f1a"
  std::string architecture;       // "sm_90", or "" where unknown
  bool true_answer = false, given_answer = false;
  bool look_up = false;           // no special case: a look-up in a table (one call site, many texts), or a question about the target
  int64_t times = 1;
};

struct TracedProcess {
  std::string program;            // file of the assembler's image
  std::string kind;               // ptxas, NVRTC, nvJitLink, nvlink, driver JIT
  std::string version;
  int64_t pid = 0;
  std::string command_line;
  std::vector<NameTest> tests;
  int64_t functions_asked_about = 0;
  int64_t lost = 0;               // records that found no room
};

struct Trace {
  std::string command, date;
  std::vector<TracedProcess> processes;
  std::vector<std::string> silent;  // assemblers seen to start that reported nothing, with the likely reason
  std::vector<std::string> notes;
  std::string conclusion;         // "one text is tested, cutlass, in all 5 assemblers"
  std::string next_command;
  int64_t exit_status = 0;        // of the traced command
};

}  // namespace namesake::report
