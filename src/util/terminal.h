// What a stream can show: colour, width, a line that is written over.
#pragma once

#include <cstdio>
#include <mutex>
#include <string>
#include <string_view>

namespace namesake {

enum class ColorChoice { automatic, always, never };

// automatic: a terminal that is not dumb and NO_COLOR unset or empty; FORCE_COLOR and CLICOLOR_FORCE
// turn it on without a terminal, NO_COLOR beats both, and the user's choice beats all.
bool wants_color(std::FILE* stream, ColorChoice choice = ColorChoice::automatic);

// Columns of the stream's terminal, else $COLUMNS, else 100.
int terminal_width(std::FILE* stream);

// Columns that a UTF-8 text takes (every code point one column; escape sequences none).
size_t display_width(std::string_view text);

// The text cut in its middle to `width` columns: "a long ke…nel name".
std::string elide_middle(std::string_view text, size_t width);

// One status line on stderr that each update writes over; silent where stderr is no terminal,
// except for a line every `kQuietSeconds`.
class Progress {
 public:
  explicit Progress(bool enabled = true);
  ~Progress();
  void update(std::string_view text);
  // Removes the line, so that something else may be printed.
  void clear();

 private:
  static constexpr double kQuietSeconds = 30;
  std::mutex mutex_;
  bool enabled_, terminal_, shown_ = false;
  double last_ = 0;
};

}  // namespace namesake
