// fork and exec rather than posix_spawn: the child must call personality() between the two, since
// address-space randomisation is decided by the process that calls exec. Between fork and exec only
// async-signal-safe calls are made; everything they need is prepared before.
#include "util/subprocess.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>

#include "util/file.h"
#include "util/interrupt.h"

extern char** environ;

namespace namesake {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kTick = 100;   // milliseconds between looks at interrupted()

std::vector<std::string> merged_environment(const Command& command) {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; entry && *entry; ++entry) {
    std::string text = *entry;
    variables[text.substr(0, text.find('='))] = text;
  }
  for (const std::string& name : command.unset) variables.erase(name);
  for (const std::string& text : command.environment) {
    variables[text.substr(0, text.find('='))] = text;
  }
  std::vector<std::string> result;
  for (auto& [name, text] : variables) result.push_back(std::move(text));
  return result;
}

Result<std::string> resolved(const std::string& program) {
  if (program.find('/') != std::string::npos) return program;
  std::string path = environment("PATH");
  for (size_t start = 0; start <= path.size();) {
    size_t end = std::min(path.find(':', start), path.size());
    std::string candidate = path.substr(start, end - start) + "/" + program;
    if (end > start && ::access(candidate.c_str(), X_OK) == 0) return candidate;
    start = end + 1;
  }
  return error(fmt::format("{}: not found on PATH", program));
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

struct Pipe {
  int read_end = -1, write_end = -1;
  Pipe() = default;
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  bool open() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
    read_end = ends[0];
    write_end = ends[1];
    return true;
  }
  static void shut(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }
  ~Pipe() {
    shut(read_end);
    shut(write_end);
  }
};

}  // namespace

