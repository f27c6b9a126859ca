// A module's outline: its version and target, and where its functions lie. A function is read up to
// its body; the body is skipped by its braces. Whether the instructions make sense is the
// assembler's to say, and it says it with a line number that our edits never move.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "ptx/lexer.h"
#include "ptx/ptx.h"
#include "util/text.h"

namespace namesake::ptx {
namespace {

class Parser {
 public:
  explicit Parser(Module& module) : module_(module), lexer_(module.text) {}

  Status run() {
    TRY(header());
    Linkage linkage = Linkage::local;
    for (Token token = lexer_.next(); token.kind != TokenKind::end; token = lexer_.next()) {
      std::string_view word = lexer_.text_of(token);
      if (token.kind == TokenKind::unterminated) return unterminated(token);
      if (word == ".entry" || word == ".func") {
        TRY(function(token, linkage));
        linkage = Linkage::local;
      } else if (word == ".visible") {
        linkage = Linkage::visible;
      } else if (word == ".weak") {
        linkage = Linkage::weak;
      } else if (word == ".extern") {
        linkage = Linkage::external;
      } else if (word == ".version") {
        return fail(token, "a second .version: these are several modules in one file; split them");
      } else if (word == ".target") {
        TRY(target());
      } else if (word == "{") {
        if (!lexer_.skip_block()) return fail(token, "this '{' is never closed; is the file cut off?");
        linkage = Linkage::local;
      } else if (word == "}") {
        return fail(token, "a '}' without a '{' before it");
      } else if (word == ";") {
        linkage = Linkage::local;
      }
    }
    index();
    return {};
  }

 private:
  tl::unexpected<Error> fail(const Token& token, std::string_view what) const {
    return error(fmt::format("{}:{}: {}", module_.origin, line_of(module_.text, token.begin), what));
  }

  tl::unexpected<Error> unterminated(const Token& token) const {
    return fail(token, module_.text[token.begin] == '"' ? "this string is never closed"
                                                        : "this comment is never closed");
  }

  // What the text has instead of what was wanted, cut to a length fit for a message.
  std::string shown(const Token& token) const {
    if (token.kind == TokenKind::end) return "the end of the file";
    std::string_view text = lexer_.text_of(token);
    return fmt::format("'{}{}'", text.substr(0, 40), text.size() > 40 ? "…" : "");
  }

  Status header() {
    Token token = lexer_.next();
    if (token.kind == TokenKind::unterminated) return unterminated(token);
    if (!lexer_.is(token, ".version")) {
      return fail(token, fmt::format("no PTX: a module begins with .version, this with {}",
                                     shown(token)));
    }
    token = lexer_.next();
    std::vector<std::string_view> parts = split(lexer_.text_of(token), '.');
    auto part = [&](size_t i) {
      return i < parts.size() ? parse_integer(parts[i]) : std::optional<int64_t>();
    };
    auto plausible = [](std::optional<int64_t> n) { return n && *n >= 0 && *n < 1000; };
    if (token.kind != TokenKind::number || parts.size() != 2 || !plausible(part(0)) ||
        !plausible(part(1))) {
      return fail(token, fmt::format(".version needs a number like 8.8, not {}", shown(token)));
    }
    module_.version = {static_cast<int>(*part(0)), static_cast<int>(*part(1))};
    module_.version_place = {token.begin, token.end - token.begin};
    token = lexer_.next();
    if (!lexer_.is(token, ".target")) {
      return fail(token, fmt::format("after .version comes .target, not {}", shown(token)));
    }
    return target();
  }

  // .target sm_90a, debug. Later ones may add features; the architecture stays the first one's.
  Status target() {
    Token token = lexer_.next();
    if (token.kind != TokenKind::identifier || module_.text[token.begin] == '%') {
      return fail(token, fmt::format(".target needs an architecture like sm_90, not {}",
                                     shown(token)));
    }
    if (module_.target_places.empty()) module_.target = lexer_.text_of(token);
    if (lexer_.is(token, module_.target)) {
      module_.target_places.push_back({token.begin, token.end - token.begin});
    }
    for (;;) {
      Lexer ahead = lexer_;
      if (!ahead.is(ahead.next(), ",")) return {};
      token = ahead.next();
      if (token.kind != TokenKind::identifier) return {};
      if (ahead.is(token, "debug")) module_.debug = true;
      lexer_ = ahead;
    }
  }

