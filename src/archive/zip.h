// Zip files, and so wheels: what is in them, and each member's bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "util/cursor.h"
#include "util/error.h"

namespace namesake::archive {

struct ZipMember {
  std::string_view name;
  uint16_t method = 0;  // 0 stored, 8 deflated
  bool encrypted = false;
  Bytes data;             // as it lies in the archive
  uint64_t size = 0;      // unpacked, as the archive claims
  uint32_t checksum = 0;  // CRC-32 of what is unpacked
};

bool looks_like_zip(Bytes file);

// The members in the order of the archive's directory, folders left out. Members whose bytes
// overlap are refused: that is how a small file claims to hold any amount.
Result<std::vector<ZipMember>> read_zip(Bytes file, std::string_view origin);

// The member's content, which is exactly `size` bytes and has the checksum, or an error: a view
// into the archive where it is stored, else into `storage`.
Result<Bytes> unpack(const ZipMember& member, std::string_view origin, std::string& storage);

}  // namespace namesake::archive
