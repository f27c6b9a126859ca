// What every command has: options and help in one place, and a function that does the work.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "util/error.h"
#include "util/terminal.h"

namespace CLI {
class App;
}

namespace namesake::cli {

struct Global {                // options that mean the same everywhere
  ColorChoice color = ColorChoice::automatic;
  bool quiet = false;
  std::vector<std::string> command;   // what stands behind --, untouched by our parser
};

struct Command {
  CLI::App* app = nullptr;
  std::function<Result<int>()> run;   // the exit status; an error ends with `own_failure`
  int own_failure = 2;                // 125 for commands that pass another command's status through
};

Command add_diff(CLI::App& root, const Global& global);
Command add_trace(CLI::App& root, const Global& global);
Command add_run(CLI::App& root, const Global& global);
Command add_ab(CLI::App& root, const Global& global);
Command add_census(CLI::App& root, const Global& global);
Command add_scan(CLI::App& root, const Global& global);
Command add_probe(CLI::App& root, const Global& global);
Command add_measure(CLI::App& root, const Global& global);
Command add_tune(CLI::App& root, const Global& global);
Command add_toolchain(CLI::App& root, const Global& global);
Command add_doctor(CLI::App& root, const Global& global);
Command add_completion(CLI::App& root, const Global& global);
Command add_manual(CLI::App& root, const Global& global);
Command add_in_process(CLI::App& root, const Global& global);

}  // namespace namesake::cli
