#include "gpu.h"

#include <cuda_runtime_api.h>

#include "sm80/sm80.h"
#include "sm90/sm90.h"

namespace namesake::attention {
namespace {

Status failed(const char* what, cudaError_t error) {
  return {Code::cuda_error, std::string(what) + ": " + cudaGetErrorString(error)};
}

// Each backend exports the same five names; this is where they become one type.
template <typename P, size_t (*kWorkspace)(const P&), std::string (*kDescribe)(const P&),
          cudaError_t (*kLaunch)(const P&, void*, cudaStream_t)>
class PlanOf : public GpuPlan {
 public:
  explicit PlanOf(P plan) : plan_(std::move(plan)) {}
  size_t workspace_bytes() const override { return kWorkspace(plan_); }
  std::string describe() const override { return kDescribe(plan_); }
  Status launch(void* workspace, Stream stream) const override {
    const cudaError_t error = kLaunch(plan_, workspace, stream);
    return error == cudaSuccess ? Status{} : failed("the launch failed", error);
  }

 private:
  P plan_;
};

using HopperPlan = PlanOf<sm90::Plan, sm90::workspace_bytes, sm90::describe, sm90::launch>;
using PortablePlan = PlanOf<sm80::Plan, sm80::workspace_bytes, sm80::describe, sm80::launch>;

}  // namespace

Status place_of(const void* data, const char* what, Place& place) {
  cudaPointerAttributes attributes{};
  const cudaError_t error = cudaPointerGetAttributes(&attributes, data);
  if (error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver ||
      error == cudaErrorStubLibrary || error == cudaErrorInitializationError) {
    cudaGetLastError();  // no GPU is no error: leave none behind
    place = Place::host;
    return {};
  }
  if (error != cudaSuccess) {
    cudaGetLastError();
    return failed("asking where the tensors lie failed", error);
  }
  place = Place::host;
  if (attributes.type != cudaMemoryTypeDevice && attributes.type != cudaMemoryTypeManaged)
    return {};
  place = Place::device;
  int current = 0;
  if (attributes.type == cudaMemoryTypeDevice && cudaGetDevice(&current) == cudaSuccess &&
      attributes.device != current) {
    return {Code::invalid_argument, std::string(what) + " lies on device " +
                                        std::to_string(attributes.device) + " while device " +
                                        std::to_string(current) +
                                        " is current: call cudaSetDevice first"};
  }
  return {};
}

Status current_device(DeviceInfo& device) {
  DeviceInfo d;
  if (const cudaError_t error = cudaGetDevice(&d.ordinal); error != cudaSuccess)
    return failed("asking for the current device failed", error);
  int l2 = 0;
  const std::pair<cudaDeviceAttr, int*> wanted[] = {
      {cudaDevAttrComputeCapabilityMajor, &d.major},
      {cudaDevAttrComputeCapabilityMinor, &d.minor},
      {cudaDevAttrMultiProcessorCount, &d.sm_count},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin, &d.max_smem_per_block},
      {cudaDevAttrL2CacheSize, &l2},
  };
  for (const auto& [attribute, value] : wanted) {
    if (const cudaError_t error = cudaDeviceGetAttribute(value, attribute, d.ordinal);
        error != cudaSuccess)
      return failed("asking for the device's properties failed", error);
  }
  d.l2_bytes = l2;
  device = d;
  return {};
}

Status require_device(int ordinal) {
  int current = 0;
  if (const cudaError_t error = cudaGetDevice(&current); error != cudaSuccess)
    return failed("asking for the current device failed", error);
  if (current == ordinal) return {};
  return {Code::invalid_argument, "the plan was made for device " + std::to_string(ordinal) +
                                      " while device " + std::to_string(current) +
                                      " is current: call cudaSetDevice first"};
}

Status choose_kernel(const Problem& problem, const DeviceInfo& device, Kernel asked,
                     Choice& choice) {
  std::string why_not_hopper;
  if (asked != Kernel::portable) {
    if (sm90::supports(problem, device, &why_not_hopper)) {
      choice.plan = std::make_unique<HopperPlan>(sm90::plan(problem, device));
      choice.kernel = Kernel::hopper;
      choice.why = asked == Kernel::hopper ? "the Hopper kernel was asked for"
                                           : "the Hopper kernel is the fastest and takes this call";
      return {};
    }
    if (asked == Kernel::hopper) return {Code::unsupported, why_not_hopper};
  }
  std::string why_not_portable;
  if (is_fp8(problem.dtype) && asked == Kernel::automatic)
    return {Code::unsupported, why_not_hopper + "; no other kernel takes fp8"};
  if (!sm80::supports(problem, device, &why_not_portable))
    return {Code::unsupported, why_not_portable};
  choice.plan = std::make_unique<PortablePlan>(sm80::plan(problem, device));
  choice.kernel = Kernel::portable;
  choice.why = asked == Kernel::portable ? "the portable kernel was asked for" : why_not_hopper;
  return {};
}

}  // namespace namesake::attention
