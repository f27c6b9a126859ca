// Requests, records and notes from a folder that any process may write to.
#include <cstddef>
#include <cstdint>

#include "ab/notes.h"
#include "ab/records.h"
#include "ab/requests.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namesake::Bytes bytes(reinterpret_cast<const char*>(data), size);
  (void)namesake::ab::parse_request(bytes);
  (void)namesake::ab::parse_record(bytes);
  (void)namesake::ab::decode_notes(bytes);
  return 0;
}
