// The trace for a terminal: one table a process, the questions first; look-ups in tables that any
// assembler must have are one line, however many they were.

#include <fmt/format.h>

#include <set>

#include "report/text.h"
#include "report/text_page.h"
#include "util/text.h"

namespace namesake::report {
namespace {

constexpr size_t kMostTests = 30;  // rows a process, unless verbose

std::string shown_answer(const NameTest& test) {
  auto word = [](bool yes) { return yes ? "yes" : "no"; };
  std::string text = word(test.true_answer);
  if (test.given_answer != test.true_answer) text += std::string(" → ") + word(test.given_answer);
  return text;
}

void process_text(TextPage& page, const TracedProcess& process) {
  std::string head = fmt::format("{} {}", plain(process.kind), plain(process.version));
  page.heading(fmt::format("{}  pid {}, {}", head, process.pid,
                           counted(process.functions_asked_about, "function") + " asked about"));
  if (page.style.verbose && !process.command_line.empty())
    page.line(plain(process.command_line), Tone::dim, 2, 4);
  if (page.style.verbose && !process.program.empty() && process.program != process.command_line)
    page.line(plain(process.program), Tone::dim, 2, 4);

  Table table({{"text", false, 0, 8},
               {"asked by"},
               {"of", false, 0, 16},
               {"from", false, 2, 12},
               {"arch", false, 1},
               {"answer"},
               {"times", true, 3}});
  size_t questions = 0;
  int64_t look_ups = 0;
  std::set<std::string> looked_up;
  for (const NameTest& test : process.tests) {
    if (test.look_up) {
      look_ups += test.times;
      looked_up.insert(test.needle);
      if (!page.style.verbose) continue;
    } else if (++questions > kMostTests && !page.style.verbose) {
      continue;
    }
    bool changed = test.given_answer != test.true_answer;
    table.add({{plain(test.needle), Tone::bold},
               {plain(test.function)},
               {plain(test.name.empty() ? test.symbol : test.name)},
               {plain(test.call_site), Tone::dim},
               {test.architecture.empty() ? "unknown" : plain(test.architecture),
                test.architecture.empty() ? Tone::dim : Tone::plain},
               {shown_answer(test), changed            ? Tone::strong
                                    : test.true_answer ? Tone::more
                                                       : Tone::dim},
               {test.times == 1 ? "" : grouped(test.times), Tone::dim}});
  }
  if (table.empty()) {
    page.line("no name was tested", Tone::dim, 2, 2);
  } else {
    page.table(table);
  }
  if (questions > kMostTests && !page.style.verbose) {
    page.line(fmt::format("and {} more (--verbose, or --json)",
                          grouped(static_cast<int64_t>(questions - kMostTests))),
              Tone::dim, 2, 4);
  }
  if (look_ups > 0) {
    page.line(fmt::format("{} {} in tables of {}, as any assembler must have",
                          page.style.verbose ? "among them" : "apart from", counted(look_ups, "look-up"),
                          counted(static_cast<int64_t>(looked_up.size()), "name")),
              Tone::dim, 2, 4);
  }
  if (process.lost > 0) {
    page.line(fmt::format("missing here: {} that found no room", counted(process.lost, "record")),
              Tone::bad, 2, 4);
  }
}

}  // namespace

std::string to_text(const Trace& trace, const TextStyle& style) {
  TextPage page(style);
  int64_t tests = 0, answered = 0;
  for (const TracedProcess& process : trace.processes) {
    for (const NameTest& test : process.tests) {
      if (test.look_up) continue;
      tests += test.times;
      answered += test.given_answer != test.true_answer ? test.times : 0;
    }
  }
  std::string head = fmt::format("{} in {} {}", counted(tests, "name test"),
                                 grouped(static_cast<int64_t>(trace.processes.size())),
                                 trace.processes.size() == 1 ? "process" : "processes");
  if (answered > 0)
    head += fmt::format(", {} answered otherwise than the name says", grouped(answered));
  page.line(head, Tone::bold);
  for (const TracedProcess& process : trace.processes) process_text(page, process);
  if (!trace.silent.empty()) {
    page.heading("started, but reported nothing");
    for (const std::string& name : trace.silent) page.marked("✗", Tone::bad, plain(name));
  }
  if (!trace.notes.empty()) {
    page.heading("notes");
    for (const std::string& note : trace.notes) page.marked("•", Tone::dim, plain(note));
  }
  if (trace.exit_status != 0) {
    page.blank();
    page.line(fmt::format("the command ended with status {}", trace.exit_status), Tone::bad);
  }
  if (!trace.conclusion.empty()) {
    page.blank();
    page.line(plain(trace.conclusion), Tone::bold);
  }
  page.next(trace.next_command);
  return std::move(page.out);
}

}  // namespace namesake::report
