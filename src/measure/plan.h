// A launch file with its numbers worked out: what to allocate, and how to launch.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "gpu/module.h"
#include "measure/launch_file.h"

namespace namesake::measure {

struct BufferPlan {
  std::string name;
  gpu::Element type = gpu::Element::kF32;
  size_t count = 0;
  Fill fill;
  bool output = false;
  Tolerance tolerance;
  size_t bytes() const { return count * gpu::bytes_of(type); }
  bool filled() const { return !std::holds_alternative<NoFill>(fill); }
};

// Of one argument: the buffer it points at, or its bytes.
struct BufferPointer {
  size_t buffer = 0;
};
struct Scalar {
  gpu::Element type = gpu::Element::kS32;
  uint64_t bits = 0;  // as it lies in memory, low bytes first
  double value = 0;
};
struct BufferMap {
  size_t buffer = 0;
  gpu::TensorMapPlan plan;
};
using PlannedArgument = std::variant<BufferPointer, Scalar, BufferMap>;

struct Plan {
  Names sizes;
  gpu::Launch launch;
  std::vector<BufferPlan> buffers;
  std::vector<PlannedArgument> arguments;
  std::string describe() const;  // "32×32 blocks of 256 threads, 48 kB shared"
};

Result<Plan> make_plan(const LaunchFile& file, const Names& chosen);

}  // namespace namesake::measure
