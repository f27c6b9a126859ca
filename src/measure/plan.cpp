#include "measure/plan.h"

#include <fmt/format.h>

#include "measure/values.h"
#include "report/words.h"
#include "util/cursor.h"

namespace namesake::measure {
namespace {

constexpr int64_t kLargestGridX = 2147483647, kLargestGridYZ = 65535, kMostThreads = 1024,
                  kMostClusterBlocks = 16;
constexpr int64_t kMostShared = 1 << 20;
constexpr uint64_t kMostBytes = uint64_t{1} << 40;  // of one buffer: more than any GPU has

class Planner {
 public:
  Planner(const LaunchFile& file, Names names) : file_(file) { plan_.sizes = std::move(names); }

  Result<Plan> make() {
    TRY(launch());
    for (const BufferEntry& entry : file_.buffers) TRY(buffer(entry));
    for (const Argument& entry : file_.arguments) TRY(argument(entry));
    return std::move(plan_);
  }

 private:
  Result<int64_t> number(const Expression& expression, std::string_view what, int64_t least,
                         int64_t most) const {
    auto value = expression.value(plan_.sizes);
    if (!value) return error(fmt::format("{}: {}: {}", file_.origin, what, value.error().message));
    if (*value >= least && *value <= most) return *value;
    return error(fmt::format("{}: {} is {}, which is not between {} and {}", file_.origin, what,
                             *value, least, most));
  }

  Result<gpu::Size3> three(const std::array<Expression, 3>& expressions, std::string_view what,
                           int64_t most_x, int64_t most) const {
    TRY_ASSIGN(const int64_t x, number(expressions[0], what, 1, most_x));
    TRY_ASSIGN(const int64_t y, number(expressions[1], what, 1, most));
    TRY_ASSIGN(const int64_t z, number(expressions[2], what, 1, most));
    return gpu::Size3{static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z)};
  }

  Status launch() {
    gpu::Launch& launch = plan_.launch;
    TRY_ASSIGN(launch.grid, three(file_.grid, "the grid", kLargestGridX, kLargestGridYZ));
    TRY_ASSIGN(launch.block, three(file_.block, "the block", kMostThreads, kMostThreads));
    TRY_ASSIGN(launch.cluster,
               three(file_.cluster, "the cluster", kMostClusterBlocks, kMostClusterBlocks));
    if (launch.block.x * launch.block.y * launch.block.z > kMostThreads)
      return error(fmt::format("{}: a block of {} threads is too large (at most {})", file_.origin,
                               launch.block.x * launch.block.y * launch.block.z, kMostThreads));
    TRY_ASSIGN(const int64_t shared, number(file_.shared, "the shared memory", 0, kMostShared));
    launch.shared_bytes = static_cast<unsigned>(shared);
    return {};
  }

  Status buffer(const BufferEntry& entry) {
    BufferPlan buffer{.name = entry.name,
                      .type = entry.type,
                      .fill = entry.fill,
                      .output = entry.output,
                      .tolerance = entry.tolerance};
    const auto most = static_cast<int64_t>(kMostBytes / gpu::bytes_of(entry.type));
    TRY_ASSIGN(const int64_t count, number(entry.count, "the count of " + entry.name, 1, most));
    buffer.count = static_cast<size_t>(count);
    plan_.buffers.push_back(std::move(buffer));
    return {};
  }

  Status argument(const Argument& entry) {
    if (const auto* pointer = std::get_if<BufferArgument>(&entry)) {
      plan_.arguments.push_back(BufferPointer{pointer->buffer});
    } else if (const auto* scalar = std::get_if<ScalarArgument>(&entry)) {
      TRY(add(*scalar));
    } else {
      TRY(add(std::get<TensorMapArgument>(entry)));
    }
    return {};
  }

