// Makes a page from a recorded report: report_render text|sass|json|html [columns] < report.json
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <string>

#include "report/html.h"
#include "report/json.h"
#include "report/measurement_pages.h"
#include "report/text.h"

int main(int argc, char** argv) {
  using namespace namesake::report;
  std::string kind = argc > 1 ? argv[1] : "text";
  std::string input{std::istreambuf_iterator<char>(std::cin), {}};
  TextStyle style;
  style.width = argc > 2 ? std::atoi(argv[2]) : 100;
  style.color = std::getenv("FORCE_COLOR") != nullptr;
  style.verbose = kind == "verbose";
  style.sass = kind == "sass";
  if (auto measurement = measurement_from_json(input)) {
    std::cout << (kind == "html"   ? to_html(*measurement)
                  : kind == "json" ? to_json(*measurement)
                                   : to_text(*measurement, style));
    return 0;
  }
  auto difference = difference_from_json(input);
  if (!difference) {
    auto trace = trace_from_json(input);
    if (!trace) {
      std::cerr << difference.error().message << "\n" << trace.error().message << "\n";
      return 2;
    }
    std::cout << (kind == "json" ? to_json(*trace) : to_text(*trace, style));
    return 0;
  }
  if (kind == "html") {
    std::cout << to_html(*difference);
  } else {
    std::cout << (kind == "json" ? to_json(*difference) : to_text(*difference, style));
  }
}
