// A CUDA driver without a GPU, for the tests: memory is the host's, time is a counter that kernels
// advance. A kernel named "sleep_N" takes N microseconds, our clock probe runs at kMegahertz on
// kMultiprocessors multiprocessors, and our checker's kernels do what they are for. FAKE_CUDA_INIT
// sets cuInit's answer.
//
// What another kernel does is said in its code, as text: "FAKE us=N deed deed …;". It takes (in,
// out, n), doubles n floats in N microseconds (jittering a little, as real kernels do), and
// misbehaves by its deeds:
//   flip      one bit of one element differs if the first inputs are denormal
//   partial   the last element stays unwritten
//   overrun   writes an element more
//   varies    the first element differs from run to run
//   fault     the launch fails, and everything after it
//   hang      never ends
//   crash     the process dies
//   shifted_us=N  it takes so long where its first buffer does not begin at a whole 2 MB
#include <elf.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gpu/driver_api.h"

using namespace namesake::gpu;

struct CUctx_st {};
struct CUmod_st {
  std::string code;
};
struct CUfunc_st {
  std::string name, code;
  bool shifted = false;  // launched with its first buffer elsewhere than at a whole 2 MB
  bool has(const char* deed) const { return code.find(deed) != std::string::npos; }
};
struct CUstream_st {
  std::vector<CUfunc_st>* recording = nullptr;
};
struct CUevent_st {
  uint64_t ns = 0;
};
struct CUgraph_st {
  std::vector<CUfunc_st> kernels;
};
struct CUlinkState_st {
  std::string text;
};
struct CUgraphExec_st {
  std::vector<CUfunc_st> kernels;
};

