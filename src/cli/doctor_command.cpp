#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <memory>

#include "cli/bundled.h"
#include "cli/command.h"
#include "cli/output.h"
#include "report/table.h"
#include "session/caches.h"
#include "session/folder.h"
#include "session/preflight.h"
#include "toolchain/toolchain.h"

namespace namesake::cli {
namespace {

struct Options {
  std::vector<std::string> programs;
};

struct Diagnosis {
  report::Table table{{{"what"}, {"", false, 0, 30}}};
  int troubles = 0;

  void add(const std::string& subject, bool good, const std::string& text, const std::string& cure = "") {
    table.add({{subject}, {text, good ? report::Tone::plain : report::Tone::bad}});
    if (!good && !cure.empty()) table.note("→ " + cure);
    troubles += !good;
  }
};

Result<int> run_doctor(const Options& options, const Global& global) {
  Diagnosis diagnosis;
  toolchain::Survey survey = toolchain::survey();
  for (const toolchain::Fact& fact : toolchain::facts(survey)) diagnosis.add(fact.subject, fact.good, fact.what, fact.cure);
  for (const toolchain::BrokenTool& broken : survey.broken) diagnosis.add(broken.path.filename().string(), false, broken.path.string() + ": " + broken.why);

  std::vector<session::Finding> system = session::examine_system();
  for (const session::Finding& finding : system) diagnosis.add("this system", false, finding.sentence);
  if (system.empty()) diagnosis.add("this system", true, "a preloaded library can be placed, and address randomisation can be switched off");

  for (const toolchain::Tool& tool : survey.tools) {
    bool assembler = tool.kind == toolchain::Kind::ptxas || tool.kind == toolchain::Kind::nvlink ||
                     tool.kind == toolchain::Kind::nvrtc || tool.kind == toolchain::Kind::nvjitlink;
    if (!assembler) continue;
    for (const session::Finding& finding : session::examine_assembler(tool.path)) {
      diagnosis.add(fmt::format("{} {}", toolchain::kind_name(tool.kind), tool.version), !finding.fatal, finding.sentence);
    }
  }
  for (const std::string& program : options.programs) {
    std::vector<session::Finding> findings = session::examine_program(program);
    for (const session::Finding& finding : findings) diagnosis.add(program, !finding.fatal, finding.sentence);
    if (findings.empty()) diagnosis.add(program, true, "can be hooked");
  }
  auto kernels = kernels_folder();
  diagnosis.add("bundled kernels", kernels.has_value(), kernels ? kernels->string() : kernels.error().message);
  diagnosis.add("caches of treated runs", true, session::cache_folder().string());

  report::TextStyle style = text_style(global);
  fmt::print("{}\n", diagnosis.table.text(static_cast<size_t>(style.width), style.color));
  if (diagnosis.troubles == 0) {
    fmt::print("nothing stands in the way. Next: namesake diff\n");
  } else {
    fmt::print("{} thing{} to mend; the rest works.\n", diagnosis.troubles, diagnosis.troubles == 1 ? "" : "s");
  }
  return 0;
}

}  // namespace

Command add_doctor(CLI::App& root, const Global& global) {
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand("doctor", "Why something cannot work here, and what to do");
  app->add_option("programs", options->programs, "programs to be run under namesake: can they be hooked?")->type_name("PROGRAM");
  app->footer("Example:\n  namesake doctor ninja python3 ./my-app");
  Command command;
  command.app = app;
  command.run = [options, &global] { return run_doctor(*options, global); };
  return command;
}

}  // namespace namesake::cli
