// The life of one hooked command. Its terminal, group, descriptors and working folder stay ours, so
// that it behaves as without us; what differs is its environment. Signals: one from the terminal
// reaches the whole group by itself, so only those that a process sent to us are passed on.
#include "session/run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "hook/protocol.h"
#include "session/folder.h"
#include "util/file.h"

extern char** environ;

namespace namesake::session {
namespace fs = std::filesystem;

namespace {

constexpr int kNotExecutable = 126, kNotFound = 127;
constexpr int kPassed[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH};

// Blocks what is to be passed on, and gives it back to read as a file.
class HeldSignals {
 public:
  HeldSignals() {
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGCHLD);
    for (int each : kPassed) sigaddset(&held, each);
    pthread_sigmask(SIG_BLOCK, &held, &before_);
    file_ = ::signalfd(-1, &held, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;
  ~HeldSignals() {
    pass_on(0);
    if (file_ >= 0) ::close(file_);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  const sigset_t& before() const { return before_; }

  void wait(std::chrono::milliseconds time) const {
    struct pollfd file {
      file_, POLLIN, 0
    };
    ::poll(&file, 1, static_cast<int>(time.count()));
  }
  // To nobody, where there is nobody any more.
  void pass_on(pid_t to) const {
    struct signalfd_siginfo info {};
    while (::read(file_, &info, sizeof info) == sizeof info) {
      bool sent =
          info.ssi_code == SI_USER || info.ssi_code == SI_QUEUE || info.ssi_code == SI_TKILL;
      if (to > 0 && sent && info.ssi_signo != SIGCHLD) ::kill(to, static_cast<int>(info.ssi_signo));
    }
  }

 private:
  sigset_t before_{};
  int file_ = -1;
};

std::vector<std::string> merged_environment(const std::vector<std::string>& added) {
  auto name = [](const std::string& entry) { return entry.substr(0, entry.find('=')); };
  std::set<std::string> replaced = {NAMESAKE_GUARD_VARIABLE};
  for (const std::string& entry : added) replaced.insert(name(entry));
  std::vector<std::string> result;
  for (char** entry = environ; entry && *entry; entry++) {
    if (!replaced.count(name(*entry))) result.emplace_back(*entry);
  }
  result.insert(result.end(), added.begin(), added.end());
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

struct Started {
  pid_t process = -1;
  int failed = 0;  // errno of the exec
  bool addresses_fixed = false;
};

Result<Started> start(std::vector<std::string> words, std::vector<std::string> variables,
                      bool fixed_addresses, const sigset_t& mask) {
  std::vector<char*> arguments = pointers(words), environment = pointers(variables);
  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0) {
    return error(fmt::format("cannot make a pipe: {}", strerror(errno)));
  }
  Started started;
  started.process = ::fork();
  if (started.process == 0) {
    // Only async-signal-safe calls from here on.
    int told[2] = {0, 0};
    if (fixed_addresses) {
      int now = ::personality(0xffffffff);
      told[1] = now >= 0 && ::personality(static_cast<unsigned long>(now) | ADDR_NO_RANDOMIZE) >= 0;
    }
    if (::write(report[1], told, sizeof told) < 0) ::_exit(kNotExecutable);
    pthread_sigmask(SIG_SETMASK, &mask, nullptr);
    ::execvpe(arguments[0], arguments.data(), environment.data());
    told[0] = errno;
    if (::write(report[1], told, sizeof told) < 0) ::_exit(kNotExecutable);
    ::_exit(kNotExecutable);
  }
  int number = errno;
  ::close(report[1]);
  int told[2];
  while (started.process > 0 && ::read(report[0], told, sizeof told) == sizeof told) {
    started.failed = told[0];
    started.addresses_fixed |= told[1] != 0;
  }
  ::close(report[0]);
  if (started.process < 0)
    return error(fmt::format("cannot start a process: {}", strerror(number)));
  return started;
}

// Orphans of the tree become our children while this lives.
class Subreaper {
 public:
  Subreaper() {
    ::prctl(PR_GET_CHILD_SUBREAPER, &before_);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  }
  Subreaper(const Subreaper&) = delete;
  Subreaper& operator=(const Subreaper&) = delete;
  ~Subreaper() { ::prctl(PR_SET_CHILD_SUBREAPER, before_); }

 private:
  int before_ = 0;
};

// Processes that crashed, as far as can be told from the command's own end: a shell and most build
// tools pass a child's fatal signal on as 128 + signal. Those that left without destructors while
// the command ended well are no crashes: workers leave by _exit.
std::vector<uint32_t> crashed(const Outcome& outcome) {
  static constexpr int fatal[] = {SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV};
  bool any = std::any_of(std::begin(fatal), std::end(fatal), [&](int signal) {
    return outcome.signal == signal || outcome.exit_status == 128 + signal;
  });
  std::vector<uint32_t> result;
  for (const Process& process : outcome.recording.processes) {
    if (any && !process.ended) result.push_back(process.id);
  }
  return result;
}

}  // namespace

Counts count(const Recording& recording, const Settings& settings) {
  std::set<std::string> needles = {"cutlass"};
  for (const Rule& rule : settings.rules) needles.insert(rule.needle);
  std::set<std::tuple<uint32_t, uint64_t, std::string>> treated, all;
  for (const NameTest& test : recording.tests) {
    if (test.discarded || test.function != Function::strstr || !needles.count(test.needle))
      continue;
    auto function = std::tuple(test.process, test.name_hash, test.architecture);
    all.insert(function);
    if (test.reason == Reason::rule && test.rule < settings.rules.size() &&
        settings.rules[test.rule].treatment != Treatment::natural) {
      treated.insert(function);
    }
  }
  Counts counts;
  counts.treated = treated.size();
  counts.left = all.size() - treated.size();
  counts.nothing_assembled = all.empty();
  return counts;
}

Result<Outcome> run(const std::vector<std::string>& command, const RunOptions& options) {
  if (command.empty()) return error("no command: write it behind --");
  if (std::string outer = environment(NAMESAKE_SESSION_VARIABLE); !outer.empty()) {
    return error(
        fmt::format("already inside a hooked run ({}={}); end that one first, or unset the "
                    "variable if it is stale",
                    NAMESAKE_SESSION_VARIABLE, outer));
  }
  Outcome outcome;
  outcome.findings = examine_program(command[0], options.via);

  fs::path suspects_file = (options.state.empty() ? state_folder() : options.state) / "suspects";
  Settings settings = options.settings;
  settings.record = true;
  size_t added_rules = 0;
  if (options.remember_crashes && treats(settings)) {
    outcome.left_natural = load_suspects(suspects_file);
    std::vector<Rule> rules = rules_against(outcome.left_natural);
    added_rules = rules.size();
    settings.rules.insert(settings.rules.begin(), rules.begin(), rules.end());
  }
  TRY_ASSIGN(Hook hook, Hook::make(settings, options.via));
  std::vector<std::string> added =
      hook.variables(find_program(command[0]).value_or(""), options.libraries);
  added.insert(added.end(), options.variables.begin(), options.variables.end());
  if (options.own_caches) {
    outcome.moved_caches =
        caches_for(hook.key(), options.cache.empty() ? cache_folder() : options.cache);
    std::error_code ignored;
    for (const MovedCache& cache : outcome.moved_caches) {
      fs::create_directories(fs::path(cache.value).parent_path(), ignored);
      added.push_back(cache.variable + "=" + cache.value);
    }
  }

  std::vector<AssemblerFile> assemblers = settings.more_assemblers;
  const auto& known = known_assembler_files();
  assemblers.insert(assemblers.end(), known.begin(), known.end());
  Watch watch(assemblers, hook.library());
  outcome.watched = watch.works();
  {
    Subreaper subreaper;
    HeldSignals signals;
    TRY_ASSIGN(Started started, start(command, merged_environment(added), options.fixed_addresses,
                                      signals.before()));
    outcome.addresses_fixed = started.addresses_fixed;
    int status = 0;
    while (::waitpid(started.process, &status, WNOHANG) == 0) {
      watch.look(started.process);
      signals.wait(watch.pause());
      signals.pass_on(started.process);
    }
    watch.look(started.process);
    outcome.still_running = watch.running();
    outcome.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    outcome.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (started.failed) {
      outcome.exit_status = started.failed == ENOENT ? kNotFound : kNotExecutable;
      outcome.not_started = fmt::format("cannot run {}: {}", command[0], strerror(started.failed));
    }
  }
  // Whoever lives on still has the hook in its environment, and so have its children.
  if (!outcome.still_running.empty()) {
    hook.keep();
    outcome.kept_folder = hook.folder();
  }

  TRY_ASSIGN(outcome.recording, hook.recording());
  // Rules that we put in front are nobody's but ours; the caller's are counted from zero.
  for (NameTest& test : outcome.recording.tests) {
    if (test.reason != Reason::rule) continue;
    if (test.rule < added_rules) {
      test.reason = Reason::suspect;
      test.rule = 0;
    } else {
      test.rule = static_cast<uint16_t>(test.rule - added_rules);
    }
  }
  outcome.counts = count(outcome.recording, options.settings);
  outcome.unseen = watch.unseen(outcome.recording);
  outcome.counts.unseen = outcome.unseen.size() + outcome.recording.not_entered;
  if (options.remember_crashes) {
    outcome.new_suspects = suspects_of(outcome.recording, crashed(outcome));
    if (!outcome.new_suspects.empty()) TRY(add_suspects(suspects_file, outcome.new_suspects));
  }
  return outcome;
}

void end_like(const Outcome& outcome) {
  std::fflush(nullptr);
  if (outcome.signal != 0) {
    struct rlimit no_core {};
    ::setrlimit(RLIMIT_CORE, &no_core);
    ::signal(outcome.signal, SIG_DFL);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, outcome.signal);
    pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
    ::raise(outcome.signal);
    ::_exit(128 + outcome.signal);
  }
  std::exit(outcome.exit_status);
}

}  // namespace namesake::session
