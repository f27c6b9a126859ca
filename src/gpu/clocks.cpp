#include "gpu/clocks.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "gpu/nvml_api.h"
#include "gpu/statistics.h"

namespace namesake::gpu {
namespace {

constexpr int kNvmlSuccess = 0;

uint64_t host_now() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

template <class Function>
Status bind(void* library, const std::string& path, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
  if (function) return {};
  return error(fmt::format("{} has no {}: the driver is too old", path, symbol));
}

struct SlowdownName {
  Slowdown bit;
  const char* name;
};
constexpr std::array<SlowdownName, 9> kSlowdownNames = {{{kIdle, "idle"},
                                                         {kApplicationClocks, "application clocks"},
                                                         {kPowerCap, "power cap"},
                                                         {kHardware, "hardware"},
                                                         {kSyncBoost, "sync boost"},
                                                         {kThermalSoftware, "thermal (software)"},
                                                         {kThermalHardware, "thermal (hardware)"},
                                                         {kPowerBrake, "power brake"},
                                                         {kDisplay, "display"}}};

}  // namespace

std::string describe_slowdowns(uint64_t reasons) {
  std::string text;
  for (const SlowdownName& entry : kSlowdownNames) {
    if (!(reasons & entry.bit)) continue;
    if (!text.empty()) text += ", ";
    text += entry.name;
  }
  return text.empty() ? "none" : text;
}

struct Card::Private {
  Nvml nvml;
  nvmlDevice_st* device = nullptr;
};

Result<std::shared_ptr<const Card>> Card::open(const Device& device, const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return error(fmt::format("clocks and power cannot be read: {}", dlerror()));
  auto found = std::make_shared<Private>();
#define NAMESAKE_BIND(name, symbol, parameters) TRY(bind(library, path, symbol, found->nvml.name));
  NAMESAKE_NVML_FUNCTIONS(NAMESAKE_BIND)
#undef NAMESAKE_BIND
  if (const int code = found->nvml.init(); code != kNvmlSuccess)
    return error(
        fmt::format("clocks and power cannot be read: NVML does not start (code {})", code));
  if (const int code = found->nvml.device_by_bus_id(device.bus_id.c_str(), &found->device);
      code != kNvmlSuccess)
    return error(
        fmt::format("clocks and power cannot be read: NVML does not know the GPU at {} (code {})",
                    device.bus_id, code));
  auto card = std::make_shared<Card>();
  card->private_ = std::move(found);
  return card;
}

CardState Card::state() const {
  const Nvml& nvml = private_->nvml;
  nvmlDevice_st* device = private_->device;
  CardState state;
  std::array<char, 96> text{};
  unsigned value = 0, pending = 0;
  if (nvml.driver_version(text.data(), text.size()) == kNvmlSuccess)
    state.driver_version = text.data();
  if (nvml.uuid(device, text.data(), text.size()) == kNvmlSuccess) state.uuid = text.data();
  if (nvml.ecc(device, &value, &pending) == kNvmlSuccess) state.ecc = value != 0;
  if (nvml.mig(device, &value, &pending) == kNvmlSuccess) state.mig = value != 0;
  if (nvml.power_limit(device, &value) == kNvmlSuccess) state.power_limit_watts = value / 1e3;
  if (nvml.max_clock(device, kClockMultiprocessor, &value) == kNvmlSuccess)
    state.max_clock_mhz = value;
  if (nvml.max_clock(device, kClockMemory, &value) == kNvmlSuccess) state.max_memory_mhz = value;
  std::array<NvmlProcess, 64> processes{};
  auto count = static_cast<unsigned>(processes.size());
  const int code = nvml.processes(device, &count, processes.data());
  if (code == kNvmlSuccess || code == kNvmlInsufficientSize) {
    count = std::min<unsigned>(count, processes.size());
    for (unsigned i = 0; i < count; ++i)
      if (processes[i].pid != static_cast<unsigned>(getpid()))
        state.other_processes.push_back(processes[i].pid);
  }
  return state;
}

CardSample Card::sample() const {
  const Nvml& nvml = private_->nvml;
  nvmlDevice_st* device = private_->device;
  CardSample sample;
  sample.host_ns = host_now();
  unsigned value = 0;
  unsigned long long wide = 0;
  if (nvml.clock(device, kClockMultiprocessor, &value) == kNvmlSuccess) sample.clock_mhz = value;
  if (nvml.clock(device, kClockMemory, &value) == kNvmlSuccess) sample.memory_mhz = value;
  if (nvml.power(device, &value) == kNvmlSuccess) sample.watts = value / 1e3;
  if (nvml.energy(device, &wide) == kNvmlSuccess) sample.joules = static_cast<double>(wide) / 1e3;
  if (nvml.temperature(device, kTemperatureOfGpu, &value) == kNvmlSuccess) sample.celsius = value;
  if (nvml.slowdowns(device, &wide) == kNvmlSuccess) sample.slowdowns = wide;
  return sample;
}

struct Watch::Private {
  std::shared_ptr<const Card> card;
  std::vector<CardSample> samples;
  std::mutex mutex;
  std::condition_variable_any wake;
  std::jthread thread;  // last: it uses the others
};

Watch::Watch(std::shared_ptr<const Card> card, std::chrono::milliseconds period)
    : private_(std::make_unique<Private>()) {
  Private* shared = private_.get();
  shared->card = std::move(card);
  shared->samples.push_back(shared->card->sample());
  shared->thread = std::jthread([shared, period](std::stop_token stop) {
    std::unique_lock lock(shared->mutex);
    while (!shared->wake.wait_for(lock, stop, period, [&] { return stop.stop_requested(); }))
      shared->samples.push_back(shared->card->sample());
  });
}

Watch::~Watch() = default;

std::vector<CardSample> Watch::stop() {
  private_->thread.request_stop();
  if (private_->thread.joinable()) private_->thread.join();
  private_->samples.push_back(private_->card->sample());
  return std::move(private_->samples);
}

CardSummary summarize(std::span<const CardSample> samples) {
  CardSummary summary;
  if (samples.empty()) return summary;
  std::vector<double> clocks, memory;
  double watts = 0;
  for (const CardSample& sample : samples) {
    clocks.push_back(sample.clock_mhz);
    memory.push_back(sample.memory_mhz);
    watts += sample.watts / static_cast<double>(samples.size());
    summary.celsius = std::max(summary.celsius, sample.celsius);
    summary.slowdowns |= sample.slowdowns;
  }
  summary.clock_mhz = median(clocks);
  summary.memory_mhz = median(memory);
  summary.seconds = static_cast<double>(samples.back().host_ns - samples.front().host_ns) / 1e9;
  // The energy counter advances in steps of some tens of milliseconds: it is read between the first
  // and the last step seen, and a few steps tell nothing. The power sensor, the fallback, is a mean
  // over the last second.
  constexpr size_t kFewestSteps = 8;
  std::vector<size_t> steps;
  for (size_t i = 1; i < samples.size(); ++i)
    if (samples[i].joules != samples[i - 1].joules) steps.push_back(i);
  if (steps.size() >= kFewestSteps) {
    const CardSample &first = samples[steps.front()], &last = samples[steps.back()];
    watts = (last.joules - first.joules) * 1e9 / static_cast<double>(last.host_ns - first.host_ns);
    summary.energy_counted = true;
  }
  summary.watts = watts;
  summary.joules = watts * summary.seconds;
  return summary;
}

Result<int64_t> host_minus_gpu_ns(const Context& context, const Stream& stream) {
  TRY_ASSIGN(const ClockProbe probe, ClockProbe::create(context, 2));
  TRY(probe.read(stream, 0));  // loads the code
  TRY(wait(stream));
  TRY(probe.read(stream, 1));
  TRY(wait(stream));
  const uint64_t now = host_now();
  TRY_ASSIGN(const auto readings, probe.collect(stream));
  uint64_t gpu = 0;
  for (const ClockReading& reading : readings[1]) gpu = std::max(gpu, reading.nanoseconds);
  return static_cast<int64_t>(now - gpu);
}

size_t drop_spoiled(std::vector<Round>& rounds, std::span<const CardSample> samples,
                    int64_t host_minus_gpu) {
  const auto spoiled = [&](const Round& round) {
    for (size_t i = 0; i < samples.size(); ++i) {
      if (!(samples[i].slowdowns & kSpoils)) continue;
      // A sample speaks for the time up to both its neighbours.
      const uint64_t from = samples[i > 0 ? i - 1 : i].host_ns;
      const uint64_t to = samples[std::min(i + 1, samples.size() - 1)].host_ns;
      for (const Timing& timing : round.timings) {
        const uint64_t begin = timing.begin_ns + static_cast<uint64_t>(host_minus_gpu);
        const uint64_t end = timing.end_ns + static_cast<uint64_t>(host_minus_gpu);
        if (begin <= to && end >= from) return true;
      }
    }
    return false;
  };
  return std::erase_if(rounds, spoiled);
}

}  // namespace namesake::gpu
