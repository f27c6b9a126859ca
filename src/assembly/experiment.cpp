#include "assembly/experiment.h"

#include <fmt/format.h>

#include <optional>

#include "assembly/cache.h"
#include "util/pool.h"
#include "util/text.h"

namespace namesake::assembly {

std::string Laboratory::key(const Trial& trial) const {
  Hash& text = text_hashes_[trial.module.get()];
  if (text == Hash{}) text = hash_bytes(trial.module->text);
  const toolchain::Tool& assembler = trial.build.assembler;
  std::error_code ignored;
  auto modified = std::filesystem::last_write_time(assembler.path, ignored).time_since_epoch().count();
  return fmt::format("{} {} {} {} {} O{} {} hook{} fixed{} draw{} code{} {}", text.hex(), assembler.path.string(),
                     assembler.build, modified, trial.architecture, trial.build.opt_level,
                     treatment_name(trial.build.treatment), trial.hooked, trial.fixed_addresses, trial.draw,
                     trial.keep_code, join(trial.build.options, "\x1f"));
}

Result<Outcome> assemble(const Trial& trial, const HookVariables& hooks, std::chrono::milliseconds timeout) {
  toolchain::Job job;
  job.ptx = trial.module->text;
  job.architecture = trial.architecture;
  job.opt_level = trial.build.opt_level;
  job.options = trial.build.options;
  job.fixed_addresses = trial.fixed_addresses;
  job.timeout = timeout;
  if (trial.hooked) {
    job.environment = trial.build.treatment == Treatment::treated     ? hooks.treated
                      : trial.build.treatment == Treatment::untreated ? hooks.untreated
                                                                      : hooks.natural;
  }
  TRY_ASSIGN(toolchain::Assembly assembly, toolchain::assemble(trial.build.assembler, job));
  Outcome outcome;
  outcome.failure = assembly.failure;
  outcome.diagnostics = std::move(assembly.diagnostics);
  outcome.addresses_fixed = assembly.addresses_fixed;
  outcome.crashed = assembly.crashed;
  outcome.timed_out = assembly.timed_out;
  outcome.wall_seconds = assembly.wall_seconds;
  outcome.cpu_seconds = assembly.cpu_seconds;
  if (!outcome.ok()) return outcome;
  auto module = cubin::parse(assembly.cubin, trial.module->origin);
  if (!module) {
    outcome.failure = fmt::format("the assembler's output is no cubin: {}", module.error().message);
    return outcome;
  }
  outcome.data = module->data;
  for (const cubin::Function& function : module->functions) {
    FunctionCode code;
    code.identity = function.identity;
    code.registers = function.registers;
    code.stack_bytes = function.frame_bytes;
    code.code_bytes = static_cast<int64_t>(function.code.size());
    code.shared_bytes = function.shared_bytes;
    if (auto report = assembly.functions.find(function.symbol); report != assembly.functions.end()) {
      code.registers = report->second.registers;
      code.stack_bytes = report->second.stack_bytes;
      code.spill_store_bytes = report->second.spill_store_bytes;
      code.spill_load_bytes = report->second.spill_load_bytes;
    }
    if (trial.keep_code) {
      code.code = std::string(function.code);
      code.indirect_branches = function.indirect_branches;
      code.relocations = function.relocations;
    }
    outcome.functions.emplace(function.symbol, std::move(code));
  }
  return outcome;
}

Status Laboratory::make(const std::vector<Trial>& trials,
                        const std::function<void(size_t, size_t)>& progress) {
  std::map<std::string, const Trial*> missing;
  for (const Trial& trial : trials) {
    std::string name = key(trial);
    if (!outcomes_.count(name)) missing.emplace(std::move(name), &trial);
  }
  std::vector<std::pair<std::string, const Trial*>> work(missing.begin(), missing.end());
  std::optional<Error> failure;
  size_t done = 0;
  for_each_parallel(
      work.size(), workers_,
      [&](size_t i) {
        std::optional<Outcome> known = cache_ ? cache_->find(work[i].first) : std::nullopt;
        Result<Outcome> outcome = known ? Result<Outcome>(std::move(*known)) : assemble(*work[i].second, hooks_, timeout_);
        if (!known && cache_ && outcome) cache_->remember(work[i].first, *outcome);
        std::lock_guard lock(mutex_);
        if (progress) progress(++done, work.size());
        if (!outcome) {
          if (!failure) failure = outcome.error();
          return;
        }
        child_seconds_ += outcome->cpu_seconds;
        outcomes_.emplace(work[i].first, std::move(*outcome));
      },
      [&] {
        if (stop_ && stop_()) return true;
        std::lock_guard lock(mutex_);
        return failure.has_value();
      });
  if (failure) return tl::unexpected(*failure);
  if (stop_ && stop_()) return error("interrupted");
  return {};
}

const Outcome& Laboratory::outcome(const Trial& trial) const { return outcomes_.at(key(trial)); }

}  // namespace namesake::assembly
