// Matrix transposition through shared memory.
//
// A block reads a 32 x 32 tile along its rows and writes it along its columns, so that both sides
// touch memory in whole lines; the tile is one column wider than it seems, so that a column's
// values lie in 32 different banks. It moves as many bytes as a copy does and should take as long.
//
// What it shows: that address arithmetic alone is not what makes a kernel react. Its loops have
// four turns and vanish; nothing is left that the treatment would arrange in another way.
//
// in is rows x columns, out columns x rows, both row-major; any sizes.

namespace {
constexpr int kTile = 32;
constexpr int kRowsAtOnce = 8;
}  // namespace

extern "C" __global__ void transpose_tiled(const float* in, float* out, int rows, int columns) {
  __shared__ float tile[kTile][kTile + 1];

  const int column = blockIdx.x * kTile + threadIdx.x;
  const int row = blockIdx.y * kTile + threadIdx.y;
  for (int i = 0; i < kTile; i += kRowsAtOnce)
    if (row + i < rows && column < columns)
      tile[threadIdx.y + i][threadIdx.x] = in[(row + i) * columns + column];
  __syncthreads();

  const int out_column = blockIdx.y * kTile + threadIdx.x;
  const int out_row = blockIdx.x * kTile + threadIdx.y;
  for (int i = 0; i < kTile; i += kRowsAtOnce)
    if (out_row + i < columns && out_column < rows)
      out[(out_row + i) * rows + out_column] = tile[threadIdx.x][threadIdx.y + i];
}
