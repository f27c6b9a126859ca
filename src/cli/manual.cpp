// The man page and the shell completions, made from the option table itself, so that neither can
// say something else than the parser does.
#include "cli/manual.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <functional>

namespace namesake::cli {
namespace {

std::string roff(std::string_view text) {
  std::string result;
  bool line_start = true;
  for (char c : text) {
    if (c == '\\') result += "\\e";
    else if (c == '-') result += "\\-";
    else if (line_start && (c == '.' || c == '\'')) result += std::string("\\&") + c;
    else result += c;
    line_start = c == '\n';
  }
  return result;
}

std::vector<const CLI::App*> subcommands(const CLI::App& app) {
  auto all = app.get_subcommands([](const CLI::App*) { return true; });
  std::vector<const CLI::App*> shown;
  for (const CLI::App* sub : all) {
    if (!sub->get_group().empty()) shown.push_back(sub);   // an empty group is hidden
  }
  return shown;
}

std::vector<const CLI::Option*> options_of(const CLI::App& app) {
  std::vector<const CLI::Option*> shown;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty() && option->nonpositional()) shown.push_back(option);
  }
  return shown;
}

std::string spelled(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  std::string text = CLI::detail::join(names, ", ");
  if (option.get_type_size() > 0 && !option.get_type_name().empty()) text += " " + option.get_type_name();
  return text;
}

void describe(const CLI::App& app, const std::string& path, std::string& page) {
  page += fmt::format(".SS {}\n{}.\n", roff(path), roff(app.get_description()));
  for (const CLI::Option* option : options_of(app)) {
    page += fmt::format(".TP\n.B {}\n{}\n", roff(spelled(*option)), roff(option->get_description()));
  }
  if (!app.get_footer().empty()) page += fmt::format(".PP\n.nf\n{}\n.fi\n", roff(app.get_footer()));
  for (const CLI::App* sub : subcommands(app)) describe(*sub, path + " " + sub->get_name(), page);
}

}  // namespace

std::string man_page(const CLI::App& root) {
  std::string page = fmt::format(".TH NAMESAKE 1 \"\" \"namesake {}\" \"User Commands\"\n", NAMESAKE_VERSION);
  page += fmt::format(".SH NAME\nnamesake \\- {}\n", roff(root.get_description()));
  page += ".SH SYNOPSIS\n.B namesake\n[\\fIoptions\\fR] \\fIcommand\\fR [\\fIarguments\\fR]\n.SH OPTIONS\n";
  for (const CLI::Option* option : options_of(root)) {
    page += fmt::format(".TP\n.B {}\n{}\n", roff(spelled(*option)), roff(option->get_description()));
  }
  page += ".SH COMMANDS\n";
  for (const CLI::App* sub : subcommands(root)) describe(*sub, "namesake " + sub->get_name(), page);
  page += ".SH EXIT STATUS\n0: done. 1: a verdict that was asked for. 2: usage, input or environment error. "
          "run, trace: the command's own status, 125 when namesake itself failed.\n";
  return page;
}

std::string completion(const CLI::App& root, const std::string& shell) {
  std::vector<std::string> names;
  for (const CLI::App* sub : subcommands(root)) names.push_back(sub->get_name());
  auto long_options = [](const CLI::App& app) {
    std::vector<std::string> words;
    for (const CLI::Option* option : options_of(app)) {
      for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
    }
    for (const CLI::App* sub : subcommands(app)) words.push_back(sub->get_name());
    return CLI::detail::join(words, " ");
  };
  std::string text;
  if (shell == "fish") {
    for (const CLI::App* sub : subcommands(root)) {
      text += fmt::format("complete -c namesake -n __fish_use_subcommand -a {} -d \"{}\"\n", sub->get_name(), sub->get_description());
      for (const CLI::Option* option : options_of(*sub)) {
        for (const std::string& name : option->get_lnames()) {
          text += fmt::format("complete -c namesake -n '__fish_seen_subcommand_from {}' -l {}\n", sub->get_name(), name);
        }
      }
    }
    return text;
  }
  if (shell == "zsh") text += "#compdef namesake\nautoload -U +X bashcompinit && bashcompinit\n";
  text += "_namesake() {\n  local word=${COMP_WORDS[COMP_CWORD]} command= i\n"
          "  for ((i = 1; i < COMP_CWORD; ++i)); do\n    case ${COMP_WORDS[i]} in\n      --) return ;;\n";
  text += fmt::format("      {}) command=${{COMP_WORDS[i]}}; break ;;\n    esac\n  done\n  local words\n  case $command in\n", CLI::detail::join(names, "|"));
  for (const CLI::App* sub : subcommands(root)) {
    text += fmt::format("    {}) words=\"{}\" ;;\n", sub->get_name(), long_options(*sub));
  }
  text += fmt::format("    *) words=\"{}\" ;;\n  esac\n", long_options(root));
  text += "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n  [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- \"$word\"))\n}\n"
          "complete -F _namesake namesake\n";
  return text;
}

}  // namespace namesake::cli
