// Cubins (ELF64, EM_CUDA) and fatbins: which functions they hold and the bytes of their code.
// Only views: the caller keeps the bytes alive.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "util/cursor.h"
#include "util/error.h"
#include "util/hash.h"

namespace namesake::cubin {

struct Function {
  std::string symbol;
  bool entry = false;
  Bytes code;                 // .text.SYMBOL (or its part where several share a section)
  Bytes constants;            // .nv.constant0.SYMBOL and other constant banks of the function, concatenated view of bank 0
  Bytes info;                 // .nv.info.SYMBOL
  int registers = 0;          // EIATTR_REGCOUNT, or the section header's count where that is missing
  int64_t frame_bytes = 0;    // EIATTR_FRAME_SIZE
  int64_t shared_bytes = 0;   // static .nv.shared.SYMBOL
  int barriers = 0;
  // Identity of what the device executes: code, constants, and the attributes that a launch obeys,
  // never the symbol or the compile command line (.note.nv.tkinfo) or debug sections.
  Hash identity;
};

struct Module {
  int architecture = 0;       // 90 for sm_90 and sm_90a (from e_flags)
  bool architecture_specific = false;  // the "a" targets, where the flags tell
  std::vector<Function> functions;  // in section order
};

// A sentence with what and where for anything that is no cubin; bounded time and memory for any input.
Result<Module> parse(Bytes file, std::string_view origin);

}  // namespace namesake::cubin
