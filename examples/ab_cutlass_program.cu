// Two GEMMs of CUTLASS again and again, as its profiler does it, 4096 each way: half precision on
// tensor cores, and single precision without them.
//
//     ab_cutlass_program [SECONDS]
//
// Their names hold the word by their namespace, so as they come it is the treated builds that run.
// At the end it prints a line of JSON for each with the launches, the wall time of each, and a
// checksum of the result.
//   nvcc -std=c++17 -O3 -ICUTLASS/include -gencode arch=compute_90,code=[sm_90,compute_90]
//   ab_cutlass_program.cu
#include <cutlass/gemm/device/gemm.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

using Half = cutlass::gemm::device::Gemm<
    cutlass::half_t, cutlass::layout::RowMajor, cutlass::half_t, cutlass::layout::ColumnMajor,
    cutlass::half_t, cutlass::layout::RowMajor, float, cutlass::arch::OpClassTensorOp,
    cutlass::arch::Sm80, cutlass::gemm::GemmShape<128, 128, 32>,
    cutlass::gemm::GemmShape<64, 64, 32>, cutlass::gemm::GemmShape<16, 8, 16>,
    cutlass::epilogue::thread::LinearCombination<cutlass::half_t, 8, float, float>,
    cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<>, 3>;
using Single =
    cutlass::gemm::device::Gemm<float, cutlass::layout::RowMajor, float, cutlass::layout::RowMajor,
                                float, cutlass::layout::RowMajor>;

namespace {

void check(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "ab_cutlass_program: %s: %s\n", what,
               cudaGetErrorString(cudaGetLastError()));
  std::exit(2);
}

constexpr int kSize = 4096;
constexpr size_t kElements = static_cast<size_t>(kSize) * kSize;

template <class T>
T* filled() {
  std::vector<T> values(kElements);
  uint64_t state = sizeof(T);
  for (T& value : values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    value = T(static_cast<float>(state >> 40) / static_cast<float>(1 << 24) - 0.5F);
  }
  T* memory = nullptr;
  check(cudaMalloc(&memory, kElements * sizeof(T)) == cudaSuccess, "memory");
  check(cudaMemcpy(memory, values.data(), kElements * sizeof(T), cudaMemcpyHostToDevice) ==
            cudaSuccess,
        "copying");
  return memory;
}

template <class Gemm, class T>
void run(const char* name, double seconds) {
  T *a = filled<T>(), *b = filled<T>(), *c = filled<T>();
  Gemm gemm;
  const typename Gemm::Arguments arguments({kSize, kSize, kSize}, {a, kSize}, {b, kSize},
                                           {c, kSize}, {c, kSize}, {1.0F, 0.0F});
  check(gemm.initialize(arguments) == cutlass::Status::kSuccess, "initialising");
  check(gemm() == cutlass::Status::kSuccess && cudaDeviceSynchronize() == cudaSuccess, "running");

  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  const auto since = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  long launches = 0;
  while (since() < seconds) {
    for (int i = 0; i < 10; ++i) check(gemm() == cutlass::Status::kSuccess, "running");
    launches += 10;
    check(cudaDeviceSynchronize() == cudaSuccess, "running");
  }
  const double took = since();
  std::vector<unsigned char> bytes(kElements * sizeof(T));
  check(cudaMemcpy(bytes.data(), c, bytes.size(), cudaMemcpyDeviceToHost) == cudaSuccess,
        "copying");
  uint64_t sum = 0xcbf29ce484222325;
  for (unsigned char byte : bytes) sum = (sum ^ byte) * 0x100000001b3;
  std::printf(
      "{\"kernel\": \"%s\", \"launches\": %ld, \"microseconds_each\": %.4f, \"checksum\": "
      "\"%016llx\"}\n",
      name, launches, 1e6 * took / static_cast<double>(launches),
      static_cast<unsigned long long>(sum));
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 5;
  run<Half, cutlass::half_t>("half", seconds / 2);
  run<Single, float>("single", seconds / 2);
}
