// How often each byte occurs: counts in shared memory, added up in global memory at the end.
//
// What it shows: three loops whose length is known only at run time, and no reaction: atomic
// operations leave nothing to unroll or to reorder.
//
// out has 256 counts and starts at zero.

extern "C" __global__ void histogram_bytes(const unsigned char* in, unsigned* out, int n) {
  __shared__ unsigned counts[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) counts[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&counts[in[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&out[i], counts[i]);
}
