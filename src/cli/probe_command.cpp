#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <memory>

#include "cli/bundled.h"
#include "cli/command.h"
#include "cli/output.h"
#include "ptx/ptx.h"
#include "report/json.h"
#include "report/text.h"
#include "study/probe.h"
#include "study/probe_bench.h"
#include "study/probe_words.h"
#include "toolchain/identify.h"
#include "util/file.h"
#include "util/interrupt.h"
#include "util/mapping.h"
#include "util/pool.h"
#include "util/subprocess.h"
#include "util/text.h"

namespace namesake::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::vector<std::string> assemblers, kernels, architectures, words, dictionaries, assembler_options;
  std::string with, with_language = "ptx", only, json, output;
  int opt_level = 3, timeout = 10, jobs = available_processors();
  bool no_cache = false, verbose = false;
};

bool is_assembler(toolchain::Kind kind) {
  return kind == toolchain::Kind::ptxas || kind == toolchain::Kind::nvrtc || kind == toolchain::Kind::nvjitlink;
}

// "newest", "13.5", "nvrtc", "nvjitlink-13.0", a path; "all" is every ptxas, each version once.
Result<std::vector<toolchain::Tool>> chosen(const std::vector<std::string>& wishes) {
  std::vector<toolchain::Tool> tools = toolchain::find_tools(), result;
  for (const std::string& wish : wishes) {
    if (wish == "all") {
      for (const toolchain::Tool& tool : tools) {
        bool known = std::any_of(result.begin(), result.end(), [&](const toolchain::Tool& other) {
          return other.kind == tool.kind && other.version == tool.version;
        });
        if (tool.kind == toolchain::Kind::ptxas && !known) result.push_back(tool);
      }
      if (result.empty()) return error("no ptxas is at hand; type: namesake toolchain add newest");
      continue;
    }
    toolchain::Kind kind = toolchain::Kind::ptxas;
    std::string which = wish;
    for (auto [library, name] : {std::pair{toolchain::Kind::nvrtc, std::string("nvrtc")}, {toolchain::Kind::nvjitlink, "nvjitlink"}}) {
      if (which != name && !which.starts_with(name + "-")) continue;
      kind = library;
      which = which == name ? "newest" : which.substr(name.size() + 1);
    }
    if (which.find('/') != which.npos) {
      TRY_ASSIGN(toolchain::Tool tool, toolchain::identify(which));
      if (!is_assembler(tool.kind)) return error(fmt::format("{} is no ptxas, NVRTC or nvJitLink; for another program, use --with", wish));
      result.push_back(std::move(tool));
      continue;
    }
    TRY_ASSIGN(toolchain::Tool tool, toolchain::choose(tools, kind, which));
    result.push_back(std::move(tool));
  }
  return result;
}

Result<std::vector<study::Program>> programs(const Options& options) {
  std::vector<study::Program> result;
  study::Program base;
  base.own = own_executable();
  base.opt_level = options.opt_level;
  base.options = options.assembler_options;
  if (!options.with.empty()) {
    TRY(study::check_command(options.with));
    base.command = options.with;
    base.language = options.with_language == "cuda" ? study::Language::cuda : study::Language::ptx;
    // Its own texts are in the file that the command's first word names, unless that is a script: its
    // texts are not those of what it starts.
    std::string first(options.with.substr(0, options.with.find(' ')));
    std::error_code ignored;
    if (fs::is_regular_file(first, ignored)) {
      base.tool.path = first;
    } else if (auto found = toolchain::on_path(first)) {
      base.tool.path = *found;
    }
    auto file = MappedFile::open(base.tool.path);
    if (!file || file->bytes().starts_with("#!")) base.tool.path.clear();
    return std::vector{base};
  }
  TRY_ASSIGN(std::vector<toolchain::Tool> tools, chosen(options.assemblers));
  for (toolchain::Tool& tool : tools) {
    study::Program program = base;
    program.language = tool.kind == toolchain::Kind::nvrtc ? study::Language::cuda : study::Language::ptx;
    program.tool = std::move(tool);
    result.push_back(std::move(program));
  }
  return result;
}

