// Reports made of chance: every field filled, names hostile, sizes small enough to shrink.
#pragma once

#include <rapidcheck.h>

#include <map>
#include <string>
#include <vector>

#include "report/difference.h"
#include "report/trace.h"

namespace namesake::report::random {

// Readable text, markup, escape sequences, several scripts; always UTF-8.
inline rc::Gen<std::string> text() {
  static const std::vector<std::string> pieces = {
      "a",
      "kernel",
      "cutlass",
      "_Z5sgemmPKf",
      "::",
      "<int, 4>",
      " ",
      "  ",
      "&",
      "<",
      ">",
      "\"",
      "'",
      "</script>",
      "<img src=x onerror=alert(1)>",
      "\033[31m",
      "\n",
      "\t",
      "é",
      "核",
      "→",
      "\u202e",
      "\u200b",
      "%s",
      "{}",
      "\\",
      "a_very_long_name_that_no_column_can_hold_whole_and_that_has_no_blank_to_break_at_anywhere"};
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(pieces)),
                      [](const std::vector<std::string>& parts) {
                        std::string joined;
                        for (size_t i = 0; i < parts.size() && i < 8; ++i) joined += parts[i];
                        return joined;
                      });
}

inline rc::Gen<int64_t> count() {
  return rc::gen::weightedOneOf<int64_t>(
      {{4, rc::gen::just<int64_t>(0)},
       {8, rc::gen::inRange<int64_t>(0, 300)},
       {2, rc::gen::inRange<int64_t>(0, 5'000'000)},
       {1, rc::gen::inRange<int64_t>(-1'000'000'000'000, 1'000'000'000'000)}});
}

inline rc::Gen<double> time() {
  return rc::gen::map(rc::gen::inRange(0, 1'000'000),
                      [](int milliseconds) { return milliseconds / 1000.0; });
}

template <class T>
std::vector<T> some(int most, T (*make)()) {
  std::vector<T> list;
  int n = *rc::gen::inRange(0, most + 1);
  for (int i = 0; i < n; ++i) list.push_back(make());
  return list;
}
inline std::string any_text() {
  return *text();
}
inline std::vector<std::string> texts(int most) {
  return some<std::string>(most, any_text);
}

inline std::map<std::string, int64_t> counts() {
  static const std::vector<std::string> keys = {"address", "move",       "IMAD.WIDE",
                                                "LEA",     "HMMA.16816", "<b>"};
  std::map<std::string, int64_t> out;
  for (const std::string& key : keys) {
    if (*rc::gen::arbitrary<bool>()) out[key] = *rc::gen::inRange<int64_t>(0, 2000);
  }
  return out;
}

inline Mix mix() {
  Mix m;
  m.instructions = *count();
  m.by_class = counts();
  m.by_opcode = counts();
  m.stall_cycles = *count();
  m.waits = *count();
  m.yields = *count();
  m.reuses = *count();
  m.local_memory = *count();
  return m;
}

