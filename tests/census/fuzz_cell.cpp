// Result files come from other machines.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "census/cell.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)namesake::census::read_cell({reinterpret_cast<const char*>(data), size}, "fuzz.cell");
  return 0;
}
