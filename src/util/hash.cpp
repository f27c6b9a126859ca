#include "util/hash.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace namesake {

std::string Hash::hex() const {
  return fmt::format("{:016x}{:016x}", high, low);
}

Hash hash_bytes(std::string_view data) {
  XXH128_hash_t value = XXH3_128bits(data.data(), data.size());
  return {value.high64, value.low64};
}

}  // namespace namesake
