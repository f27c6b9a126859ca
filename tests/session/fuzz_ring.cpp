// Everything a dying or hostile process can leave in a run folder: rings, tables, notes; and files
// that are taken for programs.
#include "session/elf.h"
#include "session/records.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace namesake;
  Bytes bytes(reinterpret_cast<const char*>(data), size);
  uint64_t not_entered = 0;
  (void)session::parse_ring(bytes);
  (void)session::parse_table(bytes, not_entered);
  (void)session::parse_fallback(bytes);
  (void)session::parse_elf(bytes);
  return 0;
}
