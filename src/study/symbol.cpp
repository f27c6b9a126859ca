// Where in a symbol a word stands, as the person who wrote the source would say it.
//
// The mangled symbol cannot tell: `S_` stands for a type named before, an `E` closes one of a dozen
// things, and telling which takes the whole grammar of the Itanium ABI. The demangler knows that
// grammar, and what it prints has little: names joined by "::", template arguments in <>,
// parameters in (), lambdas in {}. So places are found in the readable name, by the outermost
// bracket that is open there:
//
//    ns::outer<a::b>(c)::{lambda()#1} inner<d>(e)
//    scope     argument   scope       own  argument parameter
//
// What the readable name hides is looked for in the mangled one: nvcc gives an unnamed namespace,
// and under -rdc a static kernel, an identifier made of the source file's name
// (_GLOBAL__N__e95de0b0_15_cutlass_gemm_cu_c84982fb), so a file called cutlass_gemm.cu names every
// kernel in it. And letters of the encoding may spell a word by chance: cut(long, signed char,
// short, short) is _Z3cutlass.
//
// The cost: two forms of the same text are trusted to be one, and a demangler that prints otherwise
// would misplace words, never lose them: whatever is in the symbol has at least one place.
#include "study/symbol.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "util/text.h"

namespace namesake::study {

using report::Place;

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$';
}

// nvcc's name for a static kernel under -rdc: __nv_static_37__HASH_15_FILE_cu_HASH__ and then the
// symbol that it would have had.
constexpr std::string_view kStatic = "__nv_static_";

std::string_view without_static(std::string_view symbol) {
  if (!symbol.starts_with(kStatic)) return symbol;
  size_t mangled = symbol.find("__Z", kStatic.size());
  return mangled == std::string_view::npos ? symbol : symbol.substr(mangled + 1);
}

// Identifiers that a compiler made of a file's name.
bool from_file_name(std::string_view identifier) {
  return identifier.starts_with("_GLOBAL__N_") || identifier.starts_with("_INTERNAL_");
}

// "15cutlass_gemm_cu…" at `at`: the identifier, or "" where none begins.
std::string_view identifier_at(std::string_view symbol, size_t at) {
  size_t digits = at, length = 0;
  while (digits < symbol.size() && is_digit(symbol[digits]) && length < symbol.size()) {
    length = length * 10 + static_cast<size_t>(symbol[digits++] - '0');
  }
  if (digits == at || length == 0 || length > symbol.size() - digits) return {};
  return symbol.substr(digits, length);
}

bool in_file_name(std::string_view symbol, std::string_view text) {
  std::string_view rest = without_static(symbol);
  size_t prefix = symbol.size() - rest.size();
  if (prefix > 0 && symbol.substr(0, prefix).find(text) != std::string_view::npos) return true;
  for (size_t at = 0; at < rest.size(); ++at) {
    if (!is_digit(rest[at])) continue;
    std::string_view identifier = identifier_at(rest, at);
    if (from_file_name(identifier) && identifier.find(text) != std::string_view::npos) return true;
    while (at + 1 < rest.size() && is_digit(rest[at + 1])) ++at;
  }
  return false;
}

// The region of each character of a readable name. Of names at depth zero, `piece` tells them
// apart.
struct Region {
  enum Kind : char { name, argument, parameter, other } kind = other;
  int piece = 0;
};

class Reading {
 public:
  explicit Reading(std::string_view text) : text_(text), regions_(text.size()) {
    size_t at = 0;
    while (at < text_.size()) at = step(at);
  }

  int last_piece() const { return last_; }
  bool enclosed() const { return last_ != first_; }
  const std::vector<Region>& regions() const { return regions_; }
  std::string first_piece() const {
    std::string name;
    for (size_t i = 0; i < text_.size(); ++i) {
      if (regions_[i].kind == Region::name && regions_[i].piece == first_) name += text_[i];
    }
    return name;
  }

 private:
  void mark(size_t begin, size_t end, Region::Kind kind) {
    for (size_t i = begin; i < end; ++i) regions_[i] = {kind, piece_};
  }

  size_t step(size_t at) {
    if (!open_.empty()) return inside(at);
    std::string_view rest = text_.substr(at);
    constexpr std::string_view kUnnamed = "(anonymous namespace)";
    if (rest.starts_with(kUnnamed)) {
      mark(at, at + kUnnamed.size(), Region::name);
      last_ = piece_;
      return at + kUnnamed.size();
    }
    if (rest.starts_with("operator") && (at == 0 || !is_word(text_[at - 1])) &&
        !(rest.size() > 8 && is_word(rest[8]))) {
      return take_operator(at);
    }
    char c = text_[at];
    if (c == ':' && rest.starts_with("::")) {
      ++piece_;
      after_parameters_ = qualifiers_ = false;
      return at + 2;
    }
    if (c == ' ') {  // a return type stood before, or a qualifier stands behind the parameters
      if (after_parameters_) {
        piece_ = last_;
        qualifiers_ = true;
      } else {
        ++piece_;
        first_ = piece_;
      }
      return at + 1;
    }
    if (c == '<' || c == '(' || c == '[' || c == '{') {
      open_ += c;
      kind_ = c == '<'   ? Region::argument
              : c == '(' ? Region::parameter
              : c == '{' ? Region::name
                         : Region::other;
      if (c == '{') last_ = piece_;
      return at + 1;
    }
    after_parameters_ = false;
    mark(at, at + 1, qualifiers_ ? Region::other : Region::name);
    if (!qualifiers_ && is_word(c)) last_ = piece_;
    return at + 1;
  }

