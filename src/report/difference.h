// What `namesake diff` found, as data: study fills it, the pages only render it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace namesake::report {

enum class Verdict : uint8_t {
  same,                // byte for byte
  same_but_registers,  // same control-flow graph and blocks' instructions, registers and order apart
  different,           // the sets of draws are disjoint
  lottery,             // a build varies from run to run, and the sets overlap
  failed,              // one build could not be made (the reason is in its Side)
};
constexpr const char* kVerdictNames[] = {"same", "same but for registers and order", "different", "lottery", "failed"};

// Counts over a range of instructions; keys are sass's class and opcode names.
struct Mix {
  int64_t instructions = 0;
  std::map<std::string, int64_t> by_class, by_opcode;
  int64_t stall_cycles = 0, waits = 0, yields = 0, reuses = 0, local_memory = 0;
};

// One build of one function.
struct Side {
  std::string failure;            // "" or why there is no code: "ptxas 13.0.88 was killed by signal 11 (Segmentation fault)"
  int64_t registers = 0, stack_bytes = 0, spill_store_bytes = 0, spill_load_bytes = 0;
  int64_t code_bytes = 0, shared_bytes = 0;
  std::string identity;           // hash of the code
  Mix mix;
  std::optional<Mix> hottest_loop;
  int64_t hottest_loop_depth = 0;
  std::vector<std::string> draws; // distinct identities over all draws, the first included
  int64_t draws_made = 1;
};

struct SassRow {                  // one line of the side-by-side difference
  char change = ' ';              // ' ' equal, '~' registers or scheduling only, '-' only in a, '+' only in b
  std::string a, b;               // instruction texts with their scheduling fields in front: "[B--:R-:W0:-:S04] IMAD …"
  bool hot = false;               // inside the hottest loop of its build
  int64_t left_out = 0;           // > 0: stands for so many equal rows that were left out; a and b are empty
};

struct FunctionDifference {
  std::string symbol, name;       // mangled and readable
  std::string file;               // origin of the module
  std::string architecture;
  Verdict verdict = Verdict::same;
  Side a, b;
  std::string meaning;            // one sentence: what changed and which way it may cut
  std::vector<SassRow> sass;      // filled on request; for HTML always where the codes differ, runs of equal lines shortened
  int64_t threads_per_block = 0;  // what .reqntid or .maxntid promises; 0 where the source does not say
};

enum class ControlOutcome : uint8_t { held, failed, not_applicable };
struct Control {
  std::string name;               // "two neutral names give one code"
  ControlOutcome outcome = ControlOutcome::held;
  int64_t checked = 0, failed = 0;  // functions
  std::vector<std::string> failing; // "symbol on sm_90a: sentence"
  std::string note;               // why not applicable, or what a failure means
};

struct BuildDescription {
  std::string label;              // "untreated", "ptxas 12.9.86", "-O2"
  std::string assembler, assembler_build;   // "13.0.88"
  std::string treatment;          // natural, treated, untreated, renamed, pragma
  int64_t opt_level = 3;
  std::vector<std::string> options;
};

struct AssemblyTime {             // one row per file and architecture
  std::string file, architecture;
  double a_seconds = 0, b_seconds = 0;      // wall, of the whole module
};

struct FrontEndDifference {       // .cu input only: does the front end itself react?
  std::string file, architecture, name;
  bool ptx_differs = false;
  int64_t lines_removed = 0, lines_added = 0;
  std::string note;               // which half of the effect comes from where
};

struct Difference {
  std::string command;            // as typed
  std::string date;               // ISO 8601, UTC
  BuildDescription a, b;
  std::vector<std::string> architectures;
  std::vector<FunctionDifference> functions;
  std::vector<Control> controls;
  std::vector<AssemblyTime> times;
  std::vector<FrontEndDifference> front_end;
  std::vector<std::string> notes; // edits made (".version 9.0 lowered to 8.8 for 12.9.86"), skipped files, refusals
  std::string next_command;       // what to type next
  double tool_seconds = 0, child_seconds = 0;  // processor time: ours and the compilers'
};

}  // namespace namesake::report
