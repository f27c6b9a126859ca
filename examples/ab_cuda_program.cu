// An application of the CUDA runtime: two kernels of kernels/, launched at a pace of its own.
//
//     ab_cuda_program [--pace slow|fast] [--seconds N] [--graph N] [--beside capture]
//
// slow: some forty launches a second, of milliseconds each; fast: as many small ones as the host
// can queue, ten thousand a second and more. With --beside capture another thread captures graphs
// meanwhile, in the mode that no other thread may disturb. It knows nothing of builds: whoever
// wants two starts it by `namesake ab`. At the end it prints a line of JSON: launches, the wall
// time they took together, what the host alone spent on each, and checksums of what was computed.
//   nvcc -std=c++17 -O3 -gencode arch=compute_90,code=[sm_90,compute_90] ab_cuda_program.cu -o
//   ab_cuda_program
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace sgemm {
#include "../kernels/sgemm.cu"
}
namespace n_body {
#include "../kernels/n_body.cu"
}

namespace {

void check(cudaError_t code) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "ab_cuda_program: %s\n", cudaGetErrorString(code));
  std::exit(2);
}

// Numbers in [0, 1), always the same.
float* filled(size_t count) {
  std::vector<float> values(count);
  uint64_t state = count;
  for (float& value : values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    value = static_cast<float>(state >> 40) / static_cast<float>(1 << 24);
  }
  float* memory = nullptr;
  check(cudaMalloc(&memory, count * sizeof(float)));
  check(cudaMemcpy(memory, values.data(), count * sizeof(float), cudaMemcpyHostToDevice));
  return memory;
}

uint64_t checksum(const float* memory, size_t count) {
  std::vector<unsigned char> bytes(count * sizeof(float));
  check(cudaMemcpy(bytes.data(), memory, bytes.size(), cudaMemcpyDeviceToHost));
  uint64_t sum = 0xcbf29ce484222325;
  for (unsigned char byte : bytes) sum = (sum ^ byte) * 0x100000001b3;
  return sum;
}

struct Options {
  bool fast = false;
  double seconds = 5;
  int graph = 0;
  bool capture_beside = false;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    std::string key = argv[i], value = argv[i + 1];
    if (key == "--pace") options.fast = value == "fast";
    if (key == "--seconds") options.seconds = std::atof(value.c_str());
    if (key == "--graph") options.graph = std::atoi(value.c_str());
    if (key == "--beside") options.capture_beside = value == "capture";
  }
  return options;
}

// Resident kilobytes and open descriptors of this process: neither may grow with the launches.
struct Footprint {
  long kilobytes = 0, descriptors = 0;
};
Footprint footprint() {
  Footprint result;
  if (FILE* status = std::fopen("/proc/self/status", "r")) {
    char line[256];
    while (std::fgets(line, sizeof line, status))
      std::sscanf(line, "VmRSS: %ld", &result.kilobytes);
    std::fclose(status);
  }
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd"))
    result.descriptors += each.exists();
  return result;
}

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const int size = options.fast ? 384 : 4096, bodies = options.fast ? 2048 : 65536;
  const size_t elements = static_cast<size_t>(size) * size;
  float *a = filled(elements), *b = filled(elements), *c = filled(elements);
  float *positions = filled(4 * static_cast<size_t>(bodies)),
        *pulls = filled(4 * static_cast<size_t>(bodies));
  cudaStream_t stream;
  check(cudaStreamCreate(&stream));
  const auto multiply = [&] {
    sgemm::sgemm_tiled<<<dim3(size / 128, size / 128), 256, 0, stream>>>(a, b, c, size, size, size);
  };
  const auto pull = [&] {
    n_body::n_body_forces<<<bodies / 256, 256, 0, stream>>>(
        reinterpret_cast<float4*>(positions), reinterpret_cast<float4*>(pulls), bodies);
  };
  multiply();
  pull();
  check(cudaStreamSynchronize(stream));

  std::atomic<bool> done{false};
  std::atomic<long> captures{0};
  std::thread beside;
  if (options.capture_beside)
    beside = std::thread([&] {
      cudaStream_t captured;
      check(cudaStreamCreateWithFlags(&captured, cudaStreamNonBlocking));
      for (; !done; ++captures) {
        cudaGraph_t graph;
        check(cudaStreamBeginCapture(captured, cudaStreamCaptureModeGlobal));
        n_body::n_body_forces<<<bodies / 256, 256, 0, captured>>>(
            reinterpret_cast<float4*>(positions), reinterpret_cast<float4*>(pulls), bodies);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        check(cudaStreamEndCapture(captured, &graph));
        check(cudaGraphDestroy(graph));
      }
    });

  long launches = 0;
  double queueing = 0;
  Footprint early;
  const Clock::time_point begin = Clock::now();
  while (seconds_since(begin) < options.seconds) {
    const int batch = options.fast ? 200 : 1;
    const Clock::time_point queue = Clock::now();
    for (int i = 0; i < batch; ++i) {
      multiply();
      pull();
    }
    queueing += seconds_since(queue);
    launches += 2 * batch;
    if (!options.capture_beside) check(cudaStreamSynchronize(stream));
    if (early.kilobytes == 0 && seconds_since(begin) > options.seconds / 3) early = footprint();
    if (!options.fast) {  // twenty rounds a second
      const double next = static_cast<double>(launches) / 40;
      while (seconds_since(begin) < next) {
      }
    }
  }
  done = true;
  if (beside.joinable()) beside.join();
  check(cudaStreamSynchronize(stream));
  const double took = seconds_since(begin);
  const Footprint late = footprint();
  if (options.graph > 0) {
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < options.graph; ++i) multiply();
    check(cudaStreamEndCapture(stream, &graph));
    check(cudaGraphInstantiate(&executable, graph, 0));
    check(cudaGraphLaunch(executable, stream));
    check(cudaStreamSynchronize(stream));
  }
  check(cudaGetLastError());
  std::printf(
      "{\"launches\": %ld, \"seconds\": %.6f, \"microseconds_each\": %.4f, "
      "\"host_microseconds_each\": "
      "%.4f, \"captures\": %ld, \"kilobytes\": [%ld, %ld], "
      "\"descriptors\": [%ld, %ld], \"sgemm\": \"%016llx\", \"n_body\": \"%016llx\"}\n",
      launches, took, 1e6 * took / static_cast<double>(launches),
      1e6 * queueing / static_cast<double>(launches), captures.load(), early.kilobytes,
      late.kilobytes, early.descriptors, late.descriptors,
      static_cast<unsigned long long>(checksum(c, elements)),
      static_cast<unsigned long long>(checksum(pulls, 4 * static_cast<size_t>(bodies))));
}
