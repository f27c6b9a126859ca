#include "data.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "sequence.h"

namespace namesake::attention::test {
namespace {

__host__ __device__ uint32_t mix(uint32_t h) {
  h ^= h >> 16;
  h *= 0x85ebca6b;
  h ^= h >> 13;
  h *= 0xc2b2ae35;
  return h ^ h >> 16;
}

__device__ float value_at(const Fill& f, uint64_t index) {
  const uint32_t h =
      mix(mix(f.seed ^ static_cast<uint32_t>(index)) ^ static_cast<uint32_t>(index >> 32));
  const uint32_t a = mix(h + 0x9e3779b9), b = mix(h + 0x3c6ef372);
  const int sum = static_cast<int>((a & 0xffff) + (a >> 16) + (b & 0xffff) + (b >> 16)) - 131070;
  float x = __fmul_rn(static_cast<float>(sum) / 32768, f.sigma);
  if (f.outliers > 0 && mix(h + 0xdaa66d2b) % f.outliers == 0) x = __fmul_rn(x, 10);
  return __fadd_rn(x, f.mean);
}

__device__ void store(void* tensor, int64_t element, float x, DType dtype) {
  switch (dtype) {
    case DType::fp16:
      static_cast<__half*>(tensor)[element] = __float2half_rn(x);
      break;
    case DType::bf16:
      static_cast<__nv_bfloat16*>(tensor)[element] = __float2bfloat16_rn(x);
      break;
    default:
      static_cast<__nv_fp8_storage_t*>(tensor)[element] =
          __nv_cvt_float_to_fp8(x, __NV_NOSAT, dtype == DType::e4m3 ? __NV_E4M3 : __NV_E5M2);
  }
}

__device__ float load(const void* tensor, int64_t element, DType dtype) {
  switch (dtype) {
    case DType::fp16:
      return __half2float(static_cast<const __half*>(tensor)[element]);
    case DType::bf16:
      return __bfloat162float(static_cast<const __nv_bfloat16*>(tensor)[element]);
    default:
      return __half2float(
          __nv_cvt_fp8_to_halfraw(static_cast<const __nv_fp8_storage_t*>(tensor)[element],
                                  dtype == DType::e4m3 ? __NV_E4M3 : __NV_E5M2));
  }
}

// Of an 8-bit type: the largest number, and the distance of a number of this magnitude to the next.
__device__ double largest(DType dtype) {
  return dtype == DType::e4m3 ? 448 : 57344;
}
__device__ double spacing(double magnitude, DType dtype) {
  const int mantissa_bits = dtype == DType::e4m3 ? 3 : 2, least = dtype == DType::e4m3 ? -6 : -14;
  const int exponent = magnitude > 0 ? max(ilogb(magnitude), least) : least;
  return ldexp(1.0, exponent - mantissa_bits);
}

__host__ __device__ const Tensor& tensor_of(const Problem& p, Which which) {
  return which == Which::q ? p.q : which == Which::k ? p.k : which == Which::v ? p.v : p.o;
}

// Where an element lies, in elements; `row` counts over all that a packed tensor holds.
__device__ int64_t place_of(const Problem& p, Which which, int32_t batch, int64_t row, int32_t head,
                            int32_t column) {
  const Tensor& t = tensor_of(p, which);
  if (which == Which::v && p.v_transposed) return offset_of(t, batch, column, head) + row;
  return offset_of(t, batch, row, head) + column;
}

// Walks the elements of the valid rows: function(place, batch, row in the sequence, global row,
// head, column).
template <typename Function>
__device__ void for_each(const Problem& p, Which which, Function function) {
  const bool of_q = which == Which::q || which == Which::o;
  const int64_t longest = of_q ? p.seqlen_q : p.seqlen_kv, heads = of_q ? p.heads_q : p.heads_kv;
  const int64_t elements = p.batch * longest * heads * p.head_dim;
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < elements;
       i += int64_t{gridDim.x} * blockDim.x) {
    const auto column = static_cast<int32_t>(i % p.head_dim);
    int64_t rest = i / p.head_dim;
    const auto head = static_cast<int32_t>(rest % heads);
    rest /= heads;
    const auto row = static_cast<int32_t>(rest % longest),
               batch = static_cast<int32_t>(rest / longest);
    const Sequence s = sequence_of(p, batch);
    if (row >= (of_q ? s.length_q : s.length_kv)) continue;
    const int64_t global = (of_q ? s.first_q : s.first_kv) + row;
    function(place_of(p, which, batch, global, head, column), batch, row, global, head, column);
  }
}

__global__ void fill_kernel(const __grid_constant__ Problem p, Which which, Fill f) {
  const bool of_q = which == Which::q;
  const uint64_t longest = of_q ? p.seqlen_q : p.seqlen_kv, heads = of_q ? p.heads_q : p.heads_kv;
  for_each(p, which,
           [&](int64_t at, int32_t batch, int32_t, int64_t global, int32_t head, int32_t column) {
             const uint64_t row =
                 f.same_rows ? 0 : (p.cu_seqlens_q ? global : batch * longest + global);
             store(tensor_of(p, which).data, at,
                   value_at(f, (row * heads + head) * p.head_dim + column), p.dtype);
           });
}

__global__ void poke_kernel(const __grid_constant__ Problem p, Poke k) {
  for_each(p, k.which, [&](int64_t at, int32_t, int32_t row, int64_t, int32_t, int32_t column) {
    if (column == k.column && row >= k.first && row < k.end && (row - k.first) % k.step == 0)
      store(tensor_of(p, k.which).data, at, k.value, p.dtype);
  });
}

__global__ void erase_kernel(const __grid_constant__ Problem p) {
  for_each(p, Which::o,
           [&](int64_t at, int32_t batch, int32_t, int64_t global, int32_t head, int32_t column) {
             const int bytes = bytes_of(p.o_dtype);
             for (int i = 0; i < bytes; i++) static_cast<uint8_t*>(p.o.data)[at * bytes + i] = 0xff;
             if (column == 0 && p.lse)
               reinterpret_cast<uint32_t*>(
                   p.lse)[batch * p.lse_stride_batch + head * p.lse_stride_head + global] = ~0u;
           });
}

// ---- the oracle: 16 query rows a block, tiles of 32 keys as doubles in shared memory ----

constexpr int kRows = 16, kKeys = 32, kThreads = 256, kMostColumns = 256 / 16;

__device__ void widen_rows(const Problem& p, Which which, int32_t batch, int64_t first,
                           int32_t head, int32_t row0, int32_t limit, int rows, int pitch,
                           double* to) {
  for (int i = threadIdx.x; i < rows * p.head_dim; i += kThreads) {
    const int row = i / p.head_dim, column = i % p.head_dim;
    double x = 0;
    if (row0 + row < limit)
      x = load(tensor_of(p, which).data,
               place_of(p, which, batch, first + row0 + row, head, column), p.dtype);
    to[row * pitch + column] = x;
  }
}

__global__ void __launch_bounds__(kThreads)
    oracle_kernel(const __grid_constant__ Problem p, Oracle result, int blocks) {
  extern __shared__ double memory[];
  __shared__ double weights[kRows][kKeys + 1];
  const int dim = p.head_dim, pitch = dim + 1;
  double* q = memory;
  double* tile = q + kRows * pitch;
  const int r = threadIdx.x / 16, c = threadIdx.x % 16;

  const int64_t pair = blockIdx.x / blocks;
  const auto batch = static_cast<int32_t>(pair / p.heads_q),
             head = static_cast<int32_t>(pair % p.heads_q);
  const int32_t head_kv = head / (p.heads_q / p.heads_kv);
  const int32_t row0 = (blockIdx.x % blocks) * kRows;
  const Sequence s = sequence_of(p, batch);
  if (row0 >= s.length_q) return;
  const int32_t row = row0 + r;
  const int32_t keys = row < s.length_q ? keys_seen(p, s, row) : 0;
  const int32_t keys_of_block = keys_seen(p, s, min(row0 + kRows, s.length_q) - 1);
  widen_rows(p, Which::q, batch, s.first_q, head, row0, s.length_q, kRows, pitch, q);

  const auto load_keys = [&](Which which, int32_t first) {
    __syncthreads();
    widen_rows(p, which, batch, s.first_kv, head_kv, first, s.length_kv, kKeys, pitch, tile);
    __syncthreads();
  };
  const double of_scores = double{p.softmax_scale} * scale_at(p.q_descale, batch, head) *
                           scale_at(p.k_descale, batch, head_kv),
               of_output = scale_at(p.v_descale, batch, head_kv);
  const auto score = [&](int key) {
    double dot = 0;
    for (int d = 0; d < dim; d++) dot += q[r * pitch + d] * tile[key * pitch + d];
    return dot * of_scores;
  };
  const auto over_row = [&](double x, auto function) {
    for (int step = 1; step < 16; step *= 2) x = function(x, __shfl_xor_sync(~0u, x, step));
    return x;
  };

  double largest = -INFINITY, magnitude = 0;
  for (int32_t first = 0; first < keys_of_block; first += kKeys) {
    load_keys(Which::k, first);
    for (int key = c; key < kKeys; key += 16) {
      if (first + key >= keys) continue;
      const double x = score(key);
      largest = fmax(largest, x);
      if (isfinite(x)) magnitude = fmax(magnitude, fabs(x));
    }
  }
  largest = over_row(largest, [](double a, double b) { return fmax(a, b); });
  magnitude = over_row(magnitude, [](double a, double b) { return fmax(a, b); });
  const double around = largest == -INFINITY ? 0 : largest;

  double sum = 0, o[kMostColumns] = {};
  for (int32_t first = 0; first < keys_of_block; first += kKeys) {
    load_keys(Which::k, first);
    for (int key = c; key < kKeys; key += 16) {
      const double weight = first + key < keys ? exp(score(key) - around) : 0;
      weights[r][key] = weight;
      sum += weight;
    }
    load_keys(Which::v, first);
    const int end =
        min(kKeys, keys - first);  // a weight of 0 must not meet a NaN of a key that is not seen
    for (int key = 0; key < end; key++) {
#pragma unroll
      for (int i = 0; i < kMostColumns; i++) {
        if (c + 16 * i < dim) o[i] += weights[r][key] * tile[key * pitch + c + 16 * i];
      }
    }
  }
  sum = over_row(sum, [](double a, double b) { return a + b; });
  if (row >= s.length_q) return;
  const int64_t at = pair * p.seqlen_q + row;
  if (c == 0) {
    result.lse[at] = sum == 0 ? -INFINITY : around + log(sum);
    result.largest[at] = magnitude;
  }
#pragma unroll
  for (int i = 0; i < kMostColumns; i++) {
    if (c + 16 * i < dim) result.o[at * dim + c + 16 * i] = sum == 0 ? 0 : of_output * o[i] / sum;
  }
}

// One block for each batch and head.
__global__ void __launch_bounds__(kThreads)
    compare_kernel(const __grid_constant__ Problem p, Oracle reference, int32_t nan_allowed_from,
                   Difference* differences) {
  const int64_t pair = blockIdx.x;
  const auto batch = static_cast<int32_t>(pair / p.heads_q),
             head = static_cast<int32_t>(pair % p.heads_q);
  const Sequence s = sequence_of(p, batch);
  Difference d;
  for (int64_t i = threadIdx.x; i < int64_t{s.length_q} * p.head_dim; i += kThreads) {
    const auto row = static_cast<int32_t>(i / p.head_dim),
               column = static_cast<int32_t>(i % p.head_dim);
    const int64_t at = pair * p.seqlen_q + row;
    const bool nan_allowed = keys_seen(p, s, row) > nan_allowed_from;
    const auto judge = [&](double have, double want, auto both) {
      if (isfinite(have) && isfinite(want)) {
        both();
      } else if (isnan(want) ? !isnan(have) : have != want) {
        if (!(nan_allowed && isnan(have))) d.wrong++;
      }
    };
    const double o =
        load(p.o.data, place_of(p, Which::o, batch, s.first_q + row, head, column), p.o_dtype);
    double want = reference.o[at * p.head_dim + column] * scale_at(p.o_scale, batch, head);
    double step = 0;
    if (is_fp8(p.o_dtype)) {
      if (fabs(want) > largest(p.o_dtype)) want = copysign(largest(p.o_dtype), want);
      step = spacing(fabs(want), p.o_dtype);
    }
    judge(o, want, [&] {
      d.error2 += (o - want) * (o - want);
      d.reference2 += want * want;
      d.rounding2 += step * step / 12;
    });
    if (column != 0) continue;
    d.largest_score = fmax(d.largest_score, reference.largest[at]);
    if (!p.lse) continue;
    const double lse =
        p.lse[batch * p.lse_stride_batch + head * p.lse_stride_head + s.first_q + row];
    judge(lse, reference.lse[at],
          [&] { d.lse_error = fmax(d.lse_error, fabs(lse - reference.lse[at])); });
  }
  __shared__ Difference all[kThreads];
  all[threadIdx.x] = d;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x >= half) continue;
    Difference& a = all[threadIdx.x];
    const Difference& b = all[threadIdx.x + half];
    a = {a.error2 + b.error2,
         a.reference2 + b.reference2,
         fmax(a.lse_error, b.lse_error),
         fmax(a.largest_score, b.largest_score),
         a.rounding2 + b.rounding2,
         a.wrong + b.wrong};
  }
  if (threadIdx.x == 0) differences[pair] = all[0];
}

