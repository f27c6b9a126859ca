#include "gpu/memory.h"

#include <fmt/format.h>

#include <algorithm>

namespace namesake::gpu {

Result<Buffer> Buffer::allocate(const Context& context, size_t bytes) {
  const Driver& driver = context.driver();
  DeviceAddress address = 0;
  TRY(check(driver, driver.memory_allocate(&address, std::max<size_t>(bytes, 1)),
            fmt::format("allocating {} bytes on the GPU", bytes)));
  Buffer buffer;
  buffer.memory_ = {driver, address};
  buffer.bytes_ = bytes;
  return buffer;
}

Status upload(const Stream& stream, DeviceAddress to, std::span<const std::byte> from) {
  const Driver& driver = stream.driver();
  return check(driver, driver.copy_in(to, from.data(), from.size(), stream.get()),
               fmt::format("copying {} bytes to the GPU", from.size()));
}

Status download(const Stream& stream, std::span<std::byte> to, DeviceAddress from) {
  const Driver& driver = stream.driver();
  return check(driver, driver.copy_out(to.data(), from, to.size(), stream.get()),
               fmt::format("copying {} bytes from the GPU", to.size()));
}

Status copy(const Stream& stream, DeviceAddress to, DeviceAddress from, size_t bytes) {
  const Driver& driver = stream.driver();
  return check(driver, driver.copy_across(to, from, bytes, stream.get()),
               fmt::format("copying {} bytes on the GPU", bytes));
}

Status fill(const Stream& stream, DeviceAddress to, uint8_t value, size_t bytes) {
  const Driver& driver = stream.driver();
  return check(driver, driver.fill_bytes(to, value, bytes, stream.get()),
               fmt::format("filling {} bytes on the GPU", bytes));
}

Result<std::vector<std::byte>> read(const Stream& stream, const Buffer& buffer) {
  std::vector<std::byte> bytes(buffer.bytes());
  TRY(download(stream, bytes, buffer.address()));
  TRY(wait(stream));
  return bytes;
}

Result<MemoryUse> memory_use(const Context& context) {
  MemoryUse use;
  TRY(check(context.driver(), context.driver().memory_info(&use.free, &use.total),
            "cuMemGetInfo_v2"));
  return use;
}

}  // namespace namesake::gpu
