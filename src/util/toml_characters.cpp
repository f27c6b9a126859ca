#include "util/toml_characters.h"

#include <fmt/format.h>

#include <string>

#include "util/text.h"

namespace namesake {

Status check_toml_characters(std::string_view text, std::string_view origin) {
  int number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    char quote = 0;  // the text we are in, by the mark that ends it
    for (size_t i = 0; i < line.size(); ++i) {
      char c = line[i];
      bool line_end = c == '\r' && i + 1 == line.size();
      if ((static_cast<unsigned char>(c) < 32 && c != '\t' && !line_end) || c == 127) {
        return error(fmt::format("{}:{}: a control character (0x{:02x}); is this a text file?", origin, number,
                                 static_cast<unsigned>(static_cast<unsigned char>(c))));
      }
      if (static_cast<unsigned char>(c) >= 128) {
        return error(fmt::format("{}:{}: a character beyond ASCII {}", origin, number,
                                 quote ? "in a text; write it as \\uXXXX between \"\""
                                       : "outside of quotes; is it a copied quotation mark or space?"));
      }
      if (quote) {
        if (c == '\\' && quote == '"') ++i;
        if (c == quote) quote = 0;
        continue;
      }
      if (c == '#') break;
      if (c != '"' && c != '\'') continue;
      if (line.substr(i, 3) == std::string(3, c)) {
        return error(fmt::format("{}:{}: write a text on one line, between one quotation mark each",
                                 origin, number));
      }
      quote = c;
    }
  }
  return {};
}

}  // namespace namesake
