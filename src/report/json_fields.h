// Structs as JSON and back, by one description of each.
//
// A struct takes part by an overload `fields(visit, s)` in this namespace that walks its members,
// visit("key", s.key), for S and const S alike: writer and reader walk the same list, so the two
// cannot disagree about a key. A type with a spelling of its own, as an enumeration, overloads
// written() and read() instead. The overloads are static: each .cpp describes its own structs. The
// templates here have internal linkage too, since what they call differs from file to file.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "report/words.h"
#include "util/error.h"

namespace namesake::report {

using Json = nlohmann::ordered_json;

namespace {

// template <class V, Described<Side> S> static void fields(V&& visit, S& s) { visit("registers",
// s.registers); … }
template <class S, class Struct>
concept Described = std::is_same_v<std::remove_const_t<S>, Struct>;

// ---- writing
// ------------------------------------------------------------------------------------------------

inline Json written(const std::string& text) {
  return text;
}
inline Json written(int64_t value) {
  return value;
}
inline Json written(bool value) {
  return value;
}
inline Json written(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}
inline Json written(const std::array<double, 2>& interval) {
  return Json::array({written(interval[0]), written(interval[1])});
}
inline Json written(const std::map<std::string, int64_t>& counts) {
  Json object = Json::object();
  for (const auto& [name, count] : counts) object[name] = count;
  return object;
}
template <class T>
Json written(const std::vector<T>& list);
template <class T>
Json written(const std::optional<T>& value);
template <class S>
Json written(const S& value) {
  Json object = Json::object();
  fields([&](const char* key, const auto& member) { object[key] = written(member); }, value);
  return object;
}
template <class T>
Json written(const std::vector<T>& list) {
  Json array = Json::array();
  for (const T& element : list) array.push_back(written(element));
  return array;
}
template <class T>
Json written(const std::optional<T>& value) {
  return value ? written(*value) : Json(nullptr);
}

inline std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Written member by member: 20,000 functions need not stand in memory as one JSON tree.
class Document {
 public:
  void add(const char* key, const Json& value) {
    begin(key);
    out_ += dumped(value);
  }
  template <class T>
  void add_list(const char* key, const std::vector<T>& list) {
    begin(key);
    out_ += '[';
    for (size_t i = 0; i < list.size(); ++i)
      out_ += (i ? ",\n  " : "\n  ") + dumped(written(list[i]));
    out_ += list.empty() ? "]" : "\n ]";
  }
  template <class S>
  void add_fields(const S& value) {
    fields(
        [&](const char* key, const auto& member) {
          using Member = std::decay_t<decltype(member)>;
          if constexpr (is_list<Member>::value) {
            add_list(key, member);
          } else {
            add(key, written(member));
          }
        },
        value);
  }
  std::string finish() { return std::move(out_) + "\n}\n"; }

 private:
  template <class T>
  struct is_list : std::false_type {};
  template <class T>
  struct is_list<std::vector<T>> : std::true_type {};

  void begin(const char* key) {
    out_ += out_.empty() ? "{\n " : ",\n ";
    out_ += '"' + std::string(key) + "\": ";
  }
  std::string out_;
};

// ---- reading
// ------------------------------------------------------------------------------------------------

// The one exception type here; it carries the path of keys, and parsed() lets none out.
struct Unfit {
  std::string message;
};

inline void read(const Json& json, std::string& out) {
  if (!json.is_string()) throw Unfit{"should be a text"};
  out = json.get<std::string>();
}

// One of a list of words, as its place in the list; `what` says what it should have been.
template <class Enum, size_t kCount>
void read_word(const Json& json, const char* const (&words)[kCount], const char* what, Enum& out) {
  std::string word;
  read(json, word);
  for (size_t i = 0; i < kCount; ++i) {
    out = static_cast<Enum>(i);
    if (word == words[i]) return;
  }
  throw Unfit{"\"" + plain(word) + "\" is no " + what};
}
// No count of a report comes near; what is larger would only overflow where differences are summed.
constexpr int64_t kMostCount = 1'000'000'000'000;

inline void read(const Json& json, int64_t& out) {
  if (!json.is_number_integer()) throw Unfit{"should be a whole number"};
  bool huge = json.is_number_unsigned() && json.get<uint64_t>() > static_cast<uint64_t>(kMostCount);
  if (huge || json.get<int64_t>() < -kMostCount) throw Unfit{"is beyond any count"};
  out = json.get<int64_t>();
}
inline void read(const Json& json, bool& out) {
  if (!json.is_boolean()) throw Unfit{"should be true or false"};
  out = json.get<bool>();
}
inline void read(const Json& json, double& out) {
  if (!json.is_number() && !json.is_null()) throw Unfit{"should be a number"};
  out = json.is_null() ? 0 : json.get<double>();
}
inline void read(const Json& json, std::array<double, 2>& out) {
  if (!json.is_array() || json.size() != 2) throw Unfit{"should be [low, high]"};
  read(json[0], out[0]);
  read(json[1], out[1]);
}
inline void read(const Json& json, std::map<std::string, int64_t>& out) {
  if (!json.is_object()) throw Unfit{"should be an object"};
  out.clear();
  for (const auto& [key, value] : json.items()) read(value, out[key]);
}
template <class T>
void read(const Json& json, std::vector<T>& out);
template <class T>
void read(const Json& json, std::optional<T>& out);
template <class S>
void read(const Json& json, S& out) {
  if (!json.is_object()) throw Unfit{"should be an object"};
  fields(
      [&](const char* key, auto& member) {
        auto found = json.find(key);
        if (found == json.end()) return;
        try {
          read(*found, member);
        } catch (Unfit& unfit) {
          throw Unfit{std::string(key) + (unfit.message[0] == '[' ? "" : " ") + unfit.message};
        }
      },
      out);
}
template <class T>
void read(const Json& json, std::vector<T>& out) {
  if (!json.is_array()) throw Unfit{"should be an array"};
  out.clear();
  out.reserve(json.size());
  for (size_t i = 0; i < json.size(); ++i) {
    try {
      read(json[i], out.emplace_back());
    } catch (Unfit& unfit) {
      throw Unfit{fmt::format("[{}]{}{}", i, unfit.message[0] == '[' ? "" : " ", unfit.message)};
    }
  }
}
template <class T>
void read(const Json& json, std::optional<T>& out) {
  out.reset();
  if (!json.is_null()) read(json, out.emplace());
}

// The document of `namesake NAME --json`, if its schema is ours.
template <class S>
Result<S> parsed(std::string_view text, std::string_view name) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::exception& problem) {
    return error(fmt::format("this is no JSON: {}", plain(problem.what())));
  }
  std::string schema = json.is_object() && json.contains("schema") && json["schema"].is_string()
                           ? json["schema"].get<std::string>()
                           : "";
  std::string family = fmt::format("namesake.{}/1.", name);
  if (schema.substr(0, family.size()) != family) {
    return error(fmt::format(
        "the schema is \"{}\", not \"{}0\": make the file with `namesake {} --json`, of a "
        "version whose schema begins with {}",
        plain(schema), family, name, family));
  }
  try {
    S value;
    read(json, value);
    return value;
  } catch (const Unfit& unfit) {
    return error(fmt::format("not a report of namesake {}: {}", name, unfit.message));
  }
}

}  // namespace

}  // namespace namesake::report