Result<Completed> run(const Command& command) {
  if (command.arguments.empty()) return error("no command to run");
  std::string program;
  TRY_ASSIGN(program, resolved(command.arguments[0]));
  std::vector<std::string> arguments = command.arguments;
  std::vector<std::string> variables = merged_environment(command);
  std::vector<char*> argv = pointers(arguments), envp = pointers(variables);
  std::string folder = command.folder.string();

  Pipe in, out, err, report;
  if (!in.open() || !out.open() || !err.open() || !report.open()) {
    return error(fmt::format("cannot make a pipe: {}", strerror(errno)));
  }
  int output_file = -1;
  if (command.output_file) {
    output_file = ::open(command.output_file->c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (output_file < 0) {
      return error(fmt::format("cannot write {}: {}", command.output_file->string(), strerror(errno)));
    }
  }

  // What the child tells before exec: 'p' = personality granted; an int = errno of the failure.
  Clock::time_point start = Clock::now();
  pid_t parent = ::getpid();
  pid_t child = ::fork();
  if (child < 0) {
    int number = errno;
    if (output_file >= 0) ::close(output_file);
    return error(fmt::format("cannot start {}: {}", program, strerror(number)));
  }
  if (child == 0) {
    ::setpgid(0, 0);
    // Ours may be killed so that it can end nobody. (The signal comes with the end of the thread that
    // forked, which here waits.)
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);
    struct sigaction defaults {};
    defaults.sa_handler = SIG_DFL;
    for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGCHLD}) {
      ::sigaction(number, &defaults, nullptr);
    }
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::dup2(in.read_end, 0);
    ::dup2(output_file >= 0 ? output_file : out.write_end, 1);
    ::dup2(err.write_end, 2);
    if (command.fixed_addresses) {
      int current = ::personality(0xffffffff);
      char granted = current != -1 && ::personality(current | ADDR_NO_RANDOMIZE) != -1 ? 'p' : 'n';
      [[maybe_unused]] ssize_t ignored = ::write(report.write_end, &granted, 1);
    }
    int number = 0;
    if (!folder.empty() && ::chdir(folder.c_str()) != 0) {
      number = errno;
    } else {
      ::execve(program.c_str(), argv.data(), envp.data());
      number = errno;
    }
    [[maybe_unused]] ssize_t ignored = ::write(report.write_end, &number, sizeof number);
    ::_exit(127);
  }
  ::setpgid(child, child);
  if (output_file >= 0) ::close(output_file);
  Pipe::shut(in.read_end);
  Pipe::shut(out.write_end);
  Pipe::shut(err.write_end);
  Pipe::shut(report.write_end);

  Completed result;
  std::string said;
  std::array<char, 65536> buffer;
  for (ssize_t got; (got = ::read(report.read_end, buffer.data(), buffer.size())) != 0;) {
    if (got > 0) said.append(buffer.data(), static_cast<size_t>(got));
    if (got < 0 && errno != EINTR) break;
  }
  if (command.fixed_addresses && !said.empty()) {
    result.addresses_fixed = said[0] == 'p';
    said.erase(0, 1);
  }
  if (said.size() == sizeof(int)) {
    int number = 0;
    std::memcpy(&number, said.data(), sizeof number);
    ::waitpid(child, nullptr, 0);
    return error(fmt::format("cannot start {}: {}", program, strerror(number)));
  }

  ::fcntl(in.write_end, F_SETFL, O_NONBLOCK);
  size_t fed = 0;
  if (command.input.empty()) Pipe::shut(in.write_end);
  Clock::time_point deadline = start + command.timeout;
  bool killed = false;
  while (out.read_end >= 0 || err.read_end >= 0) {
    std::array<pollfd, 3> waits{pollfd{out.read_end, POLLIN, 0}, pollfd{err.read_end, POLLIN, 0},
                                pollfd{in.write_end, POLLOUT, 0}};
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    int ready = ::poll(waits.data(), waits.size(),
                       static_cast<int>(std::clamp<int64_t>(left.count(), 0, kTick)));
    if (ready < 0 && errno != EINTR) break;
    if ((Clock::now() >= deadline || interrupted()) && !killed) {
      result.timed_out = !interrupted();
      ::kill(-child, SIGKILL);
      killed = true;
      deadline = Clock::now() + std::chrono::seconds(2);
      continue;
    }
    if (killed && Clock::now() >= deadline) break;  // an escaped grandchild holds the pipe
    if (ready <= 0) continue;
    for (int i = 0; i < 2; ++i) {
      if (!waits[i].revents) continue;
      int& end = i == 0 ? out.read_end : err.read_end;
      std::string& text = i == 0 ? result.out : result.err;
      ssize_t got = ::read(end, buffer.data(), buffer.size());
      if (got > 0) {
        if (text.size() + static_cast<size_t>(got) <= command.output_limit) {
          text.append(buffer.data(), static_cast<size_t>(got));
        } else if (!killed) {
          result.flooded = true;
          ::kill(-child, SIGKILL);
          killed = true;
          deadline = Clock::now() + std::chrono::seconds(2);
        }
      } else if (got == 0 || errno != EINTR) {
        Pipe::shut(end);
      }
    }
    if (waits[2].revents) {
      struct sigaction ignore {}, before {};
      ignore.sa_handler = SIG_IGN;
      ::sigaction(SIGPIPE, &ignore, &before);
      ssize_t put = ::write(in.write_end, command.input.data() + fed, command.input.size() - fed);
      ::sigaction(SIGPIPE, &before, nullptr);
      if (put > 0) fed += static_cast<size_t>(put);
      if (fed == command.input.size() || (put < 0 && errno != EINTR && errno != EAGAIN)) {
        Pipe::shut(in.write_end);
      }
    }
  }

  // The pipes are closed; the child itself may live on (it closed its output and hangs).
  int status = 0;
  struct rusage usage {};
  for (;;) {
    pid_t got = ::wait4(child, &status, killed ? 0 : WNOHANG, &usage);
    if (got == child || (got < 0 && errno != EINTR)) break;
    if (got == 0) {
      if (Clock::now() >= deadline || interrupted()) {
        result.timed_out = !interrupted();
        ::kill(-child, SIGKILL);
        killed = true;
      } else {
        ::usleep(500);
      }
    }
  }
  result.wall_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  auto seconds = [](timeval t) { return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec); };
  result.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  result.peak_kilobytes = usage.ru_maxrss;
  if (WIFSIGNALED(status)) {
    result.signal = WTERMSIG(status);
  } else {
    result.exit_status = WEXITSTATUS(status);
  }
  return result;
}

std::string Completed::how_it_ended() const {
  if (timed_out) return fmt::format("no end within {:.0f} s", wall_seconds);
  if (flooded) return "ended for printing too much";
  if (signal) return fmt::format("killed by signal {} ({})", signal, strsignal(signal));
  return fmt::format("exit status {}", exit_status);
}

std::string quoted(const std::vector<std::string>& arguments) {
  std::string line;
  for (const std::string& word : arguments) {
    if (!line.empty()) line += ' ';
    bool plain = !word.empty() &&
                 word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                        "_-./=:,+@%") == std::string::npos;
    if (plain) {
      line += word;
      continue;
    }
    line += '\'';
    for (char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

}  // namespace namesake
