#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>

#include "cli/command.h"
#include "cli/output.h"
#include "policy/policy.h"
#include "session/run.h"
#include "toolchain/toolchain.h"
#include "util/file.h"
#include "util/subprocess.h"
#include "util/text.h"

namespace namesake::cli {
namespace {

struct Options {
  std::vector<std::string> treat, untreat, assemblers;
  std::string policy;
  bool strict = false, audit = false, shared_caches = false, no_guard = false, verbose = false;
  int timeout = 600;
  CLI::App* app = nullptr;
};

session::Treatment hook_treatment(policy::Treatment treatment) {
  switch (treatment) {
    case policy::Treatment::treated: return session::Treatment::treated;
    case policy::Treatment::untreated: return session::Treatment::untreated;
    case policy::Treatment::natural: break;
  }
  return session::Treatment::natural;
}

session::Rule hook_rule(const policy::Rule& rule) {
  session::Rule hooked;
  hooked.treatment = hook_treatment(rule.treatment);
  hooked.pattern = rule.pattern();
  hooked.architecture = rule.architecture;
  return hooked;
}

// --treat and --untreat in the order typed, which their two lists no longer know.
std::vector<policy::Choice> choices_of(const Options& options) {
  std::vector<policy::Choice> choices;
  size_t treat = 0, untreat = 0;
  for (const CLI::Option* option : options.app->parse_order()) {
    if (option->check_lname("treat") && treat < options.treat.size()) {
      choices.push_back({policy::Treatment::treated, options.treat[treat++]});
    } else if (option->check_lname("untreat") && untreat < options.untreat.size()) {
      choices.push_back({policy::Treatment::untreated, options.untreat[untreat++]});
    }
  }
  return choices;
}

// A policy speaks of assemblers by version; the hook knows them by file. So each rule is made for
// every file at hand that the policy was measured with, and for no other.
Status add_policy(const std::string& file, session::Settings& settings, std::optional<int64_t>& spill_limit, int& timeout) {
  TRY_ASSIGN(std::string text, read_file(file));
  TRY_ASSIGN(policy::Policy policy, policy::parse(text, file));
  if (policy.spill_bytes) spill_limit = policy.spill_bytes;
  if (policy.timeout_seconds) timeout = static_cast<int>(*policy.timeout_seconds);
  std::vector<toolchain::Tool> tools = toolchain::find_tools();
  std::set<std::string> absent;
  for (const policy::Rule& rule : policy.rules) {
    session::Rule hooked = hook_rule(rule);
    if (rule.assembler.version.empty() || rule.assembler.version == "any") {
      settings.rules.push_back(std::move(hooked));
      continue;
    }
    bool found = false;
    for (const toolchain::Tool& tool : tools) {
      bool assembler = tool.kind != toolchain::Kind::nvcc && tool.kind != toolchain::Kind::cicc && tool.kind != toolchain::Kind::nvdisasm;
      if (!assembler || !policy::holds_for(rule.assembler, {tool.version, tool.build})) continue;
      TRY_ASSIGN(hooked.assembler, session::assembler_identity(tool.path));
      settings.rules.push_back(hooked);
      found = true;
    }
    if (!found) absent.insert(rule.assembler.version);
  }
  for (const std::string& version : absent) {
    fmt::print(stderr, "namesake: {} was measured with assembler {}, which is not at hand: what it says of it is void\n", file, version);
  }
  return {};
}

// Which functions kept their own answer although a rule treats something, and why, in a line each.
void print_counts(const session::Outcome& outcome, const Global& global) {
  bool color = wants_color(stderr, global.color);
  auto strong = [&](std::string_view text) { return color ? fmt::format("\033[1m{}\033[0m", text) : std::string(text); };
  const session::Counts& counts = outcome.counts;
  fmt::print(stderr, "namesake: {} treated, {} left, {} unseen{}\n", strong(std::to_string(counts.treated)),
             strong(std::to_string(counts.left)), strong(std::to_string(counts.unseen)),
             counts.nothing_assembled ? ", " + strong("nothing assembled") + " (all from a cache, or nothing to compile)" : "");
  for (const session::Fallback& fallback : outcome.recording.fallbacks) {
    fmt::print(stderr, "namesake: {} ran naturally; of the treated run: {}\n", fallback.program, fallback.reason);
  }
  for (const session::Unseen& unseen : outcome.unseen) {
    fmt::print(stderr, "namesake: unseen: {}{} (static, privileged, or started with an empty environment; namesake doctor says more)\n",
               unseen.program, unseen.library.empty() ? "" : " with " + unseen.library);
  }
  for (const session::Suspect& suspect : outcome.left_natural) {
    fmt::print(stderr, "namesake: {} was left natural: its treated assembly ended a process in an earlier run\n", demangled(suspect.name));
  }
  for (const session::Suspect& suspect : outcome.new_suspects) {
    fmt::print(stderr, "namesake: the process died while {} was assembled treated; the next run leaves it natural\n", demangled(suspect.name));
  }
  uint64_t unknown = 0;
  std::set<std::string> others;
  for (const session::NameTest& test : outcome.recording.tests) {
    unknown += test.reason == session::Reason::architecture_unknown;
    if (test.reason == session::Reason::other_assembler) others.insert(test.image);
  }
  for (const std::string& image : others) {
    fmt::print(stderr, "namesake: {} is not what the policy was measured with: what it says is void there, and the functions were left natural\n", image);
  }
  if (unknown) {
    fmt::print(stderr, "namesake: {} name tests kept the natural answer: a rule depends on the architecture, and it was not known there\n", unknown);
  }
  for (const session::Finding& finding : outcome.findings) fmt::print(stderr, "namesake: {}\n", finding.sentence);
}

// Which compile caches this run had to itself, whether or not their tools were in use.
void print_caches(const std::vector<session::MovedCache>& caches, bool verbose) {
  std::set<std::string> owners;
  for (const session::MovedCache& cache : caches) owners.insert(cache.owner);
  std::string folder = std::filesystem::path(caches.front().value).parent_path().string();
  fmt::print(stderr, "namesake: the compile caches of {} tools were this run's own, in {}{}\n", owners.size(), folder,
             verbose ? ":" : " (--verbose lists them)");
  if (!verbose) return;
  for (const session::MovedCache& cache : caches) fmt::print(stderr, "  {:22} {}={}\n", cache.owner, cache.variable, cache.value);
}

Result<int> run_command(const Options& options, const Global& global) {
  if (global.command.empty()) return error("no command to run: write it behind --, for example namesake run --treat 'gemm*' -- make");
  session::RunOptions run;
  std::optional<int64_t> spill_limit;
  int timeout = options.timeout;
  TRY_ASSIGN(std::vector<policy::Rule> typed, policy::rules_of(choices_of(options)));
  for (const policy::Rule& rule : typed) run.settings.rules.push_back(hook_rule(rule));
  if (!options.policy.empty()) TRY(add_policy(options.policy, run.settings, spill_limit, timeout));
  if (typed.empty() && options.policy.empty()) return error("nothing to decide: give --treat GLOB, --untreat GLOB or --policy FILE");
  // A policy that is void here: everything is natural, and counted.
  if (run.settings.rules.empty()) run.settings.rules.push_back({.treatment = session::Treatment::natural});
  for (const std::string& assembler : options.assemblers) {
    session::AssemblerFile file;
    size_t plus = assembler.rfind("+0x");
    file.pattern = assembler.substr(0, plus);
    if (plus != std::string::npos) file.call_site = std::strtoull(assembler.c_str() + plus + 1, nullptr, 16);
    run.settings.more_assemblers.push_back(file);
  }
  if (!options.no_guard) {
    session::Guard guard;
    guard.helper = own_executable();
    guard.seconds = static_cast<unsigned>(timeout);
    guard.spill_limit = spill_limit;
    run.settings.guard = guard;
  }
  run.via = options.audit ? session::Via::audit : session::Via::preload;
  run.own_caches = !options.shared_caches;
  TRY_ASSIGN(session::Outcome outcome, session::run(global.command, run));
  if (!outcome.not_started.empty()) {
    fmt::print(stderr, "namesake: error: {}\n", outcome.not_started);
    return outcome.exit_status;
  }
  print_counts(outcome, global);
  if (!global.quiet && !outcome.moved_caches.empty()) print_caches(outcome.moved_caches, options.verbose);
  bool came_short = outcome.counts.unseen > 0 || outcome.counts.nothing_assembled;
  if (options.strict && came_short && outcome.exit_status == 0 && outcome.signal == 0) {
    return error("--strict: not every assembler was seen at work");
  }
  session::end_like(outcome);
}

}  // namespace

Command add_run(CLI::App& root, const Global& global) {
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand("run", "Run any build or application with the treatments decided: namesake run --treat GLOB -- COMMAND");
  options->app = app;
  app->add_option("--treat", options->treat, "kernels to treat, by symbol or readable name, for example 'gemm*'; of several that fit, the last decides")
      ->type_name("GLOB")->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app->add_option("--untreat", options->untreat, "kernels to leave without the treatment whatever their name says")
      ->type_name("GLOB")->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app->add_option("--policy", options->policy, "decide by a policy file; --treat and --untreat go before it")->type_name("FILE");
  app->add_flag("--strict", options->strict, "exit 125 if an assembler ran unseen or nothing was assembled at all");
  app->add_option("--assembler", options->assemblers, "a further file whose name tests are answered: a glob, with +0xOFFSET only that call site")->type_name("FILE")->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app->add_flag("--audit", options->audit, "by LD_AUDIT instead of LD_PRELOAD: reaches RTLD_DEEPBIND and dlmopen too");
  app->add_option("--timeout", options->timeout, "seconds after which a treated assembler counts as hung and runs naturally")->capture_default_str()->check(CLI::PositiveNumber)->type_name("N");
  app->add_flag("--shared-caches", options->shared_caches, "leave compile caches where they are: treated code may then reach later natural runs");
  app->add_flag("-v,--verbose", options->verbose, "list the compile caches that are this run's own");
  app->add_flag("--no-guard", options->no_guard, "no natural run to fall back on when a treated assembler fails");
  app->footer("Examples:\n  namesake run --treat 'gemm*' -- make -j8\n  namesake run --untreat '*' -- python bench.py\n  namesake run --policy tuned.toml --strict -- ./app\n"
              "Ends with four counts on stderr: functions treated, functions left, assemblers unseen, nothing assembled.\n"
              "Exit status: the command's own; 125 if namesake itself failed.");
  Command command;
  command.app = app;
  command.own_failure = 125;
  command.run = [options, &global] { return run_command(*options, global); };
  return command;
}

}  // namespace namesake::cli
