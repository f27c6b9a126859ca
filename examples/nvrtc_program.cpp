// An application that compiles its kernels at run time by NVRTC, runs them and times itself.
//
//     nvrtc_program KERNELS                      KERNELS: the folder with sgemm.cu, n_body.cu, …
//     nvrtc_program KERNELS --ptx FOLDER         only writes the PTX it would run, with launch files
//       --named PREFIX    symbols begin with PREFIX: what a namespace of that name would do
//       --reverse         the kernels in the other order
//       --seconds N       of timing, in all (4)
//       --nvrtc FILE      the library, if the loader does not find libnvrtc.so
//       --arch SM         with --ptx, where there is no GPU to ask (sm_90)
//
// It knows nothing of treatments: whoever wants one starts it by `namesake run`. For each kernel it
// prints a line of JSON with the median of its time and a checksum of what it computed.
// Needs no CUDA to be built: g++ -std=c++20 -O2 nvrtc_program.cpp -o nvrtc_program -ldl
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "nvrtc_program: %s\n", what.c_str());
  std::exit(2);
}

// The few calls of the driver and of NVRTC, found by name.
struct Library {
  void* handle = nullptr;
  explicit Library(std::vector<std::string> names) {
    for (const std::string& name : names) {
      if (!handle) handle = dlopen(name.c_str(), RTLD_NOW);
    }
    if (!handle) fail(dlerror());
  }
  template <class... Arguments>
  void call(const char* name, Arguments... arguments) const {
    auto function = reinterpret_cast<int (*)(Arguments...)>(dlsym(handle, name));
    if (!function) fail(dlerror());
    if (int code = function(arguments...))
      fail(std::string(name) + " failed with " + std::to_string(code));
  }
};

using Address = unsigned long long;
using Handle = void*;

struct Options {
  std::string kernels, named, ptx, nvrtc, architecture;
  bool reverse = false;
  double seconds = 4;
};

// A kernel of the folder, as this application launches it: buffers first, then its numbers.
struct Kernel {
  std::string file, entry;
  unsigned grid[2], block[2];
  std::vector<size_t> buffers;  // 32-bit elements; the last one is the output
  std::vector<int> numbers;

  std::string symbol = {};
  Handle function = nullptr;
  std::vector<Address> addresses = {};
  int launches = 1;  // in one timing
  std::vector<double> milliseconds = {};
  uint64_t checksum = 0;
};

std::vector<Kernel> kernels() {
  constexpr unsigned kSize = 4096, kBodies = 65536, kRows = 16384, kColumns = 4096;
  constexpr size_t kMatrix = size_t{kSize} * kSize, kNorm = size_t{kRows} * kColumns;
  std::vector<Kernel> all(4);
  all[0] = {"sgemm",
            "sgemm_tiled",
            {kSize / 128, kSize / 128},
            {256, 1},
            {kMatrix, kMatrix, kMatrix},
            {kSize, kSize, kSize}};
  all[1] = {"n_body", "n_body_forces", {kBodies / 256, 1}, {256, 1}, {4 * kBodies, 4 * kBodies},
            {kBodies}};
  all[2] = {"mandelbrot", "mandelbrot_set", {kSize / 32, kSize / 8},
            {32, 8},      {kMatrix},        {kSize, kSize, 256}};
  all[3] = {
      "layer_norm", "layer_norm_rows", {kRows, 1}, {256, 1}, {kNorm, kColumns, kColumns, kNorm},
      {kColumns}};
  return all;
}

