// The instruction-level difference for a terminal: A at the left, B at the right, a mark between
// them. Wide terminals get the scheduling fields too.

#include <fmt/format.h>

#include <algorithm>

#include "report/sass_rows.h"
#include "report/text_page.h"
#include "util/terminal.h"

namespace namesake::report {
namespace {

constexpr size_t kSchedulingFrom = 56;  // columns of one side

// One side in exactly `width` columns; what the other side has otherwise is in the side's own
// colour.
std::string half(std::string_view text, std::string_view other, char change, Tone tone,
                 size_t width, bool color) {
  SassText own = split_scheduling(text), theirs = split_scheduling(other);
  std::string out;
  size_t used = 0;
  auto add = [&](const std::string& piece, Tone piece_tone) {
    out += painted(piece, piece_tone, color);
    used += display_width(piece);
  };
  if (width >= kSchedulingFrom && !own.scheduling.empty()) {
    bool differs = change == '~' && own.scheduling != theirs.scheduling;
    add(elide_middle(plain(own.scheduling), width / 2) + " ", differs ? tone : Tone::dim);
  }
  std::string instruction = plain(own.instruction), counterpart = plain(theirs.instruction);
  size_t room = width - std::min(width, used);
  if (display_width(instruction) <= room && tokens_compare(change, instruction, counterpart)) {
    std::vector<SassToken> mine, others;
    mark_tokens(instruction, counterpart, mine, others);
    for (const SassToken& token : mine)
      add(std::string(token.text), token.changed ? tone : Tone::plain);
  } else {
    add(elide_middle(instruction, room), change == ' ' || change == '~' ? Tone::plain : tone);
  }
  return out + std::string(width - std::min(width, used), ' ');
}

}  // namespace

void add_sass(TextPage& page, const FunctionDifference& function, const BuildDescription& a,
              const BuildDescription& b) {
  if (function.sass.empty()) return;
  bool color = page.style.color;
  page.heading(fmt::format("{} on {}", elide_middle(shown_name(function), page.width - 16),
                           elide_middle(plain(function.architecture), 10)));
  size_t side = (page.width - 5) / 2;  // stripe, blank, side, blank, mark, blank, side
  std::string head = elide_middle("A: " + plain(a.label), side);
  head.append(side - display_width(head), ' ');
  page.out += painted("  " + head + "   " + elide_middle("B: " + plain(b.label), side - 1),
                      Tone::dim, color) +
              '\n';
  // Registers are most of what changes and least of what matters: lines that differ in nothing else
  // fold, except where the function differs in nothing else.
  bool renames_count = page.style.verbose || function.verdict == Verdict::same_but_registers;
  for (const SassBlock& block : sass_blocks(function.sass, renames_count)) {
    if (block.folds || block.left_out > 0) {
      page.line("⋯ " + fold_label(block), Tone::dim, 2, 4);
      continue;
    }
    for (const SassLine& line : block.lines) {
      std::string text = (line.hot ? painted("▌", Tone::more, color) : " ") + " ";
      text += half(line.a, line.b, line.change, Tone::fewer, side, color);
      text += fmt::format(" {} ", line.change);
      text += half(line.b, line.a, line.change, Tone::more, side - 1, color);
      text.erase(text.find_last_not_of(' ') + 1);
      page.out += text + '\n';
    }
  }
}

}  // namespace namesake::report
