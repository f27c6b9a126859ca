// Filling, poisoning and comparing buffers where they lie, at the speed of the GPU's memory.
//
// Equality is asked for some 200 times a kernel, of results of hundreds of megabytes: over the bus
// that takes minutes, on the GPU milliseconds. The kernels below are ours, in PTX for the oldest
// target that the driver takes, and compiled by it; whatever they find different is looked at again
// on the host.
#pragma once

#include <span>

#include "gpu/memory.h"
#include "gpu/module.h"

namespace namesake::measure {

class Checker {
 public:
  static Result<Checker> create(const gpu::Context& context);

  // `count` elements of `size` bytes by the rule of palette_entry (inputs.h); asynchronous.
  Status fill(const gpu::Stream& stream, gpu::DeviceAddress to, size_t count, size_t size,
              gpu::DeviceAddress palette, uint64_t seed) const;
  // gpu::poison(bytes, run); waits.
  Status poison(const gpu::Stream& stream, gpu::DeviceAddress to, size_t bytes, uint64_t run) const;
  // Whether the two agree in every bit; waits. Both must be readable up to a multiple of eight
  // bytes.
  Result<bool> same(const gpu::Stream& stream, gpu::DeviceAddress a, gpu::DeviceAddress b,
                    size_t bytes) const;

 private:
  Status launch(const gpu::Stream& stream, const gpu::Kernel& kernel,
                std::span<void* const> arguments) const;

  gpu::Module module_;
  gpu::Kernel fill_[4], poison_, compare_;  // fill_[i] for elements of 2^i bytes
  gpu::Buffer count_;
  unsigned blocks_ = 0;
};

}  // namespace namesake::measure
