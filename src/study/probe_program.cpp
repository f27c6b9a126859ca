#include "study/probe_program.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "util/cursor.h"
#include "util/file.h"
#include "util/subprocess.h"
#include "util/text.h"

namespace namesake::study {
namespace {

namespace fs = std::filesystem;

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
  return text;
}

std::string_view digits_at(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  return text.substr(at, end - at);
}

bool died(const Completed& completed) {
  if (completed.signal != 0) return true;
  for (int number : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL}) {
    if (completed.exit_status == 128 + number) return true;  // as a shell in between says it
  }
  return false;
}

Result<Made> make_by_ptxas(const Program& program, const std::string& text,
                           const std::string& architecture, bool fixed_addresses,
                           std::chrono::milliseconds timeout) {
  toolchain::Job job;
  job.ptx = text;
  job.architecture = architecture;
  job.opt_level = program.opt_level;
  job.options = program.options;
  job.fixed_addresses = fixed_addresses;
  job.timeout = timeout;
  TRY_ASSIGN(toolchain::Assembly assembly, toolchain::assemble(program.tool, job));
  Made made;
  if (assembly.ok()) made.cubin = std::move(assembly.cubin);
  made.failure = assembly.failure;
  made.crashed = assembly.crashed;
  made.timed_out = assembly.timed_out;
  made.addresses_fixed = assembly.addresses_fixed;
  if (!assembly.ok()) made.lines = lines_named(assembly.diagnostics);
  made.cpu_seconds = assembly.cpu_seconds;
  return made;
}

}  // namespace

std::vector<size_t> lines_named(std::string_view diagnostics) {
  std::vector<size_t> lines;
  Cursor cursor(diagnostics);
  while (!cursor.at_end()) {
    std::string_view line = cursor.take_line();
    if (line.find("error") == line.npos && line.find("fatal") == line.npos) continue;
    std::string_view number;
    if (size_t at = line.find(", line "); at != line.npos) {
      number = digits_at(line, at + 7);
    } else if (size_t paren = line.find("): "); paren != line.npos) {
      size_t open = line.rfind('(', paren);
      if (open != line.npos) number = digits_at(line, open + 1);
    }
    if (auto value = parse_integer(number); value && *value > 0) {
      lines.push_back(static_cast<size_t>(*value));
    }
  }
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  return lines;
}

Status check_command(std::string_view command) {
  for (std::string_view word : {"{in}", "{out}"}) {
    if (command.find(word) == command.npos) {
      return error(
          fmt::format("the command \"{}\" holds no {}: write, for example, 'ptxas -arch={{arch}} "
                      "{{in}} -o {{out}}'",
                      command, word));
    }
  }
  return {};
}

Result<Made> make(const Program& program, const std::string& text, const std::string& architecture,
                  bool fixed_addresses, std::chrono::milliseconds timeout) {
  if (program.command.empty() && program.tool.kind == toolchain::Kind::ptxas) {
    return make_by_ptxas(program, text, architecture, fixed_addresses, timeout);
  }
  std::error_code ignored;
  bool in_memory = environment("TMPDIR").empty() && ::access("/dev/shm", W_OK | X_OK) == 0;
  TRY_ASSIGN(TemporaryFolder folder,
             TemporaryFolder::make_swept("namesake-probe", in_memory ? "/dev/shm" : fs::path()));
  fs::path in = folder.path() / (program.language == Language::cuda ? "module.cu" : "module.ptx");
  fs::path out = folder.path() / "module.cubin";
  TRY(write_file(in, text));

  Command command;
  if (!program.command.empty()) {
    std::string line = replaced(program.command, "{in}", quoted({in.string()}));
    line = replaced(std::move(line), "{out}", quoted({out.string()}));
    line = replaced(std::move(line), "{arch}", quoted({architecture}));
    command.arguments = {"/bin/sh", "-c", line};
  } else {
    bool nvrtc = program.tool.kind == toolchain::Kind::nvrtc;
    command.arguments = {program.own.string(),
                         "assemble-in-process",
                         nvrtc ? "nvrtc" : "nvjitlink",
                         program.tool.path.string(),
                         architecture,
                         in.string(),
                         "-o",
                         out.string()};
  }
  command.fixed_addresses = fixed_addresses;
  command.timeout = timeout;
  command.output_limit = uint64_t{64} << 20;
  TRY_ASSIGN(Completed completed, run(command));

  Made made;
  made.addresses_fixed = completed.addresses_fixed;
  made.cpu_seconds = completed.cpu_seconds;
  made.timed_out = completed.timed_out;
  made.crashed = !completed.timed_out && !completed.flooded && died(completed);
  std::string said = completed.err + completed.out;
  if (!completed.ok()) {
    std::string_view line = trimmed(said);
    made.failure = completed.how_it_ended();
    if (!line.empty()) made.failure += fmt::format(": {}", line.substr(0, line.find('\n')));
    if (!made.crashed && !made.timed_out) made.lines = lines_named(said);
  } else if (!fs::exists(out, ignored)) {
    made.failure = "no cubin was written, though the command reported success";
  } else {
    TRY_ASSIGN(made.cubin, read_file(out));
  }
  return made;
}

}  // namespace namesake::study
