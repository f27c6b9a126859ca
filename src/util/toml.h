// TOML as our files use it: every key is known and every value has one form, for a misspelt key
// would otherwise be passed over in silence; and every complaint names the file and the line.
// Heavy: for the .cpp files that read such a file.
#pragma once

#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
// What it asserts is an error that it reports a moment later: "[[ =" must not end the tool.
#define TOML_ASSERT(expression) static_cast<void>(0)
#include <toml++/toml.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "util/error.h"

namespace namesake {

// `what` the file is, for an error that says that it is larger than one can be: "a policy".
Result<toml::table> parse_toml(std::string_view text, std::string_view origin,
                               std::string_view what, size_t limit);

class TomlReader {
 public:
  explicit TomlReader(std::string origin) : origin_(std::move(origin)) {}
  const std::string& origin() const { return origin_; }

  static int line_of(const toml::node& node) { return static_cast<int>(node.source().begin.line); }
  tl::unexpected<Error> fail(int line, std::string_view what) const;
  tl::unexpected<Error> fail(const toml::node& node, std::string_view what) const;

  // An error if the table has another key; it suggests the nearest one, or all. `where` is for
  // people.
  Status only(const toml::table& table, std::string_view where,
              std::initializer_list<std::string_view> keys) const;
  // One line of plain text; "" where there is no such key.
  Result<std::string> text(const toml::table& table, std::string_view key) const;
  // The same, and an error where there is none.
  Result<std::string> text(const toml::table& table, std::string_view key,
                           std::string_view where) const;

 private:
  std::string origin_;
};

}  // namespace namesake