  // .entry NAME (…) .maxntid … { … }      .func .noreturn (…) NAME (…) { … }      either with ; for { … }
  Status function(const Token& directive, Linkage linkage) {
    Function function;
    function.entry = lexer_.is(directive, ".entry");
    function.linkage = linkage;
    size_t depth = 0;
    for (;;) {
      Token token = lexer_.next();
      std::string_view word = lexer_.text_of(token);
      if (token.kind == TokenKind::unterminated) return unterminated(token);
      if (token.kind == TokenKind::end) {
        return fail(directive, fmt::format("this {} is cut off by the end of the file",
                                           lexer_.text_of(directive)));
      }
      if (word == "(") ++depth;
      if (word == ")") {
        if (depth == 0) return fail(token, "a ')' without a '(' before it");
        --depth;
      }
      if (depth > 0) continue;
      bool ends = word == ";" || word == "{";
      if (function.symbol.empty() && token.kind == TokenKind::identifier) {
        if (word[0] == '%') return fail(token, fmt::format("{} names a register", shown(token)));
        function.symbol = word;
        function.name_offset = token.begin;
      } else if (function.symbol.empty() && ends) {
        return fail(directive, fmt::format("this {} has no name", lexer_.text_of(directive)));
      } else if (word == ".pragma") {  // its own ';' does not end the header
        while (token.kind != TokenKind::end && !lexer_.is(token, ";")) token = lexer_.next();
      } else if (word == "{") {
        function.defined = true;
        function.body_begin = token.begin;
        if (!lexer_.skip_block()) {
          return fail(token, fmt::format("the body of {} is never closed; is the file cut off?",
                                         function.symbol));
        }
        function.body_end = lexer_.position();
      } else if (word == "}") {
        return fail(token, "a '}' without a '{' before it");
      }
      if (ends) return add(std::move(function));
    }
  }

  Status add(Function function) {
    auto [known, is_new] = known_.try_emplace(function.symbol, module_.functions.size());
    if (is_new) {
      module_.functions.push_back(std::move(function));
      return {};
    }
    Function& first = module_.functions[known->second];
    if (!function.defined) return {};
    if (first.defined) {
      return error(fmt::format("{}:{}: {} is defined twice, first in line {}", module_.origin,
                               line_of(module_.text, function.name_offset), function.symbol,
                               line_of(module_.text, first.name_offset)));
    }
    first = std::move(function);
    return {};
  }

  void index() {
    module_.by_symbol.resize(module_.functions.size());
    for (size_t i = 0; i < module_.by_symbol.size(); ++i) {
      module_.by_symbol[i] = static_cast<uint32_t>(i);
    }
    std::sort(module_.by_symbol.begin(), module_.by_symbol.end(), [&](uint32_t a, uint32_t b) {
      return module_.functions[a].symbol < module_.functions[b].symbol;
    });
  }

  Module& module_;
  Lexer lexer_;
  std::unordered_map<std::string, size_t> known_;
};

}  // namespace

Result<Module> parse(std::string text, std::string origin) {
  // NVRTC counts the terminating zero as part of its PTX.
  while (!text.empty() && text.back() == '\0') text.pop_back();
  if (text.starts_with("\x7f" "ELF")) {
    return error(fmt::format("{}: no PTX but an ELF file; is it a cubin or an object?", origin));
  }
  if (size_t zero = text.find('\0'); zero != std::string::npos) {
    return error(fmt::format("{}: no PTX: a zero byte in line {}; PTX is text", origin,
                             line_of(text, zero)));
  }
  Module module;
  module.text = std::move(text);
  module.origin = std::move(origin);
  TRY(Parser(module).run());
  return module;
}

const Function* Module::find(std::string_view symbol) const {
  auto place = std::lower_bound(
      by_symbol.begin(), by_symbol.end(), symbol,
      [&](uint32_t i, std::string_view wanted) { return functions[i].symbol < wanted; });
  if (place == by_symbol.end()) return nullptr;
  const Function& found = functions[*place];
  return found.symbol == symbol && found.defined ? &found : nullptr;
}

}  // namespace namesake::ptx
