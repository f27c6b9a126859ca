// A recorded report may come from anywhere: whatever it holds, reading and rendering it must end
// well.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "report/html.h"
#include "report/json.h"
#include "report/text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace namesake::report;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto difference = difference_from_json(text)) {
    TextStyle style;
    style.verbose = style.sass = true;
    to_text(*difference, style);
    to_html(*difference);
    if (!difference_from_json(to_json(*difference))) __builtin_trap();
  }
  if (auto trace = trace_from_json(text)) {
    to_text(*trace, {});
    if (!trace_from_json(to_json(*trace))) __builtin_trap();
  }
  return 0;
}
