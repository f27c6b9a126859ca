// Device memory and moving bytes. Every copy and fill is asynchronous on its stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gpu/driver.h"
#include "gpu/owned.h"
#include "gpu/stream.h"

namespace namesake::gpu {

class Buffer {
 public:
  Buffer() = default;
  static Result<Buffer> allocate(const Context& context, size_t bytes);  // at least one byte

  DeviceAddress address() const { return memory_.get(); }
  void* pointer() const { return reinterpret_cast<void*>(memory_.get()); }
  size_t bytes() const { return bytes_; }

 private:
  Owned<DeviceAddress, &Driver::memory_free> memory_;
  size_t bytes_ = 0;
};

// Source and destination must live until the stream has been waited for.
Status upload(const Stream& stream, DeviceAddress to, std::span<const std::byte> from);
Status download(const Stream& stream, std::span<std::byte> to, DeviceAddress from);
Status copy(const Stream& stream, DeviceAddress to, DeviceAddress from, size_t bytes);
Status fill(const Stream& stream, DeviceAddress to, uint8_t value, size_t bytes);

// The whole buffer on the host; waits.
Result<std::vector<std::byte>> read(const Stream& stream, const Buffer& buffer);

struct MemoryUse {
  size_t free = 0, total = 0;
};
Result<MemoryUse> memory_use(const Context& context);

}  // namespace namesake::gpu
