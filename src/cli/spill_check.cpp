#include "cli/spill_check.h"

#include <fmt/format.h>

#include "cubin/cubin.h"
#include "util/file.h"
#include "util/text.h"

namespace namesake::cli {

std::string check_spills(const std::filesystem::path& output, int64_t limit) {
  auto content = read_file(output);
  if (!content) return "";
  auto module = cubin::parse(*content, output.string());
  if (!module) return "";
  for (const cubin::Function& function : module->functions) {
    if (function.frame_bytes > limit) {
      return fmt::format("{} has a stack of {} bytes, the policy allows {}", demangled_name(function.symbol), function.frame_bytes, limit);
    }
  }
  return "";
}

}  // namespace namesake::cli
