// The ordinary cores: rows of a table, fetched by index. Cheap to assemble, and it reacts to all that
// is known, so it is the one for long searches.
extern "C" __global__ void probe_simt(const float* table, const int* index, float* out, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    out[blockIdx.x * n + i] = table[index[blockIdx.x] * n + i];
}
