#include "report/measurement_pages.h"

namespace namesake::report {

std::string to_html(const Measurement& measurement) {
  return page("measure", escaped(to_text(measurement, {})));
}

}  // namespace namesake::report