__global__ void touched_kernel(const uint32_t* words, size_t n, unsigned long long* count) {
  unsigned long long touched = 0;
  for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < n;
       i += size_t{gridDim.x} * blockDim.x)
    if (words[i] != ~0u) touched += 4 - __popc(__vcmpeq4(words[i], ~0u)) / 8;
  if (touched) atomicAdd(count, touched);
}

__global__ void checksum_kernel(const uint32_t* words, size_t n, unsigned long long* sum) {
  unsigned long long hash = 0;
  for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < n;
       i += size_t{gridDim.x} * blockDim.x)
    hash += uint64_t{mix(words[i] ^ mix(static_cast<uint32_t>(i)))} << 16 |
            mix(words[i] + static_cast<uint32_t>(i >> 16));
  atomicAdd(sum, hash);
}

__global__ void hold_kernel(volatile int* held, const volatile int* go) {
  atomicAdd_system(const_cast<int*>(held), 1);
  while (*go == 0) {
  }
}

unsigned blocks_for(int64_t work) {
  const int64_t blocks = (work + kThreads - 1) / kThreads;
  return static_cast<unsigned>(blocks < 1 ? 1 : blocks > 4096 ? 4096 : blocks);
}

int64_t elements_of(const Problem& p, Which which) {
  const bool of_q = which == Which::q || which == Which::o;
  return int64_t{p.batch} * (of_q ? p.seqlen_q : p.seqlen_kv) * (of_q ? p.heads_q : p.heads_kv) *
         p.head_dim;
}

}  // namespace

