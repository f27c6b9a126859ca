#include "report/table.h"

#include <algorithm>
#include <numeric>

#include "util/terminal.h"

namespace namesake::report {
namespace {

constexpr size_t kGap = 2;  // between columns

std::string_view escape_of(Tone tone) {
  switch (tone) {
    case Tone::plain:
      return "";
    case Tone::dim:
      return "\033[2m";
    case Tone::bold:
      return "\033[1m";
    case Tone::good:
      return "\033[32m";
    case Tone::bad:
      return "\033[1;31m";
    case Tone::more:
      return "\033[33m";
    case Tone::fewer:
      return "\033[36m";
    case Tone::strong:
      return "\033[35m";
    case Tone::odd:
      return "\033[34m";
  }
  return "";
}

// "x, y, z" in so many columns: whole items and "…" for those that found no place.
std::string elide_list(std::string_view text, size_t width) {
  if (display_width(text) <= width) return std::string(text);
  for (size_t comma = text.rfind(", "); comma != std::string_view::npos && comma > 0;
       comma = text.rfind(", ", comma - 1)) {
    if (display_width(text.substr(0, comma)) + 3 <= width) {
      return std::string(text.substr(0, comma)) + ", …";
    }
  }
  return elide_middle(text, width);
}

}  // namespace

std::string painted(std::string_view text, Tone tone, bool color) {
  std::string_view escape = color && !text.empty() ? escape_of(tone) : "";
  if (escape.empty()) return std::string(text);
  return std::string(escape) + std::string(text) + "\033[0m";
}

std::string wrapped(std::string_view text, size_t width, size_t indent, size_t hanging) {
  std::string out(indent, ' ');
  size_t column = indent, limit = std::max(width, std::max(indent, hanging) + 4);
  bool first_in_line = true;
  auto new_line = [&] {
    out += '\n';
    out.append(hanging, ' ');
    column = hanging;
    first_in_line = true;
  };
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '\n') {
      new_line();
      ++i;
      continue;
    }
    if (text[i] == ' ') {
      ++i;
      continue;
    }
    size_t end = std::min(text.find_first_of(" \n", i), text.size());
    std::string_view word = text.substr(i, end - i);
    if (!first_in_line && column + 1 + display_width(word) > limit) new_line();
    if (!first_in_line) {
      out += ' ';
      ++column;
    }
    std::string shown = elide_middle(word, limit - column);
    out += shown;
    column += display_width(shown);
    first_in_line = false;
    i = end;
  }
  return out;
}

void Table::add(std::vector<Cell> row) {
  row.resize(columns_.size());
  rows_.push_back({std::move(row), {}});
}

void Table::note(std::string text, Tone tone) {
  if (!rows_.empty()) rows_.back().notes.push_back({std::move(text), tone});
}

// A column in which no row says anything takes no place.
std::vector<size_t> Table::column_widths() const {
  std::vector<size_t> widths(columns_.size(), 0);
  for (const Row& row : rows_) {
    for (size_t i = 0; i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], display_width(row.cells[i].text));
    }
  }
  for (size_t i = 0; i < widths.size(); ++i) {
    if (widths[i] > 0) widths[i] = std::max(widths[i], display_width(columns_[i].title));
  }
  return widths;
}

namespace {

size_t total_width(const std::vector<size_t>& widths, size_t indent) {
  size_t total = indent, shown = 0;
  for (size_t width : widths) {
    total += width;
    shown += width > 0;
  }
  return total + (shown > 1 ? (shown - 1) * kGap : 0);
}

}  // namespace

size_t Table::natural_width(size_t indent) const {
  return total_width(column_widths(), indent);
}

std::string Table::text(size_t width, bool color, size_t indent) const {
  std::vector<size_t> widths = column_widths();

  auto narrowed_total = [&] {
    std::vector<size_t> least = widths;
    for (size_t i = 0; i < least.size(); ++i) {
      if (columns_[i].shrinks_to > 0) least[i] = std::min(least[i], columns_[i].shrinks_to);
    }
    return total_width(least, indent);
  };
  while (narrowed_total() > width) {
    size_t victim = columns_.size();
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (widths[i] == 0 || columns_[i].priority == 0) continue;
      if (victim == columns_.size() || columns_[i].priority > columns_[victim].priority) victim = i;
    }
    if (victim == columns_.size()) break;
    widths[victim] = 0;
  }
  // Take the surplus from the widest column that may shrink; when none may, from the widest of all.
  for (bool any = false; total_width(widths, indent) > width;) {
    size_t victim = columns_.size();
    for (size_t i = 0; i < columns_.size(); ++i) {
      bool may =
          any ? widths[i] > 1 : columns_[i].shrinks_to > 0 && widths[i] > columns_[i].shrinks_to;
      if (may && (victim == columns_.size() || widths[i] > widths[victim])) victim = i;
    }
    if (victim == columns_.size()) {
      if (any) break;
      any = true;
      continue;
    }
    --widths[victim];
  }

  std::string out;
  auto line = [&](auto cell_of) {
    std::string text(indent, ' ');
    size_t pending = 0;  // spaces owed, so that no line ends in blanks
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (widths[i] == 0) continue;
      Cell cell = cell_of(i);
      cell.text =
          columns_[i].list ? elide_list(cell.text, widths[i]) : elide_middle(cell.text, widths[i]);
      size_t blank = widths[i] - display_width(cell.text);
      size_t before = columns_[i].right ? blank : 0;
      if (!cell.text.empty()) {
        text.append(pending + before, ' ');
        text += painted(cell.text, cell.tone, color);
        pending = blank - before;
      } else {
        pending += blank;
      }
      pending += kGap;
    }
    out += text + '\n';
  };
  line([&](size_t i) { return Cell{columns_[i].title, Tone::dim}; });
  for (const Row& row : rows_) {
    line([&](size_t i) { return row.cells[i]; });
    for (const Cell& note : row.notes) {
      // Colour each line by itself: a pager may show any of them first.
      std::string block = wrapped(note.text, width, indent + 4, indent + 4);
      for (size_t at = 0; at <= block.size();) {
        size_t end = std::min(block.find('\n', at), block.size());
        out += painted(std::string_view(block).substr(at, end - at), note.tone, color) + '\n';
        at = end + 1;
      }
    }
  }
  return out;
}

}  // namespace namesake::report