  // "operator()", "operator<", "operator< <int>", "operator bool": up to where its arguments begin.
  size_t take_operator(size_t at) {
    size_t end = at + 8;
    std::string_view rest = text_.substr(end);
    if (rest.starts_with("()") || rest.starts_with("[]")) {
      end += 2;
    } else if (rest.starts_with(' ')) {
      end = std::min(text_.find('(', end), text_.size());
    } else {
      while (end < text_.size() && text_[end] != '(' && text_[end] != ' ' && !is_word(text_[end]))
        ++end;
    }
    mark(at, end, Region::name);
    last_ = piece_;
    return text_.substr(end).starts_with(" <") ? end + 1 : end;
  }

  // A '>' closes only what a '<' opened: "(a)>(b)" inside an argument and "->" are no brackets, and
  // neither is a '<' behind a closing bracket.
  size_t inside(size_t at) {
    char c = text_[at];
    mark(at, at + 1, kind_);
    if (c == '(' || c == '[' || c == '{') {
      open_ += c;
    } else if (c == '<') {
      bool opens = at > 0 && (is_word(text_[at - 1]) || text_[at - 1] == '}');
      if (opens) open_ += c;
    } else if (c == '>') {
      if (open_.back() == '<' && text_[at - 1] != '-') open_.pop_back();
    } else if (c == ')' || c == ']' || c == '}') {
      char opening = c == ')' ? '(' : c == ']' ? '[' : '{';
      size_t match = open_.rfind(opening);
      if (match != std::string::npos) open_.resize(match);
    }
    if (open_.empty()) after_parameters_ = c == ')';
    return at + 1;
  }

  std::string_view text_;
  std::vector<Region> regions_;
  std::string open_;                   // the brackets open here
  Region::Kind kind_ = Region::other;  // of the outermost of them
  int piece_ = 0, first_ = 0, last_ = 0;
  bool after_parameters_ = false, qualifiers_ = false;
};

}  // namespace

std::vector<Place> places_of(std::string_view symbol, std::string_view text) {
  if (text.empty() || symbol.find(text) == std::string_view::npos) return {};
  std::set<Place> places;
  if (in_file_name(symbol, text)) places.insert(Place::file_name);
  std::string_view own = without_static(symbol);
  std::string readable = demangled(own);
  if (readable == own) {
    if (own.find(text) != std::string_view::npos) places.insert(Place::own_name);
  } else {
    Reading reading(readable);
    bool cutlass = text == "cutlass" && reading.enclosed() && reading.first_piece() == "cutlass";
    for (size_t at = readable.find(text); at != std::string::npos;
         at = readable.find(text, at + 1)) {
      const Region& region = reading.regions()[at];
      if (region.kind == Region::argument) places.insert(Place::template_argument);
      if (region.kind == Region::parameter || region.kind == Region::other)
        places.insert(Place::parameter_type);
      if (region.kind != Region::name) continue;
      // An unnamed namespace of older compilers is readable: _INTERNAL_15_cutlass_gemm_cu.
      size_t begin = readable.rfind(':', at);
      begin = begin == std::string::npos ? 0 : begin + 1;
      if (from_file_name(std::string_view(readable).substr(begin))) continue;
      bool own_name = region.piece == reading.last_piece();
      places.insert(own_name ? Place::own_name : Place::enclosing_scope);
    }
    if (cutlass) places.insert(Place::cutlass_kernel);
    if (places.empty()) places.insert(Place::chance);
  }
  return {places.begin(), places.end()};
}

std::vector<Place> first_place_of(std::string_view symbol, std::string_view text) {
  constexpr std::string_view kNested = "_ZN7cutlass";
  // A component of the name follows, so this one is the outermost namespace.
  if (text == "cutlass" && symbol.starts_with(kNested) &&
      !identifier_at(symbol, kNested.size()).empty())
    return {Place::cutlass_kernel};
  std::vector<Place> places = places_of(symbol, text);
  if (places.size() > 1) places.resize(1);
  return places;
}

std::string library_of(std::string_view symbol) {
  std::string_view rest = without_static(symbol);
  if (!rest.starts_with("_Z")) {
    size_t word = rest.find('_', 1);
    return word == std::string_view::npos ? std::string(rest)
                                          : std::string(rest.substr(0, word)) + "_*";
  }
  rest.remove_prefix(2);
  while (rest.starts_with('Z')) rest.remove_prefix(1);
  bool nested = rest.starts_with('N');
  if (nested) rest.remove_prefix(1);
  while (!rest.empty() && std::string_view("KVrROL").find(rest.front()) != std::string_view::npos)
    rest.remove_prefix(1);
  if (rest.starts_with("St")) return "std";
  for (;;) {
    std::string_view name = identifier_at(rest, 0);
    if (name.empty()) return "(other)";
    rest.remove_prefix(static_cast<size_t>(name.data() + name.size() - rest.data()));
    // An identifier that another follows is a namespace (or a class); the last one is the
    // function's.
    bool last = !nested || rest.empty() || !is_digit(rest.front());
    if (from_file_name(name)) continue;
    if (!last) return std::string(name);
    size_t word = name.find('_', 1);
    return word == std::string_view::npos ? std::string(name)
                                          : std::string(name.substr(0, word)) + "_*";
  }
}

}  // namespace namesake::study
