#include "report/html.h"

#include "report/page_assets.h"
#include "report/words.h"

namespace namesake::report {

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : plain(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

// The policy is the second lock behind the escaping: even a page with a hole in it could fetch
// nothing.
std::string page(std::string_view title, std::string_view body) {
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; "
      "script-src 'unsafe-inline'\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>";
  out += escaped(title);
  out += "</title>\n<style>\n";
  out += kPageCss;
  out += "</style>\n</head>\n<body>\n";
  out += body;
  out += "\n<script>\n";
  out += kPageJs;
  out += "</script>\n</body>\n</html>\n";
  return out;
}

}  // namespace namesake::report
