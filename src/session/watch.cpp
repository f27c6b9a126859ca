// A hook cannot report what it was not loaded into: a static program, a child of `env -i`. Somebody
// outside has to see those. The ways, and what each costs the watched programs:
//
//   ptrace             sees every exec; but a traced program cannot be debugged, LeakSanitizer ends
//                      with an error, setuid programs lose their rights, each thread start stops
//                      twice
//   seccomp notify     sees every exec; needs no_new_privs (no sudo), and the tree dies with us
//   process connector, needs root
//   fanotify, acct
//   looking at /proc   disturbs nothing; may miss what lives shorter than the pause between two
//   looks
//
// A tool whose first rule is never to change the program takes the last. An assembler lives for 40
// ms and more, the pause is 2 ms for a small tree and grows so that looking costs at most a
// twentieth of one processor. A subreaper's children include all orphans of the tree, so daemons
// stay in view.
#include "session/watch.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "util/file.h"
#include "util/text.h"

namespace namesake::session {
namespace fs = std::filesystem;

namespace {

constexpr int kLooksBetweenExaminations = 16;
constexpr auto kLongestPause = std::chrono::milliseconds(100);

std::vector<pid_t> children_of(pid_t process) {
  std::vector<pid_t> children;
  fs::path tasks = fs::path("/proc") / std::to_string(process) / "task";
  std::error_code code;
  for (fs::directory_iterator task(tasks, code), end; !code && task != end; task.increment(code)) {
    auto list = read_file(task->path() / "children");
    if (!list) continue;
    for (std::string_view word : split(*list, ' ')) {
      if (auto number = parse_integer(word)) children.push_back(static_cast<pid_t>(*number));
    }
  }
  return children;
}

struct Status {
  char state = '?';
  uint64_t started = 0;
};

// Fields 3 and 22 of /proc/N/stat, counted from behind the program's name, which may hold anything.
Status status_of(pid_t process) {
  Status status;
  auto text = read_file(fs::path("/proc") / std::to_string(process) / "stat");
  size_t name_end = text ? text->rfind(") ") : std::string::npos;
  if (name_end == std::string::npos) return status;
  auto fields = split(std::string_view(*text).substr(name_end + 2), ' ');
  if (fields.size() < 20) return status;
  status.state = fields[0].empty() ? '?' : fields[0][0];
  status.started = static_cast<uint64_t>(parse_integer(fields[19]).value_or(0));
  return status;
}

std::string program_of(pid_t process) {
  std::error_code code;
  std::string path =
      fs::read_symlink(fs::path("/proc") / std::to_string(process) / "exe", code).string();
  constexpr std::string_view kDeleted = " (deleted)";
  if (path.ends_with(kDeleted)) path.resize(path.size() - kDeleted.size());
  return path;
}

bool fits(const AssemblerFile& file, const std::string& path) {
  bool whole = file.pattern.find('/') != std::string::npos;
  return glob_match(file.pattern, whole ? path : path.substr(path.rfind('/') + 1));
}

}  // namespace

Watch::Watch(const std::vector<AssemblerFile>& assemblers, fs::path hook)
    : assemblers_(assemblers), hook_(hook.string()) {
  std::string self = std::to_string(::getpid());
  works_ = ::access(("/proc/self/task/" + self + "/children").c_str(), R_OK) == 0;
  foreign_ = children_of(::getpid());
}

bool Watch::is_program(const std::string& path) const {
  return std::any_of(assemblers_.begin(), assemblers_.end(),
                     [&](const AssemblerFile& file) { return file.program && fits(file, path); });
}

// Is the hook in there, and if not, an assembler?
void Watch::examine(pid_t process, Seen& seen) const {
  auto maps = read_file(fs::path("/proc") / std::to_string(process) / "maps");
  if (!maps) return;
  std::string_view last;
  for (std::string_view line : split(*maps, '\n')) {
    size_t slash = line.find('/');
    if (slash == std::string_view::npos || line.substr(slash) == last) continue;
    last = line.substr(slash);
    if (last == hook_) seen.hooked = true;
    for (const AssemblerFile& file : assemblers_) {
      if (!file.program && fits(file, std::string(last))) seen.library = last;
    }
  }
}

void Watch::visit(pid_t process) {
  Status status = status_of(process);
  if (status.state == '?' || status.state == 'Z') return;
  std::string program = program_of(process);
  Seen& seen = alive_[process];
  if (seen.program != program || seen.started != status.started) {
    if (!seen.program.empty()) past_.emplace_back(process, seen);
    seen = Seen{program, status.started, is_program(program), false, "", 0};
  }
  running_.push_back(program);
  // Not at the first look: the loader may still be at work.
  if (!seen.hooked && ++seen.looks % kLooksBetweenExaminations == 2) examine(process, seen);
}

void Watch::look(pid_t root) {
  if (!works_) return;
  auto start = std::chrono::steady_clock::now();
  running_.clear();
  std::set<pid_t> found;
  std::vector<pid_t> todo;
  pid_t self = ::getpid();
  for (pid_t child : children_of(self)) {
    if (std::find(foreign_.begin(), foreign_.end(), child) != foreign_.end()) continue;
    if (child != root && ::waitpid(child, nullptr, WNOHANG) == child) continue;
    todo.push_back(child);
  }
  while (!todo.empty()) {
    pid_t process = todo.back();
    todo.pop_back();
    if (!found.insert(process).second) continue;
    visit(process);
    for (pid_t child : children_of(process)) todo.push_back(child);
  }
  for (auto it = alive_.begin(); it != alive_.end();) {
    if (found.count(it->first)) {
      ++it;
      continue;
    }
    past_.emplace_back(it->first, it->second);
    it = alive_.erase(it);
  }
  auto took = std::chrono::steady_clock::now() - start;
  pause_ = std::clamp(std::chrono::duration_cast<std::chrono::milliseconds>(took * 40),
                      std::chrono::milliseconds(2), kLongestPause);
}

std::vector<Unseen> Watch::unseen(const Recording& recording) const {
  std::set<std::pair<uint32_t, std::string>> reported;
  for (const Process& process : recording.processes) reported.insert({process.id, process.program});
  std::vector<Unseen> result;
  auto judge = [&](pid_t process, const Seen& seen) {
    auto id = static_cast<uint32_t>(process);
    // The table keeps the last 223 characters of a path.
    std::string program = seen.program;
    if (program.size() > 223) program = program.substr(program.size() - 223);
    if (seen.hooked || (!seen.assembler && seen.library.empty())) return;
    if (reported.count({id, program})) return;
    result.push_back({id, seen.program, seen.assembler ? "" : seen.library});
  };
  for (const auto& [process, seen] : past_) judge(process, seen);
  for (const auto& [process, seen] : alive_) judge(process, seen);
  return result;
}

}  // namespace namesake::session
