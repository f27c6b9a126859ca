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

  std::vector<cli::Command> commands = {
      cli::add_diff(app, global),      cli::add_trace(app, global),  cli::add_run(app, global),  cli::add_ab(app, global),
      cli::add_census(app, global), cli::add_scan(app, global),    cli::add_probe(app, global), cli::add_measure(app, global), cli::add_tune(app, global), cli::add_toolchain(app, global), cli::add_doctor(app, global), cli::add_completion(app, global),
      cli::add_manual(app, global),    cli::add_in_process(app, global)};
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
