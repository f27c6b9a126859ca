#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "policy/policy.h"

namespace namesake::policy {
namespace {

// The code point that begins at `at`, which moves behind it; for what is no UTF-8, the replacement
// character.
uint32_t code_point(std::string_view text, size_t& at) {
  auto first = static_cast<unsigned char>(text[at++]);
  if (first < 0x80) return first;
  int more = first >= 0xf8 ? 0 : first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0;
  uint32_t value = first & (0x3f >> more);
  for (int i = 0; i < more; ++i, ++at) {
    if (at == text.size() || (text[at] & 0xc0) != 0x80) return 0xfffd;
    value = value << 6 | (text[at] & 0x3f);
  }
  constexpr uint32_t kLeast[] = {0x110000, 0x80, 0x800, 0x10000};
  bool valid = value >= kLeast[more] && value < 0x110000 && (value < 0xd800 || value > 0xdfff);
  return valid ? value : 0xfffd;
}

// Texts in a policy are printable, of one line, and spelt in ASCII: see parse.cpp.
std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (size_t at = 0; at < text.size();) {
    uint32_t c = code_point(text, at);
    if (c >= 0x80) {
      result += fmt::format("\\U{:08x}", c);
      continue;
    }
    if (c == '"' || c == '\\') result += '\\';
    result += static_cast<char>(c);
  }
  return result + '"';
}

void line(std::string& out, std::string_view key, std::string_view text) {
  if (!text.empty()) out += fmt::format("{} = {}\n", key, quoted(text));
}

std::string evidence_of(const Evidence& evidence) {
  std::string fields;
  auto field = [&](std::string_view key, const std::string& value) {
    fields += fmt::format("{}{} = {}", fields.empty() ? "" : ", ", key, value);
  };
  if (!evidence.file.empty()) field("file", quoted(evidence.file));
  if (evidence.ratio) field("ratio", fmt::format("{}", *evidence.ratio));
  if (evidence.interval) {
    field("interval", fmt::format("[{}, {}]", (*evidence.interval)[0], (*evidence.interval)[1]));
  }
  if (!evidence.gpu.empty()) field("gpu", quoted(evidence.gpu));
  if (!evidence.build.empty()) field("build", quoted(evidence.build));
  return fmt::format("{{ {} }}", fields);
}

}  // namespace

std::string write(const Policy& policy) {
  std::string out = "format = 1\n\n[measured]\n";
  line(out, "assembler", policy.measured.version);
  line(out, "build", policy.measured.build);
  line(out, "gpu", policy.gpu);
  if (policy.spill_bytes || policy.timeout_seconds) out += "\n[limits]\n";
  if (policy.spill_bytes) out += fmt::format("spill_bytes = {}\n", *policy.spill_bytes);
  if (policy.timeout_seconds) out += fmt::format("timeout_seconds = {}\n", *policy.timeout_seconds);
  for (const Rule& rule : policy.rules) {
    out += "\n[[function]]\n";
    line(out, rule.symbol.empty() ? "name" : "symbol", rule.pattern());
    line(out, "architecture", rule.architecture);
    bool any = rule.assembler.version.empty();
    Assembler spelt = any ? Assembler{"any", ""} : rule.assembler;
    if (spelt != policy.measured) {
      line(out, "assembler", spelt.version);
      line(out, "build", spelt.build);
    }
    line(out, "treatment", treatment_name(rule.treatment));
    if (rule.evidence) out += fmt::format("evidence = {}\n", evidence_of(*rule.evidence));
  }
  return out;
}

}  // namespace namesake::policy
