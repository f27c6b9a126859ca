#include "gpu/clock_probe.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "gpu/statistics.h"

namespace namesake::gpu {
namespace {

constexpr size_t kSlots = 512;  // no GPU has more multiprocessors
// The timer steps by up to a microsecond.
constexpr uint64_t kShortestSpan = 1'000'000;

// One full block for each multiprocessor; each stores under its multiprocessor's number, so that it
// does not matter where the blocks land. Compiled by the driver: written for the oldest target it
// takes.
constexpr const char* kProbe = R"(
.version 6.4
.target sm_52
.address_size 64
.visible .entry namesake_clock_probe(.param .u64 out)
{
  .reg .pred %p;
  .reg .b32 %r<3>;
  .reg .b64 %d<5>;
  mov.u32 %r0, %tid.x;
  setp.ne.u32 %p, %r0, 0;
  @%p ret;
  mov.u32 %r1, %smid;
  and.b32 %r1, %r1, 511;
  ld.param.u64 %d0, [out];
  mul.wide.u32 %d1, %r1, 16;
  add.u64 %d0, %d0, %d1;
  mov.u64 %d2, %clock64;
  mov.u64 %d3, %globaltimer;
  st.global.u64 [%d0], %d2;
  st.global.u64 [%d0+8], %d3;
  ret;
}
)";

}  // namespace

Result<ClockProbe> ClockProbe::create(const Context& context, size_t readings) {
  ClockProbe probe;
  TRY_ASSIGN(probe.module_, load_module(context, std::string(kProbe)));
  TRY_ASSIGN(probe.kernel_, find_kernel(probe.module_, "namesake_clock_probe"));
  TRY_ASSIGN(probe.buffer_, Buffer::allocate(context, readings * kSlots * sizeof(ClockReading)));
  probe.readings_ = readings;
  probe.blocks_ = static_cast<unsigned>(context.device().multiprocessors);
  const Driver& driver = context.driver();
  // On the null stream and waited for: a slot that no block reaches must read as zero.
  TRY(check(driver, driver.fill_bytes(probe.buffer_.address(), 0, probe.buffer_.bytes(), nullptr),
            "clearing the clock probe"));
  TRY(context.synchronize());
  return probe;
}

Status ClockProbe::read(const Stream& stream, size_t reading) const {
  if (reading >= readings_) return error("the clock probe has no room for another reading");
  DeviceAddress slots = buffer_.address() + reading * kSlots * sizeof(ClockReading);
  std::array<void*, 1> arguments = {&slots};
  return launch(stream, kernel_, {.grid = {blocks_}, .block = {1024}}, arguments);
}

Result<std::vector<std::vector<ClockReading>>> ClockProbe::collect(const Stream& stream) const {
  TRY_ASSIGN(const std::vector<std::byte> bytes, gpu::read(stream, buffer_));
  std::vector<std::vector<ClockReading>> all(readings_, std::vector<ClockReading>(kSlots));
  const size_t stride = kSlots * sizeof(ClockReading);
  for (size_t i = 0; i < readings_; ++i) std::memcpy(all[i].data(), &bytes[i * stride], stride);
  return all;
}

ClockSpan clock_between(std::span<const ClockReading> before, std::span<const ClockReading> after) {
  ClockSpan span;
  std::vector<double> clocks;
  for (size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    if (before[i].nanoseconds == 0 || after[i].nanoseconds <= before[i].nanoseconds) continue;
    const uint64_t elapsed = after[i].nanoseconds - before[i].nanoseconds;
    span.begin_ns =
        span.begin_ns ? std::min(span.begin_ns, before[i].nanoseconds) : before[i].nanoseconds;
    span.end_ns = std::max(span.end_ns, after[i].nanoseconds);
    if (elapsed < kShortestSpan || after[i].cycles <= before[i].cycles) continue;
    clocks.push_back(1e3 * static_cast<double>(after[i].cycles - before[i].cycles) /
                     static_cast<double>(elapsed));
  }
  span.megahertz = median(clocks);
  return span;
}

}  // namespace namesake::gpu
