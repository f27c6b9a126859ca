// A text table that always fits: it drops its least important columns, then cuts its longest texts
// in the middle, until no line is wider than asked. Colour is a property of a cell, never part of
// its text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace namesake::report {

enum class Tone {
  plain,
  dim,  // there, but not what the reader came for
  bold,
  good,    // green
  bad,     // red: a failed control, a spill that was not there
  more,    // yellow: the second build has more of it
  fewer,   // cyan: it has less
  strong,  // magenta: code that differs
  odd,     // blue: neither yes nor no
};

// The text in the tone's colour, or as it is.
std::string painted(std::string_view text, Tone tone, bool color);

// Words wrapped to `width` columns, every line after the first indented by `hanging`; a word longer
// than a line is cut in its middle. The text's own line breaks are kept. Ends without a newline.
std::string wrapped(std::string_view text, size_t width, size_t indent = 0, size_t hanging = 0);

struct Column {
  std::string title;
  bool right = false;     // numbers stand at the right
  int priority = 0;       // the highest is dropped first; 0 stays
  size_t shrinks_to = 0;  // > 0: texts may be cut down to so many columns
  bool list = false;      // "x, y, z" loses items from its end; other texts are cut in the middle
};

struct Cell {
  std::string text;
  Tone tone = Tone::plain;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void add(std::vector<Cell> row);
  // A wrapped line under the row before, indented; for what no column can hold.
  void note(std::string text, Tone tone = Tone::dim);

  bool empty() const { return rows_.empty(); }
  // Columns it takes when nothing is dropped and nothing cut.
  size_t natural_width(size_t indent = 0) const;
  std::string text(size_t width, bool color, size_t indent = 0) const;

 private:
  struct Row {
    std::vector<Cell> cells;
    std::vector<Cell> notes;
  };
  std::vector<size_t> column_widths() const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace namesake::report
