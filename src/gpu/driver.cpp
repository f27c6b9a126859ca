#include "gpu/driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <utility>

namespace namesake::gpu {
namespace {

// The first driver that has every function of the table, cuTensorMapEncodeTiled being the youngest.
constexpr const char* kOldestDriver = "the driver of CUDA 12.0 (525) or newer is needed";

template <class Function>
Status bind(void* library, const std::string& path, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
  if (function) return {};
  return error(fmt::format("{} has no {}: {}", path, symbol, kOldestDriver));
}

Result<int> attribute(const Driver& driver, int device, DeviceAttribute which) {
  int value = 0;
  TRY(check(driver, driver.device_attribute(&value, which, device), "cuDeviceGetAttribute"));
  return value;
}

}  // namespace

Result<std::unique_ptr<const Driver>> load_driver(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* reason = dlerror();
    return error(fmt::format("this needs an NVIDIA GPU and its driver, and there is none here ({})",
                             reason ? reason : path));
  }
  auto driver = std::make_unique<Driver>();
#define NAMESAKE_BIND(name, symbol, parameters) TRY(bind(library, path, symbol, driver->name));
  NAMESAKE_DRIVER_FUNCTIONS(NAMESAKE_BIND)
#undef NAMESAKE_BIND
  const int code = driver->init(0);
  if (code == kErrorNoDevice)
    return error("this needs an NVIDIA GPU; a driver is installed but finds none");
  TRY(check(*driver, code, "starting the NVIDIA driver"));
  return driver;
}

Status check(const Driver& driver, int code, const std::string& what) {
  if (code == kSuccess) return {};
  const char* name = nullptr;
  const char* text = nullptr;
  driver.error_name(code, &name);
  driver.error_string(code, &text);
  return error(fmt::format("{}: {} ({})", what, text ? text : "unknown error",
                           name ? std::string(name) : std::to_string(code)));
}

Result<int> count_devices(const Driver& driver) {
  int count = 0;
  TRY(check(driver, driver.device_count(&count), "cuDeviceGetCount"));
  return count;
}

Result<Device> open_device(const Driver& driver, int ordinal) {
  TRY_ASSIGN(const int count, count_devices(driver));
  if (ordinal < 0 || ordinal >= count)
    return error(
        fmt::format("there is no GPU {}: the driver shows {} (numbered from 0)", ordinal, count));
  Device device;
  device.ordinal = ordinal;
  TRY(check(driver, driver.device_get(&device.handle, ordinal), "cuDeviceGet"));
  std::array<char, 256> text{};
  TRY(check(driver, driver.device_name(text.data(), text.size() - 1, device.handle),
            "cuDeviceGetName"));
  device.name = text.data();
  TRY(check(driver, driver.device_bus_id(text.data(), text.size() - 1, device.handle),
            "cuDeviceGetPCIBusId"));
  device.bus_id = text.data();
  TRY_ASSIGN(device.major, attribute(driver, device.handle, kComputeCapabilityMajor));
  TRY_ASSIGN(device.minor, attribute(driver, device.handle, kComputeCapabilityMinor));
  TRY_ASSIGN(device.multiprocessors, attribute(driver, device.handle, kMultiprocessorCount));
  TRY_ASSIGN(device.threads_per_multiprocessor,
             attribute(driver, device.handle, kMaxThreadsPerMultiprocessor));
  TRY_ASSIGN(device.l2_bytes, attribute(driver, device.handle, kL2CacheBytes));
  TRY_ASSIGN(device.shared_bytes_per_block,
             attribute(driver, device.handle, kMaxSharedBytesPerBlockOptin));
  TRY(check(driver, driver.device_memory(&device.memory_bytes, device.handle),
            "cuDeviceTotalMem_v2"));
  return device;
}

Result<int> driver_version(const Driver& driver) {
  int version = 0;
  TRY(check(driver, driver.driver_version(&version), "cuDriverGetVersion"));
  return version;
}

Result<Context> Context::retain(const Driver& driver, const Device& device) {
  CUctx_st* raw = nullptr;
  TRY(check(driver, driver.context_retain(&raw, device.handle),
            fmt::format("making a context on GPU {}", device.ordinal)));
  Context context(driver, device, raw);
  TRY(context.make_current());
  return context;
}

Context::Context(Context&& other) noexcept
    : driver_(other.driver_), device_(other.device_), raw_(std::exchange(other.raw_, nullptr)) {}

Context::~Context() {
  if (raw_) driver_->context_release(device_.handle);
}

Status Context::make_current() const {
  return check(*driver_, driver_->context_set(raw_), "cuCtxSetCurrent");
}

Status Context::synchronize() const {
  return check(*driver_, driver_->context_synchronize(), "waiting for the GPU");
}

}  // namespace namesake::gpu
