#include "behaviours.h"

#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>

#include "namesake/attention_c.h"
#include "reference/element.h"
#include "runner.h"

namespace namesake::attention::test {
namespace {

Case sample(int64_t head_dim, bool causal) {
  Case c;
  c.group = "behaviour";
  c.head_dim = head_dim;
  c.causal = causal;
  c.batch = 3;
  c.heads_q = 24;
  c.heads_kv = 8;
  c.seqlen_q = 517;
  c.seqlen_kv = 801;
  c.q.seed = 1;
  c.k.seed = 2;
  c.v.seed = 3;
  return c;
}

Case packed_sample(int64_t head_dim, bool causal) {
  Case c = sample(head_dim, causal);
  c.lengths = Lengths::packed;
  c.lengths_q = {517, 64, 1, 300, 0};
  c.lengths_kv = {801, 64, 700, 129, 50};
  c.batch = 5;
  return c;
}

Case divided_sample(int64_t head_dim, bool causal) {
  Case c = packed_sample(head_dim, causal);
  c.key_splits = 3;
  return c;
}

// The same in fp8, with promotions that some of the sequences are too short for: 300 keys are too
// few at 320 a promotion, whatever the length of a block of keys.
template <Case (*kMake)(int64_t, bool), DType kType>
Case in_fp8(int64_t head_dim, bool causal) {
  Case c = kMake(head_dim, causal);
  c.dtype = kType;
  c.o_dtype = kType == DType::e4m3 ? DType::bf16 : DType::e5m2;
  c.scales = Scales::per_head;
  c.promote_keys = 320;
  for (int32_t& n : c.lengths_kv)
    if (n == 129) n = 300;
  return c;
}

template <Case (*kMake)(int64_t, bool), DType kType>
Case with_transposed_v(int64_t head_dim, bool causal) {
  Case c = in_fp8<kMake, kType>(head_dim, causal);
  c.v_transposed = true;
  c.lengths = Lengths::padded;  // packed ones would begin where no copy can
  return c;
}

// A call that was prepared for one kernel, with a workspace of its own.
struct Ready {
  Plan plan;
  Arena::Block workspace;
  void run(cudaStream_t stream) const {
    check(plan.run(workspace.data, plan.workspace_bytes(), stream), "running");
  }
};

bool ready(const Stage& stage, Forward call, Kernel kernel, Ready& r) {
  call.kernel = kernel;
  const Status s = prepare(call, r.plan);
  if (s.code == Code::unsupported) return false;
  check(s, "preparing");
  r.workspace = stage.poisoned_workspace(r.plan.workspace_bytes(), nullptr);
  return true;
}

// Runs `function(kernel, case)` for each kernel that takes each sample; collects complaints.
template <typename Function>
std::string over_samples(Arena& arena, Case (*make)(int64_t, bool), Function function) {
  std::string complaints;
  for (int64_t head_dim : {64, 128, 256}) {
    for (bool causal : {false, true}) {
      for (Kernel kernel : kKernels) {
        arena.reset();
        const Case c = make(head_dim, causal);
        const Stage stage(arena, c, nullptr);
        Ready r;
        if (!ready(stage, stage.call, kernel, r)) continue;
        const std::string complaint = function(stage, r, kernel);
        if (!complaint.empty())
          complaints += std::string(name(kernel)) + ", " + c.name() + ": " + complaint + "; ";
      }
    }
  }
  return complaints;
}

using Sum = unsigned long long;

Sum read(const Sum* at) {
  Sum value;
  check(cudaMemcpy(&value, at, sizeof value, cudaMemcpyDeviceToHost), "reading");
  return value;
}

bool is_ahead(const Ready& r) {
  return r.plan.describe().find("ahead=1") != std::string::npos;
}

// Enqueues a call and what sums its outputs up.
Sum* start_sum_of_run(Arena& arena, const Stage& stage, const Ready& r, cudaStream_t stream) {
  Sum* sum = arena.take<Sum>(1);
  check(cudaMemsetAsync(sum, 0, sizeof(Sum), stream), "clearing");
  stage.poison_outputs(stream);
  r.run(stream);
  stage.add_checksum_of_outputs(sum, stream);
  return sum;
}

Sum sum_of_run(Arena& arena, const Stage& stage, const Ready& r, cudaStream_t stream) {
  return read(start_sum_of_run(arena, stage, r, stream));
}

template <Case (*kMake)(int64_t, bool)>
std::string repetitions_are_equal(Arena& arena) {
  constexpr int kRepetitions = 100;
  return over_samples(arena, kMake, [&](const Stage& stage, const Ready& r, Kernel) -> std::string {
    Sum* sums = arena.take<Sum>(kRepetitions);
    check(cudaMemset(sums, 0, kRepetitions * sizeof(Sum)), "clearing");
    for (int i = 0; i < kRepetitions; i++) {
      stage.poison_outputs(nullptr);
      r.run(nullptr);
      stage.add_checksum_of_outputs(sums + i, nullptr);
    }
    std::vector<Sum> host(kRepetitions);
    check(cudaMemcpy(host.data(), sums, kRepetitions * sizeof(Sum), cudaMemcpyDeviceToHost),
          "reading");
    for (int i = 1; i < kRepetitions; i++)
      if (host[i] != host[0]) return "repetition " + std::to_string(i) + " gave other bits";
    return "";
  });
}

template <Case (*kMake)(int64_t, bool)>
std::string sequences_are_the_same_alone(Arena& arena) {
  return over_samples(
      arena, kMake, [&](const Stage& stage, const Ready& r, Kernel kernel) -> std::string {
        const Case c = kMake(stage.problem.head_dim, stage.problem.causal);
        Sum* sums = arena.take<Sum>(2);
        check(cudaMemset(sums, 0, 2 * sizeof(Sum)), "clearing");
        stage.poison_outputs(nullptr);
        r.run(nullptr);
        stage.add_checksum_of_outputs(sums, nullptr);
        stage.poison_outputs(nullptr);
        int64_t row_q = 0, row_kv = 0;
        for (size_t b = 0; b < c.lengths_q.size(); b++) {
          Forward alone = stage.call;
          const auto from = [](Tensor& t, int64_t elements, DType dtype) {
            t.data = static_cast<char*>(t.data) + elements * bytes_of(dtype);
          };
          from(alone.q, row_q * alone.q.stride_seq, c.dtype);
          from(alone.k, row_kv * alone.k.stride_seq, c.dtype);
          from(alone.v, row_kv * (c.v_transposed ? 1 : alone.v.stride_seq), c.dtype);
          from(alone.o, row_q * alone.o.stride_seq, c.output_dtype());
          for (Scale* scale :
               {&alone.q_descale, &alone.k_descale, &alone.v_descale, &alone.o_scale})
            if (scale->data) scale->data += b * scale->stride_batch;
          alone.lse += row_q;
          alone.lse_stride_head = alone.total_q;
          alone.lse_stride_batch = alone.total_q * alone.heads_q;
          alone.batch = 1;
          alone.seqlen_q = c.lengths_q[b];
          alone.seqlen_kv = c.lengths_kv[b];
          alone.cu_seqlens_q = alone.cu_seqlens_kv = nullptr;
          alone.total_q = alone.total_kv = 0;
          row_q += c.lengths_q[b];
          row_kv += c.lengths_kv[b];
          Ready one;
          if (!ready(stage, alone, kernel, one))
            return "sequence " + std::to_string(b) + " alone was refused";
          one.run(nullptr);
        }
        stage.add_checksum_of_outputs(sums + 1, nullptr);
        return read(sums) == read(sums + 1) ? "" : "sequences have other bits alone than packed";
      });
}

template <Case (*kMake)(int64_t, bool)>
std::string graphs_replay(Arena& arena) {
  return over_samples(
      arena, kMake, [&](const Stage& stage, const Ready& r, Kernel kernel) -> std::string {
        constexpr int kReplays = 3;
        Sum* sums = arena.take<Sum>(1 + kReplays);
        cudaStream_t stream;
        check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
        check(cudaMemset(sums, 0, (1 + kReplays) * sizeof(Sum)), "clearing");
        stage.poison_outputs(nullptr);
        r.run(nullptr);
        stage.add_checksum_of_outputs(sums, nullptr);
        check(cudaDeviceSynchronize(), "running");

        cudaGraph_t graph;
        cudaGraphExec_t executable;
        check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "beginning to capture");
        // Preparing, too, must be allowed while a stream is captured: the C interface does both.
        Forward call = stage.call;
        call.kernel = kernel;
        Plan inside;
        check(prepare(call, inside), "preparing during a capture");
        check(inside.run(r.workspace.data, inside.workspace_bytes(), stream), "capturing");
        check(cudaStreamEndCapture(stream, &graph), "capturing");
        check(cudaGraphInstantiate(&executable, graph, 0), "instantiating");
        for (int i = 0; i < kReplays; i++) {
          stage.poison_outputs(stream);
          check(cudaGraphLaunch(executable, stream), "replaying");
          stage.add_checksum_of_outputs(sums + 1 + i, stream);
        }
        check(cudaStreamSynchronize(stream), "replaying");
        cudaGraphExecDestroy(executable);
        cudaGraphDestroy(graph);
        cudaStreamDestroy(stream);
        for (int i = 0; i < kReplays; i++)
          if (read(sums + 1 + i) != read(sums))
            return "replay " + std::to_string(i) + " gave other bits";
        return "";
      });
}

// One plan, run by four threads on streams of their own at the same time, each into its own output.
template <Case (*kMake)(int64_t, bool)>
std::string threads_share_a_plan(Arena& arena) {
  return over_samples(
      arena, kMake, [&](const Stage& stage, const Ready& r, Kernel kernel) -> std::string {
        constexpr int kThreads = 4, kRuns = 8;
        Sum* sums = arena.take<Sum>(1 + kThreads);
        check(cudaMemset(sums, 0, (1 + kThreads) * sizeof(Sum)), "clearing");
        stage.poison_outputs(nullptr);
        r.run(nullptr);
        checksum(stage.o.data, stage.o.bytes, sums, nullptr);

        std::vector<Ready> others(kThreads);
        std::vector<Arena::Block> outputs(kThreads);
        for (int i = 0; i < kThreads; i++) {
          outputs[i] = arena.take(stage.o.bytes);
          check(cudaMemset(outputs[i].data, 0xff, outputs[i].bytes), "poisoning");
          Forward call = stage.call;
          call.o.data = outputs[i].data;
          call.lse = nullptr;
          if (!ready(stage, call, kernel, others[i])) return "refused";
        }
        check(cudaDeviceSynchronize(), "running");
        std::vector<std::string> complaints(kThreads);
        {
          std::vector<std::jthread> threads;
          for (int i = 0; i < kThreads; i++) {
            threads.emplace_back([&, i] {
              try {
                cudaStream_t stream;
                check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
                for (int run = 0; run < kRuns; run++) others[i].run(stream);
                checksum(outputs[i].data, outputs[i].bytes, sums + 1 + i, stream);
                check(cudaStreamSynchronize(stream), "running");
                cudaStreamDestroy(stream);
              } catch (const std::exception& e) {
                complaints[i] = e.what();
              }
            });
          }
        }
        for (int i = 0; i < kThreads; i++) {
          if (!complaints[i].empty()) return complaints[i];
          if (read(sums + 1 + i) != read(sums))
            return "thread " + std::to_string(i) + " got other bits";
        }
        return "";
      });
}

// The oracle rounded to the element type against the CPU's reference, bit by bit; where the two
// sums of doubles fall on either side of a rounding boundary they may differ, so a few in ten
// thousand may.
std::string oracle_agrees_with_the_cpu(Arena& arena) {
  std::string complaints;
  for (DType dtype : {DType::bf16, DType::fp16, DType::e4m3, DType::e5m2}) {
    for (auto make : {sample, packed_sample}) {
      Case c = make(72, true);
      c.dtype = dtype;
      c.o_dtype = c.lengths == Lengths::packed ? dtype : DType::fp16;
      c.scales = is_fp8(dtype) ? Scales::per_head : Scales::none;
      c.v_transposed = dtype == DType::e5m2;
      c.heads_q = 4;
      c.heads_kv = 2;
      c.layout = Layout::gaps;
      arena.reset();
      const Stage stage(arena, c, nullptr);
      const Problem& p = stage.problem;
      const size_t rows = size_t{static_cast<size_t>(p.batch)} * p.heads_q * p.seqlen_q;
      const Oracle reference{arena.take<double>(rows * p.head_dim), arena.take<double>(rows),
                             arena.take<double>(rows)};
      oracle(p, reference, nullptr);
      std::vector<double> o(rows * p.head_dim), lse(rows);
      check(cudaMemcpy(o.data(), reference.o, o.size() * sizeof(double), cudaMemcpyDeviceToHost),
            "reading");
      check(cudaMemcpy(lse.data(), reference.lse, lse.size() * sizeof(double),
                       cudaMemcpyDeviceToHost),
            "reading");

      const Layouts l = layouts_of(c);
      const int bytes = bytes_of(dtype), bytes_o = bytes_of(c.output_dtype());
      const auto download = [&](const Tensor& t, int64_t first, int64_t elements) {
        std::vector<char> host(elements * bytes);
        check(cudaMemcpy(host.data(), static_cast<char*>(t.data) - first * bytes, host.size(),
                         cudaMemcpyDeviceToHost),
              "reading");
        return host;
      };
      auto q = download(p.q, l.first_q, l.elements_q), k = download(p.k, l.first_kv, l.elements_kv),
           v = download(p.v, l.first_v, l.elements_v);
      std::vector<char> out(l.elements_q * bytes_o);
      std::vector<float> out_lse(rows);
      std::vector<int32_t> lengths_q = {0}, lengths_kv = {0};
      for (int32_t n : c.lengths_q) lengths_q.push_back(lengths_q.back() + n);
      for (int32_t n : c.lengths_kv) lengths_kv.push_back(lengths_kv.back() + n);
      Forward call = stage.call;
      call.q.data = q.data() + l.first_q * bytes;
      call.k.data = k.data() + l.first_kv * bytes;
      call.v.data = v.data() + l.first_v * bytes;
      call.o.data = out.data() + l.first_q * bytes_o;
      std::vector<std::vector<float>> scales;
      for (Scale* scale : {&call.q_descale, &call.k_descale, &call.v_descale, &call.o_scale}) {
        if (!scale->data) continue;
        const bool of_q = scale == &call.q_descale || scale == &call.o_scale;
        std::vector<float>& host =
            scales.emplace_back((p.batch - 1) * scale->stride_batch +
                                ((of_q ? p.heads_q : p.heads_kv) - 1) * scale->stride_head + 1);
        check(cudaMemcpy(host.data(), scale->data, host.size() * sizeof(float),
                         cudaMemcpyDeviceToHost),
              "reading");
        scale->data = host.data();
      }
      call.lse = out_lse.data();
      if (c.lengths == Lengths::packed) {
        call.cu_seqlens_q = lengths_q.data();
        call.cu_seqlens_kv = lengths_kv.data();
      }
      Plan plan;
      check(prepare(call, plan), "preparing the reference");
      check(plan.run(nullptr, 0, nullptr), "running the reference");

      size_t compared = 0, different = 0;
      double worst = 0;
      for (int b = 0; b < p.batch; b++) {
        const bool packed = c.lengths == Lengths::packed;
        const int32_t length = packed ? c.lengths_q[b] : p.seqlen_q;
        const int64_t first = packed ? lengths_q[b] : 0;
        for (int h = 0; h < p.heads_q; h++) {
          for (int32_t row = 0; row < length; row++) {
            const size_t at = (static_cast<size_t>(b) * p.heads_q + h) * p.seqlen_q + row;
            const int64_t place =
                b * p.o.stride_batch + (first + row) * p.o.stride_seq + h * p.o.stride_head;
            const double scale = scale_at(call.o_scale, b, h);
            for (int d = 0; d < p.head_dim; d++, compared++) {
              uint16_t want = 0;
              reference::store(&want, 0, p.o_dtype, o[at * p.head_dim + d] * scale);
              different += std::memcmp(static_cast<char*>(call.o.data) + (place + d) * bytes_o,
                                       &want, bytes_o) != 0;
            }
            const float have_lse =
                out_lse[b * p.lse_stride_batch + h * p.lse_stride_head + first + row];
            if (have_lse != static_cast<float>(lse[at]))
              worst = std::fmax(worst, std::fabs(have_lse - lse[at]));
          }
        }
      }
      if (different * 2000 > compared || worst > 1e-5)
        complaints += c.name() + ": " + std::to_string(different) + " of " +
                      std::to_string(compared) + " elements differ, lse by " +
                      std::to_string(worst) + "; ";
    }
  }
  return complaints;
}

std::string errors_are_values(Arena& arena) {
  arena.reset();
  const Stage stage(arena, sample(64, false), nullptr);
  std::string complaints;
  const auto expect = [&](const char* what, Forward call, const char* part) {
    Plan plan;
    const Status s = prepare(call, plan);
    if (s.ok() || s.message.find(part) == std::string::npos)
      complaints += std::string(what) + " gave \"" + s.message + "\"; ";
  };
  std::vector<uint16_t> host(1 << 20);
  Forward call = stage.call;
  call.k.data = host.data();
  expect("k in host memory", call, "k is host memory");
  call = stage.call;
  call.kernel = Kernel::reference;
  expect("the reference for device memory", call, "device memory");
  call = stage.call;
  call.q.data = static_cast<char*>(call.q.data) + 2;
  call.kernel = Kernel::hopper;
  expect("an unaligned q for the Hopper kernel", call, "q");
  call.kernel = Kernel::automatic;
  Plan plan;
  check(prepare(call, plan), "preparing an unaligned call");
  if (plan.kernel() != Kernel::portable || plan.why().find('q') == std::string::npos)
    complaints += "an unaligned q gave the " + std::string(name(plan.kernel())) +
                  " kernel because \"" + plan.why() + "\"; ";

  // Of varying lengths, since the Hopper kernel counts its tiles in a workspace then.
  arena.reset();
  const Stage packed(arena, packed_sample(64, false), nullptr);
  Ready r;
  if (ready(packed, packed.call, Kernel::hopper, r)) {
    const size_t bytes = r.plan.workspace_bytes();
    const auto refuse = [&](const char* what, void* workspace, size_t given) {
      const Status s = r.plan.run(workspace, given, nullptr);
      if (s.ok() || s.message.find("the workspace") != 0)
        complaints += std::string(what) + " gave \"" + s.message + "\"; ";
    };
    refuse("no workspace", nullptr, bytes);
    refuse("a workspace too small", r.workspace.data, bytes - 1);
    refuse("a workspace in odd places", r.workspace.data + 4, bytes);
  }
  check(cudaGetLastError(), "an error was left behind");
  return complaints;
}

std::string fp8_errors_are_values(Arena& arena) {
  arena.reset();
  const Stage stage(arena, in_fp8<sample, DType::e4m3>(64, false), nullptr);
  std::string complaints;
  const auto expect = [&](const char* what, const Forward& call, const char* part) {
    Plan plan;
    const Status s = prepare(call, plan);
    if (s.ok() || s.message.find(part) == std::string::npos)
      complaints += std::string(what) + " gave \"" + s.message + "\"; ";
  };
  std::vector<float> host(4096, 1.0f);
  Forward call = stage.call;
  call.k_descale.data = host.data();
  expect("k_descale in host memory", call, "k_descale is host memory");
  call = stage.call;
  call.kernel = Kernel::portable;
  expect("the portable kernel", call, "the portable kernel takes no fp8");
  call = stage.call;
  call.v.data = static_cast<char*>(call.v.data) + 8;
  expect("an unaligned v", call, "v is not aligned to 16 bytes");
  expect("an unaligned v", call, "no other kernel takes fp8");
  check(cudaGetLastError(), "an error was left behind");
  return complaints;
}

// The same numbers, in memory either way, are the same bits of o and LSE.
std::string v_lies_either_way(Arena& arena) {
  std::string complaints;
  for (int64_t head_dim : {64, 128, 256}) {
    for (bool causal : {false, true}) {
      Sum sums[2];
      for (bool transposed : {false, true}) {
        arena.reset();
        Case c = with_transposed_v<packed_sample, DType::e4m3>(head_dim, causal);
        c.v_transposed = transposed;
        c.scales = Scales::none;  // they would be made from the case's name
        const Stage stage(arena, c, nullptr);
        Ready r;
        if (!ready(stage, stage.call, Kernel::hopper, r)) {
          return transposed ? "v was refused where it lies transposed" : "";  // not this device's
        }
        sums[transposed] = sum_of_run(arena, stage, r, nullptr);
      }
      if (sums[0] != sums[1])
        complaints += "other bits at head_dim " + std::to_string(head_dim) + "; ";
    }
  }
  return complaints;
}

// Enough rows to a head of V for it to be turned ahead, in sequences of which some see none.
template <DType kType>
Case turned_sample(int64_t head_dim, bool causal) {
  Case c = in_fp8<packed_sample, kType>(head_dim, causal);
  c.heads_q = 48;
  c.heads_kv = 2;
  c.scales = Scales::none;  // they would be made from the case's name
  return c;
}

template <DType kType>
std::string v_is_turned_either_way(Arena& arena) {
  std::string complaints;
  for (int64_t head_dim : {136, 200, 256}) {
    for (bool causal : {false, true}) {
      Sum sums[2];
      for (bool spare : {false, true}) {
        arena.reset();
        const Stage stage(arena, turned_sample<kType>(head_dim, causal), nullptr);
        Forward call = stage.call;
        call.spare_workspace = spare;
        Ready r;
        if (!ready(stage, call, Kernel::hopper, r)) return "";  // not this device's
        if (is_ahead(r) == spare) complaints += "spare_workspace does not decide; ";
        sums[spare] = sum_of_run(arena, stage, r, nullptr);
      }
      if (sums[0] != sums[1])
        complaints += "other bits at head_dim " + std::to_string(head_dim) + "; ";
    }
  }
  return complaints;
}

// A workspace that holds what an earlier call turned, or another plan's, is as good as any.
std::string turned_v_is_of_this_call(Arena& arena) {
  std::string complaints;
  for (bool causal : {false, true}) {
    arena.reset();
    const Case c = turned_sample<DType::e4m3>(256, causal);
    const Stage stage(arena, c, nullptr);
    Ready r, shorter;
    if (!ready(stage, stage.call, Kernel::hopper, r)) return "";  // not this device's
    if (!is_ahead(r)) return "v is not turned ahead";
    Forward call = stage.call;
    call.heads_q /= 2;  // the same V: other groups of heads, and other firsts
    if (!ready(stage, call, Kernel::hopper, shorter)) return "fewer heads were refused";
    shorter.workspace = r.workspace;
    const Sum before = sum_of_run(arena, stage, r, nullptr);
    Fill other = c.v;
    other.seed += 100;
    fill(stage.problem, Which::v, other, nullptr);
    shorter.run(nullptr);
    fill(stage.problem, Which::v, c.v, nullptr);
    if (sum_of_run(arena, stage, r, nullptr) != before)
      complaints += "other bits after another call; ";
    fill(stage.problem, Which::v, other, nullptr);
    const Sum changed = sum_of_run(arena, stage, r, nullptr);
    Ready fresh;
    ready(stage, stage.call, Kernel::hopper, fresh);
    if (changed == before) complaints += "another v gave the same bits; ";
    if (changed != sum_of_run(arena, stage, fresh, nullptr))
      complaints += "other bits than in a fresh workspace; ";
  }
  return complaints;
}

// Blocks of threads that wait for V must not wait for others that cannot start before they end.
std::string v_is_turned_by_whoever_runs(Arena& arena) {
  constexpr int kHeld = 100;  // multiprocessors
  std::string complaints;
  for (bool causal : {false, true}) {
    arena.reset();
    const Stage stage(arena, turned_sample<DType::e4m3>(256, causal), nullptr);
    Ready r;
    if (!ready(stage, stage.call, Kernel::hopper, r)) return "";  // not this device's
    const Sum free = sum_of_run(arena, stage, r, nullptr);
    int* counts = nullptr;  // how many are held, and whether they may go
    check(cudaHostAlloc(reinterpret_cast<void**>(&counts), 2 * sizeof(int), cudaHostAllocMapped),
          "memory");
    counts[0] = counts[1] = 0;
    volatile int *const held = counts, *const go = counts + 1;
    cudaStream_t holding, running;
    check(cudaStreamCreateWithFlags(&holding, cudaStreamNonBlocking), "a stream");
    check(cudaStreamCreateWithFlags(&running, cudaStreamNonBlocking), "a stream");
    hold(kHeld, counts, counts + 1, holding);
    const auto soon = [&](auto happened) {
      const auto begin = std::chrono::steady_clock::now();
      while (!happened()) {
        if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(20)) return false;
      }
      return true;
    };
    if (!soon([&] { return *held == kHeld; })) complaints += "nothing could be held; ";
    Sum* const sum = start_sum_of_run(arena, stage, r, running);
    if (!soon([&] { return cudaStreamQuery(running) == cudaSuccess; }))
      complaints += "the call waits for blocks of threads that cannot start; ";
    *go = 1;
    check(cudaDeviceSynchronize(), "running while multiprocessors were held");
    if (read(sum) != free) complaints += "other bits while multiprocessors were held; ";
    check(cudaStreamDestroy(holding), "a stream");
    check(cudaStreamDestroy(running), "a stream");
    check(cudaFreeHost(counts), "memory");
  }
  return complaints;
}