void fill(const Problem& p, Which which, const Fill& f, cudaStream_t stream) {
  fill_kernel<<<blocks_for(elements_of(p, which)), kThreads, 0, stream>>>(p, which, f);
}

void poke(const Problem& p, const Poke& k, cudaStream_t stream) {
  poke_kernel<<<blocks_for(elements_of(p, k.which)), kThreads, 0, stream>>>(p, k);
}

void oracle(const Problem& p, const Oracle& result, cudaStream_t stream) {
  const int blocks = (p.seqlen_q + kRows - 1) / kRows;
  const int64_t grid = int64_t{blocks} * p.heads_q * p.batch;
  if (grid == 0) return;
  const int shared = (kRows + kKeys) * (p.head_dim + 1) * static_cast<int>(sizeof(double));
  cudaFuncSetAttribute(oracle_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
  oracle_kernel<<<static_cast<unsigned>(grid), kThreads, shared, stream>>>(p, result, blocks);
}

void compare(const Problem& p, const Oracle& reference, int32_t nan_allowed_from,
             Difference* differences, cudaStream_t stream) {
  const int64_t grid = int64_t{p.heads_q} * p.batch;
  if (grid == 0) return;
  compare_kernel<<<static_cast<unsigned>(grid), kThreads, 0, stream>>>(
      p, reference, nan_allowed_from, differences);
}

void erase_outputs(const Problem& p, cudaStream_t stream) {
  erase_kernel<<<blocks_for(elements_of(p, Which::o)), kThreads, 0, stream>>>(p);
}

void count_touched(const void* data, size_t bytes, unsigned long long* count, cudaStream_t stream) {
  touched_kernel<<<blocks_for(bytes / 4), kThreads, 0, stream>>>(static_cast<const uint32_t*>(data),
                                                                 bytes / 4, count);
}

void checksum(const void* data, size_t bytes, unsigned long long* sum, cudaStream_t stream) {
  checksum_kernel<<<blocks_for(bytes / 4), kThreads, 0, stream>>>(
      static_cast<const uint32_t*>(data), bytes / 4, sum);
}

void hold(int blocks, int* held, const int* go, cudaStream_t stream) {
  constexpr int kShared = 200 << 10;  // of a multiprocessor's: more than another such block finds
  cudaFuncSetAttribute(hold_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared);
  hold_kernel<<<blocks, 1, kShared, stream>>>(held, go);
}

}  // namespace namesake::attention::test
