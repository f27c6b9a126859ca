#include "results.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <map>
#include <nlohmann/json.hpp>

#include "peer_figures.h"
#include "story_page.h"
#include "util/file.h"

namespace namesake::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSections[] = {"cells", "sustained", "story"};

Json interval_json(const std::optional<gpu::Interval>& interval) {
  if (!interval) return nullptr;
  return Json::array({interval->low, interval->high});
}

Json speed_json(const Speed& speed) {
  return {{"name", speed.name},
          {"kernel", speed.kernel},
          {"teraflops", speed.teraflops.median},
          {"interval", interval_json(speed.teraflops.interval)},
          {"milliseconds", speed.milliseconds},
          {"clock_mhz", speed.clock_mhz},
          {"flop_per_clock_and_multiprocessor", speed.flop_per_clock},
          {"of_peak", speed.of_peak},
          {"error", speed.error ? Json(*speed.error) : Json(nullptr)}};
}

// Ours against the peer as a ratio of speeds: above 1, ours is faster. The comparison is of times.
Json ratio_json(const gpu::Comparison& time) {
  Json ratio = {{"ratio", 1 / time.ratio}};
  ratio["interval"] = time.interval ? Json::array({1 / time.interval->high, 1 / time.interval->low})
                                    : Json(nullptr);
  ratio["confidence"] = time.confidence;
  ratio["verdict"] = gpu::words(time.verdict);
  return ratio;
}

Json shape_json(const Cell& cell) {
  return {{"dtype", attention::name(cell.dtype)},
          {"batch", cell.batch},
          {"heads_q", cell.heads_q},
          {"heads_kv", cell.heads_kv},
          {"length", cell.length},
          {"head_dim", cell.head_dim},
          {"mask", cell.causal ? "causal" : "full"},
          {"v_transposed", cell.v_transposed},
          {"flops", cell.flops()}};
}

Cell cell_of(const Json& shape) {
  return {.dtype = shape["dtype"] == "e4m3"   ? attention::DType::e4m3
                   : shape["dtype"] == "fp16" ? attention::DType::fp16
                                              : attention::DType::bf16,
          .batch = shape["batch"],
          .heads_q = shape["heads_q"],
          .heads_kv = shape["heads_kv"],
          .length = shape["length"],
          .head_dim = shape["head_dim"],
          .causal = shape["mask"] == "causal",
          .v_transposed = shape.value("v_transposed", false)};
}

// The cells whose ratios are averaged together.
std::string group_of(const Cell& cell) {
  const char* const what = !cell.fp8() ? "" : cell.v_transposed ? "fp8, V transposed, " : "fp8, ";
  return fmt::format("{}head_dim {}", what, cell.head_dim);
}

// The figures' shapes: batch 4, as many key heads as query heads, V as it comes.
bool in_figures(const Json& entry, const Cell& cell) {
  return entry.contains("fp8") == cell.fp8() && !cell.v_transposed &&
         entry["head_dim"] == cell.head_dim && (entry["mask"] == "causal") == cell.causal &&
         cell.batch == 4 && cell.heads_q == cell.heads_kv &&
         cell.heads_q == (cell.head_dim == 256 ? 16 : 32);
}

const Json& figures() {
  static const Json parsed = Json::parse(kPeerFigures);
  return parsed;
}

std::string number(const Json& value, const char* format) {
  return value.is_number() ? fmt::format(fmt::runtime(format), value.get<double>()) : "";
}

std::string spread(const Json& side) {
  if (!side.is_object()) return "–";
  const Json& interval = side["interval"];
  const std::string middle = number(side["teraflops"], "{:.0f}");
  if (!interval.is_array()) return middle;
  return fmt::format("{} ({}–{})", middle, number(interval[0], "{:.0f}"),
                     number(interval[1], "{:.0f}"));
}

