// Small things with text: splitting, globs, numbers, demangled names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace namesake {

std::vector<std::string_view> split(std::string_view text, char separator);
std::string_view trimmed(std::string_view text);
std::string join(const std::vector<std::string>& parts, std::string_view separator);

// Shell-like: * any run, ? one character, [a-z] [!a-z] sets; the whole text must match. Linear in
// practice and never exponential: only the last * is ever returned to.
bool glob_match(std::string_view pattern, std::string_view text);

// The whole text as a number in base 10; nothing for anything else.
std::optional<int64_t> parse_integer(std::string_view text);

// "_Z5sgemmiPf" → "sgemm(int, float*)"; a text that is no mangled name comes back as it is.
std::string demangled(std::string_view symbol);
// The readable name without its parameters, as people write globs: "ns::sgemm<128>".
std::string demangled_name(std::string_view symbol);

// Letters to change between two words, for "did you mean".
size_t edit_distance(std::string_view a, std::string_view b);

// Dotted version numbers compare by number: 12.9 < 12.10.
int compare_versions(std::string_view a, std::string_view b);

// The moment, to the second: "2026-11-30T18:40:00Z".
std::string utc_now();

}  // namespace namesake
