// namesake.ab/1.0: the members of report::Live by their own names and in their own order.

#include "report/json_fields.h"
#include "report/live_pages.h"

namespace namesake::report {

template <class V, Described<Ratio> S>
static void fields(V&& visit, S& s) {
  visit("ratio", s.ratio);
  visit("interval", s.interval);
  visit("confidence", s.confidence);
  visit("verdict", s.verdict);
  visit("pairs", s.pairs);
  visit("ties", s.ties);
}

template <class V, Described<LiveBuild> S>
static void fields(V&& visit, S& s) {
  visit("identity", s.identity);
  visit("registers", s.registers);
  visit("spill_bytes", s.spill_bytes);
  visit("code_bytes", s.code_bytes);
}

template <class V, Described<LiveShape> S>
static void fields(V&& visit, S& s) {
  visit("grid", s.grid);
  visit("block", s.block);
  visit("shared_bytes", s.shared_bytes);
  visit("launches", s.launches);
  visit("milliseconds_a", s.milliseconds_a);
  visit("milliseconds_b", s.milliseconds_b);
  visit("milliseconds", s.milliseconds);
  visit("time", s.time);
  visit("control", s.control);
  visit("ratios", s.ratios);
  visit("control_ratios", s.control_ratios);
}

static Json written(const LiveFinding& finding) {
  return kLiveFindingNames[static_cast<size_t>(finding)];
}
static void read(const Json& json, LiveFinding& out) {
  read_word(json, kLiveFindingNames, "finding", out);
}

template <class V, Described<LiveKernel> S>
static void fields(V&& visit, S& s) {
  visit("symbol", s.symbol);
  visit("name", s.name);
  visit("architecture", s.architecture);
  visit("assembler", s.assembler);
  visit("assembler_build", s.assembler_build);
  visit("finding", s.finding);
  visit("meaning", s.meaning);
  visit("loaded", s.loaded);
  visit("a", s.a);
  visit("b", s.b);
  visit("launches", s.launches);
  visit("launches_of_b", s.launches_of_b);
  visit("captured", s.captured);
  visit("cooperative", s.cooperative);
  visit("not_resident", s.not_resident);
  visit("failed", s.failed);
  visit("total_milliseconds", s.total_milliseconds);
  visit("saved_milliseconds", s.saved_milliseconds);
  visit("checked", s.checked);
  visit("differing", s.differing);
  visit("unrepeatable", s.unrepeatable);
  visit("unchecked", s.unchecked);
  visit("shapes", s.shapes);
}

template <class V, Described<Live> S>
static void fields(V&& visit, S& s) {
  visit("command", s.command);
  visit("date", s.date);
  visit("gpu", s.gpu);
  visit("cuda", s.cuda);
  visit("architecture", s.architecture);
  visit("a", s.a);
  visit("b", s.b);
  visit("confidence", s.confidence);
  visit("dead_band", s.dead_band);
  visit("seconds", s.seconds);
  visit("processes", s.processes);
  visit("launches", s.launches);
  visit("timed", s.timed);
  visit("unknown", s.unknown);
  visit("ended", s.ended);
  visit("kernels", s.kernels);
  visit("notes", s.notes);
  visit("advice", s.advice);
  visit("policy", s.policy);
  visit("next_command", s.next_command);
}

std::string to_json(const Live& live) {
  Document document;
  document.add("schema", "namesake.ab/1.0");
  document.add("version", NAMESAKE_VERSION);
  document.add_fields(live);
  return document.finish();
}

Result<Live> live_from_json(std::string_view json) {
  return parsed<Live>(json, "ab");
}

}  // namespace namesake::report
