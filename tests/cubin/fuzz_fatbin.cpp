// Any bytes: what is found lies inside the file, and every entry unpacks to what it claims or not
// at all, through both unpackers.
#include <cstdint>

#include "../util/fuzz.h"
#include "cubin/fatbin.h"
#include "cubin/find.h"
#include "cubin/listing.h"

namespace {

void list(namesake::Bytes file) {
  auto listing = namesake::cubin::list_functions(file, "input");
  require(listing || listing.error().message.starts_with("input: "));
  (void)namesake::cubin::list_head(file, UINT64_MAX);
  (void)namesake::cubin::list_head(file, UINT64_MAX, namesake::cubin::Detail::names);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace namesake;
  constexpr uint64_t kLimit = 1 << 22;
  Bytes file(reinterpret_cast<const char*>(data), size);
  Room storage;
  uint64_t end = 0;
  for (const cubin::Find& find : cubin::find_code(file)) {
    require(find.offset >= end && find.offset + find.bytes.size() <= size);
    end = find.offset + find.bytes.size();
    if (!find.fatbin) {
      list(find.bytes);
      continue;
    }
    auto fatbin = cubin::parse_fatbin(find.bytes, "input");
    if (!fatbin) continue;
    require(fatbin->bytes <= find.bytes.size());
    for (const cubin::FatbinEntry& entry : fatbin->entries) {
      uint64_t unpacked = 0;
      (void)cubin::list_entry(entry, cubin::Detail::names, kLimit, "input", storage, unpacked);
      (void)cubin::list_entry(entry, cubin::Detail::registers, kLimit, "input", storage, unpacked);
      auto content = cubin::unpack(entry, kLimit, "entry", storage);
      require(!content || content->size() == entry.unpacked_bytes);
      if (content && entry.content == cubin::Content::cubin) list(*content);
    }
  }
  return 0;
}
