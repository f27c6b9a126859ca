#include "measure/memory.h"

#include <fmt/format.h>

#include <algorithm>

namespace namesake::measure {
namespace {

size_t rounded_up(size_t bytes) {
  return (bytes + 7) / 8 * 8;
}

Status put(const gpu::Stream& stream, gpu::DeviceAddress to, std::span<const std::byte> bytes) {
  TRY(gpu::upload(stream, to, bytes));
  return gpu::wait(stream);
}

Result<std::vector<std::byte>> take(const gpu::Stream& stream, gpu::DeviceAddress from,
                                    size_t bytes) {
  std::vector<std::byte> result(bytes);
  TRY(gpu::download(stream, result, from));
  TRY(gpu::wait(stream));
  return result;
}

}  // namespace

Result<Guarded> Guarded::allocate(const gpu::Context& context, const gpu::Stream& stream,
                                  size_t bytes) {
  Guarded guarded;
  guarded.bytes_ = bytes;
  TRY_ASSIGN(guarded.memory_, gpu::Buffer::allocate(context, bytes + kAlignment + kLargestShift +
                                                                 2 * gpu::kGuardBytes));
  TRY(guarded.shift(stream, 0));
  return guarded;
}

Status Guarded::shift(const gpu::Stream& stream, size_t bytes) {
  const gpu::DeviceAddress least = memory_.address() + gpu::kGuardBytes;
  address_ = (least + kAlignment - 1) / kAlignment * kAlignment + std::min(bytes, kLargestShift);
  const std::vector<std::byte> zone = gpu::guard_zone();
  TRY(put(stream, address_ - gpu::kGuardBytes, zone));
  return put(stream, address_ + bytes_, zone);
}

Result<std::string> Guarded::damage(const gpu::Stream& stream) const {
  TRY_ASSIGN(const auto before, take(stream, address_ - gpu::kGuardBytes, gpu::kGuardBytes));
  TRY_ASSIGN(const auto after, take(stream, address() + bytes_, gpu::kGuardBytes));
  if (const auto place = gpu::damage(after)) return fmt::format("{} bytes past the end", *place);
  if (const auto place = gpu::damage(before))
    return fmt::format("{} bytes before the start", gpu::kGuardBytes - *place);
  return std::string();
}

Result<KernelMemory> KernelMemory::create(const gpu::Context& context, const Checker& checker,
                                          const gpu::Stream& stream, const Plan& plan,
                                          int workers) {
  KernelMemory memory;
  memory.context_ = &context;
  memory.checker_ = &checker;
  memory.stream_ = &stream;
  memory.plan_ = &plan;
  memory.workers_ = workers;
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const BufferPlan& buffer = plan.buffers[i];
    TRY_ASSIGN(Guarded guarded, Guarded::allocate(context, stream, buffer.bytes()));
    memory.buffers_.push_back(std::move(guarded));
    if (!buffer.output) continue;
    memory.outputs_.push_back(i);
    for (auto& slot : memory.kept_) {
      TRY_ASSIGN(gpu::Buffer kept, gpu::Buffer::allocate(context, rounded_up(buffer.bytes())));
      slot.push_back(std::move(kept));
    }
    std::optional<gpu::Buffer> pristine;
    if (buffer.filled()) {
      TRY_ASSIGN(pristine, gpu::Buffer::allocate(context, buffer.bytes()));
    }
    memory.pristine_.push_back(std::move(pristine));
  }
  memory.contents_.resize(plan.buffers.size());
  TRY_ASSIGN(memory.palette_, gpu::Buffer::allocate(context, kPaletteEntries * sizeof(uint64_t)));
  TRY(memory.point());
  return memory;
}

Status KernelMemory::point() {
  scalars_.resize(plan_->arguments.size());
  maps_.resize(plan_->arguments.size());
  for (size_t i = 0; i < plan_->arguments.size(); ++i) {
    const PlannedArgument& argument = plan_->arguments[i];
    if (const auto* pointer = std::get_if<BufferPointer>(&argument))
      scalars_[i] = address(pointer->buffer);
    if (const auto* scalar = std::get_if<Scalar>(&argument)) scalars_[i] = scalar->bits;
    if (const auto* tensor = std::get_if<BufferMap>(&argument)) {
      TRY_ASSIGN(maps_[i],
                 gpu::encode_tensor_map(*context_, address(tensor->buffer), tensor->plan));
    }
  }
  return {};
}

