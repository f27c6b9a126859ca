// The portable kernel (mma.sync) seen from outside: which problems it takes, and how they are
// launched.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "../problem.h"
#include "launch.h"

namespace namesake::attention::sm80 {

struct Plan {
  Launch launch;
  const void* kernel = nullptr;
  uint32_t blocks = 0;
  int threads = 0, shared_bytes = 0, padded_head_dim = 0;
};

bool supports(const Problem& problem, const DeviceInfo& device, std::string* why);
Plan plan(const Problem& problem, const DeviceInfo& device);
size_t workspace_bytes(const Plan& plan);
cudaError_t launch(const Plan& plan, void* workspace, cudaStream_t stream);
std::string describe(const Plan& plan);

}  // namespace namesake::attention::sm80