std::string read(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) fail("cannot read " + path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// `what` is "CUBIN" or "PTX".
std::string compile(const Library& nvrtc, const Options& options, const Kernel& kernel,
                    const std::string& what) {
  std::string source = read(options.kernels + "/" + kernel.file + ".cu");
  Handle program = nullptr;
  nvrtc.call("nvrtcCreateProgram", &program, source.c_str(), (kernel.file + ".cu").c_str(), 0,
             static_cast<const char* const*>(nullptr), static_cast<const char* const*>(nullptr));
  std::string target = options.architecture;
  if (what == "PTX") target.replace(0, 3, "compute_");
  std::string arch = "-arch=" + target, name = "-D" + kernel.entry + "=" + kernel.symbol;
  const char* words[] = {arch.c_str(), name.c_str()};
  nvrtc.call("nvrtcCompileProgram", program, 2, static_cast<const char* const*>(words));
  size_t size = 0;
  nvrtc.call(("nvrtcGet" + what + "Size").c_str(), program, &size);
  std::string code(size, 0);
  nvrtc.call(("nvrtcGet" + what).c_str(), program, code.data());
  nvrtc.call("nvrtcDestroyProgram", &program);
  return code;
}

void replace_line(std::string& text, const std::string& key, const std::string& value) {
  size_t begin = text.find(key + " = ");
  if (begin == std::string::npos) fail("a launch file without " + key);
  text.replace(begin, text.find('\n', begin) - begin, key + " = \"" + value + "\"");
}

void write_ptx(const Library& nvrtc, const Options& options, const std::vector<Kernel>& all) {
  for (const Kernel& kernel : all) {
    std::string ptx = compile(nvrtc, options, kernel, "PTX");
    ptx.resize(std::strlen(ptx.c_str()));
    std::string launch = read(options.kernels + "/" + kernel.file + ".toml");
    replace_line(launch, "kernel", kernel.file + ".ptx");
    replace_line(launch, "entry", kernel.symbol);
    std::string stem = options.ptx + "/" + kernel.file;
    if (!(std::ofstream(stem + ".ptx") << ptx) || !(std::ofstream(stem + ".toml") << launch)) {
      fail("cannot write into " + options.ptx);
    }
  }
}

class Gpu {
 public:
  Gpu() : driver_({"libcuda.so.1"}) {
    driver_.call("cuInit", 0u);
    driver_.call("cuDeviceGet", &device_, 0);
    Handle context = nullptr;
    driver_.call("cuDevicePrimaryCtxRetain", &context, device_);
    driver_.call("cuCtxSetCurrent", context);
    for (Handle& event : events_) driver_.call("cuEventCreate", &event, 0u);
  }

  std::string architecture() const {
    int major = 0, minor = 0;
    driver_.call("cuDeviceGetAttribute", &major, 75, device_);
    driver_.call("cuDeviceGetAttribute", &minor, 76, device_);
    return "sm_" + std::to_string(10 * major + minor);
  }

  void load(Kernel& kernel, const std::string& cubin) const {
    Handle module = nullptr;
    driver_.call("cuModuleLoadData", &module, static_cast<const void*>(cubin.data()));
    driver_.call("cuModuleGetFunction", &kernel.function, module, kernel.symbol.c_str());
    for (size_t elements : kernel.buffers) {
      // Numbers in [0, 1), always the same.
      std::vector<float> values(elements);
      uint64_t state = elements;
      for (float& value : values) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        value = static_cast<float>(state >> 40) / static_cast<float>(1 << 24);
      }
      Address address = 0;
      driver_.call("cuMemAlloc_v2", &address, elements * sizeof(float));
      driver_.call("cuMemcpyHtoD_v2", address, static_cast<const void*>(values.data()),
                   elements * sizeof(float));
      kernel.addresses.push_back(address);
    }
  }

  double milliseconds(const Kernel& kernel, int launches) const {
    std::vector<void*> arguments;
    for (const Address& address : kernel.addresses)
      arguments.push_back(const_cast<Address*>(&address));
    for (const int& number : kernel.numbers) arguments.push_back(const_cast<int*>(&number));
    driver_.call("cuEventRecord", events_[0], Handle{});
    for (int i = 0; i < launches; ++i) {
      driver_.call("cuLaunchKernel", kernel.function, kernel.grid[0], kernel.grid[1], 1u,
                   kernel.block[0], kernel.block[1], 1u, 0u, Handle{}, arguments.data(),
                   static_cast<void**>(nullptr));
    }
    driver_.call("cuEventRecord", events_[1], Handle{});
    driver_.call("cuEventSynchronize", events_[1]);
    float elapsed = 0;
    driver_.call("cuEventElapsedTime", &elapsed, events_[0], events_[1]);
    return elapsed / launches;
  }

  // FNV-1a over what the kernel wrote.
  uint64_t checksum(const Kernel& kernel) const {
    std::vector<unsigned char> bytes(kernel.buffers.back() * sizeof(float));
    driver_.call("cuMemcpyDtoH_v2", static_cast<void*>(bytes.data()), kernel.addresses.back(),
                 bytes.size());
    uint64_t sum = 0xcbf29ce484222325;
    for (unsigned char byte : bytes) sum = (sum ^ byte) * 0x100000001b3;
    return sum;
  }

 private:
  Library driver_;
  int device_ = 0;
  Handle events_[2] = {};
};

