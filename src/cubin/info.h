// The attributes of a cubin's .nv.info sections, and the target that is read from one of them.
#pragma once

#include <cstdint>

#include "cubin/elf.h"
#include "util/cursor.h"

namespace namesake::cubin {

struct Info {
  uint8_t attribute = 0;
  uint16_t value = 0;  // of the formats without a payload
  Bytes payload;
};

// One attribute: format, number, then a 16-bit value (formats 1-3) or a size and as many bytes (4).
bool next_info(Cursor& cursor, Info& info);

struct Target {
  int architecture = 0;   // 90 for sm_90 and sm_90a
  bool specific = false;  // the "a" targets
};

Target read_target(const Elf& elf);

}  // namespace namesake::cubin
