// attention-bench: the attention library against cuDNN on the field's table.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "cells.h"
#include "cudnn_peer.h"
#include "gpu/clocks.h"
#include "gpu/driver.h"
#include "measure.h"
#include "results.h"
#include "story.h"
#include "story_page.h"
#include "util/file.h"
#include "util/hash.h"

namespace namesake::bench {
namespace {

struct Options {
  std::vector<std::string> cells = {"*"};
  attention::Kernel kernel = attention::Kernel::automatic;
  bool sustained = false, table = true, story = false, quick = false, list = false, check = false;
  double minutes = 0;  // 0: as long as it takes
  int device = 0;
  std::string output, markdown, figure, show;
  Effort effort;
};

constexpr int64_t kQuickLength = 4096;
// More cells than this below their figures are no bad moment.
constexpr size_t kMostAgain = 6;

std::vector<Cell> chosen(const std::vector<Cell>& all, const Options& options) {
  std::vector<Cell> cells;
  for (const Cell& cell : all) {
    const bool short_type = options.story || cell.dtype == attention::DType::bf16;
    if (options.quick && (cell.length > kQuickLength || !short_type)) continue;
    for (const std::string& glob : options.cells)
      if (!matching({cell}, glob).empty()) {
        cells.push_back(cell);
        break;
      }
  }
  return cells;
}

class Budget {
 public:
  explicit Budget(double minutes) : minutes_(minutes) {}
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }
  bool spent() const { return minutes_ > 0 && seconds() > minutes_ * 60; }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_ = Clock::now();
  double minutes_;
};

void say(const Budget& budget, size_t done, size_t all, const std::string& text) {
  fmt::print(stderr, "[{:5.1f} s] {}/{} {}\n", budget.seconds(), done, all, text);
}

std::string in_short(const StoryCell& story) {
  std::string text = story.cell.name() + ":";
  for (const Told& told : story.told) {
    text += fmt::format(" {} {:.0f} TFLOP/s untreated, ", attention::name(told.kernel),
                        told.untreated.teraflops.median);
    if (told.treated)
      text += fmt::format("{:.0f} treated, {};", told.treated->teraflops.median,
                          told.differing_bytes == 0 ? "results equal" : "RESULTS DIFFER");
    else
      text += "same code treated;";
  }
  if (story.peer) return text + fmt::format(" cuDNN {:.0f}", story.peer->teraflops.median);
  return text + " " + story.why_no_peer;
}

std::string in_short(const Measured& measured) {
  std::string text = measured.cell.name();
  if (measured.ours)
    text += fmt::format(": {:.0f} TFLOP/s", measured.ours->teraflops.median);
  else
    text += ": " + measured.why_not_ours;
  if (measured.peer) text += fmt::format(", cuDNN {:.0f}", measured.peer->teraflops.median);
  if (measured.time && measured.time->interval)
    text += fmt::format(", {:.3f} × ({:.3f}–{:.3f})", 1 / measured.time->ratio,
                        1 / measured.time->interval->high, 1 / measured.time->interval->low);
  return text;
}

Status print(const nlohmann::ordered_json& document, const Options& options) {
  const std::string table = markdown(document);
  std::fputs(table.c_str(), stdout);
  if (!options.markdown.empty()) TRY(write_file(options.markdown, table));
  if (options.figure.empty()) return {};
  if (!document.contains("story") || document["story"].empty())
    return error("only --story makes a figure, and these results hold none");
  return write_file(options.figure, story_figure(document));
}

Status run(const Options& options) {
  TRY_ASSIGN(const auto driver, gpu::load_driver());
  TRY_ASSIGN(const gpu::Device device, gpu::open_device(*driver, options.device));
  TRY_ASSIGN(const gpu::Context context, gpu::Context::retain(*driver, device));
  TRY_ASSIGN(const gpu::Stream stream, gpu::create_stream(context));
  RaceMemory memory;
  Machine machine{
      .context = &context, .stream = &stream, .memory = &memory, .kernel = options.kernel};
  Origin origin{.device = device};
  if (auto card = gpu::Card::open(device)) {
    machine.card = *card;
    origin.card = machine.card->state();
  } else {
    fmt::print(stderr, "note: {}\n", card.error().message);
  }
  const auto cudnn = Cudnn::open();
  if (cudnn) {
    machine.cudnn = &*cudnn;
    origin.cudnn = cudnn->version();
  } else {
    fmt::print(stderr, "note: {}; the table has no peer\n", cudnn.error().message);
    origin.cudnn = "none";
  }
  TRY_ASSIGN(const std::string binary, read_file(own_executable()));
  origin.binary = hash_bytes(binary).hex();
  origin.assembler = NAMESAKE_ASSEMBLER;
  auto header = describe(origin, options.effort);
  std::vector<CodePair> pairs;
  if (options.story) {
    TRY_ASSIGN(pairs, code_pairs(own_executable()));
    if (device.major != 9)
      return error(
          "--story needs a Hopper GPU: its kernels are compiled for compute capability 9.0");
    header["codes"] = to_json(pairs);
  }
  TRY_ASSIGN(Results results, Results::open(options.output, header));

  struct Work {
    std::string section;
    Cell cell;
  };
  std::vector<Work> work;
  if (options.story) {
    for (const Cell& cell : chosen(story_cells(), options)) work.push_back({"story", cell});
  } else if (options.table) {
    for (const Cell& cell : chosen(field_table(), options)) work.push_back({"cells", cell});
  }
  if (options.sustained)
    for (const Cell& cell : chosen(sustained_cells(), options)) work.push_back({"sustained", cell});
  if (work.empty()) return error("no cell has such a name: --list shows them");

  const Budget budget(options.minutes);
  size_t done = 0;
  for (const Work& item : work) {
    ++done;
    if (results.has(item.section, item.cell.name())) continue;
    if (budget.spent()) {
      fmt::print(stderr,
                 "note: the time is up before {} of {}; the same command goes on from there\n",
                 done, work.size());
      break;
    }
    if (item.section == "cells") {
      TRY_ASSIGN(const Measured measured, measure(machine, item.cell, options.effort));
      TRY(results.add(item.section, to_json(measured)));
      say(budget, done, work.size(), in_short(measured));
    } else if (item.section == "story") {
      Effort effort = options.effort;
      effort.cell_milliseconds /= 2;  // more sides share a cell, and more cells the time
      TRY_ASSIGN(const StoryCell story, tell(machine, item.cell, pairs, effort));
      TRY(results.add(item.section, to_json(story)));
      say(budget, done, work.size(), in_short(story));
    } else {
      TRY_ASSIGN(const auto sides, sustain(machine, item.cell, options.effort));
      TRY(results.add(item.section, to_json(item.cell, sides)));
      std::string text = item.cell.name() + " sustained:";
      for (const Sustained& side : sides)
        text += fmt::format(" {} {:.0f} TFLOP/s at {:.0f} MHz, {:.0f} W;", side.name,
                            side.teraflops, side.clock_mhz, side.watts);
      say(budget, done, work.size(), text);
    }
  }
  TRY(results.finish());

  // A peer below its earlier figure has had a bad moment or the whole run is void: asked once more,
  // from its race on, with ours beside it as before.
  std::vector<std::string> again;
  for (const auto& entry : results.document()["judgement"]["peer_below_its_figure"])
    again.push_back(entry["cell"]);
  if (again.size() > kMostAgain) again.clear();
  memory = {};
  for (const Cell& cell : field_table()) {
    if (std::find(again.begin(), again.end(), cell.name()) == again.end()) continue;
    TRY_ASSIGN(const Measured measured, measure(machine, cell, options.effort));
    results.forget("cells", cell.name());
    TRY(results.add("cells", to_json(measured)));
    say(budget, done, work.size(), "again " + in_short(measured));
  }
  if (!again.empty()) TRY(results.finish());

  TRY(print(results.document(), options));
  if (options.check) {
    const auto& judgement = results.document()["judgement"];
    if (judgement["void"] || !judgement["behind_cudnn"].empty())
      return error("");  // the table has said why
  }
  return {};
}

Status show(const Options& options) {
  TRY_ASSIGN(auto document, read_results(options.show));
  if (!document.contains("judgement")) judge(document);
  return print(document, options);
}

// What the name changes, told from the machine code in this program; needs no GPU.
Status list_codes() {
  TRY_ASSIGN(const auto pairs, code_pairs(own_executable()));
  for (const CodePair& pair : pairs)
    fmt::print("{} {} head_dim {}{}: {}\n", attention::name(pair.kernel),
               attention::name(pair.dtype), pair.head_dim,
               pair.kernel == attention::Kernel::portable ? ""
               : pair.causal                              ? " causal"
                                                          : " full",
               pair.same() ? "same code " + pair.untreated.hash
                           : fmt::format("{} untreated, {} treated", pair.untreated.hash,
                                         pair.treated.hash));
  fmt::print("{} kernels in two builds\n", pairs.size());
  return {};
}

int main(int argc, char** argv) {
  Options options;
  CLI::App app(
      "Times namesake-attention against cuDNN on the field's table, in interleaved pairs.");
  app.add_option("--cells", options.cells, "only cells whose name matches one of these globs")
      ->type_name("GLOB");
  const std::map<std::string, attention::Kernel> kernels = {
      {"automatic", attention::Kernel::automatic},
      {"portable", attention::Kernel::portable},
      {"hopper", attention::Kernel::hopper}};
  app.add_option("--kernel", options.kernel, "which of the library's kernels")
      ->transform(CLI::CheckedTransformer(kernels).description(""))
      ->type_name("automatic|portable|hopper");
  app.add_flag("--quick", options.quick, "up to length 4096 alone, and of the table bf16 alone");
  app.add_flag("--sustained", options.sustained,
               "also twelve cells for some seconds each at the power limit");
  app.add_flag("!--no-table", options.table, "leave the table out (with --sustained)");
  app.add_flag("--story", options.story,
               "instead: our kernels as the assembler makes them untreated and treated, side by "
               "side, at head_dim 64 and 128");
  app.add_option("--seconds", options.effort.sustained_seconds, "of each side of --sustained")
      ->check(CLI::Range(0.1, 60.0));
  app.add_option("--milliseconds", options.effort.cell_milliseconds,
                 "of paired calls in each cell of the table")
      ->check(CLI::Range(10.0, 60000.0));
  app.add_option("--minutes", options.minutes,
                 "start no cell after so many; a later run goes on from there");
  app.add_option("--device", options.device, "the GPU's number");
  app.add_option("-o,--output", options.output,
                 "results as JSON, written after each cell; resumed if it is there");
  app.add_option("--markdown", options.markdown, "the table, as printed, into a file too");
  app.add_option("--figure", options.figure, "what --story found, as an SVG file");
  app.add_option("--show", options.show, "print the table of a results file; needs no GPU")
      ->type_name("FILE");
  app.add_flag("--check", options.check,
               "exit with 1 if the run is void or a cell lies behind cuDNN");
  app.add_flag(
      "--list", options.list,
      "print the cells' names; with --story also what the name changes in the machine code");
  app.set_version_flag("--version", "attention-bench " NAMESAKE_VERSION);
  app.footer("Example: attention-bench --cells 'bf16-d128-*' --sustained -o results.json");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& failure) {
    return app.exit(failure) == 0 ? 0 : 2;
  }
  if (options.list) {
    for (const Cell& cell : chosen(options.story ? story_cells() : field_table(), options))
      fmt::print("{}\n", cell.name());
    if (!options.story) return 0;
  }
  const Status status = options.list           ? list_codes()
                        : options.show.empty() ? run(options)
                                               : show(options);
  if (status) return 0;
  if (status.error().message.empty()) return 1;
  fmt::print(stderr, "attention-bench: {}\n", status.error().message);
  return 2;
}

}  // namespace
}  // namespace namesake::bench

int main(int argc, char** argv) {
  return namesake::bench::main(argc, argv);
}
