// Modules from cubin or PTX bytes, the kernels in them, launches and tensor maps.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "gpu/driver.h"
#include "gpu/owned.h"
#include "gpu/stream.h"

namespace namesake::gpu {

using Module = Owned<CUmod_st*, &Driver::module_unload>;

// A cubin, a fatbin, or PTX, which the driver then compiles by itself; its complaints are in the
// error.
Result<Module> load_module(const Context& context, std::span<const std::byte> image);
Result<Module> load_module(const Context& context, const std::string& ptx);

struct Kernel {
  CUfunc_st* function = nullptr;  // lives as long as its module
  std::string symbol;
  int registers = 0;
  int local_bytes = 0;   // stack and spills of one thread
  int shared_bytes = 0;  // static
  int constant_bytes = 0;
  int max_threads = 0;     // of a block
  int binary_version = 0;  // 90 for sm_90
};
Result<Kernel> find_kernel(const Module& module, const std::string& symbol);

struct Size3 {
  unsigned x = 1, y = 1, z = 1;
};

struct Launch {
  Size3 grid, block;
  Size3 cluster;  // 1,1,1: none
  unsigned shared_bytes = 0;
};

// Lets the kernel use the launch's shared memory and cluster size; once, before the first launch.
Status prepare(const Context& context, const Kernel& kernel, const Launch& launch);
// Each argument points at its value, in the order of the kernel's parameters.
Status launch(const Stream& stream, const Kernel& kernel, const Launch& launch,
              std::span<void* const> arguments);

// How many blocks of the launch fit on one multiprocessor.
Result<int> blocks_per_multiprocessor(const Context& context, const Kernel& kernel,
                                      const Launch& launch);

struct TensorMapPlan {
  TensorElement element = kTensorF16;
  std::vector<uint64_t> sizes;    // innermost first
  std::vector<uint64_t> strides;  // bytes; of all dimensions but the innermost
  std::vector<uint32_t> box;
  TensorSwizzle swizzle = kSwizzleNone;
  TensorPromotion promotion = kPromoteNone;
  TensorFill fill = kFillZero;
};
Result<TensorMap> encode_tensor_map(const Context& context, DeviceAddress address,
                                    const TensorMapPlan& plan);

}  // namespace namesake::gpu
