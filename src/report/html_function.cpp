#include "report/html_function.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "report/explain.h"
#include "report/html.h"
#include "report/words.h"
#include "util/text.h"

namespace namesake::report {

constexpr size_t kMostOpcodes = 14;  // bars of opcodes in one function

std::string_view tone_of_change(int64_t a, int64_t b) {
  return b > a ? "more" : b < a ? "fewer" : "even";
}

std::string numbers(const FunctionDifference& function) {
  const Side &a = function.a, &b = function.b;
  bool loops = a.hottest_loop && b.hottest_loop;
  std::string sides = "<th class=\"a\">A</th><th class=\"b\">B</th><th>B − A</th>";
  std::string out =
      "<table class=\"facts\"><thead><tr class=\"sub\"><th></th><th colspan=\"3\">whole "
      "function</th>";
  if (loops) {
    out += fmt::format(
        "<th colspan=\"3\">hottest loop{}</th>",
        a.hottest_loop_depth > 1 ? fmt::format(", depth {}", a.hottest_loop_depth) : "");
  }
  out += "</tr><tr><th></th>" + sides + (loops ? sides : "") + "</tr></thead><tbody>";
  std::vector<std::string> none;
  auto three = [&](int64_t from, int64_t to) {
    out += fmt::format("<td>{}</td><td>{}</td><td class=\"{}\">{}</td>", grouped(from), grouped(to),
                       tone_of_change(from, to), from == to ? "" : with_sign(to - from));
  };
  auto row = [&](std::string_view name, std::string_view title, int64_t from, int64_t to,
                 const int64_t Mix::*member) {
    if (from == 0 && to == 0) {
      none.emplace_back(name);
      return;
    }
    out += fmt::format("<tr><th title=\"{}\">{}</th>", title, name);
    three(from, to);
    if (loops && member)
      three((*a.hottest_loop).*member, (*b.hottest_loop).*member);
    else if (loops)
      out += "<td></td><td></td><td></td>";
    out += "</tr>";
  };
  row("registers", "a thread", a.registers, b.registers, nullptr);
  row("spill stores", "bytes", a.spill_store_bytes, b.spill_store_bytes, nullptr);
  row("spill loads", "bytes", a.spill_load_bytes, b.spill_load_bytes, nullptr);
  row("stack", "bytes", a.stack_bytes, b.stack_bytes, nullptr);
  row("shared memory", "bytes, static", a.shared_bytes, b.shared_bytes, nullptr);
  row("code", "bytes", a.code_bytes, b.code_bytes, nullptr);
  row("instructions", "padding apart", a.mix.instructions, b.mix.instructions, &Mix::instructions);
  row("stall cycles", "sum of the stall fields: the least time one warp needs to issue them",
      a.mix.stall_cycles, b.mix.stall_cycles, &Mix::stall_cycles);
  row("waits", "instructions that wait for a scoreboard", a.mix.waits, b.mix.waits, &Mix::waits);
  row("yields", "instructions after which another warp is preferred", a.mix.yields, b.mix.yields,
      &Mix::yields);
  row("operand reuse", "register reads saved by the reuse cache", a.mix.reuses, b.mix.reuses,
      &Mix::reuses);
  row("local memory", "instructions: spills and local arrays", a.mix.local_memory,
      b.mix.local_memory, &Mix::local_memory);
  out += "</tbody></table>";
  if (!none.empty()) out += "<p class=\"dim\">None in either: " + join(none, ", ") + ".</p>";
  return "<div>" + out + "</div>";
}

// A square is four warps, one in each quarter of the SM.
std::string room_for_warps(const FunctionDifference& function) {
  auto a = warps_by_registers(function.architecture, function.a.registers);
  auto b = warps_by_registers(function.architecture, function.b.registers);
  auto most = warps_by_registers(function.architecture, 1);
  if (!a || !b || !most) return "";
  std::string out =
      "<div class=\"occupancy\"><h4>Room for warps <small>by registers alone</small></h4>";
  auto line = [&](std::string_view side, int64_t warps, int64_t registers) {
    out += fmt::format(
        "<p><b class=\"{}\">{}</b> <svg viewBox=\"0 0 {} 14\" width=\"{}\" role=\"img\">",
        side == "A" ? "a" : "b", side, *most / 4 * 14, *most / 4 * 14);
    for (int64_t i = 0; i < *most / 4; ++i) {
      out +=
          fmt::format("<rect x=\"{}\" y=\"1\" width=\"11\" height=\"11\" rx=\"2\" class=\"{}\"/>",
                      i * 14, i * 4 < warps ? (side == "A" ? "bar a" : "bar b") : "empty");
    }
    out += fmt::format("</svg> <span>{} of {} warps", warps, *most);
    if (auto blocks =
            blocks_by_registers(function.architecture, registers, function.threads_per_block)) {
      out +=
          fmt::format(", {} of {} threads", counted(*blocks, "block"), function.threads_per_block);
    }
    out += "</span></p>";
  };
  line("A", *a, function.a.registers);
  line("B", *b, function.b.registers);
  return out +
         "<p class=\"dim\">Shared memory, block size and launch may bind earlier; how many warps "
         "a kernel needs, "
         "only measuring tells.</p></div>";
}

std::string mix_charts(const FunctionDifference& function) {
  const Side &a = function.a, &b = function.b;
  bool loops = a.hottest_loop && b.hottest_loop;
  std::vector<std::string> titles = {"whole function"};
  if (loops) titles.push_back("hottest loop");
  auto count = [](const std::map<std::string, int64_t>& counts, const std::string& key) {
    auto found = counts.find(key);
    return found == counts.end() ? int64_t{0} : found->second;
  };
  auto row = [&](const std::string& key, std::map<std::string, int64_t> Mix::*member) {
    BarRow bar{key, {{count(a.mix.*member, key), count(b.mix.*member, key)}}};
    if (loops)
      bar.panes.push_back(
          {count((*a.hottest_loop).*member, key), count((*b.hottest_loop).*member, key)});
    return bar;
  };
  std::vector<BarRow> classes, opcodes;
  std::set<std::string> keys;
  for (const Side* side : {&a, &b}) {
    for (const auto& [key, n] : side->mix.by_class) {
      if (n > 0) keys.insert(key);
    }
  }
  for (const std::string& key : keys) classes.push_back(row(key, &Mix::by_class));
  std::stable_sort(classes.begin(), classes.end(), [](const BarRow& x, const BarRow& y) {
    return x.panes[0].first + x.panes[0].second > y.panes[0].first + y.panes[0].second;
  });
  // The loop's movers have the first word: that is where the time is.
  std::vector<Mover> moved =
      loops ? movers(a.hottest_loop->by_opcode, b.hottest_loop->by_opcode) : std::vector<Mover>();
  if (moved.size() > kMostOpcodes / 2) moved.resize(kMostOpcodes / 2);
  std::set<std::string> taken;
  for (const Mover& mover : moved) taken.insert(mover.name);
  std::vector<Mover> whole = movers(a.mix.by_opcode, b.mix.by_opcode);
  for (const Mover& mover : whole) {
    if (moved.size() == kMostOpcodes) break;
    if (taken.insert(mover.name).second) moved.push_back(mover);
  }
  for (const Mover& mover : moved) opcodes.push_back(row(mover.name, &Mix::by_opcode));
  std::string out;
  if (!classes.empty()) {
    out +=
        "<div class=\"chart\"><h4>Mix by class <small><b class=\"a\">A</b> to the left, <b "
        "class=\"b\">B</b> to the right</small></h4>"
        "<div class=\"scroll\">" +
        two_sided_bars(titles, classes) + "</div></div>";
  }
  if (!opcodes.empty()) {
    out += fmt::format(
        "<div class=\"chart\"><h4>Opcodes that move <small>fewer in B to the left, more to the "
        "right{}</small></h4>"
        "<div class=\"scroll\">{}</div></div>",
        whole.size() > moved.size() ? fmt::format("; the largest of {}", whole.size()) : "",
        change_bars(titles, opcodes));
  }
  return out;
}

}  // namespace namesake::report