Json side_or_null(const Json& cell, const char* name) {
  return cell.contains(name) ? cell[name] : Json(nullptr);
}

std::string cell_table(const Json& cells) {
  std::string text =
      "| cell | namesake TFLOP/s | cuDNN TFLOP/s | speed ratio (95%) | verdict | MHz | flop/clk/SM "
      "| of peak | W | "
      "error, ours / cuDNN's |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
  for (const Json& cell : cells) {
    const Json ours = side_or_null(cell, "namesake"), peer = side_or_null(cell, "cudnn");
    std::string ratio = "–", verdict = cell.value("why_not_ours", cell.value("why_no_peer", ""));
    if (cell.contains("speed_ratio")) {
      const Json& found = cell["speed_ratio"];
      ratio = number(found["ratio"], "{:.3f}");
      if (found["interval"].is_array())
        ratio += fmt::format(" ({}–{})", number(found["interval"][0], "{:.3f}"),
                             number(found["interval"][1], "{:.3f}"));
      verdict = found["verdict"];
    }
    const auto of = [](const Json& side, const char* key, const char* format) {
      return side.is_object() ? number(side[key], format) : std::string();
    };
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} / {} |\n",
                        cell["cell"].get<std::string>(), spread(ours), spread(peer), ratio, verdict,
                        of(ours, "clock_mhz", "{:.0f}"),
                        of(ours, "flop_per_clock_and_multiprocessor", "{:.0f}"),
                        of(ours, "of_peak", "{:.2f}"),
                        cell.contains("card") ? number(cell["card"]["watts"], "{:.0f}") : "",
                        of(ours, "error", "{:.2e}"), of(peer, "error", "{:.2e}"));
  }
  return text;
}

std::string sustained_table(const Json& sustained) {
  std::string text =
      "| cell | who | TFLOP/s | MHz | W | flop/clk/SM | of peak | GFLOP/J | J a call | °C | "
      "slowdowns |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
  for (const Json& cell : sustained)
    for (const Json& side : cell["sides"])
      text += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
                          cell["cell"].get<std::string>(), side["name"].get<std::string>(),
                          number(side["teraflops"], "{:.0f}"), number(side["clock_mhz"], "{:.0f}"),
                          number(side["watts"], "{:.0f}"),
                          number(side["flop_per_clock_and_multiprocessor"], "{:.0f}"),
                          number(side["of_peak"], "{:.2f}"),
                          number(side["gigaflop_per_joule"], "{:.0f}"),
                          number(side["joules_per_call"], "{:.3f}"),
                          number(side["celsius"], "{:.0f}"), side["slowdowns"].get<std::string>());
  return text;
}

}  // namespace

double figure_tolerance() {
  return figures()["tolerance"];
}

std::optional<double> figure_for(const std::string& gpu, const std::string& peer,
                                 const Cell& cell) {
  const Json& all = figures();
  if (all["gpu"] != gpu) return std::nullopt;
  for (const Json& entry : all["figures"]) {
    if (entry["peer"] != peer || !in_figures(entry, cell)) continue;
    for (size_t i = 0; i < all["lengths"].size(); ++i)
      if (all["lengths"][i] == cell.length && entry["teraflops"][i].is_number())
        return entry["teraflops"][i].get<double>();
  }
  return std::nullopt;
}

