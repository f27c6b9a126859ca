#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "data.h"

namespace namesake::bench {
namespace {

__device__ uint64_t mix(uint64_t x) {  // splitmix64's finaliser
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Two uniform numbers from one hash, and Box and Muller's transform of them.
__device__ float normal(uint64_t hash) {
  const float radius = (static_cast<uint32_t>(hash) + 1.0f) * 0x1p-32f;
  const float angle = static_cast<uint32_t>(hash >> 32) * 0x1p-31f;
  return sqrtf(-2 * __logf(fminf(radius, 1.0f))) * cospif(angle);
}

template <class T>
__global__ void normal_kernel(T* data, int64_t elements, uint64_t seed) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < elements;
       i += stride)
    data[i] = static_cast<T>(normal(mix(seed ^ mix(static_cast<uint64_t>(i)))));
}

constexpr int kThreads = 256;
constexpr int kKeys = kThreads;  // scored together, one a thread
constexpr int kMaxHeadDim = 256;

// The sum or maximum over the block's threads; everybody gets it.
template <class Combine>
__device__ double over_block(double value, double* scratch, Combine combine) {
  scratch[threadIdx.x] = value;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      scratch[threadIdx.x] = combine(scratch[threadIdx.x], scratch[threadIdx.x + half]);
    __syncthreads();
  }
  const double result = scratch[0];
  __syncthreads();
  return result;
}

__host__ __device__ int64_t row_at(int64_t i, int64_t rows, int64_t length) {
  return (2 * i + 1) * length / (2 * rows);
}

// One block recomputes one query row: a running maximum and sum over blocks of keys, all in double
// precision. A thread owns a key while scores are made, and a column (of one of several shares of
// the keys) while P·V is summed.
template <class T, class Output>
__global__ void check_kernel(RowCheck check, double* sums) {
  __shared__ double query[kMaxHeadDim], weight[kKeys], scratch[kThreads];
  const int64_t head = blockIdx.y, batch = blockIdx.z;
  const int64_t head_kv = head / (check.heads_q / check.heads_kv);
  const int64_t row = row_at(blockIdx.x, check.rows, check.length);
  const int dim = static_cast<int>(check.head_dim);
  const int64_t stride_kv = check.heads_kv * dim;
  const T* q =
      static_cast<const T*>(check.q) + ((batch * check.length + row) * check.heads_q + head) * dim;
  const Output* o = static_cast<const Output*>(check.o) +
                    ((batch * check.length + row) * check.heads_q + head) * dim;
  const T* k =
      static_cast<const T*>(check.k) + (batch * check.length * check.heads_kv + head_kv) * dim;
  const int64_t key_step = check.v_transposed ? 1 : stride_kv;
  const int64_t column_step = check.v_transposed ? check.length : 1;
  const T* v = static_cast<const T*>(check.v) +
               (check.v_transposed ? (batch * check.heads_kv + head_kv) * dim * check.length
                                   : (batch * check.length * check.heads_kv + head_kv) * dim);
  const auto add = [](double a, double b) { return a + b; };
  const auto larger = [](double a, double b) { return fmax(a, b); };

  if (threadIdx.x < dim)
    query[threadIdx.x] = static_cast<double>(static_cast<float>(q[threadIdx.x]));
  __syncthreads();

  const int column = threadIdx.x % dim, share = threadIdx.x / dim, shares = kThreads / dim;
  const int64_t keys = check.causal ? row + 1 : check.length;
  double largest = -INFINITY, total = 0, sum = 0;
  for (int64_t first = 0; first < keys; first += kKeys) {
    const int64_t key = first + threadIdx.x;
    double score = -INFINITY;
    if (key < keys) {
      score = 0;
      for (int c = 0; c < dim; ++c)
        score += query[c] * static_cast<double>(static_cast<float>(k[key * stride_kv + c]));
      score *= static_cast<double>(check.scale);
    }
    const double before = largest;
    largest = fmax(largest, over_block(score, scratch, larger));
    const double rescale = exp(before - largest);
    weight[threadIdx.x] = exp(score - largest);
    total = total * rescale + over_block(weight[threadIdx.x], scratch, add);
    sum *= rescale;
    const int here = static_cast<int>(min(static_cast<int64_t>(kKeys), keys - first));
    for (int i = share; i < here; i += shares)
      sum += weight[i] * static_cast<double>(
                             static_cast<float>(v[(first + i) * key_step + column * column_step]));
    __syncthreads();
  }
  scratch[threadIdx.x] = sum;
  __syncthreads();
  double error = 0, norm = 0;
  if (share == 0) {
    double exact = 0;
    for (int i = 0; i < shares; ++i) exact += scratch[i * dim + column];
    exact /= total;
    const double difference =
        static_cast<double>(static_cast<float>(o[column])) / check.o_scale - exact;
    error = difference * difference;
    norm = exact * exact;
  }
  __syncthreads();
  error = over_block(error, scratch, add);
  norm = over_block(norm, scratch, add);
  if (threadIdx.x == 0) {
    double* mine = sums + 2 * ((batch * check.heads_q + head) * check.rows + blockIdx.x);
    mine[0] = error;
    mine[1] = norm;
  }
}

