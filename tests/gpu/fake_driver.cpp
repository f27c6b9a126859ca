// A CUDA driver without a GPU, for the tests: memory is the host's, time is a counter that kernels
// advance. A kernel named "sleep_N" takes N microseconds, and our clock probe runs at kMegahertz on
// kMultiprocessors multiprocessors. FAKE_CUDA_INIT sets cuInit's answer.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "gpu/driver_api.h"

using namespace namesake::gpu;

struct CUctx_st {};
struct CUmod_st {};
struct CUfunc_st {
  std::string name;
};
struct CUstream_st {
  std::vector<std::string>* recording = nullptr;
};
struct CUevent_st {
  uint64_t ns = 0;
};
struct CUgraph_st {
  std::vector<std::string> kernels;
};
struct CUlinkState_st {
  std::string text;
};
struct CUgraphExec_st {
  std::vector<std::string> kernels;
};

namespace {

constexpr int kInvalidValue = 1, kOutOfMemory = 2, kNotFound = 500, kInvalidImage = 200;
constexpr int kMultiprocessors = 4;
constexpr uint64_t kMegahertz = 1500;
constexpr size_t kMemory = size_t{1} << 30;

uint64_t now_ns = 1'000'000;
CUctx_st context;
CUmod_st module;
std::map<std::string, CUfunc_st> functions;

void run(const std::string& name) {
  if (name.rfind("sleep_", 0) == 0) now_ns += 1000 * std::strtoull(name.c_str() + 6, nullptr, 10);
}

void probe(void** arguments) {
  const auto out = *static_cast<DeviceAddress*>(arguments[0]);
  for (uint64_t sm = 0; sm < kMultiprocessors; ++sm) {
    const uint64_t reading[2] = {now_ns * kMegahertz / 1000 + sm * 12345, now_ns};
    std::memcpy(reinterpret_cast<char*>(out) + sm * sizeof reading, reading, sizeof reading);
  }
  now_ns += 2000;
}

}  // namespace

extern "C" {

int cuInit(unsigned) {
  const char* answer = std::getenv("FAKE_CUDA_INIT");
  return answer ? std::atoi(answer) : 0;
}
int cuDriverGetVersion(int* version) {
  return *version = 13000, 0;
}
int cuGetErrorName(int code, const char** name) {
  *name = code == kOutOfMemory ? "CUDA_ERROR_OUT_OF_MEMORY"
          : code == kNotFound  ? "CUDA_ERROR_NOT_FOUND"
                               : nullptr;
  return *name ? 0 : kInvalidValue;
}
int cuGetErrorString(int code, const char** text) {
  *text = code == kOutOfMemory ? "out of memory"
          : code == kNotFound  ? "named symbol not found"
                               : nullptr;
  return *text ? 0 : kInvalidValue;
}
int cuDeviceGetCount(int* count) {
  return *count = 1, 0;
}
int cuDeviceGet(int* device, int ordinal) {
  return *device = ordinal, 0;
}
int cuDeviceGetName(char* name, int, int) {
  return std::strcpy(name, "Fake GPU"), 0;
}
int cuDeviceGetPCIBusId(char* text, int, int) {
  return std::strcpy(text, "0000:01:00.0"), 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  switch (attribute) {
    case kMultiprocessorCount:
      return *value = kMultiprocessors, 0;
    case kComputeCapabilityMajor:
      return *value = 9, 0;
    case kComputeCapabilityMinor:
      return *value = 0, 0;
    case kL2CacheBytes:
      return *value = 1 << 20, 0;
    case kMaxThreadsPerMultiprocessor:
      return *value = 2048, 0;
    case kMaxSharedBytesPerBlockOptin:
      return *value = 232448, 0;
  }
  return kInvalidValue;
}
int cuDeviceTotalMem_v2(size_t* bytes, int) {
  return *bytes = kMemory, 0;
}
int cuDevicePrimaryCtxRetain(CUctx_st** out, int) {
  return *out = &context, 0;
}
int cuDevicePrimaryCtxRelease_v2(int) {
  return 0;
}
int cuCtxSetCurrent(CUctx_st*) {
  return 0;
}
int cuCtxSynchronize() {
  return 0;
}

int cuModuleLoadDataEx(CUmod_st** out, const void* image, unsigned options, int* names,
                       void** values) {
  if (std::strncmp(static_cast<const char*>(image), "garbage", 7) == 0) {
    for (unsigned i = 0; i < options; ++i)
      if (names[i] == kJitErrorLogBuffer)
        std::strcpy(static_cast<char*>(values[i]), "line 1: syntax error");
    return kInvalidImage;
  }
  return *out = &module, 0;
}
int cuLinkCreate_v2(unsigned, int*, void**, CUlinkState_st** state) {
  return *state = new CUlinkState_st, 0;
}
int cuLinkAddData_v2(CUlinkState_st* state, int, void* data, size_t bytes, const char*, unsigned, int*, void**) {
  return state->text.assign(static_cast<const char*>(data), bytes), 0;
}
int cuLinkComplete(CUlinkState_st* state, void** cubin, size_t* bytes) {
  return *cubin = state->text.data(), *bytes = state->text.size(), 0;
}
int cuLinkDestroy(CUlinkState_st* state) {
  return delete state, 0;
}
int cuModuleUnload(CUmod_st*) {
  return 0;
}
int cuModuleGetFunction(CUfunc_st** out, CUmod_st*, const char* name) {
  if (std::strcmp(name, "absent") == 0) return kNotFound;
  *out = &functions.try_emplace(name, CUfunc_st{name}).first->second;
  return 0;
}
int cuFuncGetAttribute(int* value, int attribute, CUfunc_st*) {
  *value = attribute == kMaxThreadsPerBlock ? 1024 : attribute == kRegisters ? 40 : 0;
  return 0;
}
int cuFuncSetAttribute(CUfunc_st*, int, int) {
  return 0;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunc_st*, int, size_t) {
  return *blocks = 2, 0;
}
int cuLaunchKernelEx(const LaunchConfig* config, CUfunc_st* function, void** arguments, void**) {
  if (config->stream->recording) return config->stream->recording->push_back(function->name), 0;
  if (function->name == "namesake_clock_probe") return probe(arguments), 0;
  return run(function->name), 0;
}

int cuMemAlloc_v2(DeviceAddress* address, size_t bytes) {
  if (bytes > kMemory) return kOutOfMemory;
  *address = reinterpret_cast<DeviceAddress>(std::malloc(bytes));
  return 0;
}
int cuMemFree_v2(DeviceAddress address) {
  return std::free(reinterpret_cast<void*>(address)), 0;
}
int cuMemGetInfo_v2(size_t* free, size_t* total) {
  return *free = *total = kMemory, 0;
}
int cuMemcpyHtoDAsync_v2(DeviceAddress to, const void* from, size_t bytes, CUstream_st*) {
  return std::memcpy(reinterpret_cast<void*>(to), from, bytes), 0;
}
int cuMemcpyDtoHAsync_v2(void* to, DeviceAddress from, size_t bytes, CUstream_st*) {
  return std::memcpy(to, reinterpret_cast<void*>(from), bytes), 0;
}
int cuMemcpyDtoDAsync_v2(DeviceAddress to, DeviceAddress from, size_t bytes, CUstream_st*) {
  return std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes), 0;
}
int cuMemsetD8Async(DeviceAddress to, unsigned char value, size_t count, CUstream_st*) {
  return std::memset(reinterpret_cast<void*>(to), value, count), 0;
}

