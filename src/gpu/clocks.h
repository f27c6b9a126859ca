// The state of the card: what it is, and its clocks, power and temperature while something runs.
// Read only: nothing here can change a setting of the card.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu/driver.h"
#include "gpu/pairing.h"
#include "util/error.h"

namespace namesake::gpu {

// Why a clock is lower than it could be; NVML's bits.
enum Slowdown : uint64_t {
  kIdle = 0x1,
  kApplicationClocks = 0x2,
  kPowerCap = 0x4,
  kHardware = 0x8,
  kSyncBoost = 0x10,
  kThermalSoftware = 0x20,
  kThermalHardware = 0x40,
  kPowerBrake = 0x80,
  kDisplay = 0x100,
};
// Times taken under these say nothing about a kernel. A power cap is not among them: a kernel that
// keeps the tensor cores busy always runs at it.
inline constexpr uint64_t kSpoils = kHardware | kThermalSoftware | kThermalHardware | kPowerBrake;
std::string describe_slowdowns(uint64_t reasons);  // "power cap, thermal (software)"; "none"

// What does not change during a run. What the card does not tell stays empty.
struct CardState {
  std::string driver_version;
  std::string uuid;
  std::optional<bool> ecc, mig;
  std::optional<double> power_limit_watts;
  std::optional<unsigned> max_clock_mhz, max_memory_mhz;
  std::vector<unsigned> other_processes;  // pids that compute on the card beside us
};

struct CardSample {
  uint64_t host_ns = 0;  // steady clock
  unsigned clock_mhz = 0, memory_mhz = 0;
  double watts = 0;
  double joules = 0;  // since the driver was loaded
  unsigned celsius = 0;
  uint64_t slowdowns = 0;
};

// One card as NVML sees it. A quantity that it does not support reads as 0.
class Card {
 public:
  static Result<std::shared_ptr<const Card>> open(const Device& device,
                                                  const std::string& library = "libnvidia-ml.so.1");
  CardState state() const;
  CardSample sample() const;

 private:
  struct Private;
  std::shared_ptr<const Private> private_;
};

// Samples the card from its own thread until stopped.
class Watch {
 public:
  explicit Watch(std::shared_ptr<const Card> card,
                 std::chrono::milliseconds period = std::chrono::milliseconds(10));
  ~Watch();
  std::vector<CardSample> stop();  // at least two samples: the first and the last moment

 private:
  struct Private;
  std::unique_ptr<Private> private_;
};

struct CardSummary {
  double seconds = 0;
  double clock_mhz = 0, memory_mhz = 0;  // medians
  double watts = 0;                      // energy over time, or the samples' mean
  double joules = 0;
  bool energy_counted = false;  // the card's energy counter was seen to step often enough
  unsigned celsius = 0;         // highest
  uint64_t slowdowns = 0;       // every one seen
};
CardSummary summarize(std::span<const CardSample> samples);

// Where the GPU's timer stands on the host's steady clock, to within tens of microseconds.
Result<int64_t> host_minus_gpu_ns(const Context& context, const Stream& stream);

// Takes out the rounds that overlap a sample with a slowdown that spoils them; says how many.
size_t drop_spoiled(std::vector<Round>& rounds, std::span<const CardSample> samples,
                    int64_t host_minus_gpu_ns);

}  // namespace namesake::gpu
