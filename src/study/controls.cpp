// A difference between two builds proves something only if the same machinery, pointed at two builds
// that must be equal, shows none. Five such pairs bracket the experiment:
//
//   two neutral names            the name matters only through the trigger (and the build repeats)
//   treated = renamed            the answer we give does what the name itself does
//   untreated = neutral name     a "no" takes all of the effect away
//   treated = pragma             the answer is the documented option, where one exists
//   hooked natural ∈ unhooked    the preloaded library itself changes nothing
//
// Names are of one length in each pair, since on some targets the code depends on that. A pair whose
// fixed runs differ is drawn several times with randomisation on: it fails only if the sets are
// disjoint. An assembly that fails on both sides alike holds (a crash that the name causes must be
// caused by the answer too); one that fails on one side alone is a failed control.
#include "study/controls.h"

#include <fmt/format.h>

#include "util/text.h"

namespace namesake::study {
using namespace assembly;
namespace {

struct Pair {
  const Unit* unit;
  Arm a, b;
};

struct Plan {
  report::Control control;
  std::vector<Pair> pairs;
};

// A pair of arms of one unit; nothing where the assembler cannot read the unit at all.
void add_pair(Plan& plan, const Unit& unit, Arm a, Arm b) {
  if (!a.variant.ok() || !b.variant.ok()) return;
  plan.pairs.push_back({&unit, std::move(a), std::move(b)});
}

Build with(Build build, Treatment treatment) {
  build.treatment = treatment;
  return build;
}

// "ptxas 13.0.88 -O2 --fmad=false": the assembler, and what of the build is not as usual.
std::string shown(const Build& build) {
  std::string text = "ptxas " + build.assembler.version;
  if (build.opt_level != 3) text += fmt::format(" -O{}", build.opt_level);
  for (const std::string& option : build.options) text += " " + option;
  return text;
}

std::vector<Plan> treatment_plans(const std::vector<Unit>& units, const Build& build) {
  std::string where = " (" + shown(build) + ")";
  Plan neutral{{.name = "two neutral names give one code" + where}, {}};
  Plan renamed{{.name = "treated equals renamed" + where}, {}};
  Plan undone{{.name = "untreated equals the neutral name" + where}, {}};
  Plan pragma{{.name = "treated equals the official pragma" + where}, {}};
  Plan observer{{.name = "the hook alone changes nothing" + where}, {}};
  Build natural = with(build, Treatment::natural), treated = with(build, Treatment::treated),
        untreated = with(build, Treatment::untreated);
  for (const Unit& unit : units) {
    const std::string& architecture = unit.architecture;
    auto make = [&](Naming naming, const Build& how) {
      return arm(renamed_variant(unit, how, naming), how, architecture, true);
    };
    add_pair(neutral, unit, make(Naming::neutral, natural), make(Naming::second_neutral, natural));
    add_pair(renamed, unit, make(Naming::neutral, treated), make(Naming::with_trigger, natural));
    add_pair(undone, unit, make(Naming::with_trigger, untreated), make(Naming::neutral, natural));
    if (knows_pragma(build.assembler)) {
      add_pair(pragma, unit, arm(pragma_variant(unit, treated, false), treated, architecture, true),
               arm(pragma_variant(unit, natural, true), natural, architecture, true));
    }
    Variant plain = variant_for(unit, natural);
    add_pair(observer, unit, arm(plain, natural, architecture, true),
             arm(plain, natural, architecture, false));
  }
  if (!knows_pragma(build.assembler)) {
    pragma.control.outcome = report::ControlOutcome::not_applicable;
    pragma.control.note = fmt::format("the pragma exists since 13.3; ptxas {} does not know it", build.assembler.version);
  }
  return {std::move(neutral), std::move(renamed), std::move(undone), std::move(pragma), std::move(observer)};
}

Plan repeat_plan(const std::vector<Unit>& units, const Build& build, bool hooked) {
  Plan plan{{.name = "two neutral names give one code (" + shown(build) + ")"}, {}};
  for (const Unit& unit : units) {
    Build natural = with(build, Treatment::natural);
    add_pair(plan, unit, arm(renamed_variant(unit, natural, Naming::neutral), natural, unit.architecture, hooked),
             arm(renamed_variant(unit, natural, Naming::second_neutral), natural, unit.architecture, hooked));
  }
  return plan;
}

bool decides_name(Treatment treatment) { return treatment != Treatment::natural; }

bool equal_in_fixed_run(const Laboratory& laboratory, const Pair& pair, const std::string& symbol) {
  CodeSet a = codes_of(laboratory, pair.a, symbol, 0), b = codes_of(laboratory, pair.b, symbol, 0);
  if (!a.failure.empty() || !b.failure.empty()) return a.failure.empty() == b.failure.empty();
  return a.codes == b.codes;
}

void judge(const Laboratory& laboratory, const Pair& pair, int draws, report::Control& control) {
  for (const std::string& symbol : pair.unit->kernels) {
    ++control.checked;
    if (equal_in_fixed_run(laboratory, pair, symbol)) continue;
    CodeSet a = codes_of(laboratory, pair.a, symbol, draws), b = codes_of(laboratory, pair.b, symbol, draws);
    std::string where = fmt::format("{} on {}", demangled_name(symbol), pair.unit->architecture);
    std::string reason;
    if (a.failure.empty() != b.failure.empty()) {
      reason = fmt::format("one side failed ({}), the other did not", a.failure.empty() ? b.failure : a.failure);
    } else if (!intersect(a, b)) {
      reason = fmt::format("{} and {} codes in {} and {} runs, none in common", a.codes.size(),
                           b.codes.size(), a.runs, b.runs);
    } else {
      continue;
    }
    ++control.failed;
    control.outcome = report::ControlOutcome::failed;
    control.failing.push_back(where + ": " + reason);
  }
}

}  // namespace

Result<std::vector<report::Control>> run_controls(Laboratory& laboratory, const ControlRequest& request,
                                                  const std::function<void(size_t, size_t)>& progress) {
  std::vector<Build> builds = {request.a};
  Build same_setting = with(request.b, request.a.treatment);
  if (!(same_setting == request.a)) builds.push_back(request.b);
  bool treatments = decides_name(request.a.treatment) || decides_name(request.b.treatment);

  std::vector<Plan> plans;
  for (const Build& build : builds) {
    if (treatments) {
      for (Plan& plan : treatment_plans(*request.units, build)) plans.push_back(std::move(plan));
    } else {
      plans.push_back(repeat_plan(*request.units, build, request.hooked));
    }
  }

  std::vector<Trial> trials;
  for (const Plan& plan : plans) {
    for (const Pair& pair : plan.pairs) {
      trials.push_back(pair.a.trial);
      trials.push_back(pair.b.trial);
    }
  }
  TRY(laboratory.make(trials, progress));

  std::vector<Trial> draws;
  for (const Plan& plan : plans) {
    for (const Pair& pair : plan.pairs) {
      bool equal = true;
      for (const std::string& symbol : pair.unit->kernels) equal &= equal_in_fixed_run(laboratory, pair, symbol);
      for (int i = 1; !equal && i <= request.draws; ++i) {
        draws.push_back(pair.a.draw(i));
        draws.push_back(pair.b.draw(i));
      }
    }
  }
  TRY(laboratory.make(draws, progress));

  std::vector<report::Control> controls;
  for (Plan& plan : plans) {
    for (const Pair& pair : plan.pairs) judge(laboratory, pair, request.draws, plan.control);
    if (plan.control.checked == 0 && plan.control.note.empty()) {
      plan.control.outcome = report::ControlOutcome::not_applicable;
      plan.control.note = "no kernel could be assembled for it";
    }
    controls.push_back(std::move(plan.control));
  }
  return controls;
}

}  // namespace namesake::study