int cuStreamCreate(CUstream_st** stream, unsigned) {
  return *stream = new CUstream_st, 0;
}
int cuStreamDestroy_v2(CUstream_st* stream) {
  return delete stream, 0;
}
int cuStreamSynchronize(CUstream_st*) {
  return 0;
}
int cuStreamBeginCapture_v2(CUstream_st* stream, int) {
  return stream->recording = new std::vector<std::string>, 0;
}
int cuStreamEndCapture(CUstream_st* stream, CUgraph_st** graph) {
  *graph = new CUgraph_st{*stream->recording};
  delete stream->recording;
  return stream->recording = nullptr, 0;
}
int cuEventCreate(CUevent_st** event, unsigned) {
  return *event = new CUevent_st, 0;
}
int cuEventDestroy_v2(CUevent_st* event) {
  return delete event, 0;
}
int cuEventRecord(CUevent_st* event, CUstream_st*) {
  return event->ns = now_ns, 0;
}
int cuEventQuery(CUevent_st*) {
  return std::getenv("FAKE_CUDA_HANGS") ? kErrorNotReady : 0;
}
int cuEventElapsedTime(float* ms, CUevent_st* start, CUevent_st* end) {
  return *ms = static_cast<float>(end->ns - start->ns) / 1e6f, 0;
}
int cuGraphInstantiateWithFlags(CUgraphExec_st** out, CUgraph_st* graph, unsigned long long) {
  return *out = new CUgraphExec_st{graph->kernels}, 0;
}
int cuGraphGetNodes(CUgraph_st* graph, CUgraphNode_st**, size_t* count) {
  return *count = graph->kernels.size(), 0;
}
int cuGraphLaunch(CUgraphExec_st* graph, CUstream_st*) {
  for (const std::string& kernel : graph->kernels) run(kernel);
  return 0;
}
int cuGraphDestroy(CUgraph_st* graph) {
  return delete graph, 0;
}
int cuGraphExecDestroy(CUgraphExec_st* graph) {
  return delete graph, 0;
}

#ifndef FAKE_OLD_DRIVER
int cuTensorMapEncodeTiled(TensorMap* map, int, uint32_t rank, void*, const uint64_t*,
                           const uint64_t*, const uint32_t*, const uint32_t*, int, int, int, int) {
  return map->opaque[0] = rank, 0;
}
#endif

}  // extern "C"
