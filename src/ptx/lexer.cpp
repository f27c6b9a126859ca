// Modules of 100 MB are real (a library's worth of templates), and nearly all of their text is
// function bodies. So the lexer has two gears: tokens one by one where names are looked for, and
// skip_block(), which stops only at the four characters that can end a block or hide a brace.
#include "ptx/lexer.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace namesake::ptx {
namespace {

enum Class : uint8_t { kOther = 0, kSpace = 1, kName = 2, kDigit = 4, kBlock = 8 };

constexpr std::array<uint8_t, 256> make_classes() {
  std::array<uint8_t, 256> classes{};
  for (int c = 0; c < 256; ++c) {
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    bool digit = c >= '0' && c <= '9';
    // Bytes of UTF-8 names: later assemblers read them, so they belong to a name here too.
    if (letter || digit || c == '_' || c == '$' || c >= 128) classes[c] |= kName;
    if (digit) classes[c] |= kDigit;
    if (c == ' ' || (c >= '\t' && c <= '\r')) classes[c] |= kSpace;
    if (c == '{' || c == '}' || c == '"' || c == '/') classes[c] |= kBlock;
  }
  return classes;
}

constexpr std::array<uint8_t, 256> kClasses = make_classes();

bool has(char c, Class what) { return kClasses[static_cast<unsigned char>(c)] & what; }

}  // namespace

size_t Lexer::end_of_opaque(size_t position) const {
  if (at(position) == '"') {
    size_t end = text_.find_first_of("\"\n", position + 1);
    return end != text_.npos && text_[end] == '"' ? end + 1 : text_.npos;
  }
  if (at(position + 1) == '/') {
    size_t end = text_.find('\n', position);
    return end == text_.npos ? text_.size() : end + 1;
  }
  if (at(position + 1) == '*') {
    size_t end = text_.find("*/", position + 2);
    return end == text_.npos ? text_.npos : end + 2;
  }
  return position + 1;
}

Token Lexer::next() {
  for (;;) {
    while (position_ < text_.size() && has(text_[position_], kSpace)) ++position_;
    if (position_ >= text_.size()) return {TokenKind::end, text_.size(), text_.size()};
    size_t begin = position_;
    char first = text_[begin];
    auto run_on = [&](auto belongs) {
      while (position_ < text_.size() && belongs(text_[position_])) ++position_;
    };
    auto name_part = [](char c) { return has(c, kName); };
    if (first == '/' || first == '"') {
      size_t end = end_of_opaque(begin);
      if (end == text_.npos) {
        position_ = text_.size();
        return {TokenKind::unterminated, begin, position_};
      }
      position_ = end;
      if (first == '"') return {TokenKind::string, begin, end};
      if (end == begin + 1) return {TokenKind::punctuation, begin, end};
      continue;  // a comment
    }
    ++position_;
    if (has(first, kDigit)) {
      run_on([](char c) { return has(c, kName) || c == '.'; });
      return {TokenKind::number, begin, position_};
    }
    if (has(first, kName) || (first == '%' && has(at(position_), kName))) {
      run_on(name_part);
      return {TokenKind::identifier, begin, position_};
    }
    if (first == '.' && has(at(position_), kName)) {
      run_on(name_part);
      return {TokenKind::directive, begin, position_};
    }
    return {TokenKind::punctuation, begin, position_};
  }
}

bool Lexer::skip_block() {
  for (size_t depth = 1; position_ < text_.size();) {
    char c = text_[position_];
    if (!has(c, kBlock)) {
      ++position_;
    } else if (c == '{' || c == '}') {
      ++position_;
      depth += c == '{' ? 1 : -1;
      if (depth == 0) return true;
    } else {
      position_ = std::min(end_of_opaque(position_), text_.size());
    }
  }
  return false;
}

bool is_identifier(std::string_view text) {
  auto ascii_name = [](char c) { return has(c, kName) && static_cast<unsigned char>(c) < 128; };
  if (text.empty() || has(text[0], kDigit)) return false;
  if (text == "_" || text == "$") return false;
  return std::all_of(text.begin(), text.end(), ascii_name);
}

size_t line_of(std::string_view text, size_t position) {
  std::string_view before = text.substr(0, position);
  return 1 + static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
}

}  // namespace namesake::ptx
