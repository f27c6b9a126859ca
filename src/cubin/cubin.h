// Cubins (ELF64, EM_CUDA): which functions they hold and the bytes of their code.
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

// What the linker or the loader will write into an instruction: code bytes alone hide it.
struct Relocation {
  uint32_t offset = 0;  // in the function's code
  uint32_t type = 0;
  int64_t addend = 0;
  std::string target;  // free of the function's own symbol: ".nv.global.init+0x10", "vprintf"
};

// Where an indirect branch (BRX) may go, as the assembler says.
struct IndirectBranch {
  uint32_t offset = 0;  // of the branch in the function's code
  std::vector<uint32_t> targets;
};

struct Function {
  std::string symbol;
  bool entry = false;
  Bytes code;                // .text.SYMBOL (or its part where several functions share a section)
  Bytes constants;           // .nv.constant0.SYMBOL: the parameters' bank
  Bytes info;                // .nv.info.SYMBOL
  int registers = 0;         // EIATTR_REGCOUNT, or the section header's count where that is missing
  int64_t frame_bytes = 0;   // EIATTR_FRAME_SIZE
  int64_t stack_bytes = 0;   // EIATTR_MIN_STACK_SIZE: its callees' frames included; entries only
  int64_t shared_bytes = 0;  // static .nv.shared.SYMBOL
  int barriers = 0;
  std::vector<Relocation> relocations;  // by offset
  std::vector<IndirectBranch> indirect_branches;
  // Identity of what the device executes: code, relocations, the function's own constants, and the
  // attributes that a launch obeys; never the symbol, the assembler's version or command line
  // (.note.nv.tkinfo), or debug sections.
  Hash identity;
};

struct Module {
  int architecture = 0;                // 90 for sm_90 and sm_90a
  bool architecture_specific = false;  // the "a" targets
  std::vector<Function> functions;     // in section order
  Hash data;                           // module-wide constants and initialised globals
};

// A sentence with what and where for anything that is no cubin; bounded time and memory for any
// input.
Result<Module> parse(Bytes file, std::string_view origin);

}  // namespace namesake::cubin
