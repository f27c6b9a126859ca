// attention-test: every kernel against the oracle on this machine's GPU, and this binary against
// what was verified on one.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>

#include "behaviours.h"
#include "verified.h"

namespace namesake::attention::test {
namespace {

constexpr const char* kUsage = R"(usage: attention-test [options]
  runs each case and behaviour on the current GPU and exits with 1 if one fails
  --shard I/N         only every Nth case, from the Ith on (0 <= I < N)
  --only TEXT         only what has TEXT in its name
  --kernel NAME       hopper or portable alone; not with --log
  --log FILE          append outcomes to FILE, and leave out what passed there with the same code
  --peers FILE        the peers' errors, by tests/gpu/peers.py: 1.5 times cuDNN's are the bound, and in
                      fp8 FlashAttention-3's
  --write FILE        after a complete run: write what was verified (results/verified.json)
  --arena-mib N       GPU memory to take (default: up to 40 GiB)
  --list              print the cases;  --list-peers  those that peers.py can run
without a GPU:
  --compare FILE      is this binary what was verified in FILE?
  --code              this binary's kernels: registers, matrix and local-memory instructions
  --plan TEXT         the launch plans of the cases that have TEXT in their name
)";

struct Options {
  std::string only, log, peers, write, compare, plan;
  int shard = 0, shards = 1;
  size_t arena_mib = size_t{40} << 10;
  std::vector<Kernel> kernels = {std::begin(kKernels), std::end(kKernels)};
  bool list = false, list_peers = false, code = false;
};

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; i++) {
    const std::string option = argv[i];
    const auto value = [&]() -> std::string {
      if (++i == argc) throw std::runtime_error(option + " needs a value\n" + kUsage);
      return argv[i];
    };
    if (option == "--shard") {
      if (std::sscanf(value().c_str(), "%d/%d", &o.shard, &o.shards) != 2 || o.shard < 0 ||
          o.shard >= o.shards)
        throw std::runtime_error("--shard takes I/N with 0 <= I < N");
    } else if (option == "--only") {
      o.only = value();
    } else if (option == "--kernel") {
      const std::string wanted = value();
      std::erase_if(o.kernels, [&](Kernel k) { return name(k) != wanted; });
      if (o.kernels.empty()) throw std::runtime_error("--kernel takes hopper or portable");
    } else if (option == "--arena-mib") {
      o.arena_mib = std::strtoull(value().c_str(), nullptr, 10);
    } else if (option == "--log") {
      o.log = value();
    } else if (option == "--peers") {
      o.peers = value();
    } else if (option == "--write") {
      o.write = value();
    } else if (option == "--compare") {
      o.compare = value();
    } else if (option == "--plan") {
      o.plan = value();
    } else if (option == "--list") {
      o.list = true;
    } else if (option == "--list-peers") {
      o.list_peers = true;
    } else if (option == "--code") {
      o.code = true;
    } else {
      throw std::runtime_error(option + " is no option\n" + kUsage);
    }
  }
  if (o.kernels.size() < std::size(kKernels) && !o.log.empty())
    throw std::runtime_error("a log is of both kernels: leave --kernel or --log out");
  return o;
}

constexpr const char* kSelf = "/proc/self/exe";
constexpr DeviceInfo kH200 = {0, 9, 0, 132, 232448, int64_t{60} << 20};

int print_code() {
  std::printf("%-6s %5s %5s %6s %6s %6s  %s\n", "arch", "regs", "frame", "wgmma", "mma", "local",
              "kernel");
  for (const KernelCode& k : library_kernels(kSelf, ""))
    std::printf("%-6s %5d %5d %6d %6d %6d  %s %s\n", k.arch.c_str(), k.registers, k.frame, k.wgmma,
                k.mma, k.local, k.symbol.c_str(), k.hash.c_str());
  return 0;
}

int print_plans(const std::string& text) {
  for (const Case& c : all_cases()) {
    if (c.name().find(text) == std::string::npos) continue;
    for (Kernel kernel : kKernels) {
      Forward call = forward_of(c, layouts_of(c));
      call.kernel = kernel;
      Plan plan;
      const Status s = prepare_for(call, kH200, plan);
      std::printf("%s\n  %s: %s\n", c.name().c_str(), name(kernel),
                  s.ok() ? plan.describe().c_str() : s.message.c_str());
    }
  }
  return 0;
}

int compare_with(const std::string& path) {
  const std::vector<std::string> lines = compare(read_verified(path), kSelf);
  for (size_t i = 0; i < lines.size() && i < 40; i++) std::printf("%s\n", lines[i].c_str());
  if (lines.empty()) {
    std::printf("this binary's kernels and launch plans are those verified in %s\n", path.c_str());
    return 0;
  }
  std::printf("%zu differences from %s: verify again with ./attention/tests/verify.sh on a GPU\n",
              lines.size(), path.c_str());
  return 1;
}

