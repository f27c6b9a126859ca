#include "measure/worker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "report/measurement_pages.h"

namespace namesake::measure {
namespace {

// On the pipe: a letter, a text, a line's end. Texts hold no line ends: JSON has none, ours lose
// them.
enum : char { kBegins = 'B', kStage = 'S', kResult = 'R', kError = 'E', kGpu = 'G' };

class Teller {
 public:
  explicit Teller(int descriptor) : descriptor_(descriptor) {}
  void tell(char what, std::string text) const {
    std::replace(text.begin(), text.end(), '\n', ' ');
    text = what + text + '\n';
    for (size_t done = 0; done < text.size();) {
      const ssize_t wrote = write(descriptor_, text.data() + done, text.size() - done);
      if (wrote < 0 && errno != EINTR) _exit(1);  // nobody listens any more
      if (wrote > 0) done += static_cast<size_t>(wrote);
    }
  }

 private:
  int descriptor_;
};

struct Child {
  pid_t pid = -1;
  int descriptor = -1;
};

Result<Child> start(const std::function<void(const Teller&)>& work) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return error(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  const pid_t parent = getpid(), pid = fork();
  if (pid < 0) {
    close(ends[0]);
    close(ends[1]);
    return error(fmt::format("cannot start a process: {}", std::strerror(errno)));
  }
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    signal(SIGINT, SIG_IGN);  // the parent ends us
    close(ends[0]);
    work(Teller(ends[1]));
    // No destructors of the driver's: after a fault they may hang, and the kernel cleans up as
    // well.
    _exit(0);
  }
  close(ends[1]);
  return Child{pid, ends[0]};
}

enum class Ending { ended, silent, stopped };

// Hands every line to `receive` until the child ends or has to be ended.
Ending listen(const Child& child, const WorkerOptions& options,
              const std::function<void(char, std::string_view)>& receive) {
  std::string pending;
  auto heard = std::chrono::steady_clock::now();
  for (;;) {
    if (options.stop()) return Ending::stopped;
    if (std::chrono::steady_clock::now() - heard > options.silence) return Ending::silent;
    pollfd ready{child.descriptor, POLLIN, 0};
    if (poll(&ready, 1, 100) <= 0) continue;
    char block[1 << 16];
    const ssize_t got = read(child.descriptor, block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Ending::ended;
    heard = std::chrono::steady_clock::now();
    pending.append(block, static_cast<size_t>(got));
    size_t begin = 0;
    for (size_t end; (end = pending.find('\n', begin)) != std::string::npos; begin = end + 1)
      if (end > begin)
        receive(pending[begin], std::string_view(pending).substr(begin + 1, end - begin - 1));
    pending.erase(0, begin);
  }
}

// How it ended, if not well: "killed by signal 11 (Segmentation fault)".
std::string finish(const Child& child, Ending ending) {
  if (ending != Ending::ended) kill(child.pid, SIGKILL);
  close(child.descriptor);
  int status = 0;
  while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (ending == Ending::silent) return "the GPU's process said nothing for too long and was ended";
  if (WIFSIGNALED(status))
    return fmt::format("the GPU's process was killed by signal {} ({})", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
  if (WEXITSTATUS(status) != 0)
    return fmt::format("the GPU's process ended with status {}", WEXITSTATUS(status));
  return {};
}

struct Opened {
  std::unique_ptr<const gpu::Driver> driver;
  gpu::Device device;
};

Result<Opened> open(const WorkerOptions& options) {
  Opened opened;
  TRY_ASSIGN(opened.driver, gpu::load_driver(options.driver_library));
  TRY_ASSIGN(opened.device, gpu::open_device(*opened.driver, options.device));
  return opened;
}

Result<report::Gpu> describe(const Opened& opened, const WorkerOptions& options) {
  report::Gpu gpu;
  const gpu::Device& device = opened.device;
  gpu.name = device.name;
  gpu.bus_id = device.bus_id;
  gpu.architecture = fmt::format("sm_{}{}", device.major, device.minor);
  gpu.multiprocessors = device.multiprocessors;
  gpu.memory_bytes = static_cast<int64_t>(device.memory_bytes);
  gpu.l2_bytes = device.l2_bytes;
  TRY_ASSIGN(const int version, gpu::driver_version(*opened.driver));
  gpu.cuda = fmt::format("{}.{}", version / 1000, version % 1000 / 10);
  auto card = gpu::Card::open(device, options.management_library);
  if (!card) {
    gpu.unknown = card.error().message;
    return gpu;
  }
  const gpu::CardState state = (*card)->state();
  gpu.uuid = state.uuid;
  gpu.driver = state.driver_version;
  gpu.ecc = state.ecc;
  gpu.mig = state.mig;
  gpu.power_limit_watts = state.power_limit_watts;
  gpu.max_clock_mhz = state.max_clock_mhz;
  gpu.max_memory_mhz = state.max_memory_mhz;
  gpu.other_processes.assign(state.other_processes.begin(), state.other_processes.end());
  return gpu;
}

Status serve(const std::vector<GpuJob>& jobs, const std::vector<report::KernelMeasurement>& results,
             size_t from, const WorkerOptions& options, const Teller& teller) {
  TRY_ASSIGN(const Opened opened, open(options));
  TRY_ASSIGN(const gpu::Context context, gpu::Context::retain(*opened.driver, opened.device));
  TRY_ASSIGN(const Checker checker, Checker::create(context));
  Gpu gpu{context, checker, nullptr};
  if (auto card = gpu::Card::open(opened.device, options.management_library)) gpu.card = *card;
  for (size_t i = from; i < jobs.size(); ++i) {
    teller.tell(kBegins, std::to_string(i));
    const auto began = std::chrono::steady_clock::now();
    report::KernelMeasurement result = results[i];
    const Status ran = run_on_gpu(gpu, jobs[i], result, [&](std::string_view stage) {
      teller.tell(kStage, std::string(stage));
    });
    result.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    if (!ran) result.failure = ran.error().message;
    teller.tell(kResult, report::to_json(result));
    if (!ran) _exit(0);
  }
  return {};
}

}  // namespace

Result<report::Gpu> ask_gpu(const WorkerOptions& options) {
  TRY_ASSIGN(const Child child, start([&](const Teller& teller) {
               const auto gpu = open(options).and_then(
                   [&](const Opened& opened) { return describe(opened, options); });
               if (gpu)
                 teller.tell(kGpu, report::to_json(*gpu));
               else
                 teller.tell(kError, gpu.error().message);
             }));
  Result<report::Gpu> answer = error("");
  const Ending ending = listen(child, options, [&](char what, std::string_view text) {
    if (what == kGpu) answer = report::gpu_from_json(text);
    if (what == kError) answer = error(std::string(text));
  });
  const std::string ended = finish(child, ending);
  if (ending == Ending::stopped) return error("interrupted");
  if (!answer && answer.error().message.empty())
    return error(ended.empty() ? "the GPU's process gave no answer" : ended);
  return answer;
}

Result<size_t> run_jobs(const std::vector<GpuJob>& jobs,
                        std::vector<report::KernelMeasurement>& results,
                        const WorkerOptions& options,
                        const std::function<void(size_t, std::string_view)>& progress,
                        const std::function<void(size_t)>& finished) {
  for (size_t next = 0; next < jobs.size();) {
    const size_t first = next;
    std::string failure;
    std::optional<size_t> current;
    std::string stage;
    TRY_ASSIGN(const Child child, start([&](const Teller& teller) {
                 if (Status served = serve(jobs, results, first, options, teller); !served)
                   teller.tell(kError, served.error().message);
               }));
    const Ending ending = listen(child, options, [&](char what, std::string_view text) {
      if (what == kBegins) current = next;
      if (what == kError) failure = text;
      if (what == kStage) {
        stage = text;
        progress(next, stage);
      }
      if (what == kResult) {
        auto result = report::kernel_measurement_from_json(text);
        if (result)
          results[next] = std::move(*result);
        else
          results[next].failure = result.error().message;
        finished(next);
        ++next;
        current.reset();
      }
    });
    const std::string ended = finish(child, ending);
    if (ending == Ending::stopped) return next;
    if (next == jobs.size()) return next;
    if (current) {
      results[next].failure =
          fmt::format("{}: {}", stage, ended.empty() ? "the GPU's process ended" : ended);
      ++next;
    } else if (next == first) {
      // Not even one job begun: the next process would fare no better.
      return error(!failure.empty() ? failure : ended);
    }
  }
  return jobs.size();
}

}  // namespace namesake::measure
