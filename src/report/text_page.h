// What the terminal reports share: a page of lines under headings.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "report/table.h"
#include "report/text.h"
#include "report/words.h"

namespace namesake::report {

struct TextPage {
  explicit TextPage(const TextStyle& style)
      : style(style), width(static_cast<size_t>(std::max(style.width, kLeastWidth))) {}

  TextStyle style;
  size_t width;
  std::string out;

  void line(std::string_view text, Tone tone = Tone::plain, size_t indent = 0, size_t hanging = 0) {
    std::string block = wrapped(text, width, indent, hanging);
    for (size_t at = 0; at <= block.size();) {
      size_t end = std::min(block.find('\n', at), block.size());
      out += painted(std::string_view(block).substr(at, end - at), tone, style.color) + '\n';
      at = end + 1;
    }
  }
  void blank() {
    if (!out.empty()) out += '\n';
  }
  void heading(std::string_view text) {
    blank();
    line(text, Tone::bold);
  }
  void table(const Table& table) { out += table.text(width, style.color, 2); }
  // "✓ text", the mark alone in colour.
  void marked(std::string_view mark, Tone tone, std::string_view text) {
    out += "  " + painted(mark, tone, style.color) + wrapped(text, width, 4, 4).substr(3) + '\n';
  }
  void next(std::string_view command) {
    if (command.empty()) return;
    blank();
    out += painted("next:", Tone::dim, style.color) + " " +
           painted(plain(command), Tone::bold, style.color) + '\n';
  }
};

// The instructions of one function side by side, if the report has them.
void add_sass(TextPage&, const FunctionDifference&, const BuildDescription& a,
              const BuildDescription& b);

}  // namespace namesake::report