class Suite {
 public:
  Suite(const Options& options)
      : options_(options),
        kernels_(library_kernels(kSelf, "")),
        log_(options.log, code()),
        peers_(read_peers(options.peers)) {
    size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "reading the device's memory");
    arena_.emplace(std::min(options.arena_mib << 20, free / 10 * 8));
  }

  int run() {
    const auto start = std::chrono::steady_clock::now();
    int index = 0;
    for (const Behaviour& b : behaviours()) {
      if (!mine(b.name, index++)) continue;
      Outcome outcome{b.name};
      outcome.complaint = b.check(*arena_);
      conclude(b.name, {outcome});
    }
    for (const Case& c : all_cases()) {
      const std::string name = c.name();
      if (!mine(name, index++)) continue;
      if (bytes_needed(c) > arena_->bytes()) {
        std::printf("left out, needs %zu GiB: %s\n", bytes_needed(c) >> 30, name.c_str());
        continue;
      }
      const auto peer = peers_.find(name);
      conclude(name, run_case(*arena_, c, options_.kernels,
                              peer == peers_.end() ? std::nullopt : std::optional(peer->second)));
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::printf("%d passed, %d failed, %d had passed before, %.1f s\n", passed_, failed_, before_,
                seconds.count());
    print_peers();
    if (failed_ == 0 && !options_.write.empty()) write_verified();
    return failed_ > 0;
  }

 private:
  std::string code() const {
    std::string all;
    for (const KernelCode& k : kernels_) all += k.symbol + k.arch + k.hash;
    return digest(all);
  }

  bool mine(const std::string& name, int index) {
    if (index % options_.shards != options_.shard || name.find(options_.only) == std::string::npos)
      return false;
    if (!log_.has(name)) return true;
    for (const Outcome& o : log_.outcomes().at(name))
      if (!o.complaint.empty()) return true;
    before_++;
    return false;
  }

  void conclude(const std::string& key, const std::vector<Outcome>& outcomes) {
    bool good = true;
    for (const Outcome& o : outcomes) {
      if (o.complaint.empty()) continue;
      good = false;
      std::printf("FAILED %s [%s]: %s (error %.3e of %.3e, lse %.1e)\n", o.name.c_str(),
                  o.kernel.c_str(), o.complaint.c_str(), o.error, o.bound, o.lse_error);
      std::fflush(stdout);
    }
    good ? passed_++ : failed_++;
    log_.add(key, outcomes);
  }

  // The errors beside the peers', in the mean and at worst: fp8's are FlashAttention-3's.
  void print_peers() const {
    for (bool fp8 : {false, true}) {
      double product = 0, worst = 0;
      int cases = 0;
      std::string where;
      for (const Case& c : all_cases()) {
        const auto peer = peers_.find(c.name());
        if (is_fp8(c.dtype) != fp8 || peer == peers_.end() || !log_.has(c.name())) continue;
        for (const Outcome& o : log_.outcomes().at(c.name())) {
          if (o.kernel != "hopper" || !(peer->second > 0)) continue;
          const double ratio = o.error / peer->second;
          product += std::log(ratio);
          cases++;
          if (ratio > worst) worst = ratio, where = c.name();
        }
      }
      if (cases > 0)
        std::printf(
            "error over the peer's%s: %.3f in the geometric mean of %d cases, at worst %.3f "
            "(%s)\n",
            fp8 ? " in fp8" : "", std::exp(product / cases), cases, worst, where.c_str());
    }
  }

  void write_verified() const {
    Verified v;
    cudaDeviceProp properties;
    int driver = 0;
    check(cudaGetDeviceProperties(&properties, 0), "reading the device");
    check(cudaDriverGetVersion(&driver), "reading the driver's version");
    check(current_device(v.info), "reading the device");
    v.device = properties.name;
    v.driver = "CUDA " + std::to_string(driver / 1000) + "." + std::to_string(driver % 1000 / 10);
    v.compiler = "nvcc " NAMESAKE_NVCC_VERSION;
    v.kernels =
        library_kernels(kSelf, "sm_" + std::to_string(v.info.major) + std::to_string(v.info.minor));
    for (const Behaviour& b : behaviours()) {
      if (!log_.has(b.name))
        throw std::runtime_error("not written: \"" + b.name + "\" has not run");
      v.behaviours.push_back(b.name);
    }
    for (const Case& c : all_cases()) {
      if (!log_.has(c.name()))
        throw std::runtime_error("not written: \"" + c.name() + "\" has not run");
      for (const Outcome& o : log_.outcomes().at(c.name())) v.outcomes.push_back(o);
    }
    test::write(v, options_.write);
    std::printf("%s holds %zu cases of %zu kernels\n", options_.write.c_str(), v.outcomes.size(),
                v.kernels.size());
  }

  Options options_;
  std::vector<KernelCode> kernels_;
  Log log_;
  std::map<std::string, double> peers_;
  std::optional<Arena> arena_;
  int passed_ = 0, failed_ = 0, before_ = 0;
};

int answer(const Options& o) {
  if (o.code) return print_code();
  if (!o.plan.empty()) return print_plans(o.plan);
  if (!o.compare.empty()) return compare_with(o.compare);
  if (o.list || o.list_peers) {
    for (const Case& c : all_cases()) {
      if (o.list) std::printf("%s\n", c.name().c_str());
      if (o.list_peers && c.for_peers()) std::printf("%s\n", peer_line(c).c_str());
    }
    return 0;
  }
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
    throw std::runtime_error(
        "there is no GPU here: only --compare, --code, --plan and --list work");
  return Suite(o).run();
}

}  // namespace
}  // namespace namesake::attention::test

int main(int argc, char** argv) {
  using namespace namesake::attention::test;
  try {
    return answer(parse(argc, argv));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "attention-test: %s\n", e.what());
    return 2;
  }
}
