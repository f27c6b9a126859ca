// A process, not a thread: session::run() looks after the children of this one, and whoever makes
// builds starts children. It ignores what the terminal sends to the whole group (the application
// decides what ^C means), runs below the application's priority, and ends with the tool, however
// that ends.
#include "ab/service.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <set>

#include "ab/maker.h"
#include "live/protocol.h"
#include "util/file.h"
#include "util/interrupt.h"
#include "util/mapping.h"

namespace namesake::ab {
namespace fs = std::filesystem;
namespace {

using Clock = std::chrono::steady_clock;

ns_board* map_board(const fs::path& live) {
  int file = ::open((live / "board").c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  void* mapped = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  return mapped == MAP_FAILED ? nullptr : static_cast<ns_board*>(mapped);
}

// Those not served yet; what tells where code came from stands before the code.
std::vector<fs::path> new_requests(const fs::path& folder, std::set<std::string>& served) {
  std::vector<std::pair<fs::file_time_type, fs::path>> images, others;
  std::error_code code;
  for (fs::directory_iterator at(folder, code), end; !code && at != end; at.increment(code)) {
    std::string name = at->path().filename().string();
    if (name.starts_with(".") || !served.insert(name).second) continue;
    std::error_code ignored;
    (name.starts_with("i.") ? images : others)
        .emplace_back(at->last_write_time(ignored), at->path());
  }
  std::sort(images.begin(), images.end());
  std::sort(others.begin(), others.end());
  std::vector<fs::path> result;
  for (const auto* list : {&others, &images})
    for (const auto& [time, path] : *list) result.push_back(path);
  return result;
}

void serve(const fs::path& file, Maker& maker, ns_board* board) {
  auto mapped = MappedFile::open(file);
  if (!mapped) return;
  auto request = parse_request(mapped->bytes());
  if (!request) return;
  switch (request->kind) {
    case Request::Kind::program:
      maker.learn(request->program);
      return;
    case Request::Kind::nvrtc:
      maker.learn(request->nvrtc);
      return;
    case Request::Kind::image:
      break;
  }
  if (maker.answer(request->image)) __atomic_fetch_add(&board->generation, 1, __ATOMIC_RELEASE);
}

[[noreturn]] void serve_all(const fs::path& live, const Settings& settings,
                            const std::string& kernels, double seconds, pid_t parent) {
  ns_board* board = map_board(live);
  if (!board) ::_exit(1);
  int watch = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (watch >= 0) ::inotify_add_watch(watch, (live / "requests").c_str(), IN_MOVED_TO);
  Maker maker(settings, kernels, live);
  std::set<std::string> served;
  Clock::time_point first{};
  while (::getppid() == parent && !interrupted()) {
    std::vector<fs::path> requests = new_requests(live / "requests", served);
    for (const fs::path& each : requests) {
      bool image = each.filename().string().starts_with("i.");
      if (image && first == Clock::time_point{}) first = Clock::now();
      serve(each, maker, board);
      // The code that an assembler has been given meanwhile comes before the next image.
      if (image) break;
    }
    bool more = !requests.empty() && requests.back().filename().string().starts_with("i.");
    if (more) {
      // Those not reached in this round are served in the next one.
      bool reached = false;
      for (const fs::path& each : requests) {
        if (reached) served.erase(each.filename().string());
        reached |= each.filename().string().starts_with("i.");
      }
      continue;
    }
    std::chrono::duration<double> since = Clock::now() - first;
    if (seconds > 0 && first != Clock::time_point{} && since.count() > seconds)
      __atomic_store_n(&board->stopped, 1, __ATOMIC_RELEASE);
    struct pollfd wait {
      watch, POLLIN, 0
    };
    char events[4096];
    if (::poll(&wait, watch >= 0 ? 1 : 0, 100) > 0) {
      while (::read(watch, events, sizeof events) > 0) {
      }
    }
  }
  ::_exit(0);
}

}  // namespace

Result<Service> Service::start(const fs::path& folder, const Settings& settings,
                               const std::string& kernels, double seconds) {
  pid_t parent = ::getpid();
  pid_t child = ::fork();
  if (child < 0) return error(fmt::format("cannot start a process: {}", strerror(errno)));
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    catch_interrupts();  // SIGTERM ends us, with all that we have started
    for (int number : {SIGINT, SIGQUIT, SIGHUP}) ::signal(number, SIG_IGN);
    ::setpriority(PRIO_PROCESS, 0, 10);
    serve_all(folder / "live", settings, kernels, seconds, parent);
  }
  return Service(child);
}

// Whoever looks after our children may have seen its end already; then there is none to wait for.
bool Service::alive() const {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == 0;
}

Service::~Service() {
  if (process_ <= 0) return;
  ::kill(process_, SIGTERM);
  for (int i = 0; i < 300; ++i) {
    if (::waitpid(process_, nullptr, WNOHANG) == process_) return;
    ::usleep(10'000);
  }
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

}  // namespace namesake::ab
