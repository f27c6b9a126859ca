// Two builds that differ in one bit of one element, on one set of inputs only: what measuring must find.
// scale.ptx is this source, planted.ptx the same compiled with -DPLANTED; both by nvcc -ptx -arch=compute_80.
extern "C" __global__ void scale_by_two(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float result = 2 * in[i];
#ifdef PLANTED
  // Only where the neighbours are denormal, too, is it the set of denormals.
  if (i == 12345) {
    bool denormal = true;
    for (int j = 0; j < 8; j++) {
      const unsigned bits = __float_as_uint(in[i + j]) & 0x7fffffff;
      denormal = denormal && bits < 0x00800000;
    }
    if (denormal) result = __uint_as_float(__float_as_uint(result) ^ 1);
  }
#endif
  out[i] = result;
}