Json describe(const Origin& origin, const Effort& effort) {
  Json gpu = {
      {"name", origin.device.name},
      {"compute_capability", fmt::format("{}.{}", origin.device.major, origin.device.minor)},
      {"multiprocessors", origin.device.multiprocessors}};
  if (origin.card) {
    const gpu::CardState& card = *origin.card;
    const auto optional = [](const auto& value) { return value ? Json(*value) : Json(nullptr); };
    gpu["driver"] = card.driver_version;
    gpu["ecc"] = optional(card.ecc);
    gpu["mig"] = optional(card.mig);
    gpu["power_limit_watts"] = optional(card.power_limit_watts);
    gpu["max_clock_mhz"] = optional(card.max_clock_mhz);
    gpu["max_memory_mhz"] = optional(card.max_memory_mhz);
    gpu["other_processes"] = card.other_processes.size();
  }
  return {{"schema", kSchema},
          {"version", NAMESAKE_VERSION},
          {"date", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
          {"gpu", gpu},
          {"assembler", origin.assembler},
          {"cudnn", origin.cudnn},
          {"binary", origin.binary},
          {"method",
           {{"layout", "[batch][length][heads][head_dim], normal inputs, no LSE"},
            {"timing",
             "graph replays in balanced rounds, median of rounds with the exact sign-test interval "
             "at 95%"},
            {"milliseconds_a_cell", effort.cell_milliseconds},
            {"sustained_seconds", effort.sustained_seconds},
            {"peak_flop_per_clock_and_multiprocessor", kPeakFlopPerClock},
            {"peak_flop_per_clock_and_multiprocessor_in_fp8", kPeakFlopPerClock8},
            {"fp8",
             fmt::format("e4m3 inputs, our output bf16, cuDNN's e4m3 times {} with probabilities "
                         "times {}; errors against the exact result on the quantised inputs",
                         CudnnScalars{}.o_scale, CudnnScalars{}.p_scale)}}}};
}

Json to_json(const Measured& measured) {
  Json entry = {{"cell", measured.cell.name()}, {"shape", shape_json(measured.cell)}};
  if (measured.ours) entry["namesake"] = speed_json(*measured.ours);
  if (measured.peer) entry["cudnn"] = speed_json(*measured.peer);
  if (!measured.why_not_ours.empty()) entry["why_not_ours"] = measured.why_not_ours;
  if (!measured.why_no_peer.empty()) entry["why_no_peer"] = measured.why_no_peer;
  if (measured.time) entry["speed_ratio"] = ratio_json(*measured.time);
  if (measured.cycles) entry["speed_ratio_in_cycles"] = ratio_json(*measured.cycles);
  for (const PlanTime& plan : measured.plans)
    entry["cudnn_plans"].push_back({{"name", plan.name}, {"teraflops", plan.teraflops}});
  entry["rounds"] = measured.rounds;
  entry["dropped"] = measured.dropped;
  entry["calls_a_timing"] = measured.calls;
  entry["seconds"] = measured.seconds;
  if (measured.card)
    entry["card"] = {
        {"watts", measured.card->energy_counted ? Json(measured.card->watts) : Json(nullptr)},
        {"joules", measured.card->energy_counted ? Json(measured.card->joules) : Json(nullptr)},
        {"seconds", measured.card->seconds},
        {"memory_mhz", measured.card->memory_mhz},
        {"celsius", measured.card->celsius},
        {"slowdowns", gpu::describe_slowdowns(measured.card->slowdowns)}};
  return entry;
}

Json to_json(const Cell& cell, const std::vector<Sustained>& sustained) {
  Json entry = {{"cell", cell.name()}, {"shape", shape_json(cell)}, {"sides", Json::array()}};
  for (const Sustained& side : sustained)
    entry["sides"].push_back({{"name", side.name},
                              {"kernel", side.kernel},
                              {"seconds", side.seconds},
                              {"teraflops", side.teraflops},
                              {"clock_mhz", side.clock_mhz},
                              {"flop_per_clock_and_multiprocessor", side.flop_per_clock},
                              {"of_peak", side.of_peak},
                              {"watts", side.watts},
                              {"joules_per_call", side.joules_per_call},
                              {"gigaflop_per_joule", side.gigaflop_per_joule},
                              {"celsius", side.celsius},
                              {"slowdowns", side.slowdowns}});
  return entry;
}

Json to_json(const StoryCell& story) {
  Json entry = {{"cell", story.cell.name()}, {"shape", shape_json(story.cell)}};
  for (const Told& told : story.told) {
    Json& ours = entry[attention::name(told.kernel)];
    ours["code"] = {{"untreated", told.codes.untreated.hash},
                    {"treated", told.codes.treated.hash},
                    {"same", told.codes.same()}};
    ours["untreated"] = speed_json(told.untreated);
    if (!told.treated) continue;
    ours["treated"] = speed_json(*told.treated);
    ours["treated_to_untreated"] = ratio_json(*told.time);
    ours["differing_bytes"] = told.differing_bytes;
  }
  if (story.peer) entry["cudnn"] = speed_json(*story.peer);
  if (!story.why_no_peer.empty()) entry["why_no_peer"] = story.why_no_peer;
  for (const PlanTime& plan : story.plans)
    entry["cudnn_plans"].push_back({{"name", plan.name}, {"teraflops", plan.teraflops}});
  entry["rounds"] = story.rounds;
  entry["dropped"] = story.dropped;
  entry["calls_a_timing"] = story.calls;
  entry["seconds"] = story.seconds;
  return entry;
}

Json to_json(const std::vector<CodePair>& pairs) {
  const auto code = [](const Code& code) {
    return Json{{"symbol", code.symbol},
                {"hash", code.hash},
                {"registers", code.registers},
                {"loads_and_stores_of_spilled_registers", code.local}};
  };
  Json all = Json::array();
  for (const CodePair& pair : pairs) {
    Json entry = {{"kernel", attention::name(pair.kernel)},
                  {"dtype", attention::name(pair.dtype)},
                  {"head_dim", pair.head_dim}};
    if (pair.kernel == attention::Kernel::hopper) entry["mask"] = pair.causal ? "causal" : "full";
    entry["same"] = pair.same();
    entry["untreated"] = code(pair.untreated);
    entry["treated"] = code(pair.treated);
    all.push_back(entry);
  }
  return all;
}

Results::Results() = default;
Results::Results(Results&&) noexcept = default;
Results::~Results() = default;

Result<Json> read_results(const std::filesystem::path& path) {
  TRY_ASSIGN(const std::string text, read_file(path));
  Json document = Json::parse(text, nullptr, false);
  if (document.is_discarded() || !document.is_object())
    return error(path.string() + " is no JSON object: not a results file of attention-bench");
  const std::string schema = document.value("schema", "");
  if (schema.rfind("namesake.attention-bench/1.", 0) != 0)
    return error(fmt::format("{} has the schema '{}', not {}", path.string(), schema, kSchema));
  for (const char* section : kSections)
    if (document.contains(section) && !document[section].is_array())
      return error(fmt::format("{}: '{}' is no list", path.string(), section));
  return document;
}

Result<Results> Results::open(const std::filesystem::path& path, const Json& header) {
  Results results;
  results.path_ = path;
  results.document_ = std::make_unique<Json>(header);
  Json& document = *results.document_;
  for (const char* section : kSections) document[section] = Json::array();
  if (path.empty() || !std::filesystem::exists(path)) return results;
  TRY_ASSIGN(const Json before, read_results(path));
  for (const char* key : {"binary", "cudnn"})
    if (before.value(key, "") != header.value(key, ""))
      return error(
          fmt::format("{} holds another run ({} '{}', now '{}'): give another file or remove it",
                      path.string(), key, before.value(key, ""), header.value(key, "")));
  if (before["gpu"]["name"] != header["gpu"]["name"])
    return error(path.string() + " holds a run on another GPU: give another file or remove it");
  document = before;
  for (const char* section : kSections)
    if (!document.contains(section)) document[section] = Json::array();
  return results;
}

bool Results::has(const std::string& section, const std::string& cell) const {
  for (const Json& entry : (*document_)[section])
    if (entry["cell"] == cell) return true;
  return false;
}

Status Results::add(const std::string& section, const Json& entry) {
  (*document_)[section].push_back(entry);
  if (path_.empty()) return {};
  return write_file(path_, document_->dump(1) + "\n");
}

void Results::forget(const std::string& section, const std::string& cell) {
  Json kept = Json::array();
  for (const Json& entry : (*document_)[section])
    if (entry["cell"] != cell) kept.push_back(entry);
  (*document_)[section] = std::move(kept);
}

Status Results::finish() {
  judge(*document_);
  if (path_.empty()) return {};
  return write_file(path_, document_->dump(1) + "\n");
}

const Json& Results::document() const {
  return *document_;
}

void judge(Json& document) {
  Json shortfalls = Json::array(), behind = Json::array();
  std::map<std::string, std::vector<double>> ratios;
  const std::string gpu = document["gpu"]["name"];
  for (const Json& entry : document["cells"]) {
    const Cell cell = cell_of(entry["shape"]);
    if (entry.contains("cudnn")) {
      // The better of the race and the paired run: the claim is that the peer was at its usual
      // best.
      double reached = entry["cudnn"]["teraflops"];
      if (entry.contains("cudnn_plans"))
        for (const Json& plan : entry["cudnn_plans"])
          reached = std::max(reached, plan["teraflops"].get<double>());
      const auto figure = figure_for(gpu, "cuDNN", cell);
      if (figure && reached < *figure * (1 - figure_tolerance()))
        shortfalls.push_back({{"cell", entry["cell"]},
                              {"peer", "cuDNN"},
                              {"teraflops", reached},
                              {"figure", *figure}});
    }
    if (!entry.contains("speed_ratio")) continue;
    const Json& ratio = entry["speed_ratio"];
    ratios[group_of(cell)].push_back(ratio["ratio"]);
    if (ratio["interval"].is_array() && ratio["interval"][1] < 1) behind.push_back(entry["cell"]);
  }
  Json means = Json::object();
  for (const auto& [group, values] : ratios) means[group] = gpu::geometric_mean(values);
  document["judgement"] = {{"void", !shortfalls.empty()},
                           {"peer_below_its_figure", shortfalls},
                           {"behind_cudnn", behind},
                           {"geometric_mean_of_speed_ratios", means}};
}

std::string markdown(const Json& document) {
  const Json& gpu = document["gpu"];
  std::string text = fmt::format("{} ({} multiprocessors), driver {}, cuDNN {}, {}, {}\n\n",
                                 gpu["name"].get<std::string>(), gpu["multiprocessors"].get<int>(),
                                 gpu.value("driver", "unknown"), document.value("cudnn", "none"),
                                 document.value("assembler", ""), document.value("date", ""));
  if (document.contains("judgement")) {
    const Json& judgement = document["judgement"];
    if (judgement["void"]) {
      text += "**This run is void**: a peer was more than 3% below its earlier figure in\n";
      for (const Json& entry : judgement["peer_below_its_figure"])
        text += fmt::format("{}: {} {:.0f} instead of {:.0f} TFLOP/s\n",
                            entry["cell"].get<std::string>(), entry["peer"].get<std::string>(),
                            entry["teraflops"].get<double>(), entry["figure"].get<double>());
      text += "\n";
    }
    for (const auto& [group, mean] : judgement["geometric_mean_of_speed_ratios"].items())
      text += fmt::format("{}: {:.3f} × cuDNN in the geometric mean\n", group, mean.get<double>());
    if (!document["cells"].empty())
      text += fmt::format("cells whose interval lies wholly below cuDNN: {}\n\n",
                          judgement["behind_cudnn"].size());
  }
  if (document.contains("cells") && !document["cells"].empty())
    text += cell_table(document["cells"]);
  if (document.contains("sustained") && !document["sustained"].empty())
    text += "\n" + sustained_table(document["sustained"]);
  if (document.contains("story") && !document["story"].empty()) text += story_text(document);
  return text;
}

}  // namespace namesake::bench
