// Marks functions that both the CPU's and the GPU's compiler see.
#pragma once

#ifdef __CUDACC__
#define NAMESAKE_HOST_DEVICE __host__ __device__
#else
#define NAMESAKE_HOST_DEVICE
#endif
