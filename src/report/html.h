// Reports as one self-contained HTML file: style, script and pictures inside, nothing fetched,
// opens from a folder as from a server, light and dark by the reader's own setting.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/difference.h"

namespace namesake::report {

struct HtmlStyle {
  // The page stays near this size whatever it is given: the largest changes are shown first, and
  // the page says what it leaves to the JSON report.
  size_t byte_budget = size_t{12} << 20;
};
std::string to_html(const Difference&, const HtmlStyle& = {});

// ---- what every page is made of
// -----------------------------------------------------------------------------

// Foreign text as content or inside a double-quoted attribute: made plain (words.h), then without
// markup.
std::string escaped(std::string_view text);

// A whole page around a body that is HTML already.
std::string page(std::string_view title, std::string_view body);

// Rows of two values, drawn beside each other in one pane for each title. A row may lack a pane (no
// loop).
struct BarRow {
  std::string label;
  std::vector<std::pair<int64_t, int64_t>> panes;  // {a, b}
};
// a grows to the left, b to the right; what one has beyond the other is solid.
std::string two_sided_bars(const std::vector<std::string>& titles, const std::vector<BarRow>& rows);
// b − a: to the left where b has fewer, to the right where it has more.
std::string change_bars(const std::vector<std::string>& titles, const std::vector<BarRow>& rows);

// The instruction-level difference as a table; "" without rows. Stops near `byte_budget` and says
// so.
std::string sass_table(const FunctionDifference&, const BuildDescription& a,
                       const BuildDescription& b, size_t byte_budget);

}  // namespace namesake::report
