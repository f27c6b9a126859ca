// Forward attention, O = softmax(scale · Q Kᵀ + mask) V, as a plain C++ library.
//
//   namesake::attention::Forward call;        // describe the tensors
//   namesake::attention::Plan plan;
//   auto status = prepare(call, plan);        // every error is decided here, in a sentence
//   plan.workspace_bytes(), plan.kernel(), plan.why();
//   status = plan.run(workspace, bytes, stream);   // launches; no allocation, no synchronisation
//
// Where the tensors lie decides where the work is done: on the calling thread's current device when
// they are device memory, on the CPU (in double precision, before run returns) when they are host
// memory.
//
// A Plan is immutable: any number of threads may run one at a time, on any streams of its device,
// also while a stream is captured into a graph; each run in flight needs a workspace of its own.
// Functions here share no other state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

struct CUstream_st;

namespace namesake::attention {

using Stream = CUstream_st*;  // a cudaStream_t; null is the default stream

// e4m3 and e5m2 are the two 8-bit formats of OCP FP8; e4m3 has no infinity.
enum class DType : uint8_t { fp16, bf16, e4m3, e5m2 };

// One tensor, indexed [batch][sequence][head][head_dim]. Strides count elements and may be anything
// that is not negative, 0 (broadcast) included; head_dim is contiguous. Packed tensors have no
// batch: stride_batch is not used.
struct Tensor {
  void* data = nullptr;
  int64_t stride_batch = 0, stride_seq = 0, stride_head = 0;
};

// What an fp8 tensor is multiplied by: one number, or one for each batch entry and head, in the
// tensors' memory. Numbers are positive and finite; strides count floats, 0 repeats one number;
// null stands for 1.
struct Scale {
  const float* data = nullptr;
  int64_t stride_batch = 0, stride_head = 0;
};

enum class Kernel : uint8_t {
  automatic,  // the fastest that can take the call
  reference,  // the CPU, double precision, host memory
  portable,   // mma.sync, compute capability 8.0 and newer, takes whatever Forward can describe
  hopper,     // TMA and wgmma, compute capability 9.0, takes what TMA can load; alone takes fp8
};

// For Forward::key_splits.
inline constexpr int64_t kFillDevice = -1;
// For Forward::promote_keys.
inline constexpr int64_t kNeverPromote = -1;

struct Forward {
  DType dtype = DType::fp16;
  int64_t batch = 1, seqlen_q = 0, seqlen_kv = 0;  // with varying lengths: the longest there may be
  int64_t heads_q = 0, heads_kv = 0;  // heads_q / heads_kv query heads in a row share one key head
  int64_t head_dim = 0;               // a multiple of 8, at most 256

  Tensor q, k, v;
  Tensor o;  // of q's shape; no two of its elements may share memory

  // fp8 (q, k and v of one of the two formats): q stands for q_descale · q, and so for k and v,
  // whose factors go by the head of K and V. o is of any type; of an fp8 type it holds o_scale · O,
  // rounded to nearest and held to the largest number. Other types take none of these.
  DType o_dtype = DType::fp16;
  Scale q_descale, k_descale, v_descale, o_scale;
  // fp8: v lies transposed, [batch][head][head_dim][sequence], keys contiguous; stride_seq then
  // steps over head_dim. Not with packed lengths.
  bool v_transposed = false;
  // fp8: the tensor cores add up products with 14 bits or so. After this many keys what they hold
  // is added to sums in fp32. 0: the number that docs/attention.md finds safe; kNeverPromote: not
  // at all.
  int64_t promote_keys = 0;
  // fp8, head_dim over 128: where many query rows share a V, it is turned once into the workspace,
  // a little over 256 bytes for each key and head of V, in blocks of 128 keys. true: the kernel
  // turns it block by block instead: the same bits, some percent slower, and beyond promote_keys at
  // most 64 KiB of workspace for each multiprocessor.
  bool spare_workspace = false;

  // Null, or log Σ exp of each row, natural: [batch][head][seq]; packed: [head][total_q].
  // In fp8 it is off by what the weights were rounded by: 2^-4 at most, unless most of a row's
  // weight lies in keys below 2^-14 of its largest.
  float* lse = nullptr;
  int64_t lse_stride_batch = 0, lse_stride_head = 0;  // both 0: dense

  // Varying lengths, either packed: rows of all sequences after one another, total_q of them,
  // sequence b at rows cu_seqlens[b] up to cu_seqlens[b + 1] (batch + 1 entries, both arrays
  // given);
  const int32_t* cu_seqlens_q = nullptr;
  const int32_t* cu_seqlens_kv = nullptr;
  int64_t total_q = 0, total_kv = 0;
  // or padded: of sequence b only the first seqused[b] rows count (batch entries, each array alone
  // or both). The arrays lie where the tensors lie. Rows past a sequence's end are neither read for
  // their values nor written.
  const int32_t* seqused_q = nullptr;
  const int32_t* seqused_kv = nullptr;

  // Aligned at the bottom right: row i sees the keys j <= i + length_kv - length_q.
  bool causal = false;
  float softmax_scale = 0;  // 0: 1/sqrt(head_dim)

  // Into how many parts each sequence's keys are divided, so that a few rows over many keys occupy
  // the whole device. Parts are computed side by side, left in the workspace in fp32, and put
  // together by a second kernel. 0 and 1 divide nothing; 2 to 128 give that many parts: a sequence
  // still has the same bits alone and in a batch, though other ones than undivided. kFillDevice
  // divides into as many as fill the device and gives that up: the bits then depend on the batch,
  // the heads and the device. The reference divides nothing.
  int64_t key_splits = 0;

  Kernel kernel = Kernel::automatic;
};
// A row that sees no key, or only keys of score -inf, gives O = 0 and LSE = -inf.

enum class Code : uint8_t { ok, invalid_argument, unsupported, cuda_error };

struct [[nodiscard]] Status {
  Code code = Code::ok;
  std::string message;  // one sentence: what, where, and what to do
  bool ok() const { return code == Code::ok; }
};

class Plan {
 public:
  Kernel kernel() const;           // what will run: reference, portable or hopper
  const std::string& why() const;  // and why that one, in a sentence
  size_t workspace_bytes() const;  // device memory, of any content, 16-byte aligned; often 0
  std::string describe() const;    // everything that is launched, as text, pointers by name

  // Enqueues the work on `stream`, which belongs to the device that was current in prepare().
  Status run(void* workspace, size_t workspace_bytes, Stream stream) const;

  struct State;

 private:
  friend struct PlanAccess;
  std::shared_ptr<const State> state_;
};

Status prepare(const Forward& call, Plan& plan);

const char* name(Kernel kernel);
const char* name(DType dtype);

}  // namespace namesake::attention
