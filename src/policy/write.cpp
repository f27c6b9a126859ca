#include <fmt/format.h>

#include "policy/policy.h"

namespace namesake::policy {
namespace {

// Texts in a policy are printable and of one line, so these two escapes are all.
std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
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
