#include "cli/output.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "util/file.h"
#include "util/subprocess.h"
#include "util/text.h"

namespace namesake::cli {
namespace {

Status write_stream(std::FILE* stream, const std::string& name, std::string_view content) {
  if (std::fwrite(content.data(), 1, content.size(), stream) != content.size() || std::fflush(stream) != 0) {
    return error(fmt::format("cannot write {}: {}", name, std::strerror(errno)));
  }
  return {};
}

}  // namespace

// A device or a pipe is written to. A file is put in its place whole, which would replace a device.
Status write_output(const std::string& target, std::string_view content) {
  if (target == "-") return write_stream(stdout, "to stdout", content);
  std::error_code ignored;
  if (!std::filesystem::is_other(std::filesystem::status(target, ignored))) return write_file(target, content);
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(std::fopen(target.c_str(), "we"), std::fclose);
  if (!stream) return error(fmt::format("cannot write {}: {}", target, std::strerror(errno)));
  return write_stream(stream.get(), target, content);
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
