// The rows of an instruction-level difference made ready for a page: what stands beside what, which
// equal runs fold, which tokens of a pair differ.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/difference.h"

namespace namesake::report {

// "[B--:R-:W0:-:S04] IMAD R1, …" in its two halves; scheduling is empty where there is none.
struct SassText {
  std::string_view scheduling, instruction;
};
SassText split_scheduling(std::string_view text);

// One line of the side-by-side picture. Removed and added rows that follow one another share lines.
struct SassLine {
  char change =
      ' ';  // ' ' equal, '~' registers or scheduling only, '|' one replaced by the other, '-', '+'
  std::string_view a, b;
  bool hot = false;
};
struct SassBlock {
  bool folds = false;    // equal lines that are context for nothing
  int64_t left_out = 0;  // > 0: so many equal lines are not in the report; lines is empty
  std::vector<SassLine> lines;
};
// Views into the function's own rows. Lines further than 3 from a change fold; whether other
// registers or other scheduling alone are a change is the caller's choice.
std::vector<SassBlock> sass_blocks(const std::vector<SassRow>& rows, bool renames_count);
// "40 equal lines", "40 lines, equal but for registers or scheduling in 12"
std::string fold_label(const SassBlock&);

// Replaces equal runs by one row that counts them, keeping `context` equal rows at each change:
// what study stores when the whole difference would be too large.
std::vector<SassRow> shortened(const std::vector<SassRow>& rows, size_t context);

// A text cut into tokens, each of them marked where the other text lacks it. Joined, the tokens are
// the text.
struct SassToken {
  std::string_view text;
  bool changed = false;
};
// Whether that is worth doing: of two instructions of different opcodes everything would be marked.
bool tokens_compare(char change, std::string_view a, std::string_view b);
void mark_tokens(std::string_view a, std::string_view b, std::vector<SassToken>& out_a,
                 std::vector<SassToken>& out_b);

}  // namespace namesake::report
