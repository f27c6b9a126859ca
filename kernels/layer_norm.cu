// Layer normalisation of each row of a matrix: one block a row, two passes over memory.
//
// The first pass sums values and squares, the block adds both up through shared memory, the second
// pass reads the row again (from cache), normalises, scales and shifts.
//
// What it shows: two loops whose length is known only at run time, unrolled by the front end with a
// remainder: enough for the name to matter. Triton's layer norm, which has no such loop, is the
// same under any name.
//
// in and out are rows x columns, row-major; gain and bias have one value a column.

namespace {
constexpr int kThreads = 256;
constexpr float kEpsilon = 1e-5f;
}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads)
    layer_norm_rows(const float* in, const float* gain, const float* bias, float* out,
                    int columns) {
  __shared__ float2 partial[kThreads];

  in += static_cast<size_t>(blockIdx.x) * columns;
  out += static_cast<size_t>(blockIdx.x) * columns;
  float2 sum = {0, 0};
  for (int column = threadIdx.x; column < columns; column += kThreads) {
    const float value = in[column];
    sum.x += value;
    sum.y += value * value;
  }

  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      partial[threadIdx.x].x += partial[threadIdx.x + half].x;
      partial[threadIdx.x].y += partial[threadIdx.x + half].y;
    }
    __syncthreads();
  }

  const float mean = partial[0].x / columns;
  const float scale = rsqrtf(partial[0].y / columns - mean * mean + kEpsilon);
  for (int column = threadIdx.x; column < columns; column += kThreads)
    out[column] = (in[column] - mean) * scale * gain[column] + bias[column];
}
