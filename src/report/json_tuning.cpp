// namesake.tune/1.0: the members of report::Tuning by their own names and in their own order.

#include "report/json_fields.h"
#include "report/tuning_pages.h"

namespace namesake::report {

template <class V, Described<TuningSample> S>
static void fields(V&& visit, S& s) {
  visit("setting", s.setting);
  visit("ratio", s.ratio);
  visit("interval", s.interval);
  visit("says", s.says);
  visit("note", s.note);
}

template <class V, Described<EarlierDecision> S>
static void fields(V&& visit, S& s) {
  visit("treatment", s.treatment);
  visit("ratio", s.ratio);
  visit("interval", s.interval);
  visit("holds", s.holds);
  visit("why", s.why);
}

template <class V, Described<Decision> S>
static void fields(V&& visit, S& s) {
  visit("symbol", s.symbol);
  visit("name", s.name);
  visit("file", s.file);
  visit("launch_file", s.launch_file);
  visit("architecture", s.architecture);
  visit("assembler", s.assembler);
  visit("assembler_build", s.assembler_build);
  visit("natural_is_treated", s.natural_is_treated);
  visit("treatment", s.treatment);
  visit("settled", s.settled);
  visit("why", s.why);
  visit("ratio", s.ratio);
  visit("interval", s.interval);
  visit("spill_bytes", s.spill_bytes);
  visit("samples", s.samples);
  visit("place", s.place);
  visit("advice", s.advice);
  visit("earlier", s.earlier);
}

template <class V, Described<Tuning> S>
static void fields(V&& visit, S& s) {
  visit("command", s.command);
  visit("date", s.date);
  visit("gpu", s.gpu);
  visit("driver", s.driver);
  visit("confidence", s.confidence);
  visit("threshold", s.threshold);
  visit("policy", s.policy);
  visit("measurement", s.measurement);
  visit("checked", s.checked);
  visit("decisions", s.decisions);
  visit("notes", s.notes);
  visit("next_command", s.next_command);
}

std::string to_json(const Tuning& tuning) {
  Document document;
  document.add("schema", "namesake.tune/1.0");
  document.add("version", NAMESAKE_VERSION);
  document.add_fields(tuning);
  return document.finish();
}

}  // namespace namesake::report
