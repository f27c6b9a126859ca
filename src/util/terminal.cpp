#include "util/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "util/file.h"

namespace namesake {
namespace {

bool is_terminal(std::FILE* stream) {
  return ::isatty(::fileno(stream)) && environment("TERM") != "dumb";
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool continues_code_point(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

}  // namespace

bool wants_color(std::FILE* stream, ColorChoice choice) {
  if (choice != ColorChoice::automatic) return choice == ColorChoice::always;
  if (!environment("NO_COLOR").empty()) return false;
  auto forced = [](const char* name) {
    std::string value = environment(name);
    return !value.empty() && value != "0";
  };
  return forced("FORCE_COLOR") || forced("CLICOLOR_FORCE") || is_terminal(stream);
}

int terminal_width(std::FILE* stream) {
  winsize size{};
  if (::ioctl(::fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  int columns = std::atoi(environment("COLUMNS").c_str());
  return columns > 0 ? columns : 100;
}

size_t display_width(std::string_view text) {
  size_t width = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\033' && i + 1 < text.size() && text[i + 1] == '[') {
      while (i < text.size() && text[i] != 'm') ++i;
    } else if (!continues_code_point(text[i])) {
      ++width;
    }
  }
  return width;
}

std::string elide_middle(std::string_view text, size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width < 3) return std::string(text.substr(0, width));
  // Cut between code points.
  size_t head = (width - 1) / 2, tail = width - 1 - head;
  auto offset_of = [&](size_t column) {
    size_t i = 0;
    for (size_t seen = 0; i < text.size(); ++i) {
      if (!continues_code_point(text[i]) && seen++ == column) break;
    }
    return i;
  };
  size_t total = display_width(text);
  return std::string(text.substr(0, offset_of(head))) + "…" +
         std::string(text.substr(offset_of(total - tail)));
}

Progress::Progress(bool enabled) : enabled_(enabled), terminal_(is_terminal(stderr)), last_(now()) {}

Progress::~Progress() { clear(); }

void Progress::update(std::string_view text) {
  if (!enabled_) return;
  std::lock_guard lock(mutex_);
  double time = now();
  if (terminal_) {
    if (shown_ && time - last_ < 0.05) return;
    size_t width = static_cast<size_t>(std::max(10, terminal_width(stderr) - 1));
    std::string line = elide_middle(text, width);
    std::fprintf(stderr, "\r\033[K%s", line.c_str());
    std::fflush(stderr);
    shown_ = true;
    last_ = time;
  } else if (time - last_ >= kQuietSeconds) {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
    last_ = time;
  }
}

void Progress::clear() {
  std::lock_guard lock(mutex_);
  if (shown_) std::fprintf(stderr, "\r\033[K");
  shown_ = false;
}

}  // namespace namesake
