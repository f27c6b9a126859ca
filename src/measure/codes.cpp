#include "measure/codes.h"

#include <fmt/format.h>

#include <map>
#include <mutex>

#include "assembly/variant.h"
#include "cubin/cubin.h"
#include "sass/sass.h"
#include "toolchain/disassemble.h"
#include "util/file.h"
#include "util/pool.h"
#include "util/subprocess.h"
#include "util/text.h"

namespace namesake::measure {
namespace {

using assembly::Build;
using assembly::Treatment;

const std::vector<std::string>& variables_for(const assembly::HookVariables& hooks,
                                              Treatment treatment) {
  if (treatment == Treatment::treated) return hooks.treated;
  if (treatment == Treatment::untreated) return hooks.untreated;
  return hooks.natural;
}

// What a maker gives: the cubin, and what it said of its functions.
struct Made {
  std::string cubin;
  std::map<std::string, toolchain::FunctionReport> functions;
};

Result<Made> assemble(const MeasureRequest& request, const Build& build, const ptx::Module& module,
                      const std::string& architecture) {
  toolchain::Job job;
  job.ptx = module.text;
  job.architecture = architecture;
  job.opt_level = build.opt_level;
  job.options = build.options;
  job.environment = variables_for(request.hooks, build.treatment);
  job.timeout = request.assembly_timeout;
  TRY_ASSIGN(toolchain::Assembly assembly, toolchain::assemble(build.assembler, job));
  if (!assembly.ok()) return error(assembly.failure);
  return Made{std::move(assembly.cubin), std::move(assembly.functions)};
}

// The driver assembles in process, so the hook must stand in that process from its start: a child
// of ours that has the driver link this one text and writes the cubin down.
Result<Made> assemble_by_driver(const MeasureRequest& request, const Build& build,
                                const ptx::Module& module, const std::string& architecture) {
  TRY_ASSIGN(const TemporaryFolder folder, TemporaryFolder::make("namesake-jit"));
  const std::string input = (folder.path() / "module.ptx").string(),
                    output = (folder.path() / "module.cubin").string();
  TRY(write_file(input, module.text));
  Command command;
  command.arguments = {request.own_executable.string(),
                       "assemble-in-process",
                       "driver",
                       request.driver_library,
                       architecture,
                       input,
                       "-o",
                       output};
  command.environment = variables_for(request.hooks, build.treatment);
  command.environment.push_back("CUDA_CACHE_DISABLE=1");
  command.fixed_addresses = true;
  command.timeout = request.assembly_timeout;
  TRY_ASSIGN(const Completed done, run(command));
  if (!done.ok()) {
    const std::string_view said = trimmed(done.err);
    return error(said.empty() ? done.how_it_ended() : std::string(said.substr(0, said.find('\n'))));
  }
  TRY_ASSIGN(std::string cubin, read_file(output));
  return Made{std::move(cubin), {}};
}

// What a build's code is, from the cubin and from what the assembler said.
Status describe(const Code& code, const std::map<std::string, toolchain::FunctionReport>& functions,
                report::MeasuredBuild& build) {
  TRY_ASSIGN(const cubin::Module module, cubin::parse(code.image, "the assembler's output"));
  for (const cubin::Function& function : module.functions) {
    if (function.symbol != code.symbol) continue;
    build.identity = function.identity.hex();
    build.registers = function.registers;
    build.stack_bytes = function.frame_bytes;
    build.shared_bytes = function.shared_bytes;
    build.code_bytes = static_cast<int64_t>(function.code.size());
    if (auto said = functions.find(function.symbol); said != functions.end())
      build.spill_bytes = said->second.spill_store_bytes;
    return {};
  }
  return error(fmt::format("the code has no kernel {}", code.symbol));
}

struct Side {
  Pair* pair = nullptr;
  bool b = false;
  Code& code() const { return b ? pair->b : pair->a; }
  report::MeasuredBuild& of() const { return b ? pair->of_b : pair->of_a; }
};

void make(const MeasureRequest& request, const Side& side) {
  const assembly::Unit& unit = side.pair->subject->unit;
  report::MeasuredBuild& of = side.of();
  Build build = side.b ? request.b : request.a;
  if (side.pair->maker.tool) {
    if (!request.own_assemblers) build.assembler = *side.pair->maker.tool;
  } else {
    build.assembler.version = side.pair->maker.build;  // the CUDA release that the driver speaks
  }
  const assembly::Variant variant = assembly::variant_for(unit, build);
  of.edits = variant.edits;
  if (!variant.ok()) {
    of.failure = variant.failure;
    return;
  }
  // Renaming and the pragma are edits already made; the hook has nothing to answer for them.
  if (build.treatment == Treatment::renamed || build.treatment == Treatment::pragma)
    build.treatment = Treatment::natural;
  auto made = side.pair->maker.tool
                  ? assemble(request, build, *variant.module, unit.architecture)
                  : assemble_by_driver(request, build, *variant.module, unit.architecture);
  if (!made) {
    of.failure = made.error().message;
    return;
  }
  side.code() = {std::move(made->cubin), variant.names.at(unit.kernels.front())};
  if (Status described = describe(side.code(), made->functions, of); !described)
    of.failure = described.error().message;
}

Status take_cubin(const std::filesystem::path& file, const std::string& symbol, Code& code,
                  report::MeasuredBuild& of) {
  TRY_ASSIGN(code.image, read_file(file));
  code.symbol = symbol;
  if (Status described = describe(code, {}, of); !described)
    return error(file.string(), described.error());
  return {};
}

// The instructions of each hottest loop, all codes in one disassembly.
void count_loops(const MeasureRequest& request, std::vector<Pair>& pairs) {
  if (!request.disassembler) return;
  std::vector<cubin::Module> modules;
  std::vector<Side> sides;
  std::vector<toolchain::CodeToDisassemble> codes;
  for (Pair& pair : pairs) {
    for (const bool b : {false, true}) {
      const Side side{&pair, b};
      if (!side.of().failure.empty() || side.code().image.empty()) continue;
      auto module = cubin::parse(side.code().image, "");
      if (!module) continue;
      modules.push_back(std::move(*module));
      for (const cubin::Function& function : modules.back().functions) {
        if (function.symbol != side.code().symbol) continue;
        codes.push_back(toolchain::code_to_disassemble(
            function, fmt::format("sm_{}{}", modules.back().architecture,
                                  modules.back().architecture_specific ? "a" : "")));
        sides.push_back(side);
      }
    }
  }
  const auto receive = [&](size_t i, sass::Function function) -> Status {
    if (const sass::Loop* loop = sass::hottest_loop(function))
      sides[i].of().loop_instructions = static_cast<int64_t>(loop->instructions());
    return {};
  };
  // Without a count the table has a gap, which is no reason to fail.
  (void)toolchain::disassemble(*request.disassembler, codes, receive, request.workers);
}

std::vector<Maker> makers_of(const MeasureRequest& request, const std::string& cuda) {
  std::vector<Maker> makers;
  if (request.own_assemblers) {
    makers.push_back(
        {fmt::format("{} and {}", request.a.assembler.version, request.b.assembler.version), "",
         request.a.assembler});
  } else {
    for (const toolchain::Tool& tool : request.assemblers)
      makers.push_back({tool.version, tool.build, tool});
  }
  if (request.jit) makers.push_back({"driver JIT", cuda, std::nullopt});
  return makers;
}

}  // namespace

Result<std::vector<Pair>> make_codes(const MeasureRequest& request,
                                     const std::vector<Subject>& subjects,
                                     const std::string& cuda) {
  std::vector<Pair> pairs;
  if (!request.cubin_a.empty()) {
    for (const Subject& subject : subjects) {
      Pair pair{.subject = &subject, .maker = {"given", "", std::nullopt}};
      TRY(take_cubin(request.cubin_a, subject.launch.entry, pair.a, pair.of_a));
      TRY(take_cubin(request.cubin_b, subject.launch.entry, pair.b, pair.of_b));
      pairs.push_back(std::move(pair));
    }
  } else {
    for (const Subject& subject : subjects)
      for (const Maker& maker : makers_of(request, cuda))
        pairs.push_back({.subject = &subject, .maker = maker});
    std::mutex mutex;
    size_t done = 0;
    for_each_parallel(
        pairs.size() * 2, request.workers,
        [&](size_t i) {
          make(request, {&pairs[i / 2], i % 2 == 1});
          std::lock_guard lock(mutex);
          request.progress(fmt::format("assembling: {} of {}", ++done, pairs.size() * 2));
        },
        request.stop);
    if (request.stop()) return error("interrupted");
  }
  request.progress("disassembling");
  count_loops(request, pairs);
  return pairs;
}

Result<Code> make_reference(const MeasureRequest& request, const assembly::Unit& unit) {
  Build build;
  build.assembler = request.a.assembler;
  if (build.assembler.path.empty())
    return error("a reference kernel needs a ptxas, and none is at hand");
  const assembly::Variant variant = assembly::variant_for(unit, build);
  if (!variant.ok()) return error(variant.failure);
  TRY_ASSIGN(Made made, assemble(request, build, *variant.module, unit.architecture));
  return Code{std::move(made.cubin), variant.names.at(unit.kernels.front())};
}

}  // namespace namesake::measure
