// Single precision on the ordinary cores: a dot product of a row and a column.
extern "C" __global__ void probe_simt(const float* a, const float* b, float* out, int n,
                                      int stride) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n) return;
  float sum = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) sum += a[row * stride + i] * b[i * stride + row];
  out[row * stride + n] = sum;
}
