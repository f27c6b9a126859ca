#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "ab/witness.h"
#include "cli/command.h"
#include "cli/spill_check.h"
#include "session/guard.h"
#include "util/interrupt.h"

using namespace namesake;

namespace {

struct Named {
  std::string_view name;
  cli::Command (*add)(CLI::App& root, const cli::Global& global);
};
constexpr Named kCommands[] = {
    {"diff", cli::add_diff},           {"trace", cli::add_trace},
    {"run", cli::add_run},             {"ab", cli::add_ab},
    {"census", cli::add_census},       {"scan", cli::add_scan},
    {"probe", cli::add_probe},         {"measure", cli::add_measure},
    {"tune", cli::add_tune},           {"toolchain", cli::add_toolchain},
    {"doctor", cli::add_doctor},       {"completion", cli::add_completion},
    {"manual", cli::add_manual},       {"assemble-in-process", cli::add_in_process}};

// All tables of options take longer to make than many a command runs: where the first word is a
// command's name, only its own is made. The man page and completions are made of all.
std::vector<cli::Command> commands_for(char** begin, char** end, CLI::App& root, const cli::Global& global) {
  auto word = std::find_if(begin, end, [](const char* each) { return each[0] != '-'; });
  std::string_view first = word == end ? "" : *word;
  std::vector<cli::Command> all;
  for (const Named& each : kCommands) {
    if (each.name == first && first != "completion" && first != "manual") return {each.add(root, global)};
  }
  for (const Named& each : kCommands) all.push_back(each.add(root, global));
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  // Started by the hook as the guard of a treated assembler, not by a person.
  if (ab::is_witness(argc, argv)) ab::witness_main(argc, argv);
  if (session::is_guard(argc, argv)) session::guard_main(argc, argv, cli::check_spills);
  CLI::App app{"What a kernel's name does to its machine code: see it, prove it, decide it."};
  app.name("namesake");
  app.set_version_flag("--version", "namesake " NAMESAKE_VERSION);
  app.require_subcommand(1);
  app.footer("First steps:\n"
             "  namesake diff                       the bundled kernels, treated against untreated\n"
             "  namesake diff my.ptx --html out.html\n"
             "  namesake trace                      which texts the assemblers at hand look for\n"
             "  namesake run --treat 'gemm*' -- make\n"
             "Exit status: 0 done, 1 a verdict that was asked for (--fail-on), 2 usage or input error.");
  cli::Global global;
  const std::map<std::string, ColorChoice> kColors = {
      {"auto", ColorChoice::automatic}, {"always", ColorChoice::always}, {"never", ColorChoice::never}};
  app.add_option("--color", global.color, "auto (a terminal, and NO_COLOR unset), always or never")
      ->transform(CLI::CheckedTransformer(kColors, CLI::ignore_case).description(""))
      ->type_name("WHEN");
  app.add_flag("-q,--quiet", global.quiet, "no progress on stderr");
  app.fallthrough();

  // The command behind -- belongs to the user: no option of it may be taken for one of ours.
  char** end = std::find_if(argv, argv + argc, [](const char* word) { return std::string_view(word) == "--"; });
  if (end != argv + argc) global.command.assign(end + 1, argv + argc);

  std::vector<cli::Command> commands = commands_for(argv + 1, end, app, global);
  try {
    app.parse(static_cast<int>(end - argv), argv);
  } catch (const CLI::ParseError& failure) {
    return app.exit(failure) == 0 ? 0 : 2;
  }
  for (const cli::Command& command : commands) {
    if (!command.app->parsed()) continue;
    Result<int> status = command.run();
    if (status && std::fflush(stdout) != 0) status = error(fmt::format("cannot write to stdout: {}", std::strerror(errno)));
    if (status) return *status;
    if (interrupted()) return 130;
    fmt::print(stderr, "namesake: error: {}\n", status.error().message);
    return command.own_failure;
  }
  return 2;
}
