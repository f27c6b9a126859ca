#include "report/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <tuple>

#include "report/words.h"
#include "util/text.h"

namespace namesake::report {
namespace {

int64_t magnitude(int64_t value) {
  return value < 0 ? -value : value;
}

// "12 more", "3 fewer"
std::string amount(int64_t delta) {
  return grouped(magnitude(delta)) + (delta > 0 ? " more" : " fewer");
}

int rank(Verdict verdict) {
  switch (verdict) {
    case Verdict::failed:
      return 0;
    case Verdict::lottery:
    case Verdict::different:
      return 1;
    case Verdict::same_but_registers:
      return 2;
    case Verdict::same:
      return 3;
  }
  return 4;
}

}  // namespace

std::array<int64_t, kVerdictCount> count_verdicts(const Difference& difference,
                                                  std::string_view architecture) {
  std::array<int64_t, kVerdictCount> counts{};
  for (const FunctionDifference& function : difference.functions) {
    if (architecture.empty() || function.architecture == architecture) {
      ++counts[static_cast<size_t>(function.verdict)];
    }
  }
  return counts;
}

std::vector<std::string> architectures_of(const Difference& difference) {
  std::vector<std::string> list = difference.architectures;
  std::set<std::string> known(list.begin(), list.end());
  for (const FunctionDifference& function : difference.functions) {
    if (known.insert(function.architecture).second) list.push_back(function.architecture);
  }
  return list;
}

std::vector<Mover> movers(const std::map<std::string, int64_t>& a,
                          const std::map<std::string, int64_t>& b) {
  std::map<std::string, Mover> joined;
  for (const auto& [name, count] : a) joined[name].a = count;
  for (const auto& [name, count] : b) joined[name].b = count;
  std::vector<Mover> moved;
  for (auto& [name, mover] : joined) {
    mover.name = name;
    if (mover.a != mover.b) moved.push_back(std::move(mover));
  }
  std::stable_sort(moved.begin(), moved.end(), [](const Mover& x, const Mover& y) {
    return magnitude(x.delta()) > magnitude(y.delta());
  });
  return moved;
}

int64_t size_of_change(const FunctionDifference& function) {
  const Side &a = function.a, &b = function.b;
  int64_t size = 4 * magnitude(b.registers - a.registers);
  size += magnitude(b.spill_store_bytes - a.spill_store_bytes) +
          magnitude(b.spill_load_bytes - a.spill_load_bytes);
  for (const Mover& mover : movers(a.mix.by_opcode, b.mix.by_opcode))
    size += magnitude(mover.delta());
  return size;
}

std::vector<const FunctionDifference*> by_importance(const Difference& difference) {
  using Key = std::tuple<int, int64_t, std::string_view, std::string_view, std::string_view>;
  std::vector<std::pair<Key, const FunctionDifference*>> keyed;
  keyed.reserve(difference.functions.size());
  for (const FunctionDifference& function : difference.functions) {
    keyed.push_back({Key(rank(function.verdict), -size_of_change(function),
                         function.name.empty() ? function.symbol : function.name,
                         function.architecture, function.file),
                     &function});
  }
  std::stable_sort(keyed.begin(), keyed.end(),
                   [](const auto& x, const auto& y) { return x.first < y.first; });
  std::vector<const FunctionDifference*> sorted;
  sorted.reserve(keyed.size());
  for (const auto& entry : keyed) sorted.push_back(entry.second);
  return sorted;
}

// The register file of every SM since Volta: four quarters of 16,384 registers, given to warps in
// units of 8 a thread (CUDA C++ Programming Guide, "Compute Capabilities").
std::optional<int64_t> warps_by_registers(std::string_view architecture, int64_t registers) {
  static const std::map<std::string_view, int64_t> most_warps = {
      {"75", 32},  {"80", 64},  {"86", 48},  {"87", 48},  {"88", 48},  {"89", 48}, {"90", 64},
      {"100", 64}, {"101", 64}, {"103", 64}, {"110", 64}, {"120", 48}, {"121", 48}};
  if (architecture.substr(0, 3) != "sm_" || registers <= 0 || registers > 255) return std::nullopt;
  std::string_view number = architecture.substr(3);
  number = number.substr(0, number.find_first_not_of("0123456789"));
  auto found = most_warps.find(number);
  if (found == most_warps.end()) return std::nullopt;
  int64_t for_each_warp = (registers + 7) / 8 * 8 * 32;
  return std::min(found->second, 4 * (16384 / for_each_warp));
}

std::optional<int64_t> blocks_by_registers(std::string_view architecture, int64_t registers,
                                           int64_t threads) {
  std::optional<int64_t> warps = warps_by_registers(architecture, registers);
  if (!warps || threads <= 0 || threads > 1024) return std::nullopt;
  return *warps / ((threads + 31) / 32);
}

namespace {

// "uses 35 fewer registers (163 → 128): occupancy may rise from 1 to 2 blocks"
std::string registers_clause(const FunctionDifference& function, std::string_view b_label) {
  int64_t a = function.a.registers, b = function.b.registers;
  if (a == b) return fmt::format("{} uses the same {}", b_label, counted(b, "register"));
  std::string clause = fmt::format("{} uses {} register{} ({})", b_label, amount(b - a),
                                   magnitude(b - a) == 1 ? "" : "s", change(a, b));
  auto direction = [](int64_t from, int64_t to) { return to > from ? "rise" : "fall"; };
  auto blocks_a = blocks_by_registers(function.architecture, a, function.threads_per_block);
  auto blocks_b = blocks_by_registers(function.architecture, b, function.threads_per_block);
  auto warps_a = warps_by_registers(function.architecture, a),
       warps_b = warps_by_registers(function.architecture, b);
  if (blocks_a && blocks_b && *blocks_a > 0 && *blocks_b > 0) {
    if (*blocks_a != *blocks_b) {
      clause += fmt::format(": occupancy may {} from {} to {} blocks an SM",
                            direction(*blocks_a, *blocks_b), *blocks_a, *blocks_b);
    } else {
      clause +=
          fmt::format(", which leaves room for {} an SM as before", counted(*blocks_b, "block"));
    }
  } else if (warps_a && warps_b && *warps_a != *warps_b) {
    clause += fmt::format(": room for {} warps an SM instead of {}, so occupancy may {}", *warps_b,
                          *warps_a, direction(*warps_a, *warps_b));
  }
  return clause;
}

std::string spill_clause(const FunctionDifference& function, std::string_view b_label) {
  auto spilled = [](const Side& side) { return side.spill_store_bytes + side.spill_load_bytes; };
  int64_t a = spilled(function.a), b = spilled(function.b);
  if (a == b) return "";
  if (a == 0) return fmt::format("it spills ({}), which costs memory traffic", byte_count(b));
  if (b == 0) return fmt::format("{} no longer spills ({} before)", b_label, byte_count(a));
  return fmt::format("it spills {} instead of {}", byte_count(b), byte_count(a));
}

// ": 12 more address, 3 fewer move"
std::string classes(const Mix& a, const Mix& b) {
  std::vector<std::string> parts;
  for (const Mover& mover : movers(a.by_class, b.by_class)) {
    parts.push_back(amount(mover.delta()) + " " + mover.name);
    if (parts.size() == 3) break;
  }
  return parts.empty() ? "" : ": " + join(parts, ", ");
}

std::string mix_clause(std::string_view place, const Mix& a, const Mix& b) {
  int64_t delta = b.instructions - a.instructions;
  if (delta != 0) {
    return fmt::format("{} has {} instruction{} ({}){}", place, amount(delta),
                       magnitude(delta) == 1 ? "" : "s", change(a.instructions, b.instructions),
                       classes(a, b));
  }
  std::string moved = classes(a, b);
  if (moved.empty()) return "";
  return fmt::format("{} has as many instructions ({}), of other kinds{}", place,
                     grouped(b.instructions), moved);
}

std::string code_clauses(const FunctionDifference& function, std::string_view b_label) {
  std::vector<std::string> clauses = {registers_clause(function, b_label)};
  auto add = [&](std::string clause) {
    if (!clause.empty()) clauses.push_back(std::move(clause));
  };
  add(spill_clause(function, b_label));
  bool loops = function.a.hottest_loop && function.b.hottest_loop;
  std::string hot =
      loops ? mix_clause("the hottest loop", *function.a.hottest_loop, *function.b.hottest_loop)
            : "";
  if (loops && hot.empty()) hot = "the hottest loop keeps its mix";
  std::string whole = mix_clause("the whole function", function.a.mix, function.b.mix);
  add(hot);
  // The loop is where the time is; the whole is told only where no loop tells enough.
  if (!loops || hot == "the hottest loop keeps its mix") add(whole);
  return join(clauses, "; ");
}

}  // namespace

std::string explain(const FunctionDifference& function, std::string_view a_label,
                    std::string_view b_label) {
  std::string a(plain(a_label)), b(plain(b_label));
  switch (function.verdict) {
    case Verdict::same:
      return "both builds have the same code, byte for byte";
    case Verdict::same_but_registers: {
      std::string text =
          "the same instructions in the same blocks; registers, order or scheduling differ";
      if (function.a.registers != function.b.registers)
        text += "; " + registers_clause(function, b);
      return text;
    }
    case Verdict::failed: {
      std::vector<std::string> parts;
      if (!function.a.failure.empty())
        parts.push_back(fmt::format("{} could not be built: {}", a, plain(function.a.failure)));
      if (!function.b.failure.empty())
        parts.push_back(fmt::format("{} could not be built: {}", b, plain(function.b.failure)));
      if (parts.empty()) parts.push_back("a build is missing, with no reason given");
      return join(parts, "; ");
    }
    case Verdict::lottery: {
      std::set<std::string> codes(function.a.draws.begin(), function.a.draws.end());
      int64_t common =
          std::count_if(function.b.draws.begin(), function.b.draws.end(),
                        [&](const std::string& draw) { return codes.count(draw) > 0; });
      return fmt::format(
          "the assembler is no function of its input here: {} gave {} in {}, {} {} in {}, {} "
          "in common; of the first draws, {}",
          a, counted(static_cast<int64_t>(function.a.draws.size()), "code"),
          counted(function.a.draws_made, "draw"), b,
          counted(static_cast<int64_t>(function.b.draws.size()), "code"),
          counted(function.b.draws_made, "draw"), grouped(common), code_clauses(function, b));
    }
    case Verdict::different:
      return code_clauses(function, b);
  }
  return "";
}

std::string summary_sentence(const Difference& difference) {
  int64_t total = static_cast<int64_t>(difference.functions.size());
  if (total == 0) return "There was no function to compare.";
  auto counts = count_verdicts(difference);
  auto count_of = [&](Verdict verdict) { return counts[static_cast<size_t>(verdict)]; };
  std::vector<std::string> architectures = architectures_of(difference);
  std::string scope = "functions on " + join(architectures, ", ");
  if (architectures.size() > 1) {
    std::set<std::pair<std::string_view, std::string_view>> functions;
    for (const FunctionDifference& function : difference.functions)
      functions.insert({function.file, function.symbol});
    scope = fmt::format("pairs of builds ({} on {})",
                        counted(static_cast<int64_t>(functions.size()), "function"),
                        join(architectures, ", "));
  }
  std::string text;
  int64_t changed = count_of(Verdict::different), registers = count_of(Verdict::same_but_registers);
  if (count_of(Verdict::same) == total) {
    text = total == 1
               ? "The one function compared has the same code in both builds, byte for byte"
               : fmt::format("All {} {} have the same code, byte for byte", grouped(total), scope);
  } else {
    text = fmt::format("{} of {} {} {} other code", grouped(changed), grouped(total), scope,
                       changed == 1 ? "has" : "have");
    if (registers > 0)
      text += fmt::format(", {} the same but for registers and order", grouped(registers));
    if (count_of(Verdict::same) > 0)
      text += fmt::format(", {} the same", grouped(count_of(Verdict::same)));
  }
  text += ".";
  if (int64_t n = count_of(Verdict::lottery)) {
    text += fmt::format(" {} {} a lottery: the code varies from run to run.", grouped(n),
                        n == 1 ? "is" : "are");
  }
  if (int64_t n = count_of(Verdict::failed))
    text += fmt::format(" {} could not be built.", grouped(n));

  int64_t more = 0, fewer = 0, spills = 0, unspilled = 0;
  for (const FunctionDifference& function : difference.functions) {
    if (function.verdict == Verdict::failed) continue;
    more += function.b.registers > function.a.registers;
    fewer += function.b.registers < function.a.registers;
    int64_t a = function.a.spill_store_bytes + function.a.spill_load_bytes;
    int64_t b = function.b.spill_store_bytes + function.b.spill_load_bytes;
    spills += a == 0 && b > 0;
    unspilled += a > 0 && b == 0;
  }
  std::vector<std::string> parts;
  if (more > 0) parts.push_back(fmt::format("more registers in {}", grouped(more)));
  if (fewer > 0) parts.push_back(fmt::format("fewer in {}", grouped(fewer)));
  if (fewer > 0 && more == 0) parts.back() = fmt::format("fewer registers in {}", grouped(fewer));
  if (spills > 0) parts.push_back(fmt::format("new spills in {}", grouped(spills)));
  if (unspilled > 0) parts.push_back(fmt::format("spills gone in {}", grouped(unspilled)));
  if (!parts.empty())
    text += fmt::format(" In the {} builds: {}.", plain(difference.b.label), join(parts, ", "));
  if (changed > 0) text += " Which way that cuts, only measuring tells.";
  return plain(text);
}

}  // namespace namesake::report
