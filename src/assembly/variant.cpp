#include "assembly/variant.h"

#include <fmt/format.h>

#include <algorithm>

#include "util/text.h"

namespace namesake::assembly {
namespace {

constexpr std::string_view kTrigger = "cutlass";
constexpr std::string_view kPragma = "mma_throughput";
constexpr ptx::Version kPragmaVersion{9, 3};

Variant lowered(const Unit& unit, const Build& build) {
  Variant variant;
  auto result = ptx::lower_for(unit.module, build.assembler.version);
  if (!result) {
    variant.failure = result.error().message;
    return variant;
  }
  if (result->edited()) {
    variant.edits.push_back(fmt::format(".version {}.{} lowered to {}.{} for ptxas {}", result->from.major,
                                        result->from.minor, result->to.major, result->to.minor,
                                        build.assembler.version));
  }
  variant.module = std::make_shared<const ptx::Module>(std::move(result->module));
  for (const std::string& symbol : unit.kernels) variant.names[symbol] = symbol;
  return variant;
}

std::map<std::string, std::string> names_for(const Unit& unit, Naming naming) {
  switch (naming) {
    case Naming::neutral: return ptx::neutral_names(unit.module, unit.kernels, 0);
    case Naming::second_neutral: return ptx::neutral_names(unit.module, unit.kernels, 1);
    case Naming::with_trigger: return ptx::names_with(unit.module, unit.kernels, kTrigger);
    case Naming::as_is: break;
  }
  return {};
}

}  // namespace

bool knows_pragma(const toolchain::Tool& assembler) {
  return compare_versions(assembler.version, "13.3") >= 0;
}

Variant variant_for(const Unit& unit, const Build& build) {
  if (build.treatment == Treatment::renamed) return renamed_variant(unit, build, Naming::with_trigger);
  if (build.treatment == Treatment::pragma) return pragma_variant(unit, build, true);
  return lowered(unit, build);
}

Variant renamed_variant(const Unit& unit, const Build& build, Naming naming) {
  Variant variant = lowered(unit, build);
  if (!variant.ok() || naming == Naming::as_is) return variant;
  variant.names = names_for(unit, naming);
  auto module = ptx::rename(*variant.module, variant.names);
  if (!module) {
    variant.failure = module.error().message;
  } else {
    variant.module = std::make_shared<const ptx::Module>(std::move(*module));
  }
  return variant;
}

Variant pragma_variant(const Unit& unit, const Build& build, bool pragma) {
  if (!knows_pragma(build.assembler)) {
    Variant variant;
    variant.failure = fmt::format("the pragma \"{}\" needs ptxas 13.3 or newer, this is {}", kPragma,
                                  build.assembler.version);
    return variant;
  }
  Variant variant = lowered(unit, build);
  if (!variant.ok()) return variant;
  ptx::Module module = *variant.module;
  if (module.version < kPragmaVersion) module = ptx::with_version(module, kPragmaVersion);
  if (pragma) module = ptx::with_pragma(module, kPragma, unit.kernels);
  variant.module = std::make_shared<const ptx::Module>(std::move(module));
  return variant;
}

Arm arm(Variant variant, const Build& build, const std::string& architecture, bool hooked) {
  Arm result;
  result.trial.module = variant.module;
  result.trial.build = build;
  // Renaming and the pragma are edits already made; the hook has nothing to answer for them.
  if (build.treatment == Treatment::renamed || build.treatment == Treatment::pragma) {
    result.trial.build.treatment = Treatment::natural;
  }
  result.trial.architecture = architecture;
  result.trial.hooked = hooked;
  result.variant = std::move(variant);
  return result;
}

Trial Arm::draw(int i) const {
  Trial result = trial;
  result.fixed_addresses = false;
  result.keep_code = false;
  result.draw = i;
  return result;
}

CodeSet codes_of(const Laboratory& laboratory, const Arm& arm, const std::string& symbol, int draws) {
  CodeSet set;
  if (!arm.variant.ok()) {
    set.failure = arm.variant.failure;
    return set;
  }
  const std::string& name = arm.variant.names.at(symbol);
  auto take = [&](const Outcome& outcome) {
    auto found = outcome.functions.find(name);
    if (found == outcome.functions.end()) return false;
    ++set.runs;
    if (std::find(set.codes.begin(), set.codes.end(), found->second.identity) == set.codes.end()) {
      set.codes.push_back(found->second.identity);
    }
    return true;
  };
  const Outcome& fixed = laboratory.outcome(arm.trial);
  if (!take(fixed)) {
    set.failure = fixed.ok() ? fmt::format("the assembler left {} out", name) : fixed.failure;
  }
  for (int i = 1; i <= draws; ++i) take(laboratory.outcome(arm.draw(i)));
  return set;
}

bool intersect(const CodeSet& a, const CodeSet& b) {
  return std::any_of(a.codes.begin(), a.codes.end(), [&](const Hash& code) {
    return std::find(b.codes.begin(), b.codes.end(), code) != b.codes.end();
  });
}

}  // namespace namesake::assembly
