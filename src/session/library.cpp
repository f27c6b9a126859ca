// One file to carry: the hook's bytes are assembled into the tool and written out for each run, so
// there is no install path to go stale and the two halves of the protocol always fit each other.
#include "session/library.h"

#include <fmt/format.h>

#include "hook/protocol.h"

// clang-format off
#define EMBED(name, file)                                  \
  __asm__(".section .rodata\n"                             \
          ".global " name "\n" ".global " name "_end\n"    \
          ".hidden " name "\n" ".hidden " name "_end\n"    \
          ".balign 16\n" name ":\n"                        \
          ".incbin \"" file "\"\n" name "_end:\n.previous\n")
// clang-format on

EMBED("namesake_embedded_hook", NAMESAKE_HOOK_FILE);
EMBED("namesake_embedded_hook_all", NAMESAKE_HOOK_ALL_FILE);

extern "C" {
extern const char namesake_embedded_hook[], namesake_embedded_hook_end[];
extern const char namesake_embedded_hook_all[], namesake_embedded_hook_all_end[];
}

namespace namesake::session {

Bytes embedded_hook(bool all_tests) {
  const char* start = all_tests ? namesake_embedded_hook_all : namesake_embedded_hook;
  const char* end = all_tests ? namesake_embedded_hook_all_end : namesake_embedded_hook_end;
  return Bytes(start, static_cast<size_t>(end - start));
}

Result<std::string> hook_for(const std::filesystem::path& folder, bool all_tests) {
  std::string library(embedded_hook(all_tests));
  std::string path = folder.string();
  size_t slot = library.find(NAMESAKE_SLOT_MARK);
  size_t start = slot + sizeof(NAMESAKE_SLOT_MARK) - 1;
  if (slot == std::string::npos || start + NAMESAKE_SLOT_SIZE > library.size()) {
    return error("the embedded hook is damaged: build the tool again");
  }
  if (path.size() >= NAMESAKE_SLOT_SIZE) {
    return error(
        fmt::format("the run folder's path has {} characters, more than {}: set TMPDIR to a "
                    "shorter one",
                    path.size(), NAMESAKE_SLOT_SIZE - 1));
  }
  library.replace(start, path.size(), path);
  return library;
}

}  // namespace namesake::session
