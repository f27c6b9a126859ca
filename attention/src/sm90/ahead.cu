// Turns V into the workspace (ahead.h). A block of threads has one block of keys of one head: it
// comes in as it lies, a row of shared memory a key; it is turned as turn.cuh turns it, and leaves
// in one copy.
#include "ahead.h"
#include "launch.h"
#include "layout.h"
#include "ptx.cuh"
#include "tile.h"

namespace namesake::attention::sm90 {
namespace ahead {

constexpr int kThreads = 256;
constexpr TileConfig kTile = tile_for(DType::e4m3, 256, false, true);
constexpr int kHeadDim = kTile.head_dim, kKeys = kTile.keys;

// Rows as they come begin at odd multiples of 16 bytes: eight of them, at one chunk, meet no bank
// twice.
constexpr int kPitch = kHeadDim + kChunkBytes, kBytes = turned_bytes(kHeadDim, kKeys);
constexpr int kSharedBytes = kBytes + kKeys * kPitch;

__global__ void __launch_bounds__(kThreads)
    turn(const __grid_constant__ Problem p, const __grid_constant__ Turned turned) {
  constexpr int kChunks = kHeadDim / kChunkBytes, kLoads = kKeys * kChunks / kThreads;
  constexpr int kSixteens = kKeys / 16, kUnits = kHeadDim / 32 * kSixteens / (kThreads / 32);
  static_assert(kLoads * kThreads == kKeys * kChunks);
  static_assert(kUnits * kThreads == kHeadDim * kSixteens);
  extern __shared__ __align__(128) uint8_t memory[];
  uint8_t* const raw = memory + kBytes;
  ptx::wait_for_earlier_grids();
  ptx::let_later_grids_start();
  const int head = blockIdx.y, batch = blockIdx.z, first = blockIdx.x * kKeys;
  const Sequence s = sequence_of(p, batch);
  if (first >= s.length_kv) return;

  const uint8_t* const from =
      static_cast<const uint8_t*>(p.v.data) + offset_of(p.v, batch, s.first_kv + first, head);
  uint4 chunks[kLoads];
#pragma unroll
  for (int i = 0; i < kLoads; ++i) {
    const int key = (i * kThreads + threadIdx.x) / kChunks;
    const int column = threadIdx.x % kChunks * kChunkBytes;
    const uint8_t* const at = from + key * p.v.stride_seq + column;
    chunks[i] = {};
    if (first + key < s.length_kv) {
      if (column + kChunkBytes <= p.head_dim) {
        chunks[i] = __ldcs(reinterpret_cast<const uint4*>(at));
      } else if (column < p.head_dim) {  // a multiple of eight
        const uint2 half = *reinterpret_cast<const uint2*>(at);
        chunks[i].x = half.x, chunks[i].y = half.y;
      }
    }
  }
#pragma unroll
  for (int i = 0; i < kLoads; ++i) {
    const int key = (i * kThreads + threadIdx.x) / kChunks;
    *reinterpret_cast<uint4*>(raw + key * kPitch + threadIdx.x % kChunks * kChunkBytes) = chunks[i];
  }
  __syncthreads();

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, matrix = lane / 8, row = lane % 8;
  const uint32_t load =
      ptx::shared_address(raw) + (matrix % 2 * 8 + row) * kPitch + matrix / 2 * kChunkBytes;
  const uint32_t store = ptx::shared_address(memory) + turned_chunk(kKeys, matrix * 8 + row, 0);
#pragma unroll
  for (int i = 0; i < kUnits; ++i) {
    const int unit = warp * kUnits + i, pair = unit / kSixteens, sixteen = unit % kSixteens;
    uint32_t w[4];
    ptx::ldmatrix_transposed(load + sixteen * 16 * kPitch + pair * 32, w);
    ptx::stmatrix(store + turned_chunk(kKeys, pair * 32, sixteen), __byte_perm(w[0], w[1], 0x6420),
                  __byte_perm(w[0], w[1], 0x7531), __byte_perm(w[2], w[3], 0x6420),
                  __byte_perm(w[2], w[3], 0x7531));
  }
  ptx::fence_async_proxy();
  __syncthreads();
  if (threadIdx.x == 0) {
    const int64_t block = first_turned(p, turned, batch, head, s.first_kv, kKeys) + blockIdx.x;
    ptx::bulk_store(turned.data + block * kBytes, ptx::shared_address(memory), kBytes);
    ptx::bulk_commit();
    ptx::bulk_wait_read();
  }
}

}  // namespace ahead

cudaError_t turn_ahead(Problem problem, Turned turned, cudaStream_t stream) {
  const dim3 grid(ceil_div(problem.seqlen_kv, ahead::kKeys), problem.heads_kv, problem.batch);
  if (grid.x == 0) return cudaSuccess;
  void* arguments[] = {&problem, &turned};
  return launch_overlapped(reinterpret_cast<const void*>(&ahead::turn), grid, ahead::kThreads,
                           ahead::kSharedBytes, arguments, stream);
}

}  // namespace namesake::attention::sm90