template <Case (*kMake)(int64_t, bool)>
std::string empty_calls_do_nothing(Arena& arena) {
  std::string complaints;
  for (Kernel kernel : kKernels) {
    for (int what = 0; what < 3; what++) {
      Case c = kMake(64, true);
      (what == 0 ? c.batch : what == 1 ? c.seqlen_q : c.seqlen_kv) = 0;
      arena.reset();
      const Stage stage(arena, c, nullptr);
      Ready r;
      if (!ready(stage, stage.call, kernel, r)) continue;
      Sum* touched = arena.take<Sum>(1);
      check(cudaMemset(touched, 0, sizeof(Sum)), "clearing");
      stage.poison_outputs(nullptr);
      r.run(nullptr);
      stage.count_touched_outside(r.workspace, touched, nullptr);
      if (read(touched) > 0)
        complaints += std::string(name(kernel)) + " wrote where nothing was to be written; ";
    }
  }
  return complaints;
}

template <Case (*kMake)(int64_t, bool)>
std::string the_c_interface_gives_the_same_bits(Arena& arena) {
  arena.reset();
  const Stage stage(arena, kMake(128, true), nullptr);
  Ready r;
  if (!ready(stage, stage.call, Kernel::automatic, r)) return "refused";
  Sum* sums = arena.take<Sum>(2);
  check(cudaMemset(sums, 0, 2 * sizeof(Sum)), "clearing");
  stage.poison_outputs(nullptr);
  r.run(nullptr);
  stage.add_checksum_of_outputs(sums, nullptr);
  stage.poison_outputs(nullptr);

  const Forward& f = stage.call;
  const auto tensor = [](const Tensor& t) {
    return namesake_attention_tensor{t.data, t.stride_batch, t.stride_seq, t.stride_head};
  };
  namesake_attention_call call{};
  call.struct_bytes = sizeof call;
  call.dtype = static_cast<int32_t>(f.dtype);
  call.batch = f.batch;
  call.seqlen_q = f.seqlen_q;
  call.seqlen_kv = f.seqlen_kv;
  call.heads_q = f.heads_q;
  call.heads_kv = f.heads_kv;
  call.head_dim = f.head_dim;
  call.q = tensor(f.q);
  call.k = tensor(f.k);
  call.v = tensor(f.v);
  call.o = tensor(f.o);
  call.lse = f.lse;
  call.causal = f.causal;
  call.o_dtype = static_cast<int32_t>(f.o_dtype);
  call.v_transposed = f.v_transposed;
  call.promote_keys = f.promote_keys;
  const auto scale = [](const Scale& s) {
    return namesake_attention_scale{s.data, s.stride_batch, s.stride_head};
  };
  call.q_descale = scale(f.q_descale);
  call.k_descale = scale(f.k_descale);
  call.v_descale = scale(f.v_descale);
  call.o_scale = scale(f.o_scale);
  size_t bytes = 0;
  int32_t kernel = 0;
  char message[200];
  if (namesake_attention_query(&call, &bytes, &kernel, message, sizeof message) !=
      NAMESAKE_ATTENTION_OK)
    return message;
  if (bytes != r.plan.workspace_bytes() || kernel != static_cast<int32_t>(r.plan.kernel()))
    return "another plan";
  if (namesake_attention_forward(&call, r.workspace.data, bytes, nullptr, message,
                                 sizeof message) != NAMESAKE_ATTENTION_OK)
    return message;
  stage.add_checksum_of_outputs(sums + 1, nullptr);
  return read(sums) == read(sums + 1) ? "" : "other bits";
}

