#include "report/words.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

namespace namesake::report {
namespace {

// The length of the well-formed UTF-8 sequence at `i` and its code point; length 0 where it is
// broken.
struct CodePoint {
  size_t length = 0;
  uint32_t value = 0;
};
CodePoint code_point_at(std::string_view text, size_t i) {
  auto byte = [&](size_t k) { return static_cast<unsigned char>(text[k]); };
  unsigned char lead = byte(i);
  if (lead < 0x80) return {1, lead};
  size_t length = lead >= 0xf0 && lead < 0xf5   ? 4
                  : lead >= 0xe0 && lead < 0xf0 ? 3
                  : lead >= 0xc2 && lead < 0xe0 ? 2
                                                : 0;
  if (length == 0 || i + length > text.size()) return {};
  uint32_t value = lead & (0x7fu >> length);
  for (size_t k = 1; k < length; ++k) {
    if ((byte(i + k) & 0xc0) != 0x80) return {};
    value = value << 6 | (byte(i + k) & 0x3f);
  }
  bool overlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
  if (overlong || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) return {};
  return {length, value};
}

// Controls, line and paragraph separators, and what reorders or hides text.
bool is_hidden(uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x61c ||
         (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xfff0 && c <= 0xfffb) ||
         c >= 0xe0000;
}

}  // namespace

std::string grouped(int64_t value) {
  std::string digits = std::to_string(value);
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    bool after_digit = i > 0 && digits[i - 1] != '-';
    if (after_digit && (digits.size() - i) % 3 == 0) out += ',';
    if (digits[i] == '-')
      out += "−";
    else
      out += digits[i];
  }
  return out;
}

std::string with_sign(int64_t value) {
  std::string sign = value > 0 ? "+" : "";
  return sign += grouped(value);
}

std::string change(int64_t a, int64_t b) {
  return a == b ? grouped(a) : grouped(a) + " → " + grouped(b);
}

std::string percent_change(int64_t a, int64_t b) {
  if (a == b) return "";
  if (a == 0) return "new";
  double percent =
      100 * (static_cast<double>(b) - static_cast<double>(a)) / std::fabs(static_cast<double>(a));
  std::string_view sign = percent < 0 ? "−" : "+";
  percent = std::fabs(percent);
  return fmt::format("{}{:.{}f}%", sign, percent, percent < 99.95 ? 1 : 0);
}

std::string counted(int64_t n, std::string_view noun) {
  return grouped(n) + " " + std::string(noun) + (n == 1 ? "" : "s");
}

std::string seconds(double value) {
  if (!std::isfinite(value) || value < 0) return "unknown";
  if (value < 0.9995) return fmt::format("{:.0f} ms", value * 1000);
  if (value < 99.95) return fmt::format("{:.1f} s", value);
  double whole = std::round(value);
  return fmt::format("{:.0f} min {:.0f} s", std::floor(whole / 60), std::fmod(whole, 60));
}

std::string byte_count(int64_t value) {
  double magnitude = std::fabs(static_cast<double>(value));
  if (magnitude < 1000) return counted(value, "byte");
  if (magnitude < 999950) return fmt::format("{:.1f} kB", static_cast<double>(value) / 1000);
  return fmt::format("{:.1f} MB", static_cast<double>(value) / 1e6);
}

std::string plain(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    CodePoint point = code_point_at(text, i);
    if (point.length == 0) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i++]));
      continue;
    }
    if (is_hidden(point.value)) {
      out += point.value < 0x100 ? fmt::format("\\x{:02x}", point.value)
                                 : fmt::format("\\u{{{:x}}}", point.value);
    } else {
      out += text.substr(i, point.length);
    }
    i += point.length;
  }
  return out;
}

std::string_view verdict_word(Verdict verdict) {
  switch (verdict) {
    case Verdict::same:
      return "same";
    case Verdict::same_but_registers:
      return "registers";
    case Verdict::different:
      return "different";
    case Verdict::lottery:
      return "lottery";
    case Verdict::failed:
      return "failed";
  }
  return "unknown";
}

std::string_view verdict_mark(Verdict verdict) {
  switch (verdict) {
    case Verdict::same:
      return "=";
    case Verdict::same_but_registers:
      return "≈";
    case Verdict::different:
      return "≠";
    case Verdict::lottery:
      return "?";
    case Verdict::failed:
      return "✗";
  }
  return " ";
}

std::string shown_name(const FunctionDifference& function) {
  return plain(function.name.empty() ? function.symbol : function.name);
}

namespace {

// "ptxas 13.0.88 -O3 --fmad=false"
std::string shown_assembler(const BuildDescription& build) {
  std::string text;
  if (!build.assembler.empty()) {
    bool only_version = build.assembler[0] >= '0' && build.assembler[0] <= '9';
    text = (only_version ? "ptxas " : "") + build.assembler + " ";
  }
  text += fmt::format("-O{}", build.opt_level);
  for (const std::string& option : build.options) text += " " + option;
  return plain(text);
}

}  // namespace

std::string shown_build(const BuildDescription& build) {
  std::string assembler = shown_assembler(build), label = plain(build.label);
  return assembler.find(label) == std::string::npos ? label + ", " + assembler : assembler;
}

std::string shown_builds(const BuildDescription& a, const BuildDescription& b) {
  if (shown_assembler(a) == shown_assembler(b)) {
    return fmt::format("{} (A) against {} (B), {}", plain(a.label), plain(b.label),
                       shown_assembler(a));
  }
  return fmt::format("{} (A) against {} (B)", shown_build(a), shown_build(b));
}

}  // namespace namesake::report
