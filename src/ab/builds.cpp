#include "ab/builds.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "ab/witness.h"
#include "assembly/build.h"
#include "assembly/inputs.h"
#include "assembly/variant.h"
#include "cubin/cubin.h"
#include "util/file.h"
#include "util/pool.h"
#include "util/subprocess.h"
#include "util/text.h"

namespace namesake::ab {
namespace {

using assembly::Build;
using assembly::Treatment;

const std::vector<std::string>& variables_for(const Settings& settings, Treatment treatment) {
  if (treatment == Treatment::treated) return settings.hooks.treated;
  if (treatment == Treatment::untreated) return settings.hooks.untreated;
  return settings.hooks.natural;
}

Made failed(std::string why) {
  Made made;
  made.failure = std::move(why);
  return made;
}

// What the cubin holds, with what the assembler said of spills.
Made described(std::string cubin, const std::map<std::string, toolchain::FunctionReport>& said) {
  Made made;
  made.cubin = std::move(cubin);
  auto module = cubin::parse(made.cubin, "the assembler's output");
  if (!module) return failed(module.error().message);
  for (const cubin::Function& function : module->functions) {
    FunctionFacts& facts = made.functions[function.symbol];
    facts.identity = function.identity.hex();
    facts.registers = function.registers;
    facts.code_bytes = static_cast<int64_t>(function.code.size());
    if (auto report = said.find(function.symbol); report != said.end())
      facts.spill_bytes = report->second.spill_store_bytes;
  }
  return made;
}

Made by_program(const Source& source, Build build, const Settings& settings) {
  assembly::Unit unit;
  unit.architecture = source.architecture;
  unit.module = *source.module;
  for (const ptx::Function& function : unit.module.functions)
    if (function.entry && function.defined) unit.kernels.push_back(function.symbol);
  assembly::Variant variant = assembly::variant_for(unit, build);
  if (!variant.ok()) return failed(variant.failure);
  if (build.treatment == Treatment::pragma) build.treatment = Treatment::natural;
  toolchain::Job job;
  job.ptx = variant.module->text;
  job.architecture = source.architecture;
  job.opt_level = build.opt_level;
  job.options = build.options;
  job.relocatable = source.relocatable;
  job.environment = variables_for(settings, build.treatment);
  job.timeout = settings.timeout;
  auto assembly = toolchain::assemble(build.assembler, job);
  if (!assembly) return failed(assembly.error().message);
  if (!assembly->ok()) return failed(assembly->failure);
  return described(std::move(assembly->cubin), assembly->functions);
}

// A child of ours with the answers in its environment: the library's crash is not ours.
Result<std::string> in_child(const std::vector<std::string>& words,
                             const std::filesystem::path& output, const Settings& settings,
                             Treatment treatment) {
  Command command;
  command.arguments = {settings.own_executable.string(), "assemble-in-process"};
  command.arguments.insert(command.arguments.end(), words.begin(), words.end());
  command.arguments.insert(command.arguments.end(), {"-o", output.string()});
  command.environment = variables_for(settings, treatment);
  command.environment.push_back("CUDA_CACHE_DISABLE=1");
  command.fixed_addresses = true;
  command.timeout = settings.timeout;
  TRY_ASSIGN(Completed done, run(command));
  if (!done.ok()) {
    std::string_view said = trimmed(done.err);
    return error(said.empty() ? done.how_it_ended() : std::string(said.substr(0, said.find('\n'))));
  }
  return read_file(output);
}

Made by_nvrtc(Source& source, const Build& build, const Settings& settings) {
  if (build.assembler.path != source.assembler.path)
    return failed("what NVRTC compiles is not given to another assembler here");
  if (build.treatment == Treatment::pragma)
    return failed("NVRTC's programs get the pragma in their source: #pragma nv_mma_throughput");
  NvrtcProgram program = source.nvrtc;
  if (build.opt_level != 3)
    program.options.push_back(fmt::format("--ptxas-options=-O{}", build.opt_level));
  for (const std::string& option : build.options)
    program.options.push_back("--ptxas-options=" + option);
  auto folder = TemporaryFolder::make("namesake-nvrtc");
  if (!folder) return failed(folder.error().message);
  std::filesystem::path input = folder->path() / "program",
                        output = folder->path() / "module.cubin";
  if (Status written = write_file(input, encode_request(program)); !written)
    return failed(written.error().message);
  auto cubin = in_child({"nvrtc-program", program.library, source.architecture, input.string()},
                        output, settings, build.treatment);
  if (!cubin) return failed(cubin.error().message);
  Made made = described(std::move(*cubin), {});
  if (auto ptx = read_file(output.string() + ".ptx")) made.ptx = std::move(*ptx);
  return made;
}

Made by_driver(const Source& source, const Build& build, const Settings& settings) {
  if (!build.assembler.path.empty()) return by_program(source, build, settings);
  if (build.opt_level != 3 || !build.options.empty() || build.treatment == Treatment::pragma)
    return failed("the driver's assembler takes no such option here; name a ptxas, as 13.0,O2");
  auto folder = TemporaryFolder::make("namesake-jit");
  if (!folder) return failed(folder.error().message);
  std::filesystem::path input = folder->path() / "module.ptx",
                        output = folder->path() / "module.cubin";
  if (Status written = write_file(input, source.module->text); !written)
    return failed(written.error().message);
  auto cubin = in_child({"driver", settings.driver_library, source.architecture, input.string()},
                        output, settings, build.treatment);
  if (!cubin) return failed(cubin.error().message);
  return described(std::move(*cubin), {});
}

Made make_one(Source& source, Source::Which which, const Settings& settings) {
  Build base;
  base.assembler = source.assembler;
  base.opt_level = source.opt_level;
  base.options = source.options;
  Build build = base;
  if (which != Source::kNatural) {
    auto parsed =
        assembly::parse_build(which == Source::kA ? settings.a : settings.b, base, settings.tools);
    if (!parsed) return failed(parsed.error().message);
    build = *parsed;
  }
  if (build.treatment == Treatment::renamed)
    return failed("a renamed kernel is not found by its caller");
  switch (source.kind) {
    case Source::Kind::program:
      return by_program(source, build, settings);
    case Source::Kind::nvrtc:
      return by_nvrtc(source, build, settings);
    case Source::Kind::driver:
      break;
  }
  return by_driver(source, build, settings);
}

}  // namespace

Result<Source> source_of(const ProgramRun& run) {
  Source source;
  AssemblerOptions options = read_assembler_options(run.arguments);
  TRY_ASSIGN(source.assembler, toolchain::identify(run.file, "application"));
  if (source.assembler.kind != toolchain::Kind::ptxas)
    return error(run.file + " is no ptxas: its inputs are not followed");
  source.architecture = options.architecture;
  source.opt_level = options.opt_level;
  source.relocatable = options.relocatable;
  source.options = options.others;
  source.said_by = "ptxas " + source.assembler.version;
  TRY_ASSIGN(source.module, ptx::parse(run.text, "what ptxas was given"));
  if (source.architecture.empty()) source.architecture = source.module->target;
  return source;
}

Result<Source> source_of(const NvrtcProgram& program) {
  Source source;
  source.kind = Source::Kind::nvrtc;
  source.nvrtc = program;
  auto tool = toolchain::identify(program.library, "application");
  if (tool) source.assembler = *tool;
  source.assembler.path = program.library;
  source.said_by = tool ? "NVRTC " + tool->version : "NVRTC";
  for (const std::string& option : program.options) {
    size_t at = option.find("sm_");
    if (at != option.npos && option.find("arch") != option.npos)
      source.architecture = option.substr(at);
  }
  if (source.architecture.empty()) return error("an NVRTC program that is compiled to PTX");
  return source;
}

Result<Source> source_of_ptx(std::string text, int major, int minor, std::string_view driver) {
  Source source;
  source.kind = Source::Kind::driver;
  TRY_ASSIGN(source.module, ptx::parse(std::move(text), "what was loaded"));
  source.assembler.version = driver;
  source.said_by = "driver JIT";
  // A target with a letter is assembled for itself alone.
  bool specific = !source.module->target.empty() && source.module->target.back() >= 'a';
  source.architecture = specific ? source.module->target : fmt::format("sm_{}{}", major, minor);
  return source;
}

void make(Source& source, const std::vector<Source::Which>& wanted, const Settings& settings) {
  std::vector<Source::Which> missing;
  for (Source::Which which : wanted)
    if (!source.made.contains(which)) missing.push_back(which);
  for (Source::Which which : missing) source.made[which];
  for_each_parallel(missing.size(), settings.workers, [&](size_t i) {
    source.made.at(missing[i]) = make_one(source, missing[i], settings);
  });
  for (Source::Which which : missing) {
    if (source.module || source.made.at(which).ptx.empty()) continue;
    auto module = ptx::parse(source.made.at(which).ptx, "what NVRTC made");
    if (module) source.module = std::move(*module);
  }
}

bool may_define(const Source& source, const std::string& symbol) {
  if (!source.module) return true;
  const ptx::Function* function = source.module->find(symbol);
  return function && function->entry;
}

}  // namespace namesake::ab
