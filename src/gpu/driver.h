// Finding the driver and a device, and saying in one sentence why there is none.
#pragma once

#include <memory>
#include <string>

#include "gpu/driver_api.h"
#include "util/error.h"

namespace namesake::gpu {

// Opens the driver library and initialises it. The library is never closed: the driver keeps
// threads and exit handlers of its own.
Result<std::unique_ptr<const Driver>> load_driver(const std::string& library = "libcuda.so.1");

// The driver's answer as a sentence: "cuMemAlloc_v2 of 12 bytes: out of memory
// (CUDA_ERROR_OUT_OF_MEMORY)".
Status check(const Driver& driver, int code, const std::string& what);

// Everything about a device that a report or a launch plan needs.
struct Device {
  int ordinal = 0;
  int handle = 0;
  std::string name;
  std::string bus_id;
  int major = 0, minor = 0;
  int multiprocessors = 0;
  int threads_per_multiprocessor = 0;
  int l2_bytes = 0;
  int shared_bytes_per_block = 0;  // the most a kernel can opt in to
  size_t memory_bytes = 0;
};

Result<int> count_devices(const Driver& driver);
Result<Device> open_device(const Driver& driver, int ordinal);
Result<int> driver_version(const Driver& driver);  // 13000 for CUDA 13.0

// The device's primary context, which the CUDA runtime and cuDNN share; current on the thread that
// made it.
class Context {
 public:
  static Result<Context> retain(const Driver& driver, const Device& device);
  Context(Context&& other) noexcept;
  Context& operator=(Context&&) = delete;
  ~Context();

  const Driver& driver() const { return *driver_; }
  const Device& device() const { return device_; }
  Status make_current() const;  // on another thread
  Status synchronize() const;

 private:
  Context(const Driver& driver, const Device& device, CUctx_st* raw)
      : driver_(&driver), device_(device), raw_(raw) {}
  const Driver* driver_;
  Device device_;
  CUctx_st* raw_;
};

}  // namespace namesake::gpu
