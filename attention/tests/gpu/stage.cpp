#include "stage.h"

#include <vector>

#include "validate.h"

namespace namesake::attention::test {
namespace {

constexpr size_t kElementBytes = 2;

std::vector<int32_t> as_given(const Case& c, const std::vector<int32_t>& lengths) {
  if (c.lengths != Lengths::packed) return lengths;
  std::vector<int32_t> cumulative = {0};
  for (int32_t n : lengths) cumulative.push_back(cumulative.back() + n);
  return cumulative;
}

size_t lse_elements(const Case& c, const Layouts& l) {
  return c.heads_q * (c.lengths == Lengths::packed ? l.total_q : c.batch * c.seqlen_q);
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
  return 2 * kElementBytes * (l.elements_q + l.elements_kv) +
         rows * (c.head_dim + 2) * sizeof(double) + (size_t{256} << 20);
}

Stage::Stage(Arena& arena, const Case& c, cudaStream_t stream) : arena_(arena) {
  const Layouts l = layouts_of(c);
  call = forward_of(c, l);
  const auto place = [&](Arena::Block& block, int64_t elements, int64_t first, Tensor& t) {
    block = arena.take(elements * kElementBytes);
    t.data = block.data + first * kElementBytes;
    check(cudaMemsetAsync(block.begin(), 0xff, block.whole(), stream), "poisoning");
  };
  place(q_, l.elements_q, l.first_q, call.q);
  place(k_, l.elements_kv, l.first_kv, call.k);
  place(v_, l.elements_kv, l.first_kv, call.v);
  place(o, l.elements_q, l.first_q, call.o);
  lse = arena.take(lse_elements(c, l) * sizeof(float));
  if (c.lse) call.lse = reinterpret_cast<float*>(lse.data);

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
