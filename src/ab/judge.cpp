// Launches of one kernel in one shape are compared with each other and with no others: a grid of
// ten blocks and one of ten thousand have nothing in common. A block of four launches gives one
// ratio, and the blocks of a shape its median and exact interval, as in `measure`
// (gpu/statistics.h). A verdict needs a quiet control: a alone, read as if it alternated. Where the
// work itself has a rhythm that the blocks do not average out, the control shows it.
//
// The kernel's finding is that of its shapes where they agree; where one gains and another loses
// there is none, since a treatment is given to a kernel and not to a launch.
#include "ab/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "gpu/statistics.h"
#include "live/protocol.h"
#include "report/words.h"
#include "util/subprocess.h"
#include "util/text.h"

namespace namesake::ab {
namespace {

using report::LiveFinding;
using report::LiveKernel;
using report::LiveShape;

constexpr double kWorthMentioning = 0.01;  // of a kernel's time: smaller shapes decide nothing

report::Ratio ratio_of(const std::vector<Block>& blocks, const report::Live& live,
                       std::vector<double>& ratios) {
  std::vector<gpu::PairedTime> pairs;
  for (const Block& block : blocks) {
    pairs.push_back({block.b(), block.a()});
    if (block.a() > 0 && block.b() > 0) ratios.push_back(block.b() / block.a());
  }
  gpu::ComparisonOptions options;
  options.confidence = live.confidence;
  options.dead_band = live.dead_band;
  gpu::Comparison comparison = gpu::compare(pairs, options);
  report::Ratio ratio;
  ratio.ratio = comparison.ratio;
  if (comparison.interval) ratio.interval = {comparison.interval->low, comparison.interval->high};
  ratio.confidence = comparison.confidence;
  ratio.verdict = gpu::words(comparison.verdict);
  ratio.pairs = static_cast<int64_t>(comparison.pairs);
  ratio.ties = static_cast<int64_t>(comparison.ties);
  return ratio;
}

struct ShapeKey {
  std::array<int64_t, 3> grid, block;
  int64_t shared_bytes;
  uint32_t attributes;
  auto operator<=>(const ShapeKey&) const = default;
};

struct ShapeData {
  int64_t launches = 0;
  std::vector<Block> pairs, controls, plains;
};

struct KernelData {
  LiveKernel kernel;
  const Note* note = nullptr;
  int state = NS_LIVE_WAITING, error = 0;
  int why_unchecked = 0;
  int64_t unchecked = 0;
  std::map<ShapeKey, ShapeData> shapes;
};

std::vector<double> halves(const std::vector<Block>& blocks, bool of_b) {
  std::vector<double> result;
  for (const Block& block : blocks) result.push_back((of_b ? block.b() : block.a()) / 2);
  return result;
}

LiveShape shape_of(const ShapeKey& key, const ShapeData& data, const KernelData& of,
                   const report::Live& live) {
  LiveShape shape;
  shape.grid.assign(key.grid.begin(), key.grid.end());
  shape.block.assign(key.block.begin(), key.block.end());
  shape.shared_bytes = key.shared_bytes;
  shape.launches = data.launches;
  shape.time = ratio_of(data.pairs, live, shape.ratios);
  shape.control = ratio_of(data.controls, live, shape.control_ratios);
  shape.milliseconds_a = gpu::median(halves(data.pairs, false));
  shape.milliseconds_b = gpu::median(halves(data.pairs, true));
  bool b_loaded = of.note && of.note->b_is_loaded && !of.note->a_is_loaded;
  shape.milliseconds = b_loaded ? shape.milliseconds_b : shape.milliseconds_a;
  if (shape.milliseconds == 0) {
    std::vector<double> single;
    for (const Block& block : data.plains)
      single.insert(single.end(), block.milliseconds.begin(), block.milliseconds.end());
    shape.milliseconds = gpu::median(single);
  }
  return shape;
}

bool loud(const report::Ratio& control) {
  return control.verdict == "faster" || control.verdict == "slower";
}

// From the shapes that matter.
void find_by_time(LiveKernel& kernel, const report::Live& live) {
  bool faster = false, slower = false, open = false, any = false;
  const LiveShape* noisy = nullptr;
  for (const LiveShape& shape : kernel.shapes) {
    double share = static_cast<double>(shape.launches) * shape.milliseconds;
    if (share < kWorthMentioning * kernel.total_milliseconds && &shape != kernel.main_shape())
      continue;
    if (shape.time.pairs == 0) {
      open = true;
      continue;
    }
    any = true;
    bool verdict = shape.time.verdict == "faster" || shape.time.verdict == "slower";
    if (verdict && loud(shape.control)) {
      noisy = &shape;
      open = true;
      continue;
    }
    faster |= shape.time.verdict == "faster";
    slower |= shape.time.verdict == "slower";
    open |= shape.time.verdict == "undecided";
  }
  const LiveShape* main = kernel.main_shape();
  std::string of =
      main && any ? fmt::format("{} takes {:.3f} of {}'s time", live.b, main->time.ratio, live.a)
                  : "";
  if (faster && slower) {
    kernel.finding = LiveFinding::undecided;
    kernel.meaning = fmt::format("{} is faster for some launches and slower for others", live.b);
  } else if (noisy) {
    kernel.finding = LiveFinding::undecided;
    kernel.meaning =
        fmt::format("{}, but {} against itself comes to {:.3f}: the work itself has a rhythm", of,
                    live.a, noisy->control.ratio);
  } else if (faster) {
    kernel.finding = LiveFinding::faster;
    kernel.meaning = of;
  } else if (slower) {
    kernel.finding = LiveFinding::slower;
    kernel.meaning = of;
  } else if (!any) {
    kernel.finding = LiveFinding::undecided;
    kernel.meaning = "too few of its launches alternated";
  } else if (open) {
    kernel.finding = LiveFinding::undecided;
    kernel.meaning = fmt::format("{}, and the interval is too wide to say more: run longer", of);
  } else {
    kernel.finding = LiveFinding::no_difference;
    kernel.meaning = fmt::format("the times lie within {:g}%", 100 * live.dead_band);
  }
  for (const LiveShape& shape : kernel.shapes) {
    double total = static_cast<double>(shape.launches) * shape.milliseconds;
    bool b_loaded = kernel.loaded == "b";
    double other = b_loaded ? 1 / shape.time.ratio : shape.time.ratio;
    bool gains =
        b_loaded ? kernel.finding == LiveFinding::slower : kernel.finding == LiveFinding::faster;
    if (gains && shape.time.pairs > 0) kernel.saved_milliseconds += total * (1 - other);
  }
}

// Why it ran as loaded, or what its launches say.
void find(KernelData& data, const report::Live& live) {
  LiveKernel& kernel = data.kernel;
  const Note* note = data.note;
  if (data.state == NS_LIVE_REFUSED) {
    kernel.meaning = fmt::format("the driver refused the other build (error {})", data.error);
  } else if (data.state == NS_LIVE_LARGE) {
    kernel.meaning =
        fmt::format("its image is larger than {} MB, or one of too many, and was not looked at",
                    NS_LARGEST_IMAGE >> 20);
  } else if (!note) {
    kernel.meaning = "the other build was not ready before the application ended";
  } else if (note->standing == Standing::not_chosen) {
    kernel.meaning = "not chosen by --kernels";
  } else if (note->standing == Standing::same_code) {
    kernel.finding = LiveFinding::same_code;
    kernel.meaning = "both builds are one code";
  } else if (note->standing == Standing::alone) {
    kernel.meaning = note->why;
  } else if (data.state != NS_LIVE_PAIR) {
    kernel.meaning = kernel.captured == kernel.launches && kernel.launches > 0
                         ? "every launch went into a graph that was being captured"
                         : "the other build was ready only after its last launch";
  } else if (kernel.launches_of_b == 0 && kernel.not_resident > 0) {
    kernel.meaning =
        "its grid is resident at once as loaded, and would not be with the other build";
  } else {
    find_by_time(kernel, live);
  }
}

std::string why_unchecked(int why) {
  switch (why) {
    case NS_CHECK_LARGE:
      return "the application holds more device memory than --check-memory saves";
    case NS_CHECK_EXOTIC:
      return "the application uses memory that cannot be saved and put back";
    case NS_CHECK_FAILED:
      return "saving the device's memory failed";
    case NS_CHECK_THREADS:
      return "several threads of the application launch or allocate";
    case NS_CHECK_EFFECTS:
      return "it prints, allocates or launches, and would do so twice";
    case NS_CHECK_CAPTURING:
      return "a graph was being captured";
  }
  return "";
}

// Sums of counts that any process may have scribbled over stay counts that a report can hold.
void add_to(int64_t& sum, int64_t more) {
  constexpr int64_t kMost = 1'000'000'000'000;
  sum = std::min(kMost, sum + more);
}

void add(KernelData& data, const LaunchedKernel& launched) {
  LiveKernel& kernel = data.kernel;
  add_to(kernel.launches, launched.launches);
  add_to(kernel.launches_of_b, launched.of_b);
  add_to(kernel.captured, launched.captured);
  add_to(kernel.cooperative, launched.cooperative);
  add_to(kernel.not_resident, launched.not_resident);
  add_to(kernel.failed, launched.failed);
  add_to(kernel.checked, launched.checked);
  add_to(kernel.differing, launched.differing);
  add_to(kernel.unrepeatable, launched.unrepeatable);
  add_to(data.unchecked, launched.unchecked);
  data.why_unchecked = std::max(data.why_unchecked, launched.why_unchecked);
  if (launched.state == NS_LIVE_PAIR || data.state == NS_LIVE_WAITING) data.state = launched.state;
  if (launched.error) data.error = launched.error;
}

void describe(KernelData& data) {
  LiveKernel& kernel = data.kernel;
  kernel.name = demangled(kernel.symbol);
  if (!data.note) return;
  const Note& note = *data.note;
  if (!note.symbol.empty()) kernel.symbol = note.symbol;
  kernel.name = demangled(kernel.symbol);
  kernel.architecture = note.architecture;
  kernel.assembler = note.assembler;
  kernel.assembler_build = note.assembler_build;
  kernel.a = {note.a.identity, note.a.registers, note.a.spill_bytes, note.a.code_bytes};
  kernel.b = {note.b.identity, note.b.registers, note.b.spill_bytes, note.b.code_bytes};
  kernel.loaded = note.a_is_loaded ? "a" : note.b_is_loaded ? "b" : "";
  kernel.ptx = note.ptx;
}

}  // namespace

report::Live judge(const Launched& launched, const std::string& a, const std::string& b) {
  report::Live live;
  live.a = a;
  live.b = b;
  std::map<std::pair<uint64_t, uint64_t>, KernelData> kernels;
  int64_t lost = 0, ended = 0;
  for (const Record& record : launched.records) {
    ++live.processes;
    add_to(live.unknown, record.unknown);
    add_to(live.timed, record.timed);
    lost += record.lost;
    ended += record.contexts_ended;
    if (!record.device.empty()) live.gpu = record.device;
    if (record.driver)
      live.cuda = fmt::format("{}.{}", record.driver / 1000, record.driver % 1000 / 10);
    if (record.major) live.architecture = fmt::format("sm_{}{}", record.major, record.minor);
    std::vector<KernelData*> by_number(record.kernels.size());
    for (size_t i = 0; i < record.kernels.size(); ++i) {
      const LaunchedKernel& each = record.kernels[i];
      if (each.symbol.empty() || each.launches == 0) continue;
      auto key = std::pair(each.image, each.symbol_hash);
      KernelData& data = kernels[key];
      data.kernel.symbol = each.symbol;
      auto note = launched.notes.find(key);
      if (note == launched.notes.end()) note = launched.notes.find({each.image, symbol_hash("")});
      if (note != launched.notes.end()) data.note = &note->second;
      add(data, each);
      by_number[i] = &data;
    }
    std::vector<ShapeData*> shapes(record.shapes.size());
    for (size_t i = 0; i < record.shapes.size(); ++i) {
      const LaunchShape& each = record.shapes[i];
      if (each.launches == 0 || each.kernel >= by_number.size() || !by_number[each.kernel])
        continue;
      shapes[i] = &by_number[each.kernel]
                       ->shapes[{each.grid, each.block, each.shared_bytes, each.attributes}];
      add_to(shapes[i]->launches, each.launches);
    }
    for (const Block& block : record.blocks) {
      if (block.shape >= shapes.size() || !shapes[block.shape]) continue;
      ShapeData& shape = *shapes[block.shape];
      auto& list = block.kind == NS_BLOCK_PAIR      ? shape.pairs
                   : block.kind == NS_BLOCK_CONTROL ? shape.controls
                                                    : shape.plains;
      list.push_back(block);
    }
  }
  for (auto& [key, data] : kernels) {
    describe(data);
    LiveKernel& kernel = data.kernel;
    add_to(live.launches, kernel.launches);
    for (const auto& [shape_key, shape] : data.shapes) {
      kernel.shapes.push_back(shape_of(shape_key, shape, data, live));
      const LiveShape& last = kernel.shapes.back();
      kernel.total_milliseconds += static_cast<double>(last.launches) * last.milliseconds;
    }
    std::stable_sort(kernel.shapes.begin(), kernel.shapes.end(),
                     [](const LiveShape& x, const LiveShape& y) {
                       return static_cast<double>(x.launches) * x.milliseconds >
                              static_cast<double>(y.launches) * y.milliseconds;
                     });
    find(data, live);
    if (data.unchecked > 0 && kernel.checked == 0)
      kernel.unchecked = why_unchecked(data.why_unchecked);
    live.kernels.push_back(std::move(kernel));
  }
  std::stable_sort(live.kernels.begin(), live.kernels.end(),
                   [](const LiveKernel& x, const LiveKernel& y) {
                     return std::pair(x.saved_milliseconds, x.total_milliseconds) >
                            std::pair(y.saved_milliseconds, y.total_milliseconds);
                   });
  if (live.unknown)
    live.notes.push_back(
        fmt::format("launches of functions that we never saw named, which ran as loaded: {}",
                    report::grouped(live.unknown)));
  if (lost)
    live.notes.push_back(
        "some kernels or launch shapes found no room in the record and ran as loaded");
  if (ended && live.unknown)
    live.notes.push_back(
        "contexts were destroyed during the run; what lived in them was not known any more");
  for (const std::string& each : launched.damaged) live.notes.push_back("not understood: " + each);
  return live;
}

namespace {

// The kernels that gain by the build that is not loaded.
std::vector<const LiveKernel*> gaining(const report::Live& live) {
  std::vector<const LiveKernel*> result;
  for (const LiveKernel& kernel : live.kernels)
    if (kernel.saved_milliseconds > 0 && kernel.differing == 0) result.push_back(&kernel);
  return result;
}

// A kernel to be treated, by an assembler that has the official spelling.
bool knows_pragma(const LiveKernel* kernel) {
  size_t space = kernel->assembler.rfind(' ');
  std::string_view version =
      std::string_view(kernel->assembler).substr(space == std::string::npos ? 0 : space + 1);
  return kernel->loaded != "b" && !version.empty() && version[0] >= '0' && version[0] <= '9' &&
         compare_versions(version, "13.3") >= 0;
}

// The symbol; of a long one as much as tells it from the others that were launched.
std::string pattern_for(const LiveKernel& kernel, const report::Live& live) {
  constexpr size_t kShort = 64;
  const std::string& symbol = kernel.symbol;
  size_t needed = 0;
  for (const LiveKernel& other : live.kernels) {
    if (other.symbol == symbol) continue;
    size_t same = 0;
    while (same < symbol.size() && same < other.symbol.size() && symbol[same] == other.symbol[same])
      ++same;
    needed = std::max(needed, same + 1);
  }
  needed = std::max<size_t>(needed, 24);
  return symbol.size() <= kShort || needed + 1 >= symbol.size() ? symbol
                                                                : symbol.substr(0, needed) + "*";
}

}  // namespace

void advise(report::Live& live, const std::vector<std::string>& command) {
  double total = 0, saved = 0;
  for (const LiveKernel& kernel : live.kernels) total += kernel.total_milliseconds;
  std::vector<const LiveKernel*> better = gaining(live);
  for (const LiveKernel* kernel : better) saved += kernel->saved_milliseconds;
  bool undecided = std::any_of(
      live.kernels.begin(), live.kernels.end(),
      [](const LiveKernel& kernel) { return kernel.finding == LiveFinding::undecided; });
  bool paired = std::any_of(live.kernels.begin(), live.kernels.end(),
                            [](const LiveKernel& kernel) { return kernel.launches_of_b > 0; });
  if (live.kernels.empty()) {
    live.advice =
        "No launch was seen: the command ran nothing on a GPU, or reached the driver by a way that "
        "is not watched.";
    live.next_command = "namesake doctor";
    return;
  }
  if (better.empty()) {
    live.advice =
        !paired ? "No kernel had another build that could run in its place: the table says why."
        : undecided
            ? "Nothing is settled yet: run longer."
            : fmt::format("Leave everything as it is: no kernel gains by {}.", "the other build");
    return;
  }
  auto all = [&](bool b_loaded) {
    return std::all_of(better.begin(), better.end(), [&](const LiveKernel* kernel) {
      return (kernel->loaded == "b") == b_loaded;
    });
  };
  live.advice = fmt::format("{} would gain by {}, {:.1f}% of the GPU time seen.",
                            report::counted(static_cast<int64_t>(better.size()), "kernel"),
                            all(false)  ? live.b
                            : all(true) ? live.a
                                        : "the build that is not loaded",
                            total > 0 ? 100 * saved / total : 0.0);
  bool treatments = live.a == "untreated" && live.b == "treated";
  if (!treatments) return;
  if (std::any_of(better.begin(), better.end(), knows_pragma))
    live.advice +=
        " Their assembler also takes it from the source: #pragma nv_mma_throughput before the "
        "__global__, or "
        ".pragma \"mma_throughput\"; in PTX.";
  std::vector<std::string> words = {"namesake", "run"};
  for (const LiveKernel* kernel : better) {
    words.push_back(kernel->loaded == "b" ? "--untreat" : "--treat");
    words.push_back(pattern_for(*kernel, live));
  }
  if (!live.policy.empty()) words = {"namesake", "run", "--policy", live.policy};
  words.push_back("--");
  words.insert(words.end(), command.begin(), command.end());
  live.next_command = quoted(words);
}

}  // namespace namesake::ab
