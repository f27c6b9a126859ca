// Fail open, the half that runs outside the assembler (hook/guard.c is the other).
//
// The guard stands where the assembler was started: same process, same parent, same descriptors. It
// runs the assembler treated, as a child that writes its messages into memory, and then either
// passes those on and ends as the child did, or executes the assembler in its own place, naturally.
// So exactly one run shows its output and status, whoever waits for this process waits for the
// right one, and the natural run overwrites whatever a dead treated one left behind: both write to
// the path that the caller asked for, one after the other.
//
// The treated run counts if it ends with status 0, within its time, and within the policy's bound
// on spills. A failing status does not count either: a syntax error will be reported again, by the
// natural run, and a treated assembler that gives up where the natural one would not is a crash by
// another name. Not guarded are runs whose input can be read only once; they are natural.
#include "session/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>

#include "hook/protocol.h"
#include "session/control.h"
#include "session/records.h"
#include "util/file.h"

extern char** environ;

namespace namesake::session {
namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kFirstArgument = 4;
constexpr int kOwnFailure = 125;

struct Signals {
  sigset_t before{};
  struct sigaction child_before {};
};

// The signals that end a program wait until we ask for them, and so does the end of a child, which
// the caller may have set to be ignored.
Signals hold_signals() {
  Signals signals;
  sigset_t held;
  sigemptyset(&held);
  for (int each : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT}) sigaddset(&held, each);
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &plain, &signals.child_before);
  sigprocmask(SIG_BLOCK, &held, &signals.before);
  return signals;
}

void release_signals(const Signals& signals) {
  sigaction(SIGCHLD, &signals.child_before, nullptr);
  sigprocmask(SIG_SETMASK, &signals.before, nullptr);
}

[[noreturn]] void become(const char* program, char** arguments, const char* half) {
  ::setenv(NAMESAKE_GUARD_VARIABLE, half, 1);
  ::execv(program, arguments);
  std::fprintf(stderr, "namesake: cannot run %s: %s\n", program, strerror(errno));
  ::_exit(kOwnFailure);
}

[[noreturn]] void die_by(int signal, const Signals& signals) {
  struct rlimit no_core {};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::signal(signal, SIG_DFL);
  release_signals(signals);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  sigprocmask(SIG_UNBLOCK, &one, nullptr);
  ::raise(signal);
  ::_exit(128 + signal);
}

bool same_file(int a, int b) {
  struct stat x {
  }, y{};
  return ::fstat(a, &x) == 0 && ::fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

// The treated child's stdout and stderr, kept until it is known whether they count. One memory for
// both where the caller sees both in one place, so that their order is kept.
struct Messages {
  int out = -1, err = -1;
  bool open() {
    out = ::memfd_create("stdout", MFD_CLOEXEC);
    err = same_file(1, 2) ? out : ::memfd_create("stderr", MFD_CLOEXEC);
    return out >= 0 && err >= 0;
  }
  static void pass_on(int from, int to) {
    std::string buffer(1 << 16, '\0');
    ::lseek(from, 0, SEEK_SET);
    for (;;) {
      ssize_t got = ::read(from, buffer.data(), buffer.size());
      if (got <= 0) return;
      for (ssize_t put = 0; put < got;) {
        ssize_t n = ::write(to, buffer.data() + put, static_cast<size_t>(got - put));
        if (n < 0 && errno == EAGAIN) ::usleep(1000);
        if (n < 0 && errno != EINTR && errno != EAGAIN) return;
        put += n > 0 ? n : 0;
      }
    }
  }
  void pass_on() const {
    pass_on(out, 1);
    if (err != out) pass_on(err, 2);
  }
};

struct Attempt {
  pid_t child = 0;
  int status = 0;
  int ended_by = 0;  // a signal that the caller sent us
  bool hung = false;
};

void start_treated(Attempt& attempt, const char* program, char** arguments,
                   const Messages& messages, const Signals& signals) {
  pid_t guard = ::getpid();
  attempt.child = ::fork();
  if (attempt.child != 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != guard) ::_exit(kOwnFailure);
  struct rlimit no_core {};
  ::setrlimit(RLIMIT_CORE, &no_core);  // a crash here is an answer, not an accident
  ::dup2(messages.out, 1);
  ::dup2(messages.err, 2);
  release_signals(signals);
  become(program, arguments, "treated");
}

void await(Attempt& attempt, unsigned seconds) {
  sigset_t awaited;
  sigemptyset(&awaited);
  for (int each : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT}) sigaddset(&awaited, each);
  auto deadline = Clock::now() + std::chrono::seconds(seconds);
  while (::waitpid(attempt.child, &attempt.status, WNOHANG) == 0) {
    auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(deadline - Clock::now());
    if (left.count() <= 0) {
      attempt.hung = true;
      break;
    }
    struct timespec time {
      left.count() / 1000000000, left.count() % 1000000000
    };
    int signal = ::sigtimedwait(&awaited, nullptr, &time);
    if (signal > 0 && signal != SIGCHLD) {
      attempt.ended_by = signal;
      ::kill(attempt.child, signal);
      break;
    }
  }
  if (attempt.hung) ::kill(attempt.child, SIGKILL);
  if (attempt.hung || attempt.ended_by) ::waitpid(attempt.child, &attempt.status, 0);
}

