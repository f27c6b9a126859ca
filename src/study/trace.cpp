// An assembler compares names all the time: it looks them up in tables of functions that it must know
// (the device runtime's, intrinsics', section prefixes). Such a look-up asks one call site about one
// name with one text after another; a special case asks with one text, or a few. Its symbol table it
// searches too, and there a name meets whatever symbol has the same hash: another function of the
// module, a label, a register, a section. That is the whole distinction made here, and it is the
// reader's to check: every look-up is counted, none is hidden.
#include "study/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <tuple>

#include "ptx/ptx.h"
#include "session/hook.h"
#include "util/file.h"
#include "util/subprocess.h"
#include "util/text.h"

namespace namesake::study {
namespace {

constexpr size_t kTable = 4;   // texts asked by one call site from which on it walks a table

std::string kind_of(const std::string& image) {
  std::string name = std::filesystem::path(image).filename().string();
  if (name.find("nvrtc") != std::string::npos) return "NVRTC";
  if (name.find("nvJitLink") != std::string::npos) return "nvJitLink";
  if (name.find("ptxjitcompiler") != std::string::npos || name.starts_with("libcuda")) return "driver JIT";
  if (name.starts_with("nvlink")) return "nvlink";
  if (name.starts_with("cicc")) return "cicc";
  return "ptxas";
}

// How every assembler takes the words of a .target directive apart.
bool about_target(std::string_view needle) { return needle == "sm_" || needle == "compute_"; }

// A whole name against a symbol of the same module: one of its functions or their parameters, or what
// no kernel can be called (a label, a register, a section).
bool in_symbol_table(const session::NameTest& test, const std::set<std::string>& names) {
  if (test.function != session::Function::strcmp && test.function != session::Function::memcmp) return false;
  if (test.needle.find_first_of("$%.") == 0) return true;
  return names.count(test.needle.substr(0, test.needle.rfind("_param_"))) > 0;
}

// An assembler that the command brought along is asked itself.
std::string version_of(const std::string& image, const std::vector<toolchain::Tool>& tools) {
  std::error_code ignored;
  for (const toolchain::Tool& tool : tools) {
    if (tool.path == image || std::filesystem::equivalent(tool.path, image, ignored)) return tool.version;
  }
  auto tool = toolchain::identify(image);
  return tool ? tool->version : "";
}

std::string joined(const std::set<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

// "one text is tested, cutlass, in all 5 assemblers"
std::string conclusion(const report::Trace& trace) {
  std::map<std::string, std::set<std::string>> where;   // text → assemblers
  std::set<std::string> assemblers;
  for (const report::TracedProcess& process : trace.processes) {
    std::string assembler = process.version.empty() ? process.program : process.kind + " " + process.version;
    assemblers.insert(assembler);
    for (const report::NameTest& test : process.tests) {
      if (!test.look_up) where[test.needle].insert(assembler);
    }
  }
  if (assemblers.empty()) return "no assembler asked about a name: nothing was assembled, or all of it came from a cache.";
  if (where.empty()) return fmt::format("no name test was seen in {} assembler{}.", assemblers.size(), assemblers.size() == 1 ? "" : "s");
  std::vector<std::string> parts;
  for (auto& [text, who] : where) {
    parts.push_back(who.size() == assemblers.size()
                        ? fmt::format("\"{}\" in {}", text, assemblers.size() == 1 ? *assemblers.begin() : fmt::format("all {} assemblers", assemblers.size()))
                        : fmt::format("\"{}\" in {} of {} ({})", text, who.size(), assemblers.size(), joined(who)));
  }
  return fmt::format("Kernels' names are tested for {} text{}: {}.", where.size(), where.size() == 1 ? "" : "s", join(parts, "; "));
}

Result<report::Trace> trace_one(const toolchain::Tool& tool, const Sample& sample, bool all_tests,
                                const std::filesystem::path& own, const std::vector<toolchain::Tool>& tools) {
  TRY_ASSIGN(session::Hook hook, session::Hook::make(trace_settings(all_tests)));
  TRY_ASSIGN(TemporaryFolder folder, TemporaryFolder::make("namesake-trace"));
  Command command;
  command.timeout = std::chrono::minutes(2);
  std::filesystem::path ptx = folder.path() / "sample.ptx", cuda = folder.path() / "sample.cu";
  TRY_ASSIGN(ptx::Module module, ptx::parse(sample.ptx, "the sample"));
  TRY_ASSIGN(ptx::Lowered lowered, ptx::lower_for(module, tool.version));
  TRY(write_file(ptx, lowered.module.text));
  TRY(write_file(cuda, sample.source));
  std::string output = (folder.path() / "sample.cubin").string(), architecture = sample.architecture;
  switch (tool.kind) {
    case toolchain::Kind::ptxas:
      command.arguments = {tool.path.string(), "-arch=" + architecture, ptx.string(), "-o", output};
      break;
    case toolchain::Kind::nvlink:
      command.arguments = {tool.path.string(), "-arch=" + architecture, ptx.string(), "-o", output};
      break;
    case toolchain::Kind::nvrtc:
      command.arguments = {own.string(), "assemble-in-process", "nvrtc", tool.path.string(), architecture, cuda.string()};
      break;
    case toolchain::Kind::nvjitlink:
      command.arguments = {own.string(), "assemble-in-process", "nvjitlink", tool.path.string(), architecture, ptx.string()};
      break;
    default:
      return error("it assembles nothing");
  }
  command.environment = hook.variables(command.arguments[0]);
  TRY_ASSIGN(Completed done, run(command));
  if (!done.ok()) {
    std::string said(trimmed(done.err.empty() ? done.out : done.err));
    return error(fmt::format("{}: {}", done.how_it_ended(), said.substr(0, said.find('\n'))));
  }
  TRY_ASSIGN(session::Recording recording, hook.recording());
  return trace(recording, tools);
}

}  // namespace

session::Settings trace_settings(bool all_tests) {
  session::Settings settings;
  session::Rule rule;            // natural: answers nothing, and makes the text one that is watched
  rule.treatment = session::Treatment::natural;
  settings.rules = {rule};
  settings.other_texts = true;
  settings.all_tests = all_tests;
  return settings;
}

report::Trace trace(const session::Recording& recording, const std::vector<toolchain::Tool>& tools) {
  report::Trace result;
  result.date = utc_now();

  // The texts each call site asks with, over the whole recording.
  std::map<std::pair<std::string, uint64_t>, std::set<std::string>> asked;
  std::set<std::string> names;
  for (const session::NameTest& test : recording.tests) {
    asked[{test.image, test.call_site}].insert(test.needle);
    if (!about_target(test.needle)) names.insert(test.name);
  }
  std::map<std::string, std::string> versions;   // of each image, asked once
  for (const session::NameTest& test : recording.tests) {
    if (!versions.count(test.image)) versions[test.image] = version_of(test.image, tools);
  }

  std::map<uint32_t, const session::Process*> processes;
  for (const session::Process& process : recording.processes) processes[process.id] = &process;

  // One row for each question of a process and image, however often it was put.
  using Key = std::tuple<std::string, uint64_t, std::string, std::string, std::string, bool, bool>;
  std::map<std::pair<uint32_t, std::string>, std::map<Key, report::NameTest>> rows;
  std::map<std::pair<uint32_t, std::string>, std::set<std::string>> functions;
  for (const session::NameTest& test : recording.tests) {
    if (test.discarded) continue;
    std::pair<uint32_t, std::string> owner{test.process, test.image};
    Key key{session::name_of(test.function), test.call_site, test.needle, test.name, test.architecture, test.truth, test.given};
    auto [row, fresh] = rows[owner].try_emplace(key);
    bool look_up = about_target(test.needle) || in_symbol_table(test, names) || asked[{test.image, test.call_site}].size() >= kTable;
    if (!look_up) functions[owner].insert(test.name);
    if (!fresh) {
      ++row->second.times;
      continue;
    }
    report::NameTest& shown = row->second;
    shown.needle = test.needle;
    shown.function = session::name_of(test.function);
    shown.symbol = test.name;
    shown.name = demangled(test.name);
    shown.call_site = fmt::format("{}+0x{:x}", std::filesystem::path(test.image).filename().string(), test.call_site);
    shown.architecture = test.architecture;
    shown.true_answer = test.truth;
    shown.given_answer = test.given;
    shown.look_up = look_up;
  }
  for (auto& [owner, tests] : rows) {
    report::TracedProcess traced;
    traced.program = owner.second;
    traced.kind = kind_of(owner.second);
    traced.version = versions[owner.second];
    traced.pid = owner.first;
    if (auto process = processes.find(owner.first); process != processes.end()) {
      traced.command_line = process->second->program;
      traced.lost = process->second->lost;
    }
    traced.functions_asked_about = static_cast<int64_t>(functions[owner].size());
    for (auto& [key, test] : tests) traced.tests.push_back(std::move(test));
    result.processes.push_back(std::move(traced));
  }
  for (const std::string& damaged : recording.damaged) result.notes.push_back(damaged);
  if (recording.lost > 0) result.notes.push_back(fmt::format("{} name tests found no room and are missing here", recording.lost));
  result.conclusion = conclusion(result);
  return result;
}

Result<report::Trace> trace_assemblers(const std::vector<toolchain::Tool>& tools, const Sample& sample, bool all_tests,
                                       const std::filesystem::path& own,
                                       const std::function<void(std::string_view)>& progress) {
  report::Trace result;
  std::set<std::tuple<toolchain::Kind, std::string, std::string>> seen;   // one of each build, wherever it lies
  for (const toolchain::Tool& tool : tools) {
    bool assembler = tool.kind == toolchain::Kind::ptxas || tool.kind == toolchain::Kind::nvlink ||
                     tool.kind == toolchain::Kind::nvrtc || tool.kind == toolchain::Kind::nvjitlink;
    if (!assembler || !seen.emplace(tool.kind, tool.version, tool.build).second) continue;
    std::string name = fmt::format("{} {}", toolchain::kind_name(tool.kind), tool.version);
    progress("tracing " + name);
    auto one = trace_one(tool, sample, all_tests, own, tools);
    if (!one) {
      result.notes.push_back(fmt::format("{}: {}", name, one.error().message));
      continue;
    }
    if (one->processes.empty()) result.silent.push_back(fmt::format("{} ({}) asked nothing about a name", name, tool.path.string()));
    for (report::TracedProcess& process : one->processes) result.processes.push_back(std::move(process));
    for (std::string& note : one->notes) result.notes.push_back(std::move(note));
    result.date = one->date;
  }
  result.conclusion = conclusion(result);
  return result;
}

}  // namespace namesake::study
