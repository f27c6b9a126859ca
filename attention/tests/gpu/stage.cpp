#include "stage.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "validate.h"

namespace namesake::attention::test {
namespace {

std::vector<int32_t> as_given(const Case& c, const std::vector<int32_t>& lengths) {
  if (c.lengths != Lengths::packed) return lengths;
  std::vector<int32_t> cumulative = {0};
  for (int32_t n : lengths) cumulative.push_back(cumulative.back() + n);
  return cumulative;
}

size_t lse_elements(const Case& c, const Layouts& l) {
  return c.heads_q * (c.lengths == Lengths::packed ? l.total_q : c.batch * c.seqlen_q);
}

// Numbers of 0.75 to 1.25 times `base`. What is between them is poison, as in tensors.
std::vector<float> scale_values(const Scale& scale, int64_t batch, int64_t heads, float base,
                                uint32_t random) {
  const int64_t last = (batch - 1) * scale.stride_batch + (heads - 1) * scale.stride_head;
  std::vector<float> values(std::max<int64_t>(last, 0) + 1, NAN);
  for (int64_t b = 0; b < batch; b++) {
    for (int64_t h = 0; h < heads; h++) {
      random = random * 1664525 + 1013904223;
      values[b * scale.stride_batch + h * scale.stride_head] =
          base * (0.75f + static_cast<float>(random >> 8) * 0x1p-25f);
    }
  }
  return values;
}

}  // namespace

void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess)
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

void check(const Status& status, const char* what) {
  if (!status.ok()) throw std::runtime_error(std::string(what) + ": " + status.message);
}

Arena::Arena(size_t bytes) : bytes_(bytes) {
  check(cudaMalloc(reinterpret_cast<void**>(&memory_), bytes), "allocating the arena");
}

Arena::~Arena() {
  cudaFree(memory_);
}

Arena::Block Arena::take(size_t bytes) {
  Block block{memory_ + used_ + kGuard, (bytes + 255) / 256 * 256};
  used_ += block.whole();
  if (used_ > bytes_) throw std::runtime_error("the arena is too small");
  return block;
}

size_t bytes_needed(const Case& c) {
  const Layouts l = layouts_of(c);
  const size_t rows = c.batch * c.heads_q * c.seqlen_q;
  const size_t bytes = bytes_of(c.dtype);
  return bytes * (l.elements_q + l.elements_kv + l.elements_v) +
         bytes_of(c.output_dtype()) * l.elements_q + rows * (c.head_dim + 2) * sizeof(double) +
         (size_t{256} << 20);
}

Stage::Stage(Arena& arena, const Case& c, cudaStream_t stream) : arena_(arena) {
  const Layouts l = layouts_of(c);
  call = forward_of(c, l);
  const auto place = [&](Arena::Block& block, int64_t elements, int64_t first, DType dtype,
                         Tensor& t) {
    const int bytes = bytes_of(dtype);
    block = arena.take(elements * bytes);
    t.data = block.data + first * bytes;
    check(cudaMemsetAsync(block.begin(), 0xff, block.whole(), stream), "poisoning");
  };
  place(q_, l.elements_q, l.first_q, c.dtype, call.q);
  place(k_, l.elements_kv, l.first_kv, c.dtype, call.k);
  place(v_, l.elements_v, l.first_v, c.dtype, call.v);
  place(o, l.elements_q, l.first_q, c.output_dtype(), call.o);
  lse = arena.take(lse_elements(c, l) * sizeof(float));
  if (c.lse) call.lse = reinterpret_cast<float*>(lse.data);

  const auto upload_scale = [&](Scale& scale, int64_t heads, float base, uint32_t seed) {
    if (!scale.data) return;
    const std::vector<float> values = scale_values(scale, c.batch, heads, base, c.seed() + seed);
    const Arena::Block block = arena.take(values.size() * sizeof(float));
    check(cudaMemcpyAsync(block.data, values.data(), values.size() * sizeof(float),
                          cudaMemcpyHostToDevice, stream),
          "uploading scales");
    scale.data = reinterpret_cast<const float*>(block.data);
    scales_.push_back(block);
  };
  upload_scale(call.q_descale, c.heads_q, 1, 1);
  upload_scale(call.k_descale, c.heads_kv, 1, 2);
  upload_scale(call.v_descale, c.heads_kv, 1, 3);
  upload_scale(call.o_scale, c.heads_q, c.o_scale, 4);

  if (c.lengths != Lengths::same) {
    const auto upload = [&](Arena::Block& block, const std::vector<int32_t>& lengths) {
      const std::vector<int32_t> values = as_given(c, lengths);
      block = arena.take(values.size() * sizeof(int32_t));
      check(cudaMemcpyAsync(block.data, values.data(), values.size() * sizeof(int32_t),
                            cudaMemcpyHostToDevice, stream),
            "uploading lengths");
      return reinterpret_cast<const int32_t*>(block.data);
    };
    const int32_t* q = upload(lengths_q_, c.lengths_q);
    const int32_t* kv = upload(lengths_kv_, c.lengths_kv);
    (c.lengths == Lengths::packed ? call.cu_seqlens_q : call.seqused_q) = q;
    (c.lengths == Lengths::packed ? call.cu_seqlens_kv : call.seqused_kv) = kv;
  }
  check(validate(call, problem), "validating");
  fill(problem, Which::q, c.q, stream);
  fill(problem, Which::k, c.k, stream);
  fill(problem, Which::v, c.v, stream);
  for (const Poke& p : c.pokes) poke(problem, p, stream);
}

void Stage::poison_outputs(cudaStream_t stream) const {
  check(cudaMemsetAsync(o.begin(), 0xff, o.whole(), stream), "poisoning o");
  check(cudaMemsetAsync(lse.begin(), 0xff, lse.whole(), stream), "poisoning lse");
}

Arena::Block Stage::poisoned_workspace(size_t bytes, cudaStream_t stream) const {
  const Arena::Block block = arena_.take(bytes);
  check(cudaMemsetAsync(block.begin(), 0xff, block.whole(), stream), "poisoning the workspace");
  return block;
}

void Stage::add_checksum_of_inputs(unsigned long long* sum, cudaStream_t stream) const {
  for (const Arena::Block* block : {&q_, &k_, &v_})
    checksum(block->begin(), block->whole(), sum, stream);
  for (const Arena::Block* block : {&lengths_q_, &lengths_kv_})
    if (block->data) checksum(block->data, block->bytes, sum, stream);
  for (const Arena::Block& block : scales_) checksum(block.data, block.bytes, sum, stream);
}

void Stage::add_checksum_of_outputs(unsigned long long* sum, cudaStream_t stream) const {
  checksum(o.begin(), o.whole(), sum, stream);
  checksum(lse.begin(), lse.whole(), sum, stream);
}

void Stage::count_touched_outside(const Arena::Block& workspace, unsigned long long* count,
                                  cudaStream_t stream) const {
  erase_outputs(problem, stream);
  count_touched(o.begin(), o.whole(), count, stream);
  count_touched(lse.begin(), lse.whole(), count, stream);
  count_touched(workspace.begin(), workspace.data - workspace.begin(), count, stream);
  count_touched(workspace.data + workspace.bytes, workspace.data - workspace.begin(), count,
                stream);
}

}  // namespace namesake::attention::test
