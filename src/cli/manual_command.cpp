#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/manual.h"

namespace namesake::cli {

Command add_completion(CLI::App& root, const Global&) {
  auto shell = std::make_shared<std::string>();
  CLI::App* app = root.add_subcommand("completion", "Print the completion script of a shell");
  app->add_option("shell", *shell, "bash, zsh or fish")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}).description(""));
  app->footer("Example:\n  source <(namesake completion bash)");
  Command command;
  command.app = app;
  command.run = [&root, shell]() -> Result<int> {
    fmt::print("{}", completion(root, *shell));
    return 0;
  };
  return command;
}

Command add_manual(CLI::App& root, const Global&) {
  CLI::App* app = root.add_subcommand("manual", "Print the man page");
  app->footer("Example:\n  namesake manual | man -l -");
  Command command;
  command.app = app;
  command.run = [&root]() -> Result<int> {
    fmt::print("{}", man_page(root));
    return 0;
  };
  return command;
}

}  // namespace namesake::cli
