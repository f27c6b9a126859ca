// Runs one case on each kernel that takes it, and judges what came back.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stage.h"

namespace namesake::attention::test {

struct Outcome {
  std::string name, kernel;
  std::string plan;  // digest of the launch plan
  double error = 0, bound = 0, lse_error = 0;
  std::string complaint;  // empty: passed
};

constexpr Kernel kKernels[] = {Kernel::hopper, Kernel::portable};

std::vector<Outcome> run_case(Arena& arena, const Case& c, const std::vector<Kernel>& kernels,
                              std::optional<double> peer_error);

// Digest of the launch plan of a case on a device, or nothing where the kernel does not take it.
std::optional<std::string> plan_digest(const Case& c, Kernel kernel, const DeviceInfo& device);
std::string digest(const std::string& text);

}  // namespace namesake::attention::test
