// Launch files from strangers: reading and planning them, and the expressions in them.
#include <cstdint>
#include <string_view>

#include "measure/launch_file.h"
#include "measure/plan.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace namesake::measure;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto file = parse_launch_file(text, "fuzz.toml", "folder")) (void)make_plan(*file, {});
  if (const auto expression = Expression::parse(text.substr(0, text.find('\n')))) {
    Names names;
    uint64_t value = 1;  // wraps, to reach every corner
    for (const std::string& name : expression->names())
      names[name] = static_cast<int64_t>(value *= 0x9e3779b97f4a7c15);
    (void)expression->value(names);
  }
  return 0;
}
