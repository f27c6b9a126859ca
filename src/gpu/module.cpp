#include "gpu/module.h"

#include <fmt/format.h>

#include <array>

namespace namesake::gpu {
namespace {

constexpr unsigned kPortableClusterBlocks = 8;

unsigned blocks_of(const Size3& size) {
  return size.x * size.y * size.z;
}

Result<int> attribute(const Driver& driver, CUfunc_st* function, FunctionAttribute which) {
  int value = 0;
  TRY(check(driver, driver.function_attribute(&value, which, function), "cuFuncGetAttribute"));
  return value;
}

Result<Module> load(const Context& context, const void* image) {
  const Driver& driver = context.driver();
  std::array<char, 4096> log{};
  std::array<int, 2> options = {kJitErrorLogBuffer, kJitErrorLogBufferBytes};
  // The last character stays ours, so that the log ends whatever the driver writes.
  std::array<void*, 2> values = {log.data(), reinterpret_cast<void*>(log.size() - 1)};
  CUmod_st* raw = nullptr;
  const int code = driver.module_load(&raw, image, options.size(), options.data(), values.data());
  const std::string said = log.data();
  TRY(check(driver, code, said.empty() ? "loading code" : "loading code (" + said + ")"));
  return Module(driver, raw);
}

}  // namespace

Result<Module> load_module(const Context& context, std::span<const std::byte> image) {
  // The driver is given no length: it trusts the image's own header.
  if (image.size() < 64)
    return error(fmt::format("loading code: {} bytes are no cubin", image.size()));
  return load(context, image.data());
}

Result<Module> load_module(const Context& context, const std::string& ptx) {
  return load(context, ptx.c_str());
}

Result<Kernel> find_kernel(const Module& module, const std::string& symbol) {
  const Driver& driver = module.driver();
  Kernel kernel;
  kernel.symbol = symbol;
  TRY(check(driver, driver.module_function(&kernel.function, module.get(), symbol.c_str()),
            "looking for kernel " + symbol));
  TRY_ASSIGN(kernel.registers, attribute(driver, kernel.function, kRegisters));
  TRY_ASSIGN(kernel.local_bytes, attribute(driver, kernel.function, kLocalBytes));
  TRY_ASSIGN(kernel.shared_bytes, attribute(driver, kernel.function, kSharedBytes));
  TRY_ASSIGN(kernel.constant_bytes, attribute(driver, kernel.function, kConstantBytes));
  TRY_ASSIGN(kernel.max_threads, attribute(driver, kernel.function, kMaxThreadsPerBlock));
  TRY_ASSIGN(kernel.binary_version, attribute(driver, kernel.function, kBinaryVersion));
  return kernel;
}

Status prepare(const Context& context, const Kernel& kernel, const Launch& launch) {
  const Driver& driver = context.driver();
  const unsigned threads = blocks_of(launch.block);
  if (threads > static_cast<unsigned>(kernel.max_threads))
    return error(fmt::format("{} takes at most {} threads a block, not {}", kernel.symbol,
                             kernel.max_threads, threads));
  const int limit = context.device().shared_bytes_per_block - kernel.shared_bytes;
  if (static_cast<int64_t>(launch.shared_bytes) > limit)
    return error(fmt::format("{} asks for {} bytes of shared memory; at most {} are left on {}",
                             kernel.symbol, launch.shared_bytes, limit, context.device().name));
  TRY(check(driver,
            driver.function_set_attribute(kernel.function, kMaxDynamicSharedBytes,
                                          static_cast<int>(launch.shared_bytes)),
            "giving " + kernel.symbol + " its shared memory"));
  if (blocks_of(launch.cluster) > kPortableClusterBlocks)
    TRY(check(driver, driver.function_set_attribute(kernel.function, kNonPortableClusterAllowed, 1),
              "allowing " + kernel.symbol + " a large cluster"));
  return {};
}

Status launch(const Stream& stream, const Kernel& kernel, const Launch& launch,
              std::span<void* const> arguments) {
  LaunchAttribute cluster{};
  cluster.id = kLaunchClusterDimension;
  cluster.value.cluster = {launch.cluster.x, launch.cluster.y, launch.cluster.z};
  LaunchConfig config{};
  config.grid_x = launch.grid.x, config.grid_y = launch.grid.y, config.grid_z = launch.grid.z;
  config.block_x = launch.block.x, config.block_y = launch.block.y, config.block_z = launch.block.z;
  config.shared_bytes = launch.shared_bytes;
  config.stream = stream.get();
  config.attributes = &cluster;
  config.attribute_count = blocks_of(launch.cluster) > 1 ? 1 : 0;
  const Driver& driver = stream.driver();
  return check(
      driver,
      driver.launch(&config, kernel.function, const_cast<void**>(arguments.data()), nullptr),
      "launching " + kernel.symbol);
}

Result<int> blocks_per_multiprocessor(const Context& context, const Kernel& kernel,
                                      const Launch& launch) {
  int blocks = 0;
  const Driver& driver = context.driver();
  TRY(check(driver,
            driver.occupancy(&blocks, kernel.function, static_cast<int>(blocks_of(launch.block)),
                             launch.shared_bytes),
            "cuOccupancyMaxActiveBlocksPerMultiprocessor"));
  return blocks;
}

Result<TensorMap> encode_tensor_map(const Context& context, DeviceAddress address,
                                    const TensorMapPlan& plan) {
  const size_t rank = plan.sizes.size();
  if (rank < 1 || rank > 5 || plan.box.size() != rank || plan.strides.size() != rank - 1)
    return error(fmt::format(
        "a tensor map of {} sizes needs as many box sizes and one stride less, not {} and {}", rank,
        plan.box.size(), plan.strides.size()));
  const std::array<uint32_t, 5> dense = {1, 1, 1, 1, 1};
  TensorMap map{};
  const Driver& driver = context.driver();
  TRY(check(driver,
            driver.tensor_map_encode(&map, plan.element, static_cast<uint32_t>(rank),
                                     reinterpret_cast<void*>(address), plan.sizes.data(),
                                     plan.strides.data(), plan.box.data(), dense.data(), 0,
                                     plan.swizzle, plan.promotion, plan.fill),
            "encoding a tensor map"));
  return map;
}

}  // namespace namesake::gpu
