// The tool as the hook sees it: an executable that can be the guard. Its check reads what the
// stand-in assembler writes about spills.
#include <fmt/format.h>

#include "session/guard.h"
#include "util/file.h"
#include "util/text.h"

int main(int argc, char** argv) {
  using namespace namesake;
  if (!session::is_guard(argc, argv)) return 2;
  session::guard_main(argc, argv, [](const std::filesystem::path& output, int64_t limit) {
    auto content = read_file(output);
    size_t at = content ? content->find(" spills ") : std::string::npos;
    if (at == std::string::npos) return std::string();
    std::string_view rest = std::string_view(*content).substr(at + 8);
    int64_t spilled = parse_integer(rest.substr(0, rest.find('\n'))).value_or(0);
    return spilled > limit ? fmt::format("spills {} bytes, {} are allowed", spilled, limit) : "";
  });
}