void run(const Library& nvrtc, Options options, std::vector<Kernel>& all) {
  Gpu gpu;
  options.architecture = gpu.architecture();
  for (Kernel& kernel : all) {
    gpu.load(kernel, compile(nvrtc, options, kernel, "CUBIN"));
    gpu.milliseconds(kernel, 1);
    kernel.checksum = gpu.checksum(kernel);
    kernel.launches = std::max(1, static_cast<int>(5 / gpu.milliseconds(kernel, 3)));
  }
  using Clock = std::chrono::steady_clock;
  Clock::time_point end =
      Clock::now() + std::chrono::milliseconds(static_cast<int>(1000 * options.seconds));
  while (Clock::now() < end) {
    for (Kernel& kernel : all)
      kernel.milliseconds.push_back(gpu.milliseconds(kernel, kernel.launches));
  }
  for (Kernel& kernel : all) {
    size_t middle = kernel.milliseconds.size() / 2;
    std::nth_element(kernel.milliseconds.begin(),
                     kernel.milliseconds.begin() + static_cast<long>(middle),
                     kernel.milliseconds.end());
    std::printf("{\"kernel\": \"%s\", \"milliseconds\": %.6f, \"checksum\": \"%016llx\"}\n",
                kernel.symbol.c_str(), kernel.milliseconds[middle],
                static_cast<unsigned long long>(kernel.checksum));
  }
}

Options parse(int argc, char** argv) {
  Options options;
  options.architecture = "sm_90";
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    auto value = [&] {
      return i + 1 < argc ? std::string(argv[++i]) : (fail(word + " needs a value"), std::string());
    };
    if (word == "--named")
      options.named = value();
    else if (word == "--ptx")
      options.ptx = value();
    else if (word == "--nvrtc")
      options.nvrtc = value();
    else if (word == "--arch")
      options.architecture = value();
    else if (word == "--seconds")
      options.seconds = std::atof(value().c_str());
    else if (word == "--reverse")
      options.reverse = true;
    else if (word[0] == '-' || !options.kernels.empty())
      fail("unknown: " + word + "; usage: nvrtc_program KERNELS [--named PREFIX] [--ptx FOLDER] …");
    else
      options.kernels = word;
  }
  if (options.kernels.empty()) fail("name the folder of the kernels: nvrtc_program kernels");
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  Options options = parse(argc, argv);
  Library nvrtc(options.nvrtc.empty()
                    ? std::vector<std::string>{"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"}
                    : std::vector<std::string>{options.nvrtc});
  std::vector<Kernel> all = kernels();
  if (options.reverse) std::reverse(all.begin(), all.end());
  for (Kernel& kernel : all) kernel.symbol = options.named + kernel.entry;
  if (options.ptx.empty())
    run(nvrtc, options, all);
  else
    write_ptx(nvrtc, options, all);
}
