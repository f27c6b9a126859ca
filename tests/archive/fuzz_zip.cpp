// Any bytes as a zip file: an error or members inside the file, each of which unpacks to what it
// claims or not at all.
#include <cstdint>

#include "../util/fuzz.h"
#include "archive/zip.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace namesake;
  Bytes file(reinterpret_cast<const char*>(data), size);
  auto members = archive::read_zip(file, "input");
  if (!members) {
    require(members.error().message.starts_with("input: "));
    return 0;
  }
  uint64_t packed = 0;
  for (const archive::ZipMember& member : *members) {
    packed += member.data.size();
    std::string storage;
    auto content = archive::unpack(member, "member", storage);
    require(!content || content->size() == member.size);
  }
  require(packed <= size);
  return 0;
}
