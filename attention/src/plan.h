// What a Plan holds, and how to make one for a device that is not here.
#pragma once

#include "gpu.h"
#include "problem.h"

namespace namesake::attention {

struct Plan::State {
  Problem problem;
  Kernel kernel = Kernel::reference;
  std::string why;
  std::unique_ptr<const GpuPlan> gpu;  // null for the reference
  int device = -1;
};

// Plans `call` for `device`, asking nothing of CUDA: the tensors' addresses are taken on trust.
Status prepare_for(const Forward& call, const DeviceInfo& device, Plan& plan);

const Problem& problem_of(const Plan& plan);

}  // namespace namesake::attention
