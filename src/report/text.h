// Reports for a terminal.
#pragma once

#include <string>

#include "report/census.h"
#include "report/difference.h"
#include "report/scan.h"
#include "report/probe.h"
#include "report/trace.h"

namespace namesake::report {

struct TextStyle {
  bool color = false;
  int width = 100;  // no line is wider, except for the next command to type, which is never cut
  bool verbose = false;  // every function with its sentence and its mix, every control's failures
  bool sass = false;     // the instructions side by side
};
constexpr int kLeastWidth = 40;  // narrower terminals get lines of this width

std::string to_text(const Difference&, const TextStyle&);
std::string to_text(const Trace&, const TextStyle&);
std::string to_text(const Census&, const TextStyle&);
std::string to_text(const Scan&, const TextStyle&);
std::string to_text(const Probe&, const TextStyle&);

}  // namespace namesake::report