// A name of a bundled one ("mma"), or a file.
Result<std::vector<study::ProbeKernel>> kernels(const Options& options) {
  std::vector<fs::path> files;
  fs::path folder;
  auto bundled = [&](std::string_view name) -> Status {
    if (folder.empty()) {
      TRY_ASSIGN(fs::path root, kernels_folder());
      folder = root / "probe";
    }
    size_t before = files.size();
    std::error_code ignored;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
      fs::path file = entry.path();
      if (file.extension() != ".ptx" && file.extension() != ".cu") continue;
      if (name.empty() || file.stem() == name) files.push_back(file);
    }
    if (files.size() == before) return error(fmt::format("no kernel {} in {}", name.empty() ? "at all" : name, folder.string()));
    return {};
  };
  if (options.kernels.empty()) TRY(bundled(""));
  for (const std::string& name : options.kernels) {
    bool file = name.find('/') != name.npos || name.ends_with(".ptx") || name.ends_with(".cu");
    if (file) {
      files.push_back(name);
    } else {
      TRY(bundled(name));
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<study::ProbeKernel> result;
  for (const fs::path& file : files) {
    TRY_ASSIGN(std::string text, read_file(file));
    TRY_ASSIGN(std::vector<study::ProbeKernel> some, study::probe_kernels(text, file));
    // A source is for the architectures that its PTX beside it is for.
    Result<std::string> compiled = error("");
    if (file.extension() == ".cu") compiled = read_file(fs::path(file).replace_extension(".ptx"));
    if (compiled) {
      TRY_ASSIGN(ptx::Module module, ptx::parse(*compiled, file.string()));
      for (study::ProbeKernel& kernel : some) kernel.target = module.target;
    }
    result.insert(result.end(), some.begin(), some.end());
  }
  return result;
}

std::string next_command(const report::Probe& probe, const Options& options) {
  for (const report::ProbedProgram& program : probe.programs) {
    for (const report::ProbeFinding& finding : program.findings) {
      bool code = std::any_of(finding.reactions.begin(), finding.reactions.end(),
                              [](const report::ProbeReaction& reaction) { return reaction.change == "code"; });
      if (code && finding.text != "cutlass") return fmt::format("namesake trace --all-tests   (whether a call asks for \"{}\")", finding.text);
    }
  }
  return options.json.empty() ? "namesake probe --assembler all --json probe.json" : "namesake census";
}

Result<int> run_probe(const Options& options, const Global& global) {
  catch_interrupts();
  study::ProbeRequest request;
  TRY_ASSIGN(request.programs, programs(options));
  TRY_ASSIGN(request.kernels, kernels(options));
  request.architectures = options.architectures;
  for (const std::string& word : options.words) {
    std::error_code ignored;
    if (word.starts_with('@')) {
      TRY_ASSIGN(std::string list, read_file(word.substr(1)));
      for (std::string& each : study::words_of(list)) request.words.push_back(std::move(each));
    } else {
      request.words.push_back(word);
    }
  }
  request.dictionaries.assign(options.dictionaries.begin(), options.dictionaries.end());
  request.inside = options.only != "names";
  request.names = options.only != "inside";
  if (!options.no_cache) request.journal_folder = study::ProbeJournal::default_folder();
  request.workers = options.jobs;
  request.timeout = std::chrono::seconds(options.timeout);
  request.stop = interrupted;
  Progress progress(!global.quiet);
  request.progress = [&](std::string_view text) { progress.update(text); };
  auto probed = study::probe(request);
  progress.clear();
  if (!probed) {
    if (interrupted()) fmt::print(stderr, "namesake: {}\n", probed.error().message);
    return tl::unexpected(probed.error());
  }
  report::Probe& probe = *probed;
  probe.command = own_command_line();
  probe.next_command = next_command(probe, options);
  if (!options.json.empty()) TRY(write_output(options.json, report::to_json(probe)));
  if (options.json == "-") return 0;
  report::TextStyle style = text_style(global);
  style.verbose = options.verbose;
  TRY(write_output(options.output.empty() ? "-" : options.output, report::to_text(probe, style)));
  return 0;
}

}  // namespace

Command add_probe(CLI::App& root, const Global& global) {
  auto options = std::make_shared<Options>();
  options->assemblers = {"newest"};
  options->architectures = {"sm_90"};
  CLI::App* app = root.add_subcommand("probe", "Use words as names, and find the texts in a kernel's name that change its code, whether a call betrays them or not");
  app->add_option("--assembler", options->assemblers, "a ptxas by version or path, nvrtc or nvjitlink (nvrtc-13.0), or all: every ptxas at hand")
      ->delimiter(',')->capture_default_str()->type_name("WISH");
  app->add_option("--with", options->with, "probe any command instead, with {in}, {out} and, where needed, {arch}")->type_name("COMMAND");
  app->add_option("--with-language", options->with_language, "what that command reads: ptx or cuda")
      ->check(CLI::IsMember({"ptx", "cuda"}))->capture_default_str();
  app->add_option("--arch", options->architectures, "architectures to assemble for")->delimiter(',')->capture_default_str()->type_name("SM");
  app->add_option("--kernels", options->kernels, "bundled ones by name (simt, integer, fp64, mma, wgmma, tcgen05) or files; all that fit")
      ->delimiter(',')->type_name("NAME|FILE");
  app->add_option("--words", options->words, "further texts to try; @FILE takes them from a list")->delimiter(',')->type_name("TEXT|@FILE");
  app->add_option("--dictionary", options->dictionaries, "take the texts from these files instead of the program's own")->type_name("FILE");
  app->add_option("--only", options->only, "one pass alone: inside (texts anywhere in names) or names (texts as whole names)")
      ->check(CLI::IsMember({"inside", "names"}));
  app->add_option("-O,--opt-level", options->opt_level, "of ptxas")->check(CLI::Range(0, 4))->capture_default_str();
  app->add_option("--assembler-option", options->assembler_options, "a further option of ptxas")->type_name("OPTION");
  app->add_option("--timeout", options->timeout, "seconds after which an assembly counts as one that does not end; a large module gets more, by what its kernels take")
      ->check(CLI::Range(1, 3600))->capture_default_str();
  app->add_option("-j,--jobs", options->jobs, "assemblies at a time")->check(CLI::Range(1, 1024))->capture_default_str();
  app->add_flag("--no-cache", options->no_cache, "remember nothing, and go on from nothing remembered");
  app->add_flag("-v,--verbose", options->verbose, "every program with every kernel");
  app->add_option("-o,--output", options->output, "write the report to this file")->type_name("FILE");
  app->add_option("--json", options->json, "write everything as JSON to this file (- for stdout)")->type_name("FILE");
  app->footer("Examples:\n  namesake probe\n  namesake probe --assembler all --arch sm_80,sm_90\n  namesake probe --words flash,gemm --kernels my.ptx\n"
              "  namesake probe --with 'ptxas -arch={arch} {in} -o {out}' --dictionary $(which ptxas)\n"
              "A run that was interrupted goes on where it was.");
  Command command;
  command.app = app;
  command.run = [options, &global] { return run_probe(*options, global); };
  return command;
}

}  // namespace namesake::cli