// On every device there is, from one thread, one after the other; then with the wrong one current.
std::string devices_take_turns(Arena&) {
  int devices = 0;
  check(cudaGetDeviceCount(&devices), "counting devices");
  std::string complaints;
  Sum first = 0;
  for (int d = 0; d < devices; d++) {
    check(cudaSetDevice(d), "choosing a device");
    Arena arena(size_t{256} << 20);
    const Stage stage(arena, sample(128, true), nullptr);
    Ready r;
    if (!ready(stage, stage.call, Kernel::automatic, r)) {
      complaints += "refused; ";
      continue;
    }
    Sum* sum = arena.take<Sum>(1);
    check(cudaMemset(sum, 0, sizeof(Sum)), "clearing");
    stage.poison_outputs(nullptr);
    r.run(nullptr);
    stage.add_checksum_of_outputs(sum, nullptr);
    if (d == 0) first = read(sum);
    if (read(sum) != first)
      complaints += "device " + std::to_string(d) + " gave other bits than device 0; ";
    if (devices > 1) {
      check(cudaSetDevice((d + 1) % devices), "choosing a device");
      if (r.plan.run(r.workspace.data, r.plan.workspace_bytes(), nullptr).ok())
        complaints += "a plan ran on another device than it was made for; ";
      Plan plan;
      if (prepare(stage.call, plan).ok()) complaints += "memory of another device was accepted; ";
      check(cudaSetDevice(d), "choosing a device");
    }
  }
  check(cudaSetDevice(0), "choosing a device");
  return complaints;
}

}  // namespace

