#include "report/json.h"

#include "report/explain.h"
#include "report/json_fields.h"
#include "report/words.h"

namespace namesake::report {

template <class T, class S>
static constexpr bool is = std::is_same_v<std::remove_const_t<S>, T>;

template <class V, class S>
static void fields(V&& visit, S& s) {
  if constexpr (is<Mix, S>) {
    visit("instructions", s.instructions);
    visit("by_class", s.by_class);
    visit("by_opcode", s.by_opcode);
    visit("stall_cycles", s.stall_cycles);
    visit("waits", s.waits);
    visit("yields", s.yields);
    visit("reuses", s.reuses);
    visit("local_memory", s.local_memory);
  } else if constexpr (is<Side, S>) {
    visit("failure", s.failure);
    visit("registers", s.registers);
    visit("stack_bytes", s.stack_bytes);
    visit("spill_store_bytes", s.spill_store_bytes);
    visit("spill_load_bytes", s.spill_load_bytes);
    visit("code_bytes", s.code_bytes);
    visit("shared_bytes", s.shared_bytes);
    visit("identity", s.identity);
    visit("mix", s.mix);
    visit("hottest_loop", s.hottest_loop);
    visit("hottest_loop_depth", s.hottest_loop_depth);
    visit("draws", s.draws);
    visit("draws_made", s.draws_made);
  } else if constexpr (is<FunctionDifference, S>) {
    visit("symbol", s.symbol);
    visit("name", s.name);
    visit("file", s.file);
    visit("architecture", s.architecture);
    visit("verdict", s.verdict);
    visit("a", s.a);
    visit("b", s.b);
    visit("meaning", s.meaning);
    visit("sass", s.sass);
    visit("threads_per_block", s.threads_per_block);
  } else if constexpr (is<Control, S>) {
    visit("name", s.name);
    visit("outcome", s.outcome);
    visit("checked", s.checked);
    visit("failed", s.failed);
    visit("failing", s.failing);
    visit("note", s.note);
  } else if constexpr (is<BuildDescription, S>) {
    visit("label", s.label);
    visit("assembler", s.assembler);
    visit("assembler_build", s.assembler_build);
    visit("treatment", s.treatment);
    visit("opt_level", s.opt_level);
    visit("options", s.options);
  } else if constexpr (is<AssemblyTime, S>) {
    visit("file", s.file);
    visit("architecture", s.architecture);
    visit("a_seconds", s.a_seconds);
    visit("b_seconds", s.b_seconds);
  } else if constexpr (is<FrontEndDifference, S>) {
    visit("file", s.file);
    visit("architecture", s.architecture);
    visit("name", s.name);
    visit("ptx_differs", s.ptx_differs);
    visit("lines_removed", s.lines_removed);
    visit("lines_added", s.lines_added);
    visit("note", s.note);
  } else if constexpr (is<Difference, S>) {
    visit("command", s.command);
    visit("date", s.date);
    visit("a", s.a);
    visit("b", s.b);
    visit("architectures", s.architectures);
    visit("functions", s.functions);
    visit("controls", s.controls);
    visit("times", s.times);
    visit("front_end", s.front_end);
    visit("notes", s.notes);
    visit("next_command", s.next_command);
    visit("tool_seconds", s.tool_seconds);
    visit("child_seconds", s.child_seconds);
  } else if constexpr (is<NameTest, S>) {
    visit("needle", s.needle);
    visit("function", s.function);
    visit("symbol", s.symbol);
    visit("name", s.name);
    visit("call_site", s.call_site);
    visit("architecture", s.architecture);
    visit("true_answer", s.true_answer);
    visit("given_answer", s.given_answer);
    visit("look_up", s.look_up);
    visit("times", s.times);
  } else if constexpr (is<TracedProcess, S>) {
    visit("program", s.program);
    visit("kind", s.kind);
    visit("version", s.version);
    visit("pid", s.pid);
    visit("command_line", s.command_line);
    visit("tests", s.tests);
    visit("functions_asked_about", s.functions_asked_about);
    visit("lost", s.lost);
  } else {
    static_assert(is<Trace, S>, "a struct without a description");
    visit("command", s.command);
    visit("date", s.date);
    visit("processes", s.processes);
    visit("silent", s.silent);
    visit("notes", s.notes);
    visit("conclusion", s.conclusion);
    visit("next_command", s.next_command);
    visit("exit_status", s.exit_status);
  }
}

static constexpr const char* kOutcomeNames[] = {"held", "failed", "not_applicable"};
static constexpr size_t kOutcomeCount = std::size(kOutcomeNames);

static Json written(Verdict verdict) {
  return std::string(verdict_word(verdict));
}

static Json written(ControlOutcome outcome) {
  return kOutcomeNames[static_cast<size_t>(outcome)];
}

static Json written(const SassRow& row) {
  if (row.left_out > 0) return Json::array({row.left_out});
  Json array = Json::array({std::string(1, row.change), row.a, row.b});
  if (row.hot) array.push_back("hot");
  return array;
}

static void read(const Json& json, Verdict& out) {
  std::string word;
  read(json, word);
  for (size_t v = 0; v < kVerdictCount; ++v) {
    out = static_cast<Verdict>(v);
    if (verdict_word(out) == word) return;
  }
  throw Unfit{"\"" + plain(word) + "\" is no verdict"};
}

static void read(const Json& json, ControlOutcome& out) {
  std::string word;
  read(json, word);
  for (size_t i = 0; i < kOutcomeCount; ++i) {
    out = static_cast<ControlOutcome>(i);
    if (word == kOutcomeNames[i]) return;
  }
  throw Unfit{"\"" + plain(word) + "\" is no outcome of a control"};
}

static void read(const Json& json, SassRow& out) {
  if (!json.is_array() || (json.size() != 1 && json.size() != 3 && json.size() != 4)) {
    throw Unfit{"should be [change, a, b], [change, a, b, \"hot\"] or [left_out]"};
  }
  out = {};
  if (json.size() == 1) {
    read(json[0], out.left_out);
    if (out.left_out < 1) throw Unfit{"leaves out no rows"};
    return;
  }
  std::string change;
  read(json[0], change);
  if (change.size() != 1 || std::string(" ~-+").find(change) == std::string::npos) {
    throw Unfit{"\"" + plain(change) + "\" is none of ' ', '~', '-', '+'"};
  }
  out.change = change[0];
  read(json[1], out.a);
  read(json[2], out.b);
  out.hot = json.size() == 4;
}

std::string to_json(const Difference& difference) {
  Document document;
  document.add("schema", "namesake.diff/1.0");
  document.add("version", NAMESAKE_VERSION);
  Json verdicts = Json::object();
  for (const std::string& architecture : difference.architectures) {
    auto counts = count_verdicts(difference, architecture);
    Json object = Json::object();
    for (size_t v = 0; v < kVerdictCount; ++v)
      object[std::string(verdict_word(static_cast<Verdict>(v)))] = counts[v];
    verdicts[architecture] = object;
  }
  Json summary = Json::object();
  summary["sentence"] = summary_sentence(difference);
  summary["verdicts"] = verdicts;
  document.add("summary", summary);
  document.add_fields(difference);
  return document.finish();
}

std::string to_json(const Trace& trace) {
  Document document;
  document.add("schema", "namesake.trace/1.0");
  document.add("version", NAMESAKE_VERSION);
  document.add_fields(trace);
  return document.finish();
}

Result<Difference> difference_from_json(std::string_view json) {
  return parsed<Difference>(json, "diff");
}
Result<Trace> trace_from_json(std::string_view json) {
  return parsed<Trace>(json, "trace");
}

}  // namespace namesake::report
