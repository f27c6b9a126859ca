#include "cli/output.h"

#include <cstdio>

#include "util/file.h"
#include "util/subprocess.h"
#include "util/text.h"

namespace namesake::cli {

Status write_output(const std::string& target, std::string_view content) {
  if (target != "-") return write_file(target, content);
  if (std::fwrite(content.data(), 1, content.size(), stdout) != content.size() || std::fflush(stdout) != 0) {
    return error("cannot write to stdout");
  }
  return {};
}

report::TextStyle text_style(const Global& global) {
  report::TextStyle style;
  style.color = wants_color(stdout, global.color);
  style.width = terminal_width(stdout);
  return style;
}

std::string own_command_line() {
  auto text = read_file("/proc/self/cmdline");
  std::vector<std::string> words;
  if (text) {
    for (std::string_view word : split(*text, '\0')) words.emplace_back(word);
    if (!words.empty() && words.back().empty()) words.pop_back();
  }
  if (!words.empty()) words[0] = "namesake";
  return quoted(words);
}

}  // namespace namesake::cli
