// The least ELF file that is a cubin: a symbol, a .text section and its attributes per function.
#pragma once

#include <string>
#include <vector>

#include "code.h"

namespace stand_in {

struct Piece {
  std::string symbol;
  bool entry = false;
  Code code;
  int spill_bytes = 0;
};

std::string make_cubin(const std::vector<Piece>& pieces, int architecture);

}  // namespace stand_in
