#include "session/preflight.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>

#include "session/elf.h"
#include "session/folder.h"
#include "util/file.h"
#include "util/text.h"

namespace namesake::session {
namespace fs = std::filesystem;

namespace {

#if defined(__aarch64__)
constexpr uint16_t kOwnMachine = EM_AARCH64;
#else
constexpr uint16_t kOwnMachine = EM_X86_64;
#endif
constexpr int kDeepestScript = 4;

// "#!/usr/bin/env python3" → the python3 on PATH; nothing if the file is no script.
std::optional<std::string> interpreter_of(const fs::path& file) {
  std::string line(256, '\0');
  std::FILE* stream = std::fopen(file.c_str(), "rbe");
  if (!stream) return std::nullopt;
  line.resize(std::fread(line.data(), 1, line.size(), stream));
  std::fclose(stream);
  if (!line.starts_with("#!")) return std::nullopt;
  line = line.substr(2, line.find('\n') - 2);
  std::vector<std::string> words;
  for (std::string_view word : split(line, ' ')) {
    if (!trimmed(word).empty()) words.emplace_back(trimmed(word));
  }
  if (words.empty()) return std::nullopt;
  bool by_env = fs::path(words[0]).filename() == "env";
  for (size_t i = 1; by_env && i < words.size(); i++) {
    if (words[i][0] != '-' && words[i].find('=') == std::string::npos) return words[i];
  }
  return words[0];
}

bool privileged(const fs::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) == 0 && (status.st_mode & (S_ISUID | S_ISGID))) return true;
  return ::getxattr(file.c_str(), "security.capability", nullptr, 0) > 0;
}

std::vector<Finding> examine_file(const fs::path& file, Via via, int depth) {
  std::string name = file.string();
  if (auto interpreter = interpreter_of(file); interpreter && depth < kDeepestScript) {
    auto program = find_program(*interpreter);
    if (!program) {
      return {{Obstacle::not_found, true,
               fmt::format("{} is a script for {}, which was not found", name, *interpreter)}};
    }
    return examine_file(*program, via, depth + 1);
  }
  std::vector<Finding> findings;
  if (privileged(file)) {
    findings.push_back({Obstacle::privileged, true,
                        fmt::format("{} runs with privileges of its own (setuid, setgid or file "
                                    "capabilities), so the loader ignores preloads; run a copy "
                                    "without them",
                                    name)});
  }
  auto elf = read_elf(file);
  if (!elf) {
    findings.push_back({Obstacle::not_executable, true, elf.error().message});
    return findings;
  }
  if (!elf->is_64_bit || elf->machine != kOwnMachine) {
    findings.push_back({Obstacle::foreign_machine, true,
                        fmt::format("{} is built for another machine ({} bit, ELF machine {}); the "
                                    "hook is not",
                                    name, elf->is_64_bit ? 64 : 32, elf->machine)});
  } else if (elf->interpreter.empty()) {
    findings.push_back({Obstacle::static_program, true,
                        fmt::format("{} is linked statically, so no library can be put before it; "
                                    "the processes it starts are still hooked",
                                    name)});
  } else if (via == Via::preload &&
             std::any_of(elf->needed.begin(), elf->needed.end(), is_sanitizer)) {
    findings.push_back({Obstacle::sanitizer, false,
                        fmt::format("{} is built with a sanitizer, which answers strstr before the "
                                    "hook can; use auditing to see its own calls",
                                    name)});
  } else if (elf->interpreter.find("musl") != std::string::npos && via == Via::audit) {
    findings.push_back(
        {Obstacle::other_libc, true,
         fmt::format("{} uses musl, whose loader knows no LD_AUDIT; use preloading", name)});
  }
  return findings;
}

}  // namespace

std::optional<fs::path> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    std::error_code code;
    return fs::exists(name, code) ? std::optional<fs::path>(name) : std::nullopt;
  }
  std::string path = environment("PATH");
  if (path.empty()) path = "/usr/local/bin:/usr/bin:/bin";
  for (std::string_view folder : split(path, ':')) {
    fs::path candidate = fs::path(folder.empty() ? "." : folder) / name;
    std::error_code code;
    if (fs::is_regular_file(candidate, code) && ::access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
  }
  return std::nullopt;
}

std::vector<Finding> examine_program(const std::string& program, Via via) {
  auto file = find_program(program);
  if (!file) {
    return {{Obstacle::not_found, true,
             fmt::format("{} was not found; give its path or put its folder on PATH", program)}};
  }
  std::error_code code;
  if (!fs::is_regular_file(*file, code) || ::access(file->c_str(), X_OK) != 0) {
    return {{Obstacle::not_executable, true,
             fmt::format("{} is not an executable file", file->string())}};
  }
  return examine_file(*file, via, 0);
}

std::vector<Finding> examine_assembler(const fs::path& file) {
  auto elf = read_elf(file);
  if (!elf) return {{Obstacle::not_executable, true, elf.error().message}};
  std::vector<Finding> findings;
  bool library = elf->interpreter.empty() && elf->dynamic;
  if (!library) findings = examine_file(file, Via::preload, kDeepestScript);
  if (findings.empty() && !elf->imports_strstr) {
    findings.push_back(
        {Obstacle::no_strstr, true,
         fmt::format("{} does not import strstr, so whatever it asks about names, the "
                     "hook cannot see it",
                     file.string())});
  }
  return findings;
}

std::vector<Finding> examine_system() {
  std::vector<Finding> findings;
  if (auto folder = make_run_folder(); !folder) {
    findings.push_back({Obstacle::no_run_folder, true, folder.error().message});
  }
  // Asked in a child: the answer sticks to the process.
  pid_t child = ::fork();
  if (child == 0) {
    int before = ::personality(0xffffffff);
    bool granted =
        before >= 0 && ::personality(static_cast<unsigned long>(before) | ADDR_NO_RANDOMIZE) >= 0;
    ::_exit(granted ? 0 : 1);
  }
  int status = 0;
  if (child > 0 && ::waitpid(child, &status, 0) == child && status != 0) {
    findings.push_back({Obstacle::fixed_addresses_refused, false,
                        "this system refuses personality(ADDR_NO_RANDOMIZE), as Docker does by "
                        "default, so a lottery shows as draws instead of one fixed code; start the "
                        "container with --security-opt seccomp=unconfined to allow it"});
  }
  return findings;
}

}  // namespace namesake::session
