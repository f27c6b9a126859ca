// What the library asks of CUDA; a build without it answers that there is none (gpu_none.cpp).
#pragma once

#include <memory>
#include <string>

#include "problem.h"

namespace namesake::attention {

enum class Place : uint8_t { host, device };

// Where memory lies, as seen from the calling thread's current device.
Status place_of(const void* data, const char* what, Place& place);

Status current_device(DeviceInfo& device);

// An error unless `ordinal` is the current device.
Status require_device(int ordinal);

// One kernel chosen for one problem.
class GpuPlan {
 public:
  virtual ~GpuPlan() = default;
  virtual size_t workspace_bytes() const = 0;
  virtual std::string describe() const = 0;
  virtual Status launch(void* workspace, Stream stream) const = 0;
};

struct Choice {
  std::unique_ptr<const GpuPlan> plan;
  Kernel kernel = Kernel::automatic;
  std::string why;
};

// The kernel that was asked for or, asked for `automatic`, the fastest that takes the problem.
Status choose_kernel(const Problem& problem, const DeviceInfo& device, Kernel asked,
                     Choice& choice);

}  // namespace namesake::attention
