// The activation function gelu, value by value.
//
// What it shows: straight code with a little arithmetic, a branch-free erf between one load and one
// store. It does not react.

extern "C" __global__ void gelu_forward(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 0.5f * in[i] * (1 + erff(in[i] * 0.70710678f));
}
