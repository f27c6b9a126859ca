// CUDA C++ through nvcc to PTX, and no further.
#include <fmt/format.h>

#include <algorithm>

#include "toolchain/identify.h"
#include "toolchain/toolchain.h"
#include "util/cursor.h"
#include "util/file.h"
#include "util/subprocess.h"
#include "util/text.h"

namespace namesake::toolchain {
namespace {

namespace fs = std::filesystem;

// nvcc, cudafe++, cicc and the host compiler each have their own form; all say "error".
std::string first_error(std::string_view said) {
  Cursor cursor(said);
  std::string_view first;
  while (!cursor.at_end()) {
    std::string_view line = trimmed(cursor.take_line());
    if (line.find("error") != line.npos || line.find("fatal") != line.npos) return std::string(line);
    if (first.empty()) first = line;
  }
  return std::string(first);
}

bool names_host_compiler(const FrontEndJob& job) {
  auto names = [](const std::string& option) {
    return option.starts_with("-ccbin") || option.starts_with("--compiler-bindir");
  };
  return std::any_of(job.options.begin(), job.options.end(), names) ||
         !environment("NVCC_CCBIN").empty();
}

}  // namespace

Result<std::string> compile_to_ptx(const Tool& nvcc, const FrontEndJob& job) {
  std::error_code failure;
  fs::path source = fs::canonical(job.source, failure);
  if (failure) return error(fmt::format("{}: {}", job.source.string(), failure.message()));
  std::string architecture = job.architecture;
  if (architecture.starts_with("sm_")) architecture.replace(0, 3, "compute_");

  Command command;
  TRY_ASSIGN(TemporaryFolder folder, TemporaryFolder::make("namesake-compile"));
  fs::path output = folder.path() / "module.ptx";
  command.arguments = {nvcc.path.string(), "-ptx", "-arch=" + architecture};
  if (!names_host_compiler(job)) {
    std::string compiler = host_compiler();
    if (compiler.empty()) {
      return error("nvcc needs a host compiler, and PATH has neither g++ nor clang++: install one "
                   "(Debian, Ubuntu: apt-get install g++) or name it with -ccbin");
    }
    command.arguments.insert(command.arguments.end(), {"-ccbin", compiler});
  }
  command.arguments.insert(command.arguments.end(), job.options.begin(), job.options.end());
  command.arguments.insert(command.arguments.end(), {source.string(), "-o", output.string()});
  command.environment = job.environment;
  command.timeout = job.timeout;
  TRY_ASSIGN(Completed completed, run(command));
  if (!completed.ok()) {
    std::string said = first_error(completed.err.empty() ? completed.out : completed.err);
    return error(fmt::format("{} does not compile with nvcc {} for {}: {}", job.source.string(),
                             nvcc.version, architecture,
                             said.empty() ? completed.how_it_ended() : said));
  }
  return read_file(output);
}

}  // namespace namesake::toolchain
