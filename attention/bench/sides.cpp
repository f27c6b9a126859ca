#include "sides.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "gpu/equality.h"
#include "namesake/attention.h"

namespace namesake::bench {
namespace {

// Rows of each head that are recomputed exactly.
constexpr int64_t kCheckedRows = 8;
constexpr std::chrono::seconds kCallLimit{20};

Format format_of(const Cell& cell) {
  if (cell.fp8()) return Format::e4m3;
  return cell.dtype == attention::DType::bf16 ? Format::bf16 : Format::fp16;
}

attention::Tensor dense(const gpu::Buffer& buffer, const Cell& cell, int64_t heads) {
  const int64_t row = heads * cell.head_dim;
  return {buffer.pointer(), cell.length * row, row, cell.head_dim};
}

attention::Tensor transposed(const gpu::Buffer& buffer, const Cell& cell, int64_t heads) {
  const int64_t head = cell.head_dim * cell.length;
  return {buffer.pointer(), heads * head, cell.length, head};
}

Status launched(int code, const char* what) {
  if (code == 0) return {};
  return error(fmt::format("{}: CUDA error {}", what, code));
}

Status wait_for_call(const gpu::Context& context, const gpu::Stream& stream) {
  TRY_ASSIGN(const gpu::Event done, gpu::create_event(context));
  TRY(gpu::record(done, stream));
  return gpu::wait(done, kCallLimit);
}

}  // namespace

Result<Setting> Setting::make(const gpu::Context& context, const gpu::Stream& stream,
                              const Cell& cell) {
  Setting made;
  made.cell_ = cell;
  const Format format = format_of(cell);
  const auto q_bytes = static_cast<size_t>(cell.elements_q() * bytes_of(format));
  const auto kv_bytes = static_cast<size_t>(cell.elements_kv() * bytes_of(format));
  TRY_ASSIGN(made.q_, gpu::Buffer::allocate(context, q_bytes));
  TRY_ASSIGN(made.k_, gpu::Buffer::allocate(context, kv_bytes));
  TRY_ASSIGN(made.v_, gpu::Buffer::allocate(context, kv_bytes));
  TRY_ASSIGN(made.our_output_, gpu::Buffer::allocate(context, made.output_bytes()));
  TRY_ASSIGN(made.cudnn_output_, gpu::Buffer::allocate(context, made.output_bytes()));
  TRY(launched(fill_normal(made.q_.pointer(), cell.elements_q(), format, 1, stream.get()),
               "filling q"));
  TRY(launched(fill_normal(made.k_.pointer(), cell.elements_kv(), format, 2, stream.get()),
               "filling k"));
  TRY(launched(fill_normal(made.v_.pointer(), cell.elements_kv(), format, 3, stream.get()),
               "filling v"));
  TRY(wait_for_call(context, stream));
  return made;
}

float Setting::scale() const {
  return 1 / std::sqrt(static_cast<float>(cell_.head_dim));
}

Format Setting::output_format() const {
  return cell_.fp8() ? Format::bf16 : format_of(cell_);
}

size_t Setting::output_bytes() const {
  return static_cast<size_t>(cell_.elements_q() * bytes_of(output_format()));
}

attention::Forward Setting::forward(void* output) const {
  attention::Forward call;
  call.dtype = cell_.dtype;
  call.batch = cell_.batch;
  call.seqlen_q = call.seqlen_kv = cell_.length;
  call.heads_q = cell_.heads_q;
  call.heads_kv = cell_.heads_kv;
  call.head_dim = cell_.head_dim;
  call.q = dense(q_, cell_, cell_.heads_q);
  call.k = dense(k_, cell_, cell_.heads_kv);
  call.v =
      cell_.v_transposed ? transposed(v_, cell_, cell_.heads_kv) : dense(v_, cell_, cell_.heads_kv);
  call.o = dense(our_output_, cell_, cell_.heads_q);
  call.o.data = output;
  call.causal = cell_.causal;
  call.softmax_scale = scale();
  if (cell_.fp8()) {
    call.o_dtype = attention::DType::bf16;
    call.v_transposed = cell_.v_transposed;
  }
  return call;
}

Result<Side> Setting::ours(const gpu::Context& context, attention::Kernel kernel) {
  attention::Forward call = forward(our_output_.pointer());
  call.kernel = kernel;
  attention::Plan plan;
  if (const attention::Status status = attention::prepare(call, plan); !status.ok())
    return error(status.message);
  TRY_ASSIGN(our_workspace_, gpu::Buffer::allocate(context, plan.workspace_bytes()));
  void* const workspace = our_workspace_.pointer();
  const size_t workspace_bytes = our_workspace_.bytes();
  Side side{.name = "namesake",
            .kernel = attention::name(plan.kernel()),
            .output = our_output_.pointer(),
            .format = output_format()};
  side.enqueue = [plan, workspace, workspace_bytes](CUstream_st* stream) -> Status {
    const attention::Status status = plan.run(workspace, workspace_bytes, stream);
    if (!status.ok()) return error(status.message);
    return {};
  };
  return side;
}

Result<std::vector<Side>> Setting::cudnn(const gpu::Context& context, const gpu::Stream& stream,
                                         const Cudnn& library) {
  TRY_ASSIGN(const Cudnn::Attention attention, library.attention(cell_, scale()));
  size_t workspace_bytes = 0;
  for (const Cudnn::Plan& plan : attention.plans())
    workspace_bytes = std::max(workspace_bytes, plan.workspace_bytes);
  TRY_ASSIGN(cudnn_workspace_, gpu::Buffer::allocate(context, workspace_bytes));
  CudnnTensors tensors{q_.pointer(), k_.pointer(), v_.pointer(), cudnn_output_.pointer()};
  const CudnnScalars scalars;
  if (cell_.fp8()) {
    TRY_ASSIGN(cudnn_scalars_, gpu::Buffer::allocate(context, sizeof scalars));
    TRY(gpu::upload(stream, cudnn_scalars_.address(), std::as_bytes(std::span(&scalars, 1))));
    TRY(gpu::wait(stream));
    tensors.scalars = cudnn_scalars_.pointer();
  }
  void* const workspace = cudnn_workspace_.pointer();
  std::vector<Side> sides;
  for (size_t i = 0; i < attention.plans().size(); ++i) {
    Side side{.name = "cuDNN",
              .kernel = attention.plans()[i].name,
              .output = cudnn_output_.pointer(),
              .format = format_of(cell_),
              .output_scale = cell_.fp8() ? scalars.o_scale : 1};
    side.enqueue = [attention, i, tensors, workspace](CUstream_st* stream) {
      return attention.run(i, tensors, workspace, stream);
    };
    sides.push_back(std::move(side));
  }
  return sides;
}

Result<double> Setting::error_of(const gpu::Context& context, const gpu::Stream& stream,
                                 const Side& side) {
  const auto output = reinterpret_cast<gpu::DeviceAddress>(side.output);
  // All ones are a NaN: an element that is not written cannot pass.
  TRY(gpu::fill(stream, output, 0xff, output_bytes()));
  TRY(side.enqueue(stream.get()));
  const int64_t rows = std::min(kCheckedRows, cell_.length);
  const int64_t heads = cell_.batch * cell_.heads_q;
  TRY_ASSIGN(
      const gpu::Buffer sums,
      gpu::Buffer::allocate(context, static_cast<size_t>(heads * rows) * 2 * sizeof(double)));
  const RowCheck check{.q = q_.pointer(),
                       .k = k_.pointer(),
                       .v = v_.pointer(),
                       .o = side.output,
                       .format = format_of(cell_),
                       .o_format = side.format,
                       .o_scale = side.output_scale,
                       .v_transposed = cell_.v_transposed,
                       .batch = cell_.batch,
                       .length = cell_.length,
                       .heads_q = cell_.heads_q,
                       .heads_kv = cell_.heads_kv,
                       .head_dim = cell_.head_dim,
                       .causal = cell_.causal,
                       .scale = scale(),
                       .rows = rows};
  TRY(launched(check_rows(check, static_cast<double*>(sums.pointer()), stream.get()),
               "checking rows"));
  TRY(wait_for_call(context, stream));
  TRY_ASSIGN(const std::vector<std::byte> bytes, gpu::read(stream, sums));
  const std::vector<double> values = gpu::values_of(bytes, gpu::Element::kF64);
  double worst = 0;
  for (int64_t head = 0; head < heads; ++head) {
    double difference = 0, norm = 0;
    for (int64_t row = 0; row < rows; ++row) {
      difference += values[static_cast<size_t>(2 * (head * rows + row))];
      norm += values[static_cast<size_t>(2 * (head * rows + row) + 1)];
    }
    const double relative = std::sqrt(difference / norm);
    if (!(relative <= worst)) worst = relative;  // a NaN stays
  }
  return worst;
}

Result<gpu::Graph> record_calls(const gpu::Stream& stream, const Side& side, int64_t calls) {
  return gpu::record_graph(stream, [&]() -> Status {
    for (int64_t i = 0; i < calls; ++i) TRY(side.enqueue(stream.get()));
    return {};
  });
}

}  // namespace namesake::bench
