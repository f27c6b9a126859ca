// Tokens of PTX: what an edit of names has to tell apart, and no more. Strings and comments are never
// looked into, so a name in a `.file` path or in "// .globl name" stays what it was.
#pragma once

#include <cstddef>
#include <string_view>

namespace namesake::ptx {

enum class TokenKind { end, identifier, directive, number, string, punctuation, unterminated };

struct Token {
  TokenKind kind = TokenKind::end;
  size_t begin = 0, end = 0;  // of the text; a directive's dot and a string's quotes are part of it
};

class Lexer {
 public:
  explicit Lexer(std::string_view text, size_t position = 0) : text_(text), position_(position) {}

  // An unterminated comment or string is a token that reaches to the end of the text.
  Token next();
  std::string_view text_of(const Token& token) const {
    return text_.substr(token.begin, token.end - token.begin);
  }
  bool is(const Token& token, std::string_view word) const { return text_of(token) == word; }

  // With the position just behind a '{': moves it behind the matching '}'. False if there is none.
  bool skip_block();
  size_t position() const { return position_; }

 private:
  char at(size_t position) const { return position < text_.size() ? text_[position] : '\0'; }
  // Behind the comment or string that begins at `position`; npos if it does not end. `position + 1`
  // for a '/' that begins no comment.
  size_t end_of_opaque(size_t position) const;

  std::string_view text_;
  size_t position_;
};

// Letters, digits, _ and $, not beginning with a digit; a lone _ or $ is none.
bool is_identifier(std::string_view text);

// 1 for the first line.
size_t line_of(std::string_view text, size_t position);

}  // namespace namesake::ptx
