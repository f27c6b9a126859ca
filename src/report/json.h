// Reports as JSON, and back: a page can be made from a report recorded on another machine.
//
// namesake.diff/1.0 and namesake.trace/1.0. The first number changes when a reader must change, the
// second when fields are added; a reader ignores fields it does not know and takes absent ones as
// empty or 0.
//
// The keys are the members of report::Difference and report::Trace by their own names and in their
// own order (difference.h and trace.h say what each means), after
//   schema    "namesake.diff/1.0"
//   version   of the namesake that wrote it
//   summary   {sentence, verdicts: {architecture: {verdict: count}}}; made from the rest, ignored
//   when read (diff only)
// with these spellings:
//   verdict   "same", "registers", "different", "lottery", "failed"
//   outcome   "held", "failed", "not_applicable"
//   hottest_loop   null where the build has no loop
//   sass      one array a row: [change, a, b] or [change, a, b, "hot"]; [left_out] for equal rows
//   left out
// Texts are UTF-8: bytes that are not become U+FFFD. The top level is one key a line, long arrays
// one element a line, so that line tools work: a function is a line.
#pragma once

#include <string>
#include <string_view>

#include "report/difference.h"
#include "report/scan.h"
#include "report/probe.h"
#include "report/trace.h"
#include "util/error.h"

namespace namesake::report {

std::string to_json(const Difference&);
std::string to_json(const Trace&);
std::string to_json(const Scan&);  // namesake.scan/1.0: json_scan.cpp says what it holds
std::string to_json(const Probe&);

Result<Difference> difference_from_json(std::string_view json);
Result<Trace> trace_from_json(std::string_view json);

}  // namespace namesake::report
