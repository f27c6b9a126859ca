// What lies in the input buffers: the sets of inputs on which two builds must agree.
//
// A buffer of a hundred million random elements takes a host seconds to make and to send, for each
// set. So a random fill is two small things, a palette of 65,536 elements and a rule that says
// which of them stands where, a hash of place and seed. The GPU follows the rule at the speed of
// its memory (measure/checker.h), the host where it needs the values for a reference, and both give
// the same bits. The cost: 65,536 different values, not 2^32, of which the normal palette reaches
// out to 4.3 deviations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "measure/plan.h"
#include "util/error.h"

namespace namesake::measure {

enum class InputKind {
  as_given,    // by the launch file
  constant,    // ones
  not_finite,  // as given, with NaN and infinities strewn in
  denormals,
  extremes,  // the largest, the smallest, both zeros
};
const char* name_of(InputKind kind);

// The sets that differ for this plan: only random floating-point inputs are replaced, for whole
// numbers may be places in other buffers. A kernel without such inputs has one set.
std::vector<InputKind> input_kinds(const Plan& plan);

constexpr size_t kPaletteEntries = 65536;

// An element put in its place after the rest.
struct Plant {
  size_t index = 0;
  uint64_t bits = 0;
};

// One buffer's content: by palette, or given whole.
struct Content {
  std::vector<std::byte> palette;  // kPaletteEntries elements; empty: `bytes` is all of it
  uint64_t seed = 0;
  std::vector<Plant> plants;
  std::vector<std::byte> bytes;
};
Result<Content> content_of(const Plan& plan, size_t buffer, InputKind kind, int workers);

// Which entry of the palette stands at a place.
inline size_t palette_entry(uint64_t seed, uint64_t index) {
  uint64_t x = index + seed * 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return (x ^ (x >> 31)) & (kPaletteEntries - 1);
}

// The content on the host.
std::vector<std::byte> bytes_of_content(const Content& content, const BufferPlan& buffer,
                                        int workers);

}  // namespace namesake::measure
