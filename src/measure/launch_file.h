// Launch files: how to run a kernel, and what must come out (kernels/README.md has the format).
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gpu/equality.h"
#include "measure/expression.h"
#include "util/error.h"

namespace namesake::measure {

struct SizeEntry {
  std::string name;
  int64_t standard = 0;  // "default" in the file
  std::vector<int64_t> sweep;
};

struct NormalFill {};
struct UniformFill {
  double low = 0, high = 1;
};
struct ConstantFill {
  double value = 0;
};
struct PatternFill {
  Expression element;  // of i and the sizes
};
struct FileFill {
  std::filesystem::path file;  // raw elements
};
struct NoFill {};  // an output that the kernel writes from end to end
using Fill = std::variant<NoFill, NormalFill, UniformFill, ConstantFill, PatternFill, FileFill>;

struct Tolerance {
  double relative = 0, absolute = 0;
};

struct BufferEntry {
  std::string name;
  gpu::Element type = gpu::Element::kF32;
  Expression count;
  Fill fill;
  bool output = false;
  Tolerance tolerance;
};

struct BufferArgument {
  size_t buffer = 0;
};
struct ScalarArgument {
  gpu::Element type = gpu::Element::kS32;
  std::variant<Expression, double> value;
};
struct TensorMapArgument {
  size_t buffer = 0;
  std::vector<Expression> shape, box;  // innermost first
  int64_t swizzle = 0;
};
using Argument = std::variant<BufferArgument, ScalarArgument, TensorMapArgument>;

struct LaunchFile {
  std::string origin;                      // as the user wrote it
  std::filesystem::path kernel;            // the code's file, beside the launch file
  std::string entry;                       // the symbol
  std::vector<std::string> architectures;  // where it can run; empty: everywhere
  std::string not_run;                     // why it is for the assembler alone; "" where it runs
  std::vector<SizeEntry> sizes;
  std::array<Expression, 3> grid, block, cluster;
  Expression shared;
  std::vector<BufferEntry> buffers;
  std::vector<Argument> arguments;
  std::string reference;                   // a host function; "" none
  std::filesystem::path reference_kernel;  // a launch file instead

  // The defaults, with the user's values in their place; an error names one that the file lacks.
  Result<Names> names(const Names& chosen) const;
};

// A sentence with file and line for anything that cannot be followed. `folder` is where its files
// lie.
Result<LaunchFile> parse_launch_file(std::string_view text, std::string origin,
                                     const std::filesystem::path& folder);
Result<LaunchFile> read_launch_file(const std::filesystem::path& file);

// "i32", "e4m3": as launch files write element types.
std::string type_name(gpu::Element type);

}  // namespace namesake::measure