inline Side side() {
  Side s;
  s.failure = *text();
  s.registers = *rc::gen::inRange<int64_t>(0, 256);
  s.stack_bytes = *count();
  s.spill_store_bytes = *rc::gen::inRange<int64_t>(0, 10'000);
  s.spill_load_bytes = *rc::gen::inRange<int64_t>(0, 10'000);
  s.code_bytes = *count();
  s.shared_bytes = *count();
  s.identity = *text();
  s.mix = mix();
  if (*rc::gen::arbitrary<bool>()) s.hottest_loop = mix();
  s.hottest_loop_depth = *rc::gen::inRange<int64_t>(0, 4);
  s.draws = texts(3);
  s.draws_made = *rc::gen::inRange<int64_t>(1, 20);
  return s;
}

inline SassRow row() {
  SassRow r;
  if (*rc::gen::inRange(0, 8) == 0) {
    r.left_out = *rc::gen::inRange<int64_t>(1, 5000);
    return r;
  }
  r.change = *rc::gen::elementOf(std::string(" ~-+"));
  std::string front =
      *rc::gen::elementOf(std::vector<std::string>{"", "[B------:R-:W0:-:S04] ", "[unclosed "});
  if (r.change != '+') r.a = front + *text();
  if (r.change != '-') r.b = front + *text();
  r.hot = *rc::gen::arbitrary<bool>();
  return r;
}

inline FunctionDifference function() {
  FunctionDifference f;
  f.symbol = *text();
  f.name = *text();
  f.file = *text();
  f.architecture = *rc::gen::elementOf(
      std::vector<std::string>{"sm_80", "sm_90", "sm_100a", "sm_120", "weird <arch>"});
  f.verdict = static_cast<Verdict>(*rc::gen::inRange(0, 5));
  f.a = side();
  f.b = side();
  f.meaning = *text();
  f.sass = some<SassRow>(12, row);
  f.threads_per_block = *rc::gen::elementOf(std::vector<int64_t>{0, 1, 128, 256, 1024, 4096});
  return f;
}

inline Control control() {
  Control c;
  c.name = *text();
  c.outcome = static_cast<ControlOutcome>(*rc::gen::inRange(0, 3));
  c.checked = *count();
  c.failed = *count();
  c.failing = texts(5);
  c.note = *text();
  return c;
}

inline BuildDescription build() {
  BuildDescription b;
  b.label = *text();
  b.assembler = *rc::gen::elementOf(std::vector<std::string>{"", "13.0.88", "NVRTC 13.0", "<b>"});
  b.assembler_build = *text();
  b.treatment = *text();
  b.opt_level = *rc::gen::inRange<int64_t>(0, 4);
  b.options = texts(2);
  return b;
}

inline AssemblyTime assembly_time() {
  return {*text(), *text(), *time(), *time()};
}

inline FrontEndDifference front_end() {
  FrontEndDifference f;
  f.file = *text();
  f.architecture = *text();
  f.name = *text();
  f.ptx_differs = *rc::gen::arbitrary<bool>();
  f.lines_removed = *count();
  f.lines_added = *count();
  f.note = *text();
  return f;
}

inline Difference difference() {
  Difference d;
  d.command = *text();
  d.date = *text();
  d.a = build();
  d.b = build();
  d.architectures = *rc::gen::elementOf(std::vector<std::vector<std::string>>{
      {}, {"sm_90"}, {"sm_80", "sm_90"}, {"sm_80", "sm_90", "sm_100a", "sm_120"}});
  d.functions = some<FunctionDifference>(6, function);
  d.controls = some<Control>(4, control);
  d.times = some<AssemblyTime>(3, assembly_time);
  d.front_end = some<FrontEndDifference>(2, front_end);
  d.notes = texts(3);
  d.next_command = *text();
  d.tool_seconds = *time();
  d.child_seconds = *time();
  return d;
}

inline NameTest name_test() {
  NameTest t;
  t.needle = *text();
  t.function = *text();
  t.symbol = *text();
  t.name = *text();
  t.call_site = *text();
  t.architecture = *text();
  t.true_answer = *rc::gen::arbitrary<bool>();
  t.given_answer = *rc::gen::arbitrary<bool>();
  t.look_up = *rc::gen::arbitrary<bool>();
  t.times = *count();
  return t;
}

inline TracedProcess process() {
  TracedProcess p;
  p.program = *text();
  p.kind = *text();
  p.version = *text();
  p.pid = *count();
  p.command_line = *text();
  p.tests = some<NameTest>(6, name_test);
  p.functions_asked_about = *count();
  p.lost = *count();
  return p;
}

inline Trace trace() {
  Trace t;
  t.command = *text();
  t.date = *text();
  t.processes = some<TracedProcess>(3, process);
  t.silent = texts(3);
  t.notes = texts(3);
  t.conclusion = *text();
  t.next_command = *text();
  t.exit_status = *rc::gen::inRange<int64_t>(0, 256);
  return t;
}

}  // namespace namesake::report::random
