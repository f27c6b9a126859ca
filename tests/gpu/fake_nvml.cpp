// NVML without a card, for the tests: 1500 MHz, 600 W, an energy counter that steps every fifth
// reading, and a thermal slowdown if FAKE_NVML_HOT is set. It has no MIG.
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "gpu/nvml_api.h"

using namespace namesake::gpu;

struct nvmlDevice_st {};
namespace {
nvmlDevice_st card;
double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
}  // namespace

extern "C" {
int nvmlInit_v2() {
  return 0;
}
int nvmlSystemGetDriverVersion(char* text, unsigned) {
  return std::strcpy(text, "580.1"), 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, nvmlDevice_st** device) {
  return *device = &card, std::strcmp(bus_id, "0000:01:00.0") == 0 ? 0 : 6;
}
int nvmlDeviceGetUUID(nvmlDevice_st*, char* text, unsigned) {
  return std::strcpy(text, "GPU-fake"), 0;
}
int nvmlDeviceGetClockInfo(nvmlDevice_st*, unsigned which, unsigned* mhz) {
  return *mhz = which == kClockMemory ? 3201 : 1500, 0;
}
int nvmlDeviceGetMaxClockInfo(nvmlDevice_st*, unsigned which, unsigned* mhz) {
  return *mhz = which == kClockMemory ? 3201 : 1980, 0;
}
int nvmlDeviceGetPowerUsage(nvmlDevice_st*, unsigned* milliwatts) {
  return *milliwatts = 600'000, 0;
}
int nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_st*, unsigned* milliwatts) {
  return *milliwatts = 700'000, 0;
}
int nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_st*, unsigned long long* millijoules) {
  static int reading = 0;
  static unsigned long long shown = 0;
  if (reading++ % 5 == 0) shown = static_cast<unsigned long long>(seconds() * 600'000);
  return *millijoules = shown, 0;
}
int nvmlDeviceGetTemperature(nvmlDevice_st*, unsigned, unsigned* celsius) {
  return *celsius = 55, 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_st*, unsigned long long* reasons) {
  return *reasons = std::getenv("FAKE_NVML_HOT") ? 0x40 : 0x4, 0;
}
int nvmlDeviceGetEccMode(nvmlDevice_st*, unsigned* current, unsigned* pending) {
  return *current = *pending = 1, 0;
}
int nvmlDeviceGetMigMode(nvmlDevice_st*, unsigned*, unsigned*) {
  return kNvmlNotSupported;
}
int nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_st*, unsigned* count, NvmlProcess* list) {
  return *count = 1, list[0] = {4242, 0, 0, 0}, 0;
}
}
