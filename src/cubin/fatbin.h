// Fatbins: the container in which nvcc puts a module's code for several architectures into a host
// program, each entry packed or not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "util/cursor.h"
#include "util/error.h"
#include "util/room.h"

namespace namesake::cubin {

enum class Packing { none, lz4, zstd };
enum class Content { cubin, ptx, ir, other };  // ir: what link-time optimisation assembles later

struct FatbinEntry {
  Content content = Content::other;
  uint16_t kind = 0;  // as it stands in the file
  Packing packing = Packing::none;
  std::string architecture;     // "sm_90a"
  Bytes data;                   // as it lies in the file
  uint64_t unpacked_bytes = 0;  // as the entry claims
  std::string_view options;     // what the assembler was told: "-maxrregcount=96"
};

struct Fatbin {
  uint64_t bytes = 0;  // its header included
  std::vector<FatbinEntry> entries;
  std::string damage;  // why entries after these could not be read; "" if all are here
};

// What a fatbin begins with: magic number, version and the header's size.
constexpr Bytes kFatbinMagic("\x50\xed\x55\xba\x01\x00\x10\x00", 8);

// `file` begins with the fatbin and may go on behind it.
Result<Fatbin> parse_fatbin(Bytes file, std::string_view origin);

// The entry's content: a view into the file where it is not packed, else into `storage`, whose
// memory is used again. Never more than `limit` bytes, nor more than a compiler's output can be
// packed to.
Result<Bytes> unpack(const FatbinEntry& entry, uint64_t limit, std::string_view origin,
                     Room& storage);

// A packed entry's content from its beginning, as much as is wanted. One at a time in a thread.
class HeadUnpacker {
 public:
  // The same errors as unpack(), as far as they can be known from the claims.
  static Result<HeadUnpacker> start(const FatbinEntry& entry, uint64_t limit,
                                    std::string_view origin, Room& storage);
  // All that was given before and more behind it, at the same place in memory. Nothing at the end,
  // and where the data is damaged: unpack() says how.
  std::optional<Bytes> more();
  bool whole() const;

 private:
  HeadUnpacker(const FatbinEntry& entry, const Room& storage, char* room)
      : entry_(entry), storage_(storage), room_(room) {}
  bool next_block();

  const FatbinEntry& entry_;
  const Room& storage_;
  char* room_;
  size_t taken_ = 0, given_ = 0;  // of the packed bytes, and as many unpacked
};

}  // namespace namesake::cubin
