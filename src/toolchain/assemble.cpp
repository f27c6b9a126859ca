// One run of an assembler. It reads files only, so the text goes into a folder of its own, in memory
// where there is room; inside it the names are always the same, because ptxas writes its command line
// into the cubin and two runs shall differ in nothing that we chose.
#include <fmt/format.h>
#include <signal.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "toolchain/toolchain.h"
#include "util/cursor.h"
#include "util/file.h"
#include "util/subprocess.h"
#include "util/text.h"

namespace namesake::toolchain {
namespace {

namespace fs = std::filesystem;

// $TMPDIR if the user has one, else /dev/shm where it holds a few times the text, else the default.
fs::path scratch_parent(size_t text_size) {
  if (!environment("TMPDIR").empty()) return {};
  struct statvfs info {};
  uint64_t wanted = uint64_t{64} << 20;
  wanted += 4 * uint64_t{text_size};
  bool roomy = ::statvfs("/dev/shm", &info) == 0 && info.f_bavail * info.f_frsize > wanted;
  return roomy && ::access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : fs::path();
}

// The number before `unit` in "0 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads".
int64_t count_before(std::string_view line, std::string_view unit) {
  size_t at = line.find(unit);
  if (at == line.npos) return 0;
  std::string_view before = trimmed(line.substr(0, at));
  size_t space = before.find_last_of(" ,:");
  return parse_integer(space == before.npos ? before : before.substr(space + 1)).value_or(0);
}

// The text behind "ptxas info    : ", or nothing.
std::optional<std::string_view> info_of(std::string_view line) {
  size_t colon = line.find(": ");
  if (colon == line.npos || line.substr(0, colon).find(" info ") == line.npos) return std::nullopt;
  return line.substr(colon + 2);
}

std::string_view between(std::string_view text, std::string_view before, std::string_view after) {
  text.remove_prefix(before.size());
  size_t end = text.find(after);
  return text.substr(0, end);
}

// Takes the -v lines out of what the assembler said; the rest is diagnostics.
void read_report(std::string_view said, Assembly& assembly) {
  FunctionReport* current = nullptr;
  Cursor cursor(said);
  while (!cursor.at_end()) {
    std::string_view line = cursor.take_line();
    std::optional<std::string_view> info = info_of(line);
    if (info && info->starts_with("Compiling entry function '")) {
      std::string_view name = between(*info, "Compiling entry function '", "'");
      current = &assembly.functions[std::string(name)];
    } else if (info && info->starts_with("Function properties for ")) {
      std::string_view name = trimmed(info->substr(sizeof "Function properties for " - 1));
      if (name.size() > 1 && name.front() == '\'') name = name.substr(1, name.size() - 2);
      current = &assembly.functions[std::string(name)];
    } else if (info && info->starts_with("Used ") && info->find(" registers") != info->npos) {
      if (current) current->registers = static_cast<int>(count_before(*info, " registers"));
    } else if (line.find(" bytes stack frame") != line.npos) {
      if (!current) continue;
      current->stack_bytes = count_before(line, " bytes stack frame");
      current->spill_store_bytes = count_before(line, " bytes spill stores");
      current->spill_load_bytes = count_before(line, " bytes spill loads");
    } else if (info && (info->find(" bytes gmem") != info->npos ||
                        info->starts_with("Compile time = "))) {
      continue;
    } else if (!trimmed(line).empty()) {
      assembly.diagnostics.append(line).append("\n");
    }
  }
}

// "ptxas module.ptx, line 25; error   : Not a name …" → "line 25: Not a name …". The first error
// says it; "aborted due to errors" comes last and says nothing.
std::string first_error(std::string_view diagnostics) {
  Cursor cursor(diagnostics);
  while (!cursor.at_end()) {
    std::string_view line = cursor.take_line();
    size_t colon = line.find(": ");
    if (colon == line.npos) continue;
    std::string_view head = trimmed(line.substr(0, colon)), text = trimmed(line.substr(colon + 2));
    if (!head.ends_with("error") && !head.ends_with("fatal")) continue;
    if (text.find("aborted due to errors") != text.npos) continue;
    size_t place = head.find(", line ");
    if (place == head.npos) return std::string(text);
    return fmt::format("line {}: {}", between(head.substr(place), ", line ", ";"), text);
  }
  return {};
}

// A shell or a wrapper in between reports a child's signal as 128 + its number.
bool died(const Completed& completed) {
  if (completed.signal != 0) return true;
  for (int number : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL}) {
    if (completed.exit_status == 128 + number) return true;
  }
  return false;
}

std::string failure_of(const Completed& completed, const Assembly& assembly) {
  if (completed.timed_out || completed.flooded || assembly.crashed) return completed.how_it_ended();
  std::string said = first_error(assembly.diagnostics);
  if (!said.empty()) return said;
  if (!completed.ok()) {
    std::string_view text = trimmed(assembly.diagnostics);
    std::string_view last = text.substr(text.rfind('\n') + 1);
    return fmt::format("{}{}{}", completed.how_it_ended(), last.empty() ? "" : ": ", last);
  }
  return assembly.cubin.empty() ? "no cubin was written, though the assembler reported success" : "";
}

}  // namespace

Result<Assembly> assemble(const Tool& ptxas, const Job& job) {
  TRY_ASSIGN(TemporaryFolder folder,
             TemporaryFolder::make_swept("namesake-assemble", scratch_parent(job.ptx.size())));
  TRY(write_file(folder.path() / "module.ptx", job.ptx));

  Command command;
  command.arguments = {ptxas.path.string(), "-v", "-arch=" + job.architecture,
                       fmt::format("-O{}", job.opt_level)};
  if (job.relocatable) command.arguments.push_back("-c");
  command.arguments.insert(command.arguments.end(), job.options.begin(), job.options.end());
  command.arguments.insert(command.arguments.end(), {"module.ptx", "-o", "module.cubin"});
  command.environment = job.environment;
  command.folder = folder.path();
  command.timeout = job.timeout;
  command.output_limit = uint64_t{256} << 20;
  command.fixed_addresses = job.fixed_addresses;
  TRY_ASSIGN(Completed completed, run(command));

  Assembly assembly;
  assembly.wall_seconds = completed.wall_seconds;
  assembly.cpu_seconds = completed.cpu_seconds;
  assembly.addresses_fixed = completed.addresses_fixed;
  assembly.timed_out = completed.timed_out;
  assembly.crashed = !completed.timed_out && !completed.flooded && died(completed);
  read_report(completed.out, assembly);
  read_report(completed.err, assembly);
  std::error_code ignored;
  if (completed.ok() && fs::exists(folder.path() / "module.cubin", ignored)) {
    TRY_ASSIGN(assembly.cubin, read_file(folder.path() / "module.cubin"));
  }
  assembly.failure = failure_of(completed, assembly);
  return assembly;
}

}  // namespace namesake::toolchain
