// namesake.measure/1.0: the members of report::Measurement by their own names and in their own
// order.

#include "report/json_fields.h"
#include "report/measurement_pages.h"

namespace namesake::report {

template <class V, Described<Gpu> S>
static void fields(V&& visit, S& s) {
  visit("name", s.name);
  visit("uuid", s.uuid);
  visit("bus_id", s.bus_id);
  visit("driver", s.driver);
  visit("cuda", s.cuda);
  visit("architecture", s.architecture);
  visit("multiprocessors", s.multiprocessors);
  visit("memory_bytes", s.memory_bytes);
  visit("l2_bytes", s.l2_bytes);
  visit("ecc", s.ecc);
  visit("mig", s.mig);
  visit("power_limit_watts", s.power_limit_watts);
  visit("max_clock_mhz", s.max_clock_mhz);
  visit("max_memory_mhz", s.max_memory_mhz);
  visit("other_processes", s.other_processes);
  visit("unknown", s.unknown);
}

template <class V, Described<CardUse> S>
static void fields(V&& visit, S& s) {
  visit("clock_mhz", s.clock_mhz);
  visit("memory_mhz", s.memory_mhz);
  visit("watts", s.watts);
  visit("celsius", s.celsius);
  visit("slowdowns", s.slowdowns);
  visit("power_capped", s.power_capped);
}

template <class V, Described<MeasuredBuild> S>
static void fields(V&& visit, S& s) {
  visit("failure", s.failure);
  visit("identity", s.identity);
  visit("registers", s.registers);
  visit("spill_bytes", s.spill_bytes);
  visit("stack_bytes", s.stack_bytes);
  visit("shared_bytes", s.shared_bytes);
  visit("code_bytes", s.code_bytes);
  visit("blocks_per_multiprocessor", s.blocks_per_multiprocessor);
  visit("occupancy", s.occupancy);
  visit("loop_instructions", s.loop_instructions);
  visit("edits", s.edits);
}

template <class V, Described<OutputEquality> S>
static void fields(V&& visit, S& s) {
  visit("buffer", s.buffer);
  visit("type", s.type);
  visit("elements", s.elements);
  visit("differing", s.differing);
  visit("first", s.first);
  visit("value_a", s.value_a);
  visit("value_b", s.value_b);
  visit("largest", s.largest);
}

template <class V, Described<InputSet> S>
static void fields(V&& visit, S& s) {
  visit("name", s.name);
  visit("outputs", s.outputs);
  visit("equal", s.equal);
  visit("poison_seen", s.poison_seen);
  visit("damage", s.damage);
}

template <class V, Described<Repeats> S>
static void fields(V&& visit, S& s) {
  visit("runs", s.runs);
  visit("differing_a", s.differing_a);
  visit("differing_b", s.differing_b);
}

template <class V, Described<ReferenceCheck> S>
static void fields(V&& visit, S& s) {
  visit("reference", s.reference);
  visit("note", s.note);
  visit("checked", s.checked);
  visit("elements", s.elements);
  visit("wrong_a", s.wrong_a);
  visit("wrong_b", s.wrong_b);
  visit("error_a", s.error_a);
  visit("error_b", s.error_b);
}

template <class V, Described<Ratio> S>
static void fields(V&& visit, S& s) {
  visit("ratio", s.ratio);
  visit("interval", s.interval);
  visit("confidence", s.confidence);
  visit("verdict", s.verdict);
  visit("pairs", s.pairs);
  visit("ties", s.ties);
}

template <class V, Described<Timing> S>
static void fields(V&& visit, S& s) {
  visit("caches", s.caches);
  visit("shifted_bytes", s.shifted_bytes);
  visit("milliseconds_a", s.milliseconds_a);
  visit("milliseconds_b", s.milliseconds_b);
  visit("megahertz_a", s.megahertz_a);
  visit("megahertz_b", s.megahertz_b);
  visit("launches", s.launches);
  visit("rounds", s.rounds);
  visit("dropped", s.dropped);
  visit("time", s.time);
  visit("cycles", s.cycles);
  visit("control", s.control);
  visit("control_cycles", s.control_cycles);
  visit("ratios", s.ratios);
  visit("control_ratios", s.control_ratios);
  visit("card", s.card);
}

template <class V, Described<KernelMeasurement> S>
static void fields(V&& visit, S& s) {
  visit("launch_file", s.launch_file);
  visit("file", s.file);
  visit("symbol", s.symbol);
  visit("name", s.name);
  visit("architecture", s.architecture);
  visit("assembler", s.assembler);
  visit("assembler_build", s.assembler_build);
  visit("sizes", s.sizes);
  visit("launch", s.launch);
  visit("a", s.a);
  visit("b", s.b);
  visit("failure", s.failure);
  visit("finding", s.finding);
  visit("meaning", s.meaning);
  visit("inputs", s.inputs);
  visit("repeats", s.repeats);
  visit("reference", s.reference);
  visit("timings", s.timings);
  visit("seconds", s.seconds);
}

template <class V, Described<BuildDescription> S>
static void fields(V&& visit, S& s) {
  visit("label", s.label);
  visit("assembler", s.assembler);
  visit("assembler_build", s.assembler_build);
  visit("treatment", s.treatment);
  visit("opt_level", s.opt_level);
  visit("options", s.options);
}

template <class V, Described<Measurement> S>
static void fields(V&& visit, S& s) {
  visit("command", s.command);
  visit("date", s.date);
  visit("gpu", s.gpu);
  visit("a", s.a);
  visit("b", s.b);
  visit("confidence", s.confidence);
  visit("dead_band", s.dead_band);
  visit("kernels", s.kernels);
  visit("notes", s.notes);
  visit("next_command", s.next_command);
  visit("gpu_seconds", s.gpu_seconds);
  visit("build_seconds", s.build_seconds);
}

static Json written(Finding finding) {
  return kFindingNames[static_cast<size_t>(finding)];
}

static void read(const Json& json, Finding& out) {
  read_word(json, kFindingNames, "finding", out);
}

std::string to_json(const Measurement& measurement) {
  Document document;
  document.add("schema", "namesake.measure/1.0");
  document.add("version", NAMESAKE_VERSION);
  document.add_fields(measurement);
  return document.finish();
}

std::string to_json(const KernelMeasurement& kernel) {
  return dumped(written(kernel));
}

std::string to_json(const Gpu& gpu) {
  return dumped(written(gpu));
}

Result<Measurement> measurement_from_json(std::string_view json) {
  return parsed<Measurement>(json, "measure");
}

template <class S>
static Result<S> part_from_json(std::string_view text) {
  try {
    S part;
    read(Json::parse(text), part);
    return part;
  } catch (const Unfit& unfit) {
    return error(unfit.message);
  } catch (const Json::exception& problem) {
    return error(plain(problem.what()));
  }
}

Result<KernelMeasurement> kernel_measurement_from_json(std::string_view json) {
  return part_from_json<KernelMeasurement>(json);
}
Result<Gpu> gpu_from_json(std::string_view json) {
  return part_from_json<Gpu>(json);
}

}  // namespace namesake::report
