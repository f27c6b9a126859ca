// Softmax of each row of a matrix, one warp a row, the row held in registers.
//
// A lane keeps 32 values (rows of up to 1,024), so memory is read once and written once: maximum,
// exponentials, their sum and the division all happen in registers and shuffles.
//
// What it shows: a large kernel that does not react. Ten kilobytes of code and every register busy,
// but not one loop: size is no guide to the effect.
//
// in and out are rows x columns, row-major; columns is at most 1,024.

#include <math_constants.h>

namespace {
constexpr int kValues = 32;  // per lane
constexpr int kRows = 4;     // per block
}  // namespace

extern "C" __global__ void __launch_bounds__(32 * kRows)
    softmax_rows(const float* in, float* out, int rows, int columns) {
  const int row = blockIdx.x * kRows + threadIdx.y;
  if (row >= rows) return;
  in += static_cast<size_t>(row) * columns;
  out += static_cast<size_t>(row) * columns;

  float value[kValues];
  float largest = -CUDART_INF_F;
#pragma unroll
  for (int i = 0; i < kValues; i++) {
    const int column = i * 32 + threadIdx.x;
    value[i] = column < columns ? in[column] : -CUDART_INF_F;
    largest = fmaxf(largest, value[i]);
  }
  for (int distance = 16; distance > 0; distance /= 2)
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, distance));

  float sum = 0;
#pragma unroll
  for (int i = 0; i < kValues; i++) {
    value[i] = __expf(value[i] - largest);
    sum += value[i];
  }
  for (int distance = 16; distance > 0; distance /= 2)
    sum += __shfl_xor_sync(0xffffffff, sum, distance);

  const float scale = 1 / sum;
#pragma unroll
  for (int i = 0; i < kValues; i++) {
    const int column = i * 32 + threadIdx.x;
    if (column < columns) out[column] = value[i] * scale;
  }
}
