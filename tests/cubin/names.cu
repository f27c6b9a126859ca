// One kernel for each place in which a symbol can hold a word.
namespace cutlass {
struct Shape { int x; };
template <class T> __global__ void device_kernel(T shape, int* out) { *out = shape.x; }
}
namespace mine {
struct Shape { int x; };
template <int N> __global__ void cutlass_like(int* out) { *out = N; }
namespace cutlass_tools { __global__ void plain(int* out) { *out = 1; } }
}
namespace { __global__ void unnamed(int* out) { *out = 2; } }
template <class T> __global__ void generic(int* out) { *out = sizeof(T); }
__global__ void takes(cutlass::Shape shape, int* out) { *out = shape.x; }
__global__ void cut(long, signed char, short, short) {}
static __global__ void internal(int* out) { *out = 3; }

template __global__ void cutlass::device_kernel<mine::Shape>(mine::Shape, int*);
template __global__ void mine::cutlass_like<4>(int*);
template __global__ void generic<cutlass::Shape>(int*);
void use(int* out) {
  unnamed<<<1, 1>>>(out);
  internal<<<1, 1>>>(out);
}
