// The order of work is the order of cost. Both builds of every unit are assembled once, with
// randomisation off, and compared as bytes. Only where they differ are they drawn again with
// randomisation on, because only there can a lottery be mistaken for an effect. Then the controls, then
// each distinct code through the disassembler, in batches small enough to hold.
#include "study/diff.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <set>

#include "report/explain.h"
#include "study/controls.h"
#include "study/describe.h"
#include "assembly/variant.h"
#include "toolchain/disassemble.h"
#include "util/text.h"

namespace namesake::study {
using namespace assembly;
namespace {

constexpr int kDraws = 4;                      // of each build, where the fixed runs differ
constexpr size_t kBatchBytes = 4u << 20;       // of code to one nvdisasm run: 260,000 instructions
constexpr size_t kSassRows = 200'000;          // of side-by-side rows kept in one report
constexpr size_t kContext = 6;                 // equal instructions kept around a change

struct Comparison {                            // of one unit
  const Unit* unit;
  Arm a, b;
  int draws = 0;
};

struct Subject {                               // one function of one unit
  const Comparison* comparison;
  std::string symbol;
  report::FunctionDifference difference;
};

const FunctionCode* code_of(const Laboratory& laboratory, const Arm& arm, const std::string& symbol) {
  if (!arm.variant.ok()) return nullptr;
  const Outcome& outcome = laboratory.outcome(arm.trial);
  auto found = outcome.functions.find(arm.variant.names.at(symbol));
  return found == outcome.functions.end() ? nullptr : &found->second;
}

bool any_difference(const Laboratory& laboratory, const Comparison& comparison) {
  return std::any_of(comparison.unit->kernels.begin(), comparison.unit->kernels.end(), [&](const std::string& symbol) {
    const FunctionCode* a = code_of(laboratory, comparison.a, symbol);
    const FunctionCode* b = code_of(laboratory, comparison.b, symbol);
    return a && b && a->identity != b->identity;
  });
}

bool data_differs(const Laboratory& laboratory, const Comparison& comparison) {
  if (!comparison.a.variant.ok() || !comparison.b.variant.ok()) return false;
  const Outcome &a = laboratory.outcome(comparison.a.trial), &b = laboratory.outcome(comparison.b.trial);
  return a.ok() && b.ok() && a.data != b.data;
}

report::Side side_of(const Laboratory& laboratory, const Arm& arm, const std::string& symbol, int draws,
                     const Build& build) {
  report::Side side;
  CodeSet set = codes_of(laboratory, arm, symbol, arm.variant.ok() ? draws : 0);
  if (!set.failure.empty()) side.failure = fmt::format("ptxas {}: {}", build.assembler.version, set.failure);
  for (const Hash& code : set.codes) side.draws.push_back(code.hex());
  side.draws_made = set.runs;
  if (const FunctionCode* code = code_of(laboratory, arm, symbol)) {
    side.registers = code->registers;
    side.stack_bytes = code->stack_bytes;
    side.spill_store_bytes = code->spill_store_bytes;
    side.spill_load_bytes = code->spill_load_bytes;
    side.code_bytes = code->code_bytes;
    side.shared_bytes = code->shared_bytes;
    side.identity = code->identity.hex();
  }
  return side;
}

// What the kernel's head promises the assembler: .reqntid or .maxntid, its numbers multiplied; 0: nothing.
int64_t threads_per_block(const ptx::Module& module, const std::string& symbol) {
  const ptx::Function* function = module.find(symbol);
  if (!function || function->body_begin < function->name_offset) return 0;
  std::string_view head = std::string_view(module.text).substr(function->name_offset, function->body_begin - function->name_offset);
  for (std::string_view directive : {".reqntid", ".maxntid"}) {
    size_t place = head.find(directive);
    if (place == std::string_view::npos) continue;
    std::string_view numbers = head.substr(place + directive.size());
    numbers = numbers.substr(0, numbers.find_first_not_of(" \t\r\n0123456789,"));
    int64_t product = 1;
    for (std::string_view number : split(numbers, ',')) product *= parse_integer(trimmed(number)).value_or(1);
    return product;
  }
  return 0;
}

report::Verdict verdict_of(const report::Side& a, const report::Side& b) {
  if (!a.failure.empty() || !b.failure.empty()) return report::Verdict::failed;
  bool common = std::any_of(a.draws.begin(), a.draws.end(), [&](const std::string& code) {
    return std::find(b.draws.begin(), b.draws.end(), code) != b.draws.end();
  });
  if (!common) return report::Verdict::different;  // perhaps only in registers: sass decides
  return a.draws.size() == 1 && b.draws.size() == 1 ? report::Verdict::same : report::Verdict::lottery;
}

// Disassembles the codes of some subjects, each distinct one once, and fills what needs instructions.
Status describe_batch(const Laboratory& laboratory, const DiffRequest& request, std::vector<Subject*> batch,
                      size_t& rows_left, double& child_seconds) {
  std::vector<toolchain::CodeToDisassemble> codes;
  std::map<std::string, size_t> index;         // architecture and identity → position in codes
  auto want = [&](const Subject& subject, const Arm& arm, const std::string& identity) {
    const FunctionCode* code = code_of(laboratory, arm, subject.symbol);
    if (!code || code->code.empty()) return;
    std::string key = subject.difference.architecture + identity;
    if (index.emplace(key, codes.size()).second) {
      codes.push_back({subject.symbol, subject.difference.architecture, code->code, code->indirect_branches, code->relocations});
    }
  };
  for (Subject* subject : batch) {
    want(*subject, subject->comparison->a, subject->difference.a.identity);
    want(*subject, subject->comparison->b, subject->difference.b.identity);
  }
  std::vector<sass::Function> functions(codes.size());
  auto receive = [&](size_t i, sass::Function function) -> Status {
    functions[i] = std::move(function);
    return {};
  };
  TRY_ASSIGN(toolchain::DisassemblyCost cost, toolchain::disassemble(*request.disassembler, codes, receive, request.workers));
  child_seconds += cost.cpu_seconds;
  for (Subject* subject : batch) {
    report::FunctionDifference& difference = subject->difference;
    auto function_of = [&](const report::Side& side) -> const sass::Function* {
      auto found = index.find(difference.architecture + side.identity);
      return side.identity.empty() || found == index.end() ? nullptr : &functions[found->second];
    };
    const sass::Function *a = function_of(difference.a), *b = function_of(difference.b);
    if (a) describe_code(*a, difference.a);
    if (b) describe_code(*b, difference.b);
    if (!a || !b || a == b) continue;
    if (difference.verdict == report::Verdict::different && sass::relation(*a, *b) != sass::Relation::different) {
      difference.verdict = report::Verdict::same_but_registers;
    }
    if (request.sass && rows_left > 0) {
      difference.sass = side_by_side(*a, *b, kContext);
      rows_left -= std::min(rows_left, difference.sass.size());
    }
  }
  return {};
}

Status describe_all(const Laboratory& laboratory, const DiffRequest& request, std::vector<Subject>& subjects,
                    report::Difference& result) {
  size_t rows_left = kSassRows, done = 0;
  std::vector<Subject*> batch;
  size_t bytes = 0;
  auto flush = [&]() -> Status {
    if (batch.empty()) return {};
    request.progress(fmt::format("disassembling {} of {} functions", done, subjects.size()));
    TRY(describe_batch(laboratory, request, batch, rows_left, result.child_seconds));
    batch.clear();
    bytes = 0;
    return request.stop() ? Status(error("interrupted")) : Status();
  };
  // Codes met before only for their mix: functions that are the same need no second disassembly.
  std::map<std::string, const Subject*> described;
  std::vector<Subject*> copies;
  for (Subject& subject : subjects) {
    ++done;
    const report::Side &a = subject.difference.a, &b = subject.difference.b;
    bool alone = a.identity == b.identity && !a.identity.empty();
    if (alone && !described.emplace(subject.difference.architecture + a.identity, &subject).second) {
      copies.push_back(&subject);
      continue;
    }
    batch.push_back(&subject);
    bytes += static_cast<size_t>(a.code_bytes + (alone ? 0 : b.code_bytes));
    if (bytes >= kBatchBytes) TRY(flush());
  }
  TRY(flush());
  for (Subject* subject : copies) {
    const Subject* first = described.at(subject->difference.architecture + subject->difference.a.identity);
    for (auto side : {&report::FunctionDifference::a, &report::FunctionDifference::b}) {
      (subject->difference.*side).mix = (first->difference.*side).mix;
      (subject->difference.*side).hottest_loop = (first->difference.*side).hottest_loop;
      (subject->difference.*side).hottest_loop_depth = (first->difference.*side).hottest_loop_depth;
    }
  }
  if (rows_left == 0) result.notes.push_back(fmt::format("side-by-side code is shown for the first {} rows only; name kernels with --kernel to see the others", kSassRows));
  return {};
}

// Which half makes the effect: the front end is given the name (by a macro), the assembler the answer.
Status add_front_end(const DiffRequest& request, const std::vector<Unit>& units, Laboratory& laboratory,
                     report::Difference& result) {
  std::set<std::string> seen;
  for (const Unit& unit : units) {
    if (unit.source.empty() || !request.inputs.front_end || !seen.insert(unit.file + unit.architecture).second) continue;
    auto study = study_front_end(unit, *request.inputs.front_end, request.inputs.front_end_options);
    if (!study) {
      result.notes.push_back(fmt::format("{} on {}: the front end's half could not be studied: {}", unit.file, unit.architecture, study.error().message));
      continue;
    }
    // The renamed source's PTX, its names put back, with the assembler's half switched off.
    std::map<std::string, bool> code_differs;
    if (study->renamed) {
      Unit renamed = unit;
      renamed.module = *study->renamed;
      Build untreated = request.a;
      untreated.treatment = Treatment::untreated;
      Arm before = arm(variant_for(unit, untreated), untreated, unit.architecture, true);
      Arm after = arm(variant_for(renamed, untreated), untreated, unit.architecture, true);
      if (before.variant.ok() && after.variant.ok()) {
        TRY(laboratory.make({before.trial, after.trial}));
        for (const std::string& symbol : unit.kernels) {
          const FunctionCode *x = code_of(laboratory, before, symbol), *y = code_of(laboratory, after, symbol);
          code_differs[demangled_name(symbol)] = x && y && x->identity != y->identity;
        }
      }
    }
    for (report::FrontEndDifference& difference : study->differences) {
      if (!difference.ptx_differs) {
        difference.note = "the front end writes the same PTX under both names: the whole effect is the assembler's";
      } else if (code_differs[difference.name]) {
        difference.note = "the front end's PTX differs too, and changes the code by itself; the table shows the assembler's half";
      } else {
        difference.note = "the front end's PTX differs, but not the code made of it: the effect is the assembler's";
      }
      result.front_end.push_back(std::move(difference));
    }
  }
  return {};
}

// The edit that lowers .version is a build option of ours, so it has its control too: an assembler
// that reads both versions must give one code.
Status add_lowering_control(const DiffRequest& request, const std::vector<Unit>& units, Laboratory& laboratory,
                            report::Difference& result) {
  report::Control control;
  control.name = "lowering .version changes no code";
  std::vector<std::array<Arm, 2>> pairs;
  std::vector<const Unit*> owners;
  const Build& newer = compare_versions(request.a.assembler.version, request.b.assembler.version) > 0 ? request.a : request.b;
  const Build& older = &newer == &request.a ? request.b : request.a;
  bool edited_any = false;
  for (const Unit& unit : units) {
    auto lowered = ptx::lower_for(unit.module, older.assembler.version);
    if (!lowered || !lowered->edited()) continue;
    edited_any = true;
    auto own = ptx::lower_for(unit.module, newer.assembler.version);
    if (!own || own->edited()) continue;
    Build natural = newer;
    natural.treatment = Treatment::natural;
    Unit edited = unit;
    edited.module = lowered->module;
    pairs.push_back({arm(variant_for(unit, natural), natural, unit.architecture, true),
                     arm(variant_for(edited, natural), natural, unit.architecture, true)});
    owners.push_back(&unit);
  }
  if (!edited_any) return {};
  std::vector<Trial> trials;
  for (auto& [x, y] : pairs) {
    trials.push_back(x.trial);
    trials.push_back(y.trial);
  }
  TRY(laboratory.make(trials));
  for (size_t i = 0; i < pairs.size(); ++i) {
    for (const std::string& symbol : owners[i]->kernels) {
      const FunctionCode *x = code_of(laboratory, pairs[i][0], symbol), *y = code_of(laboratory, pairs[i][1], symbol);
      ++control.checked;
      if ((x == nullptr) == (y == nullptr) && (!x || x->identity == y->identity)) continue;
      ++control.failed;
      control.outcome = report::ControlOutcome::failed;
      control.failing.push_back(fmt::format("{} on {}: the code changes with .version alone", demangled_name(symbol), owners[i]->architecture));
    }
  }
  if (control.checked == 0) {
    control.outcome = report::ControlOutcome::not_applicable;
    control.note = "no assembler in this comparison reads both versions";
  }
  result.controls.push_back(std::move(control));
  return {};
}

double own_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](timeval t) { return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec); };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

