// The shortest edit between two sequences of numbers, in linear memory and bounded time.
#pragma once

#include <cstdint>
#include <vector>

namespace namesake::sass {

// Pairs of indices (into a, into b) of equal elements kept, both rising. Together with "the rest of
// a is removed, the rest of b is added" they are the edit. `effort` bounds the work, in steps:
// within it the edit is a shortest one.
struct Kept {
  uint32_t a = 0, b = 0;
};
std::vector<Kept> common_subsequence(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b,
                                     uint64_t effort = uint64_t{1} << 26);

}  // namespace namesake::sass
