#include "util/toml.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "util/text.h"
#include "util/toml_characters.h"

namespace namesake {

// Long words are nobody's slip of the finger, and not worth a square of work.
static constexpr size_t kLongestWord = 64, kFarthestSlip = 3;

Result<toml::table> parse_toml(std::string_view text, std::string_view origin,
                               std::string_view what, size_t limit) {
  if (text.size() > limit)
    return error(fmt::format("{}: {} bytes are more than {} can have", origin, text.size(), what));
  TRY(check_toml_characters(text, origin));
  toml::parse_result parsed = toml::parse(text);
  if (parsed) return std::move(parsed).table();
  const toml::parse_error& failure = parsed.error();
  return error(fmt::format("{}:{}: no valid TOML: {}", origin, failure.source().begin.line,
                           std::string_view(failure.description())));
}

tl::unexpected<Error> TomlReader::fail(int line, std::string_view what) const {
  return error(fmt::format("{}:{}: {}", origin_, line, what));
}

tl::unexpected<Error> TomlReader::fail(const toml::node& node, std::string_view what) const {
  return fail(line_of(node), what);
}

Status TomlReader::only(const toml::table& table, std::string_view where,
                        std::initializer_list<std::string_view> keys) const {
  for (const auto& [key, node] : table) {
    const std::string_view word = key.str();
    if (std::find(keys.begin(), keys.end(), word) != keys.end()) continue;
    const auto distance = [&](std::string_view known) {
      return word.size() < kLongestWord ? edit_distance(word, known) : kLongestWord;
    };
    const std::string_view nearest = *std::min_element(
        keys.begin(), keys.end(),
        [&](std::string_view a, std::string_view b) { return distance(a) < distance(b); });
    const std::string hint =
        distance(nearest) <= kFarthestSlip
            ? fmt::format("did you mean '{}'?", nearest)
            : "known are " + join(std::vector<std::string>(keys.begin(), keys.end()), ", ");
    return fail(
        static_cast<int>(key.source().begin.line),
        fmt::format("unknown key '{}' in {}; {}", word.substr(0, kLongestWord), where, hint));
  }
  return {};
}

Result<std::string> TomlReader::text(const toml::table& table, std::string_view key) const {
  const toml::node* node = table.get(key);
  if (!node) return std::string();
  const std::optional<std::string_view> value = node->value_exact<std::string_view>();
  if (!value || value->empty()) return fail(*node, fmt::format("{} must be a text", key));
  const bool printable = std::none_of(value->begin(), value->end(), [](char c) {
    return static_cast<unsigned char>(c) < ' ' || c == 127;
  });
  if (!printable) return fail(*node, fmt::format("{} must be one line of plain text", key));
  return std::string(*value);
}

Result<std::string> TomlReader::text(const toml::table& table, std::string_view key,
                                     std::string_view where) const {
  if (!table.get(key)) return fail(table, fmt::format("{} has no '{}'", where, key));
  return text(table, key);
}

}  // namespace namesake
