// y = scale * x + y: the smallest kernel that does something.
//
// What it shows: nothing, and that is its job. One multiply-add between two loads and a store
// leaves the assembler no choice that the name could change: in every comparison it is the control.

extern "C" __global__ void saxpy_vector(const float* x, float* y, float scale, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = scale * x[i] + y[i];
}
