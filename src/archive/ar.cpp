#include "archive/ar.h"

#include <fmt/format.h>

#include "util/text.h"

namespace namesake::archive {
namespace {

constexpr std::string_view kMagic = "!<arch>\n", kThin = "!<thin>\n";

// "foo.o/", "/123" (an offset into the table of long names) or "#1/20" (the name leads the data).
std::string_view name_of(std::string_view field, Bytes long_names, Bytes& data) {
  if (field.starts_with("#1/")) {
    auto length = parse_integer(field.substr(3));
    if (!length || *length < 0) return field;
    std::string_view name = data.substr(0, static_cast<size_t>(*length));
    data.remove_prefix(name.size());
    return name.substr(0, name.find('\0'));
  }
  if (field.size() > 1 && field.starts_with('/')) {
    auto offset = parse_integer(field.substr(1));
    if (!offset || *offset < 0 || static_cast<uint64_t>(*offset) >= long_names.size()) return field;
    std::string_view name = long_names.substr(static_cast<size_t>(*offset));
    name = name.substr(0, name.find('\n'));
    if (name.ends_with('/')) name.remove_suffix(1);
    return name;
  }
  if (field.ends_with('/')) field.remove_suffix(1);
  return field;
}

}  // namespace

bool looks_like_ar(Bytes file) {
  return file.starts_with(kMagic) || file.starts_with(kThin);
}

Result<std::vector<ArMember>> read_ar(Bytes file, std::string_view origin) {
  if (file.starts_with(kThin)) {
    return error(fmt::format(
        "{}: a thin archive, which only names its members; give the object files themselves",
        origin));
  }
  std::vector<ArMember> members;
  Bytes long_names;
  Cursor cursor(file);
  cursor.skip(kMagic.size());
  while (!cursor.at_end()) {
    Cursor header(cursor.take(60));
    std::string_view field = trimmed(header.take(16));
    header.skip(12 + 6 + 6 + 8);
    auto size = parse_integer(trimmed(header.take(10)));
    if (header.take(2) != "`\n" || !size || *size < 0) {
      return error(
          fmt::format("{}: not a usable archive: member {} has no header (truncated or damaged? "
                      "build it again)",
                      origin, members.size() + 1));
    }
    Bytes data = cursor.take(static_cast<uint64_t>(*size));
    if (!cursor.ok()) {
      return error(
          fmt::format("{}: not a usable archive: \"{}\" reaches beyond the file's end (truncated? "
                      "build it again)",
                      origin, field));
    }
    if (*size % 2 != 0 && !cursor.at_end()) cursor.skip(1);
    if (field == "//") {
      long_names = data;
    } else if (field != "/" && field != "/SYM64/" && !field.starts_with("__.SYMDEF")) {
      std::string_view name = name_of(field, long_names, data);
      members.push_back({name, data});
    }
  }
  return members;
}

}  // namespace namesake::archive
