// cuDNN's fp8 attention for accuracy.py: the bench's peer behind one C function.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <optional>

#include "cudnn_peer.h"

namespace namesake::bench {
namespace {

struct DeviceMemory {
  void* data = nullptr;
  explicit DeviceMemory(size_t bytes) { cudaMalloc(&data, bytes > 0 ? bytes : 1); }
  ~DeviceMemory() { cudaFree(data); }
  DeviceMemory(const DeviceMemory&) = delete;
};

Status run(CudnnTensors tensors, const Cell& cell, float scale, float o_scale,
           CUstream_st* stream) {
  static const auto library = Cudnn::open();
  if (!library) return error(library.error().message);
  TRY_ASSIGN(const Cudnn::Attention attention, library->attention(cell, scale));
  const DeviceMemory workspace(attention.plans()[0].workspace_bytes);
  const DeviceMemory scalars(sizeof(CudnnScalars));
  CudnnScalars values;
  values.o_scale = o_scale;
  if (!workspace.data || !scalars.data ||
      cudaMemcpy(scalars.data, &values, sizeof values, cudaMemcpyHostToDevice) != cudaSuccess)
    return error("no device memory for cuDNN");
  tensors.scalars = scalars.data;
  TRY(attention.run(0, tensors, workspace.data, stream));
  if (const cudaError_t code = cudaStreamSynchronize(stream); code != cudaSuccess)
    return error(cudaGetErrorString(code));
  return {};
}

}  // namespace
}  // namespace namesake::bench

// Dense [batch][length][heads][head_dim], full mask, by the first plan that the heuristics propose.
// Not 0: why, in the message.
extern "C" __attribute__((visibility("default"))) int attention_bench_cudnn_fp8(
    void* q, void* k, void* v, void* o, int64_t batch, int64_t length, int64_t heads,
    int64_t head_dim, float scale, float o_scale, CUstream_st* stream, char* message,
    size_t message_bytes) {
  const namesake::bench::Cell cell{.dtype = namesake::attention::DType::e4m3,
                                   .batch = batch,
                                   .heads_q = heads,
                                   .heads_kv = heads,
                                   .length = length,
                                   .head_dim = head_dim};
  const auto status = namesake::bench::run({q, k, v, o}, cell, scale, o_scale, stream);
  if (status) return 0;
  std::snprintf(message, message_bytes, "%s", status.error().message.c_str());
  return 1;
}
