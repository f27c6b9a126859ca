#include "story.h"

#include <fmt/format.h>

#include <cstring>

#include "../src/plan.h"
#include "../src/sm80/sm80.h"
#include "../src/sm90/launch.h"
#include "story_kernels.h"
#include "timing.h"

namespace namesake::bench {
namespace {

using attention::DType;
using attention::Kernel;
namespace sm80 = attention::sm80;
namespace sm90 = attention::sm90;

const void* treated_kernel(Kernel kernel, const Cell& cell) {
  namespace hopper = attention::sm90_cutlass;
  namespace portable = attention::sm80_cutlass;
  constexpr int kHalf = static_cast<int>(DType::fp16);
  const bool narrow = cell.head_dim == 64;
  if (kernel == Kernel::portable)
    return narrow ? portable::kernel_function<64, kHalf>()
                  : portable::kernel_function<128, kHalf>();
  if (cell.fp8())
    return narrow ? hopper::kernel_of<64, DType::e4m3>(cell.causal)
                  : hopper::kernel_of<128, DType::e4m3>(cell.causal);
  return narrow ? hopper::kernel_of<64, DType::fp16>(cell.causal)
                : hopper::kernel_of<128, DType::fp16>(cell.causal);
}

// One build's output and workspace, and the side that writes there.
struct Build {
  gpu::Buffer output, workspace;
  Side side;
};

Status launched(cudaError_t code) {
  if (code == cudaSuccess) return {};
  return error(fmt::format("the launch failed: CUDA error {}", static_cast<int>(code)));
}

// Planned as the library plans it; the treated build is launched in the place of its own.
Result<Build> make(const gpu::Context& context, const Setting& setting, Kernel kernel,
                   bool treated) {
  Build build;
  TRY_ASSIGN(build.output, gpu::Buffer::allocate(context, setting.output_bytes()));
  attention::Forward call = setting.forward(build.output.pointer());
  call.kernel = kernel;
  attention::Plan plan;
  if (const attention::Status status = attention::prepare(call, plan); !status.ok())
    return error(status.message);
  TRY_ASSIGN(build.workspace, gpu::Buffer::allocate(context, plan.workspace_bytes()));
  build.side = {.name = treated ? "treated" : "untreated",
                .kernel = attention::name(kernel),
                .output = build.output.pointer(),
                .format = setting.output_format()};
  void* const workspace = build.workspace.pointer();
  if (!treated) {
    build.side.enqueue = [plan, workspace, bytes = build.workspace.bytes()](CUstream_st* stream) {
      const attention::Status status = plan.run(workspace, bytes, stream);
      return status.ok() ? Status{} : error(status.message);
    };
    return build;
  }
  attention::DeviceInfo device;
  if (const attention::Status status = attention::current_device(device); !status.ok())
    return error(status.message);
  const void* const function = treated_kernel(kernel, setting.cell());
  if (kernel == Kernel::portable) {
    sm80::Plan own = sm80::plan(attention::problem_of(plan), device);
    own.kernel = function;
    build.side.enqueue = [own, workspace](CUstream_st* stream) {
      return launched(sm80::launch(own, workspace, stream));
    };
  } else {
    build.side.enqueue = [own = sm90::plan(attention::problem_of(plan), device), function,
                          workspace](CUstream_st* stream) {
      return launched(sm90::launch_kernel(function, own, workspace, stream));
    };
  }
  return build;
}

// Both outputs hold different bytes before, so that what is not written is counted.
Result<int64_t> differing_bytes(const Machine& machine, const Build& a, const Build& b) {
  const gpu::Stream& stream = *machine.stream;
  TRY(gpu::fill(stream, a.output.address(), 0x00, a.output.bytes()));
  TRY(gpu::fill(stream, b.output.address(), 0xff, b.output.bytes()));
  TRY(a.side.enqueue(stream.get()));
  TRY(b.side.enqueue(stream.get()));
  TRY_ASSIGN(const gpu::Buffer count,
             gpu::Buffer::allocate(*machine.context, sizeof(unsigned long long)));
  TRY(gpu::fill(stream, count.address(), 0, count.bytes()));
  if (const int code =
          count_differing(a.output.pointer(), b.output.pointer(),
                          static_cast<int64_t>(a.output.bytes()), count.pointer(), stream.get()))
    return error(fmt::format("comparing results: CUDA error {}", code));
  TRY_ASSIGN(const std::vector<std::byte> bytes, gpu::read(stream, count));
  unsigned long long value = 0;
  std::memcpy(&value, bytes.data(), sizeof value);
  return static_cast<int64_t>(value);
}

}  // namespace

Result<StoryCell> tell(const Machine& machine, const Cell& cell, const std::vector<CodePair>& pairs,
                       const Effort& effort) {
  const gpu::Context& context = *machine.context;
  const auto begin = std::chrono::steady_clock::now();
  StoryCell result{.cell = cell};
  TRY_ASSIGN(Setting setting, Setting::make(context, *machine.stream, cell));

  std::vector<Build> builds;
  std::vector<Side> sides;
  struct Places {
    size_t untreated, treated;
  };
  std::vector<Places> places;
  double milliseconds = 0;
  const auto add = [&](Kernel kernel, bool treated) -> Status {
    TRY_ASSIGN(Build build, make(context, setting, kernel, treated));
    TRY_ASSIGN(const double alone, time_of_one(machine, build.side));
    milliseconds += alone;
    sides.push_back(build.side);
    builds.push_back(std::move(build));
    return {};
  };
  for (const Kernel kernel : {Kernel::hopper, Kernel::portable}) {
    const CodePair* const codes = pair_for(pairs, kernel, cell);
    if (!codes) continue;
    Told told{.kernel = kernel, .codes = *codes};
    places.push_back({sides.size(), sides.size() + 1});
    TRY(add(kernel, false));
    if (!codes->same()) {
      TRY(add(kernel, true));
      TRY_ASSIGN(told.differing_bytes,
                 differing_bytes(machine, builds[sides.size() - 2], builds.back()));
    }
    result.told.push_back(told);
  }
  const size_t peer_place = sides.size();
  if (const auto peer = best_of_cudnn(machine, setting, cell, &result.plans)) {
    sides.push_back(peer->side);
    milliseconds += peer->milliseconds;
  } else {
    result.why_no_peer = peer.error().message;
  }

  TRY_ASSIGN(const Paired paired, time_paired(machine, cell, sides, milliseconds, effort));
  for (size_t i = 0; i < result.told.size(); ++i) {
    Told& told = result.told[i];
    const auto [untreated, treated] = places[i];
    told.untreated = paired.speeds[untreated];
    if (told.codes.same()) continue;
    told.treated = paired.speeds[treated];
    told.time = gpu::compare(gpu::pair_times(paired.rounds, treated, untreated));
  }
  if (peer_place < sides.size()) result.peer = paired.speeds[peer_place];
  result.calls = paired.calls;
  result.rounds = paired.rounds.size();
  result.dropped = paired.dropped;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

}  // namespace namesake::bench