// "" if the treated run may count.
std::string why_not(const Attempt& attempt, const GuardTerms& terms, const OutputCheck& check,
                    const std::vector<std::string>& arguments) {
  if (attempt.child < 0) return "the treated run could not be started";
  if (attempt.hung) return fmt::format("no end within {} s", terms.seconds);
  if (WIFSIGNALED(attempt.status)) {
    int signal = WTERMSIG(attempt.status);
    return fmt::format("signal {} ({})", signal, strsignal(signal));
  }
  if (WEXITSTATUS(attempt.status) != 0) {
    return fmt::format("exit status {}", WEXITSTATUS(attempt.status));
  }
  if (!terms.spill_limit || !check) return "";
  fs::path output = output_of(arguments);
  if (output.empty()) return "";
  return check(output, *terms.spill_limit);
}

// What cannot be noted changes nothing: the natural run is the safe one.
void note(const fs::path& folder, const Attempt& attempt, const char* program,
          const std::string& reason) {
  Fallback fallback{static_cast<uint32_t>(::getpid()),
                    static_cast<uint32_t>(attempt.child > 0 ? attempt.child : 0), program, reason};
  (void)write_file(folder / "guard" / fmt::format("{}.{}", ::getpid(), attempt.child),
                   format_fallback(fallback));
}

}  // namespace

void become_natural(const char* program, char** arguments) {
  become(program, arguments, "natural");
}

bool is_guard(int argc, char** argv) {
  return argc > kFirstArgument && std::strcmp(argv[1], NAMESAKE_GUARD_WORD) == 0;
}

fs::path output_of(const std::vector<std::string>& arguments) {
  fs::path output;
  for (size_t i = 0; i < arguments.size(); i++) {
    const std::string& each = arguments[i];
    if ((each == "-o" || each == "--output-file") && i + 1 < arguments.size()) {
      output = arguments[++i];
    } else if (each.starts_with("--output-file=")) {
      output = each.substr(14);
    } else if (each.starts_with("-o=")) {
      output = each.substr(3);
    }
  }
  return output;
}

std::string single_use_input(const std::vector<std::string>& arguments) {
  fs::path output = output_of(arguments);
  for (size_t i = 1; i < arguments.size(); i++) {
    const std::string& each = arguments[i];
    struct stat status {};
    if (each.empty() || fs::path(each) == output || ::stat(each.c_str(), &status) != 0) continue;
    if (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)) return each;
  }
  return "";
}

void guard_main(int argc, char** argv, const OutputCheck& check) {
  fs::path folder = argv[2];
  const char* program = argv[3];
  char** original = argv + kFirstArgument;
  std::vector<std::string> arguments(original, argv + argc);
  Attempt attempt;

  std::string input = single_use_input(arguments);
  if (!input.empty()) {
    note(folder, attempt, program, "its input " + input + " can be read only once");
    become(program, original, "natural");
  }
  auto control = read_file(folder / "control", 64 << 20);
  auto terms =
      control ? decode_guard_terms(*control) : Result<GuardTerms>(error("no control file"));
  Messages messages;
  if (!terms || !messages.open()) {
    note(folder, attempt, program, "the guard could not be set up");
    become(program, original, "natural");
  }

  Signals signals = hold_signals();
  start_treated(attempt, program, original, messages, signals);
  if (attempt.child > 0) await(attempt, terms->seconds);
  if (attempt.ended_by) die_by(attempt.ended_by, signals);

  std::string reason = why_not(attempt, *terms, check, arguments);
  release_signals(signals);
  if (reason.empty()) {
    messages.pass_on();
    ::_exit(0);
  }
  note(folder, attempt, program, reason);
  become(program, original, "natural");
}

}  // namespace namesake::session
