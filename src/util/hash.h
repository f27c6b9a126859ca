// Identity of bytes: XXH3 with 128 bits, written as 32 hex digits.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace namesake {

struct Hash {
  uint64_t high = 0;
  uint64_t low = 0;
  bool operator==(const Hash&) const = default;
  auto operator<=>(const Hash&) const = default;
  std::string hex() const;
};

Hash hash_bytes(std::string_view data);

}  // namespace namesake

template <>
struct std::hash<namesake::Hash> {
  size_t operator()(const namesake::Hash& value) const noexcept { return value.low; }
};