Result<report::Difference> diff(const DiffRequest& request) {
  report::Difference result;
  result.date = utc_now();
  auto [label_a, label_b] = labels(request.a, request.b);
  result.a = describe(request.a, label_a);
  result.b = describe(request.b, label_b);

  request.progress("reading the kernels");
  TRY_ASSIGN(Inputs inputs, load(request.inputs));
  result.notes = inputs.notes;

  bool hooked = request.a.treatment != Treatment::natural || request.b.treatment != Treatment::natural;
  Laboratory laboratory(request.hooks, request.cache, request.timeout, request.workers, request.stop);
  auto counted = [&](std::string what) {
    return [&request, what = std::move(what)](size_t done, size_t all) {
      request.progress(fmt::format("{}: {} of {} assemblies", what, done, all));
    };
  };

  std::vector<Comparison> comparisons;
  std::vector<Trial> trials;
  std::set<std::string> edits;
  for (const Unit& unit : inputs.units) {
    if (std::find(result.architectures.begin(), result.architectures.end(), unit.architecture) == result.architectures.end()) {
      result.architectures.push_back(unit.architecture);
    }
    Comparison comparison{&unit, arm(variant_for(unit, request.a), request.a, unit.architecture, hooked),
                          arm(variant_for(unit, request.b), request.b, unit.architecture, hooked)};
    for (Arm* side : {&comparison.a, &comparison.b}) {
      side->trial.keep_code = true;
      if (side->variant.ok()) trials.push_back(side->trial);
      for (const std::string& edit : side->variant.edits) edits.insert(edit);
    }
    comparisons.push_back(std::move(comparison));
  }
  std::sort(result.architectures.begin(), result.architectures.end(), [](const std::string& a, const std::string& b) {
    return std::make_pair(architecture_number(a), a) < std::make_pair(architecture_number(b), b);
  });
  for (const std::string& edit : edits) result.notes.push_back(edit);
  TRY(laboratory.make(trials, counted("building")));

  std::vector<Trial> draws;
  bool refused = false;
  for (Comparison& comparison : comparisons) {
    if (!comparison.a.variant.ok() || !comparison.b.variant.ok()) continue;
    refused |= !laboratory.outcome(comparison.a.trial).addresses_fixed;
    if (!request.draws && !any_difference(laboratory, comparison)) continue;
    comparison.draws = request.draws.value_or(kDraws);
    for (int i = 1; i <= comparison.draws; ++i) {
      draws.push_back(comparison.a.draw(i));
      draws.push_back(comparison.b.draw(i));
    }
  }
  TRY(laboratory.make(draws, counted("drawing builds whose codes differ")));
  if (refused) result.notes.push_back("this system refuses to switch address randomisation off: every build is a draw, and only the sets of draws are compared");

  std::vector<Subject> subjects;
  for (const Comparison& comparison : comparisons) {
    const Unit& unit = *comparison.unit;
    report::AssemblyTime time{unit.file, unit.architecture};
    if (comparison.a.variant.ok()) time.a_seconds = laboratory.outcome(comparison.a.trial).wall_seconds;
    if (comparison.b.variant.ok()) time.b_seconds = laboratory.outcome(comparison.b.trial).wall_seconds;
    result.times.push_back(std::move(time));
    if (data_differs(laboratory, comparison)) {
      result.notes.push_back(fmt::format("{} on {}: module-wide constants or initialised globals differ between the builds", unit.file, unit.architecture));
    }
    for (const std::string& symbol : unit.kernels) {
      Subject subject{&comparison, symbol, {}};
      report::FunctionDifference& difference = subject.difference;
      difference.symbol = symbol;
      difference.name = demangled_name(symbol);
      difference.file = unit.file;
      difference.architecture = unit.architecture;
      difference.threads_per_block = threads_per_block(unit.module, symbol);
      difference.a = side_of(laboratory, comparison.a, symbol, comparison.draws, request.a);
      difference.b = side_of(laboratory, comparison.b, symbol, comparison.draws, request.b);
      difference.verdict = verdict_of(difference.a, difference.b);
      subjects.push_back(std::move(subject));
    }
  }

  if (request.controls) {
    ControlRequest control{&inputs.units, request.a, request.b, hooked, request.draws.value_or(kDraws)};
    TRY_ASSIGN(result.controls, run_controls(laboratory, control, counted("controls")));
    TRY(add_lowering_control(request, inputs.units, laboratory, result));
    if (hooked) TRY(add_front_end(request, inputs.units, laboratory, result));
  }

  if (request.disassembler) {
    TRY(describe_all(laboratory, request, subjects, result));
  } else {
    result.notes.push_back("no nvdisasm is at hand, so instructions are not shown; type: namesake toolchain add nvdisasm");
  }
  for (Subject& subject : subjects) {
    subject.difference.meaning = report::explain(subject.difference, result.a.label, result.b.label);
    result.functions.push_back(std::move(subject.difference));
  }
  result.tool_seconds = own_seconds();
  result.child_seconds += laboratory.child_seconds();
  return result;
}

}  // namespace namesake::study
