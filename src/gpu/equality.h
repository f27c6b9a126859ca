// Are two results the same, bit for bit, and did a kernel write what it must and nothing else?
// Pure functions over bytes on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace namesake::gpu {

enum class Element {
  kF64,
  kF32,
  kF16,
  kBF16,
  kE4M3,
  kE5M2,
  kS32,
  kU32,
  kS64,
  kU64,
  kU16,
  kS16,
  kU8,
  kS8
};
size_t bytes_of(Element element);
std::optional<Element> parse_element(const std::string& name);  // "f16", "bf16", "e4m3", "s32" …
const char* name_of(Element element);

double value_of(std::span<const std::byte> bytes, Element element, size_t index);

// Bytes that an output holds before a run. Two runs whose numbers differ by one differ in every bit
// of every byte, so an element that a kernel leaves unwritten always shows as a difference. `first`
// is the place of the first byte in the output.
std::vector<std::byte> poison(size_t bytes, uint64_t run, size_t first = 0);

struct Difference {
  size_t elements = 0;   // compared
  size_t differing = 0;  // in any bit
  size_t first = 0;      // index of the first one; meaningless if none differs
  double largest = 0;    // |a - b| over the finite ones
  bool equal() const { return differing == 0; }
};
// Bitwise: -0 differs from 0, and one NaN from another.
Difference compare_bits(std::span<const std::byte> a, std::span<const std::byte> b,
                        Element element);

// How far values lie from a reference: ‖a − reference‖₂ / ‖reference‖₂, and the worst element. NaN
// against NaN and an infinity against itself agree; any other non-finite difference makes the error
// infinite.
struct Deviation {
  double relative = 0;
  double worst = 0;  // |a - reference| / (1 + |reference|)
  size_t worst_index = 0;
};
Deviation deviation(std::span<const double> values, std::span<const double> reference);
std::vector<double> values_of(std::span<const std::byte> bytes, Element element);

// Guard zones: a buffer lies between two zones of a known pattern, and a write outside shows there.
inline constexpr size_t kGuardBytes = 4096;
std::vector<std::byte> guard_zone();
// Where the first byte that is not the guard's lies, or nothing.
std::optional<size_t> damage(std::span<const std::byte> zone);

}  // namespace namesake::gpu
