// The buffers of one kernel on the GPU: guarded, filled, poisoned, and what an argument list points
// at.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gpu/memory.h"
#include "gpu/module.h"
#include "measure/checker.h"
#include "measure/inputs.h"
#include "measure/plan.h"

namespace namesake::measure {

// Memory between two guard zones (gpu/equality.h). It begins where a large allocation of an
// application's would, at a whole 2 MB, or a given shift behind that: a kernel that waits for
// memory can differ by a fifth between places that differ by a few kilobytes, for the caches' sets
// and the memory's channels follow from addresses.
class Guarded {
 public:
  static constexpr size_t kAlignment = size_t{2} << 20;
  static constexpr size_t kLargestShift = size_t{1} << 16;

  static Result<Guarded> allocate(const gpu::Context& context, const gpu::Stream& stream,
                                  size_t bytes);
  gpu::DeviceAddress address() const { return address_; }
  size_t bytes() const { return bytes_; }
  // Moves the start, and the zones with it; what was in it is lost.
  Status shift(const gpu::Stream& stream, size_t bytes);
  // "" or where the first wrong byte lies: "12 bytes past the end".
  Result<std::string> damage(const gpu::Stream& stream) const;

 private:
  gpu::Buffer memory_;
  gpu::DeviceAddress address_ = 0;
  size_t bytes_ = 0;
};

class KernelMemory {
 public:
  static Result<KernelMemory> create(const gpu::Context& context, const Checker& checker,
                                     const gpu::Stream& stream, const Plan& plan, int workers);

  // Puts a set of inputs in place.
  Status load(InputKind kind);
  // Moves all buffers so many bytes behind where they were allocated; then load() and
  // prepare_outputs() are due.
  Status shift(size_t bytes);
  // Outputs as they must be before run number `run`: filled anew, or poisoned.
  Status prepare_outputs(uint64_t run);

  size_t outputs() const { return outputs_.size(); }
  const BufferPlan& output(size_t i) const { return plan_->buffers[outputs_[i]]; }
  // Keeps the outputs as they are now, under one of two numbers, to compare with later.
  Status keep(size_t slot);
  Result<bool> same_as_kept(size_t slot, size_t output) const;
  Result<std::vector<std::byte>> read_output(size_t output) const;
  Result<std::vector<std::byte>> read_kept(size_t slot, size_t output) const;

  // "" or the first buffer written to outside its bounds, in words.
  Result<std::string> damage() const;

  // The elements of a kept output at these places, one behind the other; ascending.
  Result<std::vector<std::byte>> read_kept(size_t slot, size_t output,
                                           std::span<const size_t> places) const;

  // What lies in a buffer by the set last loaded.
  const Content& content(size_t buffer) const { return contents_[buffer]; }
  gpu::DeviceAddress address(size_t buffer) const { return buffers_[buffer].address(); }

  // As gpu::launch takes them; they point into this object.
  std::vector<void*> arguments();

 private:
  Status point();  // what arguments() points at, from where the buffers lie

  const gpu::Context* context_ = nullptr;
  const Checker* checker_ = nullptr;
  const gpu::Stream* stream_ = nullptr;
  const Plan* plan_ = nullptr;
  int workers_ = 1;
  std::vector<Guarded> buffers_;
  std::vector<Content> contents_;
  std::vector<size_t> outputs_;       // places of the outputs among the buffers
  std::vector<gpu::Buffer> kept_[2];  // by output
  std::vector<std::optional<gpu::Buffer>>
      pristine_;  // by output: what a filled one is restored from
  gpu::Buffer palette_;
  std::vector<uint64_t> scalars_;  // by argument: addresses and numbers
  std::vector<gpu::TensorMap> maps_;
};

}  // namespace namesake::measure
