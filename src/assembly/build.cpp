#include "assembly/build.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "util/text.h"

namespace namesake::assembly {
namespace {

constexpr std::array<std::string_view, 5> kTreatmentNames = {"natural", "treated", "untreated",
                                                             "renamed", "pragma"};

std::string label_of(const Build& build, const Build& other) {
  std::vector<std::string> parts;
  if (build.assembler.path != other.assembler.path) {
    parts.push_back(std::string(toolchain::kind_name(build.assembler.kind)) + " " + build.assembler.version);
  }
  if (build.treatment != other.treatment) parts.emplace_back(treatment_name(build.treatment));
  if (build.opt_level != other.opt_level) parts.push_back(fmt::format("-O{}", build.opt_level));
  if (build.options != other.options) {
    parts.push_back(build.options.empty() ? "no options" : join(build.options, " "));
  }
  return parts.empty() ? std::string(treatment_name(build.treatment)) : join(parts, " ");
}

}  // namespace

std::string_view treatment_name(Treatment treatment) {
  return kTreatmentNames[static_cast<size_t>(treatment)];
}

std::optional<Treatment> treatment_of(std::string_view word) {
  for (size_t i = 0; i < kTreatmentNames.size(); ++i) {
    if (word == kTreatmentNames[i]) return static_cast<Treatment>(i);
  }
  return std::nullopt;
}

Result<Build> parse_build(std::string_view words, const Build& base,
                          const std::vector<toolchain::Tool>& tools) {
  Build build = base;
  for (std::string_view word : split(words, ',')) {
    word = trimmed(word);
    if (word.empty()) {
      return error(fmt::format(
          "\"{}\" names no build: write words separated by commas, for example 13.5,treated,O2", words));
    }
    if (auto treatment = treatment_of(word)) {
      build.treatment = *treatment;
    } else if (word.size() == 2 && word[0] == 'O' && word[1] >= '0' && word[1] <= '3') {
      build.opt_level = word[1] - '0';
    } else if (word.starts_with('-')) {
      build.options.emplace_back(word);
    } else if (std::isdigit(static_cast<unsigned char>(word[0])) || word == "newest" ||
               word.find('/') != std::string_view::npos) {
      TRY_ASSIGN(build.assembler, toolchain::choose(tools, toolchain::Kind::ptxas, word));
    } else {
      return error(fmt::format(
          "\"{}\" is no part of a build: write an assembler (13.5, newest, a path), a treatment "
          "({}), O0 to O3, or an assembler option starting with -",
          word, fmt::join(kTreatmentNames, ", ")));
    }
  }
  return build;
}

std::pair<std::string, std::string> labels(const Build& a, const Build& b) {
  return {label_of(a, b), label_of(b, a)};
}

report::BuildDescription describe(const Build& build, std::string label) {
  report::BuildDescription description;
  description.label = std::move(label);
  description.assembler = build.assembler.version;
  description.assembler_build = build.assembler.build;
  description.treatment = treatment_name(build.treatment);
  description.opt_level = build.opt_level;
  description.options = build.options;
  return description;
}

}  // namespace namesake::assembly
