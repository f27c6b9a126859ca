#include "ab/library.h"

#include <fmt/format.h>

#include "live/protocol.h"
#include "util/file.h"

// clang-format off
__asm__(".section .rodata\n"
        ".global namesake_embedded_live\n" ".global namesake_embedded_live_end\n"
        ".hidden namesake_embedded_live\n" ".hidden namesake_embedded_live_end\n"
        ".balign 16\n" "namesake_embedded_live:\n"
        ".incbin \"" NAMESAKE_LIVE_FILE "\"\n" "namesake_embedded_live_end:\n.previous\n");
// clang-format on

extern "C" {
extern const char namesake_embedded_live[], namesake_embedded_live_end[];
}

namespace namesake::ab {
namespace fs = std::filesystem;

Bytes embedded_library() {
  return Bytes(namesake_embedded_live,
               static_cast<size_t>(namesake_embedded_live_end - namesake_embedded_live));
}

Result<std::string> library_for(const fs::path& folder) {
  std::string library(embedded_library());
  std::string path = folder.string();
  size_t slot = library.find(NAMESAKE_LIVE_MARK);
  size_t start = slot + sizeof(NAMESAKE_LIVE_MARK) - 1;
  if (slot == std::string::npos || start + NAMESAKE_LIVE_ROOM > library.size()) {
    return error("the embedded live library is damaged: build the tool again");
  }
  if (path.size() >= NAMESAKE_LIVE_ROOM) {
    return error(fmt::format("the run folder's path has {} characters: set TMPDIR to a shorter one",
                             path.size()));
  }
  library.replace(start, path.size(), path);
  return library;
}

Status set_up(const fs::path& folder, const BoardSettings& settings) {
  std::error_code code;
  for (const char* name : {"requests", "answers", "records"}) {
    fs::create_directories(folder / "live" / name, code);
    if (code)
      return error(fmt::format("cannot make {}: {}", (folder / name).string(), code.message()));
  }
  ns_board board{};
  board.magic = NAMESAKE_BOARD_MAGIC;
  board.protocol = NAMESAKE_LIVE_PROTOCOL;
  board.timed_per_second = static_cast<uint32_t>(settings.timed_per_second);
  board.check_launches = static_cast<uint32_t>(settings.check_launches);
  board.check_bytes = settings.check_bytes;
  board.seed = settings.seed;
  std::string page(reinterpret_cast<const char*>(&board), sizeof board);
  page.resize(4096);
  TRY(write_file(folder / "live" / "board", page));
  TRY_ASSIGN(std::string library, library_for(folder));
  return write_file(folder / "namesake_live.so", library, true);
}

}  // namespace namesake::ab
