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
#include "util/file.h"

namespace namesake::cli {
namespace {

struct Options {
  std::vector<std::string> programs;
};

// A fact a line, wrapped under its subject; what stands in the way is marked, with its cure below.
struct Diagnosis {
  report::TextStyle style;
  int troubles = 0;

  void add(const std::string& subject, bool good, const std::string& text, const std::string& cure = "") {
    constexpr size_t kSubject = 24;
    size_t width = static_cast<size_t>(std::max(style.width, 50)) - kSubject - 2;
    std::string wrapped = report::wrapped(text, width), shown;
    for (char c : wrapped) shown += c == '\n' ? "\n" + std::string(kSubject + 2, ' ') : std::string(1, c);
    fmt::print("{} {:<{}}{}\n", good ? "✓" : "✗", subject, kSubject, report::painted(shown, good ? report::Tone::plain : report::Tone::bad, style.color));
    if (!good && !cure.empty()) fmt::print("{:{}}→ {}\n", "", kSubject + 2, cure);
    troubles += !good;
  }
};

bool is_script(const std::filesystem::path& file) {
  auto content = read_file(file);
  return content && content->starts_with("#!");
}

Result<int> run_doctor(const Options& options, const Global& global) {
  Diagnosis diagnosis{text_style(global)};
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
    if (is_script(tool.path)) continue;   // a wrapper: the hook reaches what it starts
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

  fmt::print("\n");
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
