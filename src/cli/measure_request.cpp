#include "cli/measure_request.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/bundled.h"
#include "measure/assemblers.h"
#include "measure/worker.h"
#include "util/file.h"
#include "util/interrupt.h"
#include "util/text.h"

namespace namesake::cli {
namespace {

Result<std::map<std::string, int64_t>> sizes_of(const std::vector<std::string>& words) {
  std::map<std::string, int64_t> sizes;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    const auto value = equals == word.npos
                           ? std::nullopt
                           : parse_integer(std::string_view(word).substr(equals + 1));
    if (!value)
      return error(
          fmt::format("\"{}\" is no size: write a name and a whole number, as m=1024", word));
    sizes[word.substr(0, equals)] = *value;
  }
  return sizes;
}

Result<toolchain::Tool> assembler_for(const std::string& wish,
                                      const measure::MeasureRequest& request,
                                      const std::vector<toolchain::Tool>& tools) {
  if (wish != "triton") return toolchain::choose(tools, toolchain::Kind::ptxas, wish);
  TRY_ASSIGN(const report::Gpu gpu,
             measure::ask_gpu({.device = request.device,
                               .driver_library = request.driver_library,
                               .management_library = request.management_library}));
  return measure::triton_assembler(tools, gpu.architecture);
}

}  // namespace

void add_measure_options(CLI::App& app, MeasureOptions& options) {
  app.add_option("files", options.files,
                 "launch files, PTX or CUDA source with a launch file beside it, or folders of "
                 "launch files; without any, the bundled kernels")
      ->type_name("FILE");
  app.add_option("--launch", options.launch,
                 "the launch file of the files given, where it does not lie beside them")
      ->type_name("FILE");
  app.add_option("--kernel", options.kernel,
                 "only kernels whose symbol or readable name matches, for example 'gemm*'")
      ->type_name("GLOB");
  app.add_option("--size", options.sizes,
                 "another size than the launch file's default, for example m=1024,n=1024")
      ->delimiter(',')
      ->type_name("NAME=N");
  app.add_option("--assembler", options.assemblers,
                 "the one that the application uses: versions or paths of a ptxas, newest, triton "
                 "for what Triton brings, or jit for the driver's own")
      ->delimiter(',')
      ->capture_default_str()
      ->type_name("VERSION");
  app.add_option("--seconds", options.seconds,
                 "of timing each kernel; longer makes intervals narrower")
      ->check(CLI::Range(0.01, 3600.0))
      ->capture_default_str()
      ->type_name("S");
  app.add_option("--repeats", options.repeats, "runs of each build that must give the same results")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--dead-band", options.dead_band, "percent either way that count as no difference")
      ->check(CLI::Range(0.0, 50.0))
      ->capture_default_str()
      ->type_name("P");
  app.add_option("--confidence", options.confidence, "percent, of each interval")
      ->check(CLI::Range(50.0, 99.99))
      ->capture_default_str()
      ->type_name("P");
  app.add_option("--launch-limit", options.launch_limit,
                 "seconds after which a launch counts as hung")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->type_name("S");
  app.add_option("--device", options.device, "the GPU, numbered from 0")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--front-end", options.front_end,
                 "compile CUDA source with this nvcc (a version, a path or newest) even where PTX "
                 "of it lies ready")
      ->type_name("VERSION");
  app.add_option("--front-end-option", options.front_end_options,
                 "passed to nvcc, for example -Iinclude")
      ->type_name("OPTION");
  app.add_option("--disassembler", options.disassembler,
                 "the nvdisasm that counts loops: a version, a path or newest")
      ->type_name("VERSION");
  app.add_option("-j,--jobs", options.jobs, "assemblies at a time")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->type_name("N");
}

Result<PreparedMeasurement> prepare_measurement(const MeasureOptions& options,
                                                const std::vector<toolchain::Tool>& tools) {
  PreparedMeasurement prepared;
  measure::MeasureRequest& request = prepared.request;
  request.files.assign(options.files.begin(), options.files.end());
  if (request.files.empty()) {
    TRY_ASSIGN(const std::filesystem::path folder, kernels_folder());
    request.files = {folder};
  }
  request.launch_file = options.launch;
  request.kernel_glob = options.kernel;
  TRY_ASSIGN(request.sizes, sizes_of(options.sizes));
  request.device = options.device;
  // For tests, which have no GPU.
  if (const std::string library = environment("NAMESAKE_DRIVER"); !library.empty())
    request.driver_library = library;
  if (const std::string library = environment("NAMESAKE_NVML"); !library.empty())
    request.management_library = library;
  for (const std::string& wish : options.assemblers) {
    if (wish == "jit") {
      request.jit = true;
      continue;
    }
    TRY_ASSIGN(toolchain::Tool tool, assembler_for(wish, request, tools));
    request.assemblers.push_back(std::move(tool));
  }
  if (!request.assemblers.empty())
    request.a.assembler = request.assemblers.front();
  else if (auto newest = toolchain::choose(tools, toolchain::Kind::ptxas, "newest"))
    request.a.assembler = *newest;  // reference kernels are made by it
  request.b.assembler = request.a.assembler;
  request.a.treatment = assembly::Treatment::untreated;
  request.b.treatment = assembly::Treatment::treated;
  request.compile = !options.front_end.empty();
  auto front_end = toolchain::choose(tools, toolchain::Kind::nvcc,
                                     request.compile ? options.front_end : "newest");
  if (!front_end && request.compile) return tl::unexpected(front_end.error());
  if (front_end) request.front_end = *front_end;
  request.front_end_options = options.front_end_options;
  if (auto nvdisasm = toolchain::choose(tools, toolchain::Kind::nvdisasm, options.disassembler))
    request.disassembler = *nvdisasm;
  TRY_ASSIGN(AnsweringHooks hooks, AnsweringHooks::make());
  prepared.hooks = std::make_unique<AnsweringHooks>(std::move(hooks));
  request.hooks = prepared.hooks->variables();
  prepared.kept = std::make_unique<measure::KeptResults>(measure::KeptResults::default_folder());
  request.kept = prepared.kept.get();
  request.care.seconds = options.seconds;
  request.care.confidence = options.confidence / 100;
  request.care.dead_band = options.dead_band / 100;
  request.care.repeats = options.repeats;
  request.care.launch_limit = std::chrono::seconds(options.launch_limit);
  request.own_executable = own_executable();
  request.workers = options.jobs;
  request.stop = [] { return interrupted(); };
  return prepared;
}

}  // namespace namesake::cli
