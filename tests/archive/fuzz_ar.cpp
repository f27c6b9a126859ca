// Any bytes as an archive: an error or members inside the file that share no bytes.
#include <cstdint>

#include "../util/fuzz.h"
#include "archive/ar.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace namesake;
  Bytes file(reinterpret_cast<const char*>(data), size);
  auto members = archive::read_ar(file, "input");
  if (!members) return 0;
  const char* last = file.data();
  for (const archive::ArMember& member : *members) {
    if (member.data.empty()) continue;
    require(member.data.data() >= last &&
            member.data.data() + member.data.size() <= file.data() + size);
    last = member.data.data() + member.data.size();
  }
  return 0;
}
