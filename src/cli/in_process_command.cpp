// Not for people: a child of ours that loads an assembler's library and has it assemble one file, so
// that the library's crash is not ours, and the hook stands in it from the start.
#include <CLI/CLI.hpp>

#include <memory>

#include "ab/nvrtc_program.h"
#include "cli/command.h"
#include "cli/output.h"
#include "gpu/jit.h"
#include "toolchain/in_process.h"
#include "util/file.h"

namespace namesake::cli {
namespace {

// For the first GPU: those of one machine share an architecture, or the user names another machine.
Result<std::string> assemble_with_driver(const std::string& library, const std::string& ptx) {
  TRY_ASSIGN(const auto driver, gpu::load_driver(library));
  TRY_ASSIGN(const gpu::Device device, gpu::open_device(*driver, 0));
  TRY_ASSIGN(const gpu::Context context, gpu::Context::retain(*driver, device));
  return gpu::assemble_by_driver(context, ptx);
}

}  // namespace

Command add_in_process(CLI::App& root, const Global&) {
  struct Options {
    std::string kind, library, architecture, input, output;
  };
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand("assemble-in-process", "Assemble one file by a library");
  app->group("");
  app->add_option("kind", options->kind)->required()->check(CLI::IsMember({"nvrtc", "nvrtc-program", "nvjitlink", "driver"}));
  app->add_option("library", options->library)->required();
  app->add_option("architecture", options->architecture)->required();
  app->add_option("input", options->input)->required();
  app->add_option("-o", options->output);
  Command command;
  command.app = app;
  command.run = [options]() -> Result<int> {
    if (options->kind == "nvrtc-program") {
      TRY(ab::compile_request(options->input, options->output));
      return 0;
    }
    TRY_ASSIGN(std::string text, read_file(options->input));
    std::string cubin;
    if (options->kind == "nvrtc") {
      TRY_ASSIGN(cubin, toolchain::assemble_with_nvrtc(options->library, text, options->architecture));
    } else if (options->kind == "driver") {
      TRY_ASSIGN(cubin, assemble_with_driver(options->library, text));
    } else {
      TRY_ASSIGN(cubin, toolchain::assemble_with_nvjitlink(options->library, text, options->architecture));
    }
    if (!options->output.empty()) TRY(write_output(options->output, cubin));
    return 0;
  };
  return command;
}

}  // namespace namesake::cli