Status KernelMemory::shift(size_t bytes) {
  for (Guarded& buffer : buffers_) TRY(buffer.shift(*stream_, bytes));
  return point();
}

Status KernelMemory::load(InputKind kind) {
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const BufferPlan& buffer = plan_->buffers[i];
    if (!buffer.filled()) continue;
    // What is given whole is the same in every set, and slow to make.
    if (contents_[i].bytes.empty()) {
      TRY_ASSIGN(contents_[i], content_of(*plan_, i, kind, workers_));
    }
    const Content& content = contents_[i];
    const auto output = std::find(outputs_.begin(), outputs_.end(), i);
    const gpu::DeviceAddress to =
        output == outputs_.end()
            ? address(i)
            : pristine_[static_cast<size_t>(output - outputs_.begin())]->address();
    if (content.palette.empty()) {
      TRY(put(*stream_, to, content.bytes));
      continue;
    }
    const size_t size = gpu::bytes_of(buffer.type);
    TRY(put(*stream_, palette_.address(), content.palette));
    TRY(checker_->fill(*stream_, to, buffer.count, size, palette_.address(), content.seed));
    for (const Plant& plant : content.plants)
      TRY(gpu::upload(*stream_, to + plant.index * size,
                      std::as_bytes(std::span(&plant.bits, 1)).first(size)));
    TRY(gpu::wait(*stream_));
  }
  return {};
}

Status KernelMemory::prepare_outputs(uint64_t run) {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Guarded& buffer = buffers_[outputs_[i]];
    if (pristine_[i]) {
      TRY(gpu::copy(*stream_, buffer.address(), pristine_[i]->address(), buffer.bytes()));
    } else {
      TRY(checker_->poison(*stream_, buffer.address(), buffer.bytes(), run));
    }
  }
  return {};
}

Status KernelMemory::keep(size_t slot) {
  for (size_t i = 0; i < outputs_.size(); ++i)
    TRY(gpu::copy(*stream_, kept_[slot][i].address(), address(outputs_[i]),
                  kept_[slot][i].bytes()));
  return gpu::wait(*stream_);
}

Result<bool> KernelMemory::same_as_kept(size_t slot, size_t output) const {
  return checker_->same(*stream_, kept_[slot][output].address(), address(outputs_[output]),
                        buffers_[outputs_[output]].bytes());
}

Result<std::vector<std::byte>> KernelMemory::read_output(size_t output) const {
  return take(*stream_, address(outputs_[output]), buffers_[outputs_[output]].bytes());
}

Result<std::vector<std::byte>> KernelMemory::read_kept(size_t slot, size_t output) const {
  return take(*stream_, kept_[slot][output].address(), buffers_[outputs_[output]].bytes());
}

Result<std::string> KernelMemory::damage() const {
  for (size_t i = 0; i < buffers_.size(); ++i) {
    TRY_ASSIGN(const std::string where, buffers_[i].damage(*stream_));
    if (!where.empty()) return fmt::format("{} of {}", where, plan_->buffers[i].name);
  }
  return std::string();
}

// Neighbours are read together.
Result<std::vector<std::byte>> KernelMemory::read_kept(size_t slot, size_t output,
                                                       std::span<const size_t> places) const {
  const size_t size = gpu::bytes_of(this->output(output).type);
  std::vector<std::byte> bytes(places.size() * size);
  for (size_t begin = 0, end = 0; begin < places.size(); begin = end) {
    while (end < places.size() && places[end] == places[begin] + (end - begin)) ++end;
    const std::span<std::byte> into = std::span(bytes).subspan(begin * size, (end - begin) * size);
    TRY(gpu::download(*stream_, into, kept_[slot][output].address() + places[begin] * size));
  }
  TRY(gpu::wait(*stream_));
  return bytes;
}

std::vector<void*> KernelMemory::arguments() {
  std::vector<void*> pointers;
  for (size_t i = 0; i < scalars_.size(); ++i)
    pointers.push_back(std::holds_alternative<BufferMap>(plan_->arguments[i])
                           ? static_cast<void*>(&maps_[i])
                           : &scalars_[i]);
  return pointers;
}

}  // namespace namesake::measure
