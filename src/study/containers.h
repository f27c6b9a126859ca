// Files inside files: what a wheel, an archive or a program holds, down to the single cubin or PTX
// module, unpacked one at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "cubin/fatbin.h"
#include "cubin/listing.h"
#include "util/cursor.h"
#include "util/error.h"

namespace namesake::study {

// One module of GPU code.
struct Piece {
  cubin::Content content = cubin::Content::other;
  std::string_view container;  // "fa3.whl(fa3_fwd/_C.abi3.so)"
  uint64_t container_bytes = 0;
  std::string_view section;  // of the host program; "" elsewhere
  uint64_t offset = 0;       // of the find in its container, and the entry's number in a fatbin,
  uint64_t entry = 0;        // which together give pieces an order
  std::string_view architecture;  // as the fatbin says; "" for what stands by itself
  std::string_view options;
  cubin::Packing packing = cubin::Packing::none;
  // Unpack what is asked for, for the time of the call of Walk::piece. An error without words is
  // one that Walk::problem has been told.
  std::function<Result<Bytes>()> bytes;
  std::function<Result<cubin::Listing>(cubin::Detail)> functions;  // of a cubin, in less time
};

// What unpacking may cost, whatever a file claims: hostile ones claim anything.
struct Limits {
  uint64_t member_bytes = uint64_t{4} << 30;  // one member of a zip file
  uint64_t entry_bytes = uint64_t{1} << 30;   // one entry of a fatbin
  uint64_t total_ratio = 64;                  // all that is unpacked, as a multiple of the file,
  uint64_t total_bytes = uint64_t{4} << 30;   // and so much more
  int depth = 4;                              // archives in archives
};

struct Walk {
  // Both are called from several threads at a time.
  std::function<void(const Piece&)> piece;
  std::function<void(std::string)> problem;  // one sentence: what could not be read
  std::function<bool()> stop;
  Limits limits;
  int workers = 1;
};

// Everything in the file, `name` being what people call it. Memory: the largest member of a zip
// file, and for each worker the largest entry. Returns the bytes that were unpacked.
uint64_t walk(Bytes file, const std::string& name, const Walk& walk);

}  // namespace namesake::study