  Status add(const ScalarArgument& entry) {
    Scalar scalar{.type = entry.type};
    if (const auto* expression = std::get_if<Expression>(&entry.value)) {
      auto value = expression->value(plan_.sizes);
      if (!value)
        return error(fmt::format("{}: an argument: {}", file_.origin, value.error().message));
      scalar.value = static_cast<double>(*value);
      // Whole numbers keep all their bits where a double would not.
      scalar.bits = is_floating(entry.type) ? bits_of(scalar.value, entry.type)
                                            : static_cast<uint64_t>(*value);
      const size_t bytes = gpu::bytes_of(entry.type);
      if (bytes < 8 && !is_floating(entry.type)) {
        const int64_t least = -(int64_t{1} << (8 * bytes - 1)),
                      most = (int64_t{1} << 8 * bytes) - 1;
        if (*value < least || *value > most)
          return error(fmt::format("{}: the argument {} = {} does not fit into {}", file_.origin,
                                   expression->text(), *value, type_name(entry.type)));
      }
    } else {
      scalar.value = std::get<double>(entry.value);
      scalar.bits = bits_of(scalar.value, entry.type);
    }
    plan_.arguments.push_back(scalar);
    return {};
  }

  Status add(const TensorMapArgument& entry) {
    BufferMap map{.buffer = entry.buffer};
    const BufferPlan& buffer = plan_.buffers[entry.buffer];
    TRY_ASSIGN(map.plan.element, tensor_element(buffer));
    uint64_t bytes = gpu::bytes_of(buffer.type);
    for (size_t i = 0; i < entry.shape.size(); ++i) {
      TRY_ASSIGN(const int64_t size,
                 number(entry.shape[i], "a tensor map's shape", 1, int64_t{1} << 32));
      TRY_ASSIGN(const int64_t box, number(entry.box[i], "a tensor map's box", 1, 256));
      if (i > 0) map.plan.strides.push_back(bytes);
      const auto grown = checked_mul(bytes, static_cast<uint64_t>(size));
      if (!grown || *grown > buffer.bytes())
        return error(
            fmt::format("{}: the tensor map over {} is larger than the buffer's {} elements",
                        file_.origin, buffer.name, buffer.count));
      bytes = *grown;
      map.plan.sizes.push_back(static_cast<uint64_t>(size));
      map.plan.box.push_back(static_cast<uint32_t>(box));
    }
    map.plan.swizzle = entry.swizzle == 128  ? gpu::kSwizzle128
                       : entry.swizzle == 64 ? gpu::kSwizzle64
                       : entry.swizzle == 32 ? gpu::kSwizzle32
                                             : gpu::kSwizzleNone;
    plan_.arguments.push_back(std::move(map));
    return {};
  }

  Result<gpu::TensorElement> tensor_element(const BufferPlan& buffer) const {
    switch (buffer.type) {
      case gpu::Element::kF64:
        return gpu::kTensorF64;
      case gpu::Element::kF32:
        return gpu::kTensorF32;
      case gpu::Element::kF16:
        return gpu::kTensorF16;
      case gpu::Element::kBF16:
        return gpu::kTensorBF16;
      case gpu::Element::kS32:
        return gpu::kTensorS32;
      case gpu::Element::kU32:
        return gpu::kTensorU32;
      case gpu::Element::kS64:
        return gpu::kTensorS64;
      case gpu::Element::kU64:
        return gpu::kTensorU64;
      case gpu::Element::kU16:
        return gpu::kTensorU16;
      case gpu::Element::kU8:
      case gpu::Element::kE4M3:
      case gpu::Element::kE5M2:
        return gpu::kTensorU8;
      default:
        return error(fmt::format("{}: no tensor map holds {} (buffer {})", file_.origin,
                                 type_name(buffer.type), buffer.name));
    }
  }

  const LaunchFile& file_;
  Plan plan_;
};

std::string shown(const gpu::Size3& size) {
  std::string text = std::to_string(size.x);
  if (size.y > 1 || size.z > 1) text += fmt::format("×{}", size.y);
  if (size.z > 1) text += fmt::format("×{}", size.z);
  return text;
}

}  // namespace

std::string Plan::describe() const {
  const gpu::Size3& block = launch.block;
  std::string text =
      fmt::format("{} blocks of {} threads", shown(launch.grid), block.x * block.y * block.z);
  if (launch.cluster.x * launch.cluster.y * launch.cluster.z > 1)
    text += fmt::format(" in clusters of {}", shown(launch.cluster));
  if (launch.shared_bytes > 0)
    text += fmt::format(", {} shared", report::byte_count(launch.shared_bytes));
  return text;
}

Result<Plan> make_plan(const LaunchFile& file, const Names& chosen) {
  TRY_ASSIGN(Names names, file.names(chosen));
  return Planner(file, std::move(names)).make();
}

}  // namespace namesake::measure
