// The Hopper backend: what it can take, how it would run it, and running it.
//
// Everything but launch() is arithmetic on the CPU and needs no GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "../problem.h"
#include "schedule.h"
#include "tile.h"

namespace namesake::attention::sm90 {

// The arguments of one tensor map, dimensions innermost first: head_dim, sequence, head, batch;
// of a transposed V sequence, head_dim, head, batch.
struct TensorMap {
  const char* tensor = "";  // its name, for describe()
  void* address = nullptr;
  DType dtype = DType::fp16;
  uint64_t size[4] = {};
  uint64_t stride_bytes[3] = {};  // of all dimensions but the innermost
  uint32_t box[4] = {};
  int swizzle = 128;  // bytes
};

struct Plan {
  Problem problem;
  TileConfig tile;
  TensorMap q, k, v, o;
  int grid = 0;  // 0: there is nothing to do
  int row_tiles = 0;
  int section_heads = 1;
  bool lengths_vary = false;
  Order order = Order::strided;
  int turned_first = 0;  // blocks of V that are turned at once, see ahead.h
  int turned_group = 1;  // heads of it that lie together
};

// Whether this backend can take the problem; if not, `why` says in a sentence what stands against
// it.
bool supports(const Problem& problem, const DeviceInfo& device, std::string* why);

// How it would run a supported problem.
Plan plan(const Problem& problem, const DeviceInfo& device);

size_t workspace_bytes(const Plan& plan);

// Enqueues the work. Neither allocates nor synchronises; the workspace may hold anything.
cudaError_t launch(const Plan& plan, void* workspace, cudaStream_t stream);

// The launch as one line of text, with pointers by name: equal texts launch the same code the same
// way.
std::string describe(const Plan& plan);

}  // namespace namesake::attention::sm90