const std::vector<Behaviour>& behaviours() {
  static const std::vector<Behaviour> all = {
      {"the oracle agrees with the reference on the CPU", oracle_agrees_with_the_cpu},
      {"100 repetitions give the same bits", repetitions_are_equal<sample>},
      {"100 repetitions with keys in three parts give the same bits",
       repetitions_are_equal<divided_sample>},
      {"a sequence gives the same bits alone and packed with others",
       sequences_are_the_same_alone<packed_sample>},
      {"a sequence whose keys are in three parts gives the same bits alone and packed with others",
       sequences_are_the_same_alone<divided_sample>},
      {"a captured call replays", graphs_replay<packed_sample>},
      {"four threads share a kernel on four streams", threads_share_a_plan<sample>},
      {"errors are values, decided before a launch", errors_are_values},
      {"empty calls do nothing", empty_calls_do_nothing<sample>},
      {"the C interface gives the same bits", the_c_interface_gives_the_same_bits<sample>},
      {"each device takes its turn", devices_take_turns},
      {"fp8: 100 repetitions give the same bits",
       repetitions_are_equal<in_fp8<sample, DType::e4m3>>},
      {"fp8: 100 repetitions with keys in three parts give the same bits",
       repetitions_are_equal<in_fp8<divided_sample, DType::e5m2>>},
      {"fp8: 100 repetitions with v transposed give the same bits",
       repetitions_are_equal<with_transposed_v<packed_sample, DType::e4m3>>},
      {"fp8: a sequence gives the same bits alone and packed with others",
       sequences_are_the_same_alone<in_fp8<packed_sample, DType::e4m3>>},
      {"fp8: a sequence gives the same bits alone and packed with others, of e5m2",
       sequences_are_the_same_alone<in_fp8<packed_sample, DType::e5m2>>},
      {"fp8: a sequence whose keys are in three parts gives the same bits alone and packed",
       sequences_are_the_same_alone<in_fp8<divided_sample, DType::e4m3>>},
      {"fp8: v gives the same bits in rows and transposed", v_lies_either_way},
      {"fp8: v gives the same bits turned ahead and block by block",
       v_is_turned_either_way<DType::e4m3>},
      {"fp8: v gives the same bits turned ahead and block by block, of e5m2",
       v_is_turned_either_way<DType::e5m2>},
      {"fp8: what an earlier call turned ahead is not taken for this one's",
       turned_v_is_of_this_call},
      {"fp8: v is turned ahead while most multiprocessors are held", v_is_turned_by_whoever_runs},
      {"fp8: a captured call replays", graphs_replay<in_fp8<packed_sample, DType::e4m3>>},
      {"fp8: four threads share a kernel on four streams",
       threads_share_a_plan<in_fp8<sample, DType::e5m2>>},
      {"fp8: errors are values, decided before a launch", fp8_errors_are_values},
      {"fp8: empty calls do nothing", empty_calls_do_nothing<in_fp8<sample, DType::e4m3>>},
      {"fp8: the C interface gives the same bits",
       the_c_interface_gives_the_same_bits<in_fp8<sample, DType::e5m2>>},
  };
  return all;
}

}  // namespace namesake::attention::test
