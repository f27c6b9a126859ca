// The part of NVML's C interface that we use, declared by ourselves and loaded by dlopen, as in
// driver_api.h.
#pragma once

#include <cstdint>

struct nvmlDevice_st;

namespace namesake::gpu {

enum NvmlClock : unsigned { kClockMultiprocessor = 1, kClockMemory = 2 };
inline constexpr unsigned kTemperatureOfGpu = 0;
inline constexpr int kNvmlNotSupported = 3;
inline constexpr int kNvmlInsufficientSize = 7;

struct NvmlProcess {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance, compute_instance;
};

#define NAMESAKE_NVML_FUNCTIONS(X)                                                               \
  X(init, "nvmlInit_v2", ())                                                                     \
  X(driver_version, "nvmlSystemGetDriverVersion", (char* text, unsigned length))                 \
  X(device_by_bus_id, "nvmlDeviceGetHandleByPciBusId_v2",                                        \
    (const char* bus_id, nvmlDevice_st** device))                                                \
  X(uuid, "nvmlDeviceGetUUID", (nvmlDevice_st * device, char* text, unsigned length))            \
  X(clock, "nvmlDeviceGetClockInfo", (nvmlDevice_st * device, unsigned which, unsigned* mhz))    \
  X(max_clock, "nvmlDeviceGetMaxClockInfo",                                                      \
    (nvmlDevice_st * device, unsigned which, unsigned* mhz))                                     \
  X(power, "nvmlDeviceGetPowerUsage", (nvmlDevice_st * device, unsigned* milliwatts))            \
  X(power_limit, "nvmlDeviceGetEnforcedPowerLimit",                                              \
    (nvmlDevice_st * device, unsigned* milliwatts))                                              \
  X(energy, "nvmlDeviceGetTotalEnergyConsumption",                                               \
    (nvmlDevice_st * device, unsigned long long* millijoules))                                   \
  X(temperature, "nvmlDeviceGetTemperature",                                                     \
    (nvmlDevice_st * device, unsigned sensor, unsigned* celsius))                                \
  X(slowdowns, "nvmlDeviceGetCurrentClocksThrottleReasons",                                      \
    (nvmlDevice_st * device, unsigned long long* reasons))                                       \
  X(ecc, "nvmlDeviceGetEccMode", (nvmlDevice_st * device, unsigned* current, unsigned* pending)) \
  X(mig, "nvmlDeviceGetMigMode", (nvmlDevice_st * device, unsigned* current, unsigned* pending)) \
  X(processes, "nvmlDeviceGetComputeRunningProcesses_v3",                                        \
    (nvmlDevice_st * device, unsigned* count, NvmlProcess* list))

struct Nvml {
#define NAMESAKE_DECLARE(name, symbol, parameters) int(*name) parameters = nullptr;
  NAMESAKE_NVML_FUNCTIONS(NAMESAKE_DECLARE)
#undef NAMESAKE_DECLARE
};

}  // namespace namesake::gpu
