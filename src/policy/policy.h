// Policies: which function gets which treatment, for which architecture and assembler, and what says
// so. A file is written by `tune` or by hand:
//
//     format = 1
//
//     [measured]                            # for another assembler the policy is void
//     assembler = "13.0.88"                 # or "any": written by hand, measured with none
//     build = "cuda_13.0.r13.0/compiler.36424714_0"
//     gpu = "NVIDIA H200"
//
//     [limits]
//     spill_bytes = 0                       # a treated function that spills more is left natural
//     timeout_seconds = 300                 # so is one that takes longer to assemble
//
//     [[function]]                          # the first that fits decides; none: natural
//     symbol = "_Z5sgemm*"                  # or name = "mine::sgemm": a glob on the readable name
//     architecture = "sm_90"                # left out: any
//     assembler = "13.0.88"                 # left out: that of [measured]; build likewise
//     treatment = "treated"                 # or "untreated", "natural"
//     evidence = { file = "sgemm.json", ratio = 0.756, interval = [0.753, 0.759] }
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "util/error.h"

namespace namesake::policy {

enum class Treatment { natural, treated, untreated };
std::string_view treatment_name(Treatment);

// One assembler as a policy names it; "any" holds for all, an empty build for each of the version.
struct Assembler {
  std::string version;
  std::string build;
  bool operator==(const Assembler&) const = default;
};

// Whether what was measured with one assembler speaks of another.
bool holds_for(const Assembler& measured, const Assembler& used);

struct Evidence {
  std::string file;                                // where the measurement lies
  std::optional<double> ratio;                     // time treated / time untreated
  std::optional<std::array<double, 2>> interval;
  std::string gpu;                                 // empty: the policy's
  std::string build;                               // of the assembler; empty: the rule's
  bool operator==(const Evidence&) const = default;
};

struct Rule {
  Treatment treatment = Treatment::natural;
  std::string symbol, name;                        // globs; one of the two
  std::string architecture;                        // "sm_90a"; empty: any
  Assembler assembler;                             // empty version: any
  std::optional<Evidence> evidence;
  int line = 0;                                    // in the policy's file
  const std::string& pattern() const { return symbol.empty() ? name : symbol; }
};

struct Policy {
  std::string origin;                              // the file, for messages
  Assembler measured;
  std::string gpu;
  std::optional<int64_t> spill_bytes;
  std::optional<int64_t> timeout_seconds;
  std::vector<Rule> rules;                         // each with the assembler it holds for
};

// A sentence with file and line for anything that cannot be followed.
Result<Policy> parse(std::string_view text, std::string origin);

// The file that parse() reads back as the same policy.
std::string write(const Policy& policy);

// The rules that hold for one assembler and architecture, in order. Where the policy has rules but
// none for this assembler it is void, and `void_because` says so.
struct Resolution {
  std::vector<Rule> rules;
  std::string void_because;
};
Resolution resolve(const Policy& policy, const Assembler& used, std::string_view architecture);

// The first rule that fits a function, or nullptr: natural.
const Rule* rule_for(const Resolution& resolution, std::string_view symbol);

// `--treat GLOB` and `--untreat GLOB` in the order typed, as rules for every assembler and
// architecture. The last that fits decides, so that "--untreat '*' --treat 'gemm*'" does what it says;
// here it stands first. A glob is tried on symbol and readable name.
struct Choice {
  Treatment treatment = Treatment::treated;
  std::string pattern;
};
Result<std::vector<Rule>> rules_of(const std::vector<Choice>& typed);

}  // namespace namesake::policy