namespace {

constexpr int kInvalidValue = 1, kOutOfMemory = 2, kNotFound = 500, kInvalidImage = 200;
constexpr int kMultiprocessors = 4;
constexpr uint64_t kMegahertz = 1500;
constexpr size_t kMemory = size_t{1} << 30;

uint64_t now_ns = 1'000'000;
CUctx_st context;
std::vector<std::unique_ptr<CUfunc_st>> functions;
constexpr int kIllegalAddress = 700;
bool faulted = false, hanging = false;

// Time alone: what a kernel in a graph does.
void pass(const CUfunc_st& function) {
  static std::mt19937 random(1);
  if (function.name.rfind("sleep_", 0) == 0)
    now_ns += 1000 * std::strtoull(function.name.c_str() + 6, nullptr, 10);
  size_t us = function.code.find("us=");
  if (us == std::string::npos) return;
  if (const size_t shifted = function.code.find("shifted_us=");
      function.shifted && shifted != std::string::npos)
    us = shifted + 8;
  const double ns = 1000 * std::strtod(function.code.c_str() + us + 3, nullptr);
  now_ns += static_cast<uint64_t>(ns * std::normal_distribution<double>(1, 0.002)(random));
}

uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

template <class T>
T argument(void** arguments, size_t i) {
  return *static_cast<T*>(arguments[i]);
}

// The checker's kernels: the count first, then what it loads.
void fill(size_t size, void** arguments) {
  char* to = argument<char*>(arguments, 1);
  const char* palette = argument<char*>(arguments, 2);
  for (uint64_t i = 0; i < argument<uint64_t>(arguments, 0); ++i)
    std::memcpy(to + i * size,
                palette + (mixed(i + argument<uint64_t>(arguments, 3)) & 65535) * size, size);
}

void poison(void** arguments) {
  auto* to = argument<uint64_t*>(arguments, 1);
  for (uint64_t i = 0; i < argument<uint64_t>(arguments, 0); ++i)
    to[i] = mixed(i + argument<uint64_t>(arguments, 2)) ^ argument<uint64_t>(arguments, 3);
}

void compare(void** arguments) {
  const size_t bytes = 8 * argument<uint64_t>(arguments, 0);
  if (std::memcmp(argument<void*>(arguments, 1), argument<void*>(arguments, 2), bytes) != 0)
    *argument<uint64_t*>(arguments, 3) = 1;
}

void act(const CUfunc_st& function, void** arguments) {
  if (function.has("crash")) std::abort();
  faulted = faulted || function.has("fault");
  hanging = hanging || function.has("hang");
  if (function.code.empty() || faulted || hanging) return;
  const float* in = argument<float*>(arguments, 0);
  float* out = argument<float*>(arguments, 1);
  const int n = argument<int>(arguments, 2);
  static int runs = 0;
  for (int i = 0; i < n - function.has("partial"); ++i) out[i] = 2 * in[i];
  if (function.has("overrun")) out[n] = 1;
  if (function.has("varies")) out[0] += static_cast<float>(runs++ % 3);
  const auto subnormal = [](float value) { return std::fpclassify(value) == FP_SUBNORMAL; };
  if (function.has("flip") && std::all_of(in, in + 8, subnormal)) {
    uint32_t bits;
    std::memcpy(&bits, out + n / 2, sizeof bits);
    bits ^= 1;
    std::memcpy(out + n / 2, &bits, sizeof bits);
  }
}

// The text in an image that says what its kernels do. The image's own header says where it ends.
std::string code_of(const void* image) {
  const char* bytes = static_cast<const char*>(image);
  if (std::memcmp(bytes,
                  "\x7f"
                  "ELF",
                  4) != 0)
    return {};
  Elf64_Ehdr header;
  std::memcpy(&header, bytes, sizeof header);
  const std::string whole(bytes, header.e_shoff + header.e_shnum * sizeof(Elf64_Shdr));
  const size_t begin = whole.find("FAKE ");
  return begin == std::string::npos ? std::string()
                                    : whole.substr(begin, whole.find(';', begin) - begin);
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
  *name = code == kOutOfMemory      ? "CUDA_ERROR_OUT_OF_MEMORY"
          : code == kNotFound       ? "CUDA_ERROR_NOT_FOUND"
          : code == kIllegalAddress ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                                    : nullptr;
  return *name ? 0 : kInvalidValue;
}
int cuGetErrorString(int code, const char** text) {
  *text = code == kOutOfMemory      ? "out of memory"
          : code == kNotFound       ? "named symbol not found"
          : code == kIllegalAddress ? "an illegal memory access was encountered"
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
  return *out = new CUmod_st{code_of(image)}, 0;
}
int cuLinkCreate_v2(unsigned, int*, void**, CUlinkState_st** state) {
  return *state = new CUlinkState_st, 0;
}
int cuLinkAddData_v2(CUlinkState_st* state, int, void* data, size_t bytes, const char*, unsigned,
                     int*, void**) {
  return state->text.assign(static_cast<const char*>(data), bytes), 0;
}
int cuLinkComplete(CUlinkState_st* state, void** cubin, size_t* bytes) {
  return *cubin = state->text.data(), *bytes = state->text.size(), 0;
}
int cuLinkDestroy(CUlinkState_st* state) {
  return delete state, 0;
}
int cuModuleUnload(CUmod_st* module) {
  return delete module, 0;
}
int cuModuleGetFunction(CUfunc_st** out, CUmod_st* module, const char* name) {
  if (std::strcmp(name, "absent") == 0) return kNotFound;
  functions.push_back(std::make_unique<CUfunc_st>(CUfunc_st{name, module->code}));
  return *out = functions.back().get(), 0;
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
  if (config->stream->recording) {
    config->stream->recording->push_back(*function);
    if (function->has("shifted_us"))
      config->stream->recording->back().shifted = argument<uint64_t>(arguments, 0) % (2 << 20) != 0;
    return 0;
  }
  const std::string& name = function->name;
  if (name == "namesake_clock_probe") return probe(arguments), 0;
  if (name.rfind("namesake_fill_", 0) == 0) return fill(name.back() - '0', arguments), 0;
  if (name == "namesake_poison") return poison(arguments), 0;
  if (name == "namesake_compare") return compare(arguments), 0;
  act(*function, arguments);
  return pass(*function), 0;
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
  return stream->recording = new std::vector<CUfunc_st>, 0;
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
  if (faulted) return kIllegalAddress;
  return hanging || std::getenv("FAKE_CUDA_HANGS") ? kErrorNotReady : 0;
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
  for (const CUfunc_st& kernel : graph->kernels) pass(kernel);
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
