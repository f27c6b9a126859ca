// Assemblies as an experiment needs them: each (module, build, hook, randomisation) at most once,
// several at a time, reduced at once to what the comparison asks for.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cubin/cubin.h"
#include "ptx/ptx.h"
#include "assembly/build.h"
#include "toolchain/toolchain.h"
#include "util/hash.h"

namespace namesake::assembly {

// The environment of an assembler whose name tests are answered in one way for every function; the
// three are of one length, since on some targets the code depends even on that.
struct HookVariables {
  std::vector<std::string> natural, treated, untreated;
};

struct FunctionCode {
  Hash identity;
  // What a disassembly needs; kept only where the trial asks for it.
  std::string code;
  std::vector<cubin::IndirectBranch> indirect_branches;
  std::vector<cubin::Relocation> relocations;
  int64_t registers = 0, stack_bytes = 0, spill_store_bytes = 0, spill_load_bytes = 0;
  int64_t code_bytes = 0, shared_bytes = 0;
};

struct Trial {                    // one assembly to make
  std::shared_ptr<const ptx::Module> module;
  Build build;                    // renamed and pragma are edits already made in `module`
  std::string architecture;
  bool hooked = true;
  bool fixed_addresses = true;
  bool keep_code = false;
  int draw = 0;                   // repeats with randomisation on are different trials
};

struct Outcome {
  std::string failure;            // "" or why there is no code
  std::map<std::string, FunctionCode> functions;  // by symbol
  Hash data;                      // module-wide constants and initialised globals
  std::string diagnostics;
  bool addresses_fixed = false;
  bool crashed = false, timed_out = false;
  double wall_seconds = 0, cpu_seconds = 0;
  bool ok() const { return failure.empty(); }
};

// One assembly, now. An error only if the assembler could not be started.
Result<Outcome> assemble(const Trial& trial, const HookVariables& hooks, std::chrono::milliseconds timeout);

class Cache;

class Laboratory {
 public:
  // `cache` may be nullptr: then nothing is remembered from run to run.
  Laboratory(HookVariables hooks, const Cache* cache, std::chrono::milliseconds timeout, int workers,
             std::function<bool()> stop)
      : hooks_(std::move(hooks)), cache_(cache), timeout_(timeout), workers_(workers), stop_(std::move(stop)) {}

  // Makes all trials that are not made yet, in parallel. An error only where an assembler cannot be
  // started at all or the user interrupts.
  Status make(const std::vector<Trial>& trials, const std::function<void(size_t, size_t)>& progress = {});

  // The outcome of a trial that was made.
  const Outcome& outcome(const Trial& trial) const;

  double child_seconds() const { return child_seconds_; }

 private:
  std::string key(const Trial& trial) const;

  HookVariables hooks_;
  const Cache* cache_;
  std::chrono::milliseconds timeout_;
  int workers_;
  std::function<bool()> stop_;
  mutable std::mutex mutex_;
  std::map<std::string, Outcome> outcomes_;
  mutable std::map<const ptx::Module*, Hash> text_hashes_;
  double child_seconds_ = 0;
};

}  // namespace namesake::assembly
