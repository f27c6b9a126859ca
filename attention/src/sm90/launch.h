// Launching a given kernel as planned: what sm90.h's launch() does, open to another choice of
// kernel.
#pragma once

#include "sm90.h"

namespace namesake::attention::sm90 {

// The plan for a problem with a given tile.
Plan plan_with(const TileConfig& tile, const Problem& problem, const DeviceInfo& device);

// Of the workspace, for the tile counter; then come the promoted sums, V turned ahead, and the
// partials of split.h.
size_t counter_bytes(const Plan& plan);

// fp8: blocks of keys after which sums are promoted, 0 where no row sees more; and what that takes
// of the workspace.
int promote_blocks(const Plan& plan);
size_t sums_bytes(const Plan& plan);

// fp8: what V takes of the workspace where it is turned ahead.
size_t turned_bytes(const Plan& plan);

// Launches a kernel that may begin while earlier grids end: it waits for them itself, before it
// touches memory.
cudaError_t launch_overlapped(const void* function, dim3 grid, int threads, int shared_bytes,
                              void** arguments, cudaStream_t stream);

cudaError_t launch_kernel(const void* function, const Plan& plan, void* workspace,
                          cudaStream_t stream);

}  // namespace namesake::attention::sm90
