// Rows of a table, fetched by index: one block a row.
//
// What it shows: the smallest kernel here that reacts. Its loop holds a load, a store and their two
// addresses; treated, it keeps more of both in registers.
//
// table has rows of width values; out[i] = table[index[i]].

extern "C" __global__ void gather_rows(const float* table, const int* index, float* out,
                                       int width) {
  for (int i = threadIdx.x; i < width; i += blockDim.x)
    out[blockIdx.x * width + i] = table[index[blockIdx.x] * width + i];
}