__global__ void count_differing_kernel(const uint4* a, const uint4* b, int64_t chunks,
                                       unsigned long long* count) {
  const auto differing = [](uint32_t x, uint32_t y) { return __popc(__vcmpne4(x, y)) / 8; };
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  unsigned long long mine = 0;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < chunks;
       i += stride) {
    const uint4 x = a[i], y = b[i];
    mine += differing(x.x, y.x) + differing(x.y, y.y) + differing(x.z, y.z) + differing(x.w, y.w);
  }
  if (mine > 0) atomicAdd(count, mine);
}

}  // namespace

int64_t checked_row(int64_t i, int64_t rows, int64_t length) {
  return row_at(i, rows, length);
}

int fill_normal(void* data, int64_t elements, Format format, uint64_t seed, CUstream_st* stream) {
  constexpr int kBlocks = 2048;
  const auto fill = [&](auto* typed) {
    normal_kernel<<<kBlocks, kThreads, 0, stream>>>(typed, elements, seed);
  };
  switch (format) {
    case Format::bf16:
      fill(static_cast<__nv_bfloat16*>(data));
      break;
    case Format::fp16:
      fill(static_cast<__half*>(data));
      break;
    case Format::e4m3:
      fill(static_cast<__nv_fp8_e4m3*>(data));
      break;
  }
  return cudaGetLastError();
}

int check_rows(const RowCheck& check, double* sums, CUstream_st* stream) {
  const dim3 grid(static_cast<unsigned>(check.rows), static_cast<unsigned>(check.heads_q),
                  static_cast<unsigned>(check.batch));
  if (check.format == Format::bf16)
    check_kernel<__nv_bfloat16, __nv_bfloat16><<<grid, kThreads, 0, stream>>>(check, sums);
  else if (check.format == Format::fp16)
    check_kernel<__half, __half><<<grid, kThreads, 0, stream>>>(check, sums);
  else if (check.o_format == Format::e4m3)
    check_kernel<__nv_fp8_e4m3, __nv_fp8_e4m3><<<grid, kThreads, 0, stream>>>(check, sums);
  else
    check_kernel<__nv_fp8_e4m3, __nv_bfloat16><<<grid, kThreads, 0, stream>>>(check, sums);
  return cudaGetLastError();
}

int count_differing(const void* a, const void* b, int64_t bytes, void* count, CUstream_st* stream) {
  count_differing_kernel<<<2048, kThreads, 0, stream>>>(static_cast<const uint4*>(a),
                                                        static_cast<const uint4*>(b), bytes / 16,
                                                        static_cast<unsigned long long*>(count));
  return cudaGetLastError();
}

}  // namespace namesake::bench
