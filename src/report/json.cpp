// Each struct is described once, by `fields`; a writer and a reader walk the same description, so
// the two directions cannot disagree about a key.

#include "report/json.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "report/explain.h"
#include "report/words.h"

namespace namesake::report {
namespace {

using Json = nlohmann::ordered_json;

// ---- the description
// ----------------------------------------------------------------------------------------

template <class T, class S>
constexpr bool is = std::is_same_v<std::remove_const_t<S>, T>;

template <class V, class S>
void fields(V&& visit, S& s) {
  if constexpr (is<Mix, S>) {
    visit("instructions", s.instructions);
    visit("by_class", s.by_class);
    visit("by_opcode", s.by_opcode);
    visit("stall_cycles", s.stall_cycles);
    visit("waits", s.waits);
    visit("yields", s.yields);
    visit("reuses", s.reuses);
    visit("local_memory", s.local_memory);
  } else if constexpr (is<Side, S>) {
    visit("failure", s.failure);
    visit("registers", s.registers);
    visit("stack_bytes", s.stack_bytes);
    visit("spill_store_bytes", s.spill_store_bytes);
    visit("spill_load_bytes", s.spill_load_bytes);
    visit("code_bytes", s.code_bytes);
    visit("shared_bytes", s.shared_bytes);
    visit("identity", s.identity);
    visit("mix", s.mix);
    visit("hottest_loop", s.hottest_loop);
    visit("hottest_loop_depth", s.hottest_loop_depth);
    visit("draws", s.draws);
    visit("draws_made", s.draws_made);
  } else if constexpr (is<FunctionDifference, S>) {
    visit("symbol", s.symbol);
    visit("name", s.name);
    visit("file", s.file);
    visit("architecture", s.architecture);
    visit("verdict", s.verdict);
    visit("a", s.a);
    visit("b", s.b);
    visit("meaning", s.meaning);
    visit("sass", s.sass);
    visit("threads_per_block", s.threads_per_block);
  } else if constexpr (is<Control, S>) {
    visit("name", s.name);
    visit("outcome", s.outcome);
    visit("checked", s.checked);
    visit("failed", s.failed);
    visit("failing", s.failing);
    visit("note", s.note);
  } else if constexpr (is<BuildDescription, S>) {
    visit("label", s.label);
    visit("assembler", s.assembler);
    visit("assembler_build", s.assembler_build);
    visit("treatment", s.treatment);
    visit("opt_level", s.opt_level);
    visit("options", s.options);
  } else if constexpr (is<AssemblyTime, S>) {
    visit("file", s.file);
    visit("architecture", s.architecture);
    visit("a_seconds", s.a_seconds);
    visit("b_seconds", s.b_seconds);
  } else if constexpr (is<FrontEndDifference, S>) {
    visit("file", s.file);
    visit("architecture", s.architecture);
    visit("name", s.name);
    visit("ptx_differs", s.ptx_differs);
    visit("lines_removed", s.lines_removed);
    visit("lines_added", s.lines_added);
    visit("note", s.note);
  } else if constexpr (is<Difference, S>) {
    visit("command", s.command);
    visit("date", s.date);
    visit("a", s.a);
    visit("b", s.b);
    visit("architectures", s.architectures);
    visit("functions", s.functions);
    visit("controls", s.controls);
    visit("times", s.times);
    visit("front_end", s.front_end);
    visit("notes", s.notes);
    visit("next_command", s.next_command);
    visit("tool_seconds", s.tool_seconds);
    visit("child_seconds", s.child_seconds);
  } else if constexpr (is<NameTest, S>) {
    visit("needle", s.needle);
    visit("function", s.function);
    visit("symbol", s.symbol);
    visit("name", s.name);
    visit("call_site", s.call_site);
    visit("architecture", s.architecture);
    visit("true_answer", s.true_answer);
    visit("given_answer", s.given_answer);
    visit("look_up", s.look_up);
    visit("times", s.times);
  } else if constexpr (is<TracedProcess, S>) {
    visit("program", s.program);
    visit("kind", s.kind);
    visit("version", s.version);
    visit("pid", s.pid);
    visit("command_line", s.command_line);
    visit("tests", s.tests);
    visit("functions_asked_about", s.functions_asked_about);
    visit("lost", s.lost);
  } else {
    static_assert(is<Trace, S>, "a struct without a description");
    visit("command", s.command);
    visit("date", s.date);
    visit("processes", s.processes);
    visit("silent", s.silent);
    visit("notes", s.notes);
    visit("conclusion", s.conclusion);
    visit("next_command", s.next_command);
    visit("exit_status", s.exit_status);
  }
}

constexpr const char* kOutcomeNames[] = {"held", "failed", "not_applicable"};
constexpr size_t kOutcomeCount = std::size(kOutcomeNames);

// ---- writing
// ------------------------------------------------------------------------------------------------

Json written(const std::string& text) {
  return text;
}
Json written(int64_t value) {
  return value;
}
Json written(bool value) {
  return value;
}
Json written(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}
Json written(Verdict verdict) {
  return std::string(verdict_word(verdict));
}
Json written(ControlOutcome outcome) {
  return kOutcomeNames[static_cast<size_t>(outcome)];
}
Json written(const std::map<std::string, int64_t>& counts) {
  Json object = Json::object();
  for (const auto& [name, count] : counts) object[name] = count;
  return object;
}
Json written(const SassRow& row) {
  if (row.left_out > 0) return Json::array({row.left_out});
  Json array = Json::array({std::string(1, row.change), row.a, row.b});
  if (row.hot) array.push_back("hot");
  return array;
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

std::string dumped(const Json& json) {
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

// The one exception type of this file; it carries the path of keys and never leaves it.
struct Unfit {
  std::string message;
};

void read(const Json& json, std::string& out) {
  if (!json.is_string()) throw Unfit{"should be a text"};
  out = json.get<std::string>();
}
// No count of a report comes near; what is larger would only overflow where differences are summed.
constexpr int64_t kMostCount = 1'000'000'000'000;

void read(const Json& json, int64_t& out) {
  if (!json.is_number_integer()) throw Unfit{"should be a whole number"};
  bool huge = json.is_number_unsigned() && json.get<uint64_t>() > static_cast<uint64_t>(kMostCount);
  if (huge || json.get<int64_t>() < -kMostCount) throw Unfit{"is beyond any count"};
  out = json.get<int64_t>();
}
void read(const Json& json, bool& out) {
  if (!json.is_boolean()) throw Unfit{"should be true or false"};
  out = json.get<bool>();
}
void read(const Json& json, double& out) {
  if (!json.is_number() && !json.is_null()) throw Unfit{"should be a number"};
  out = json.is_null() ? 0 : json.get<double>();
}
void read(const Json& json, Verdict& out) {
  std::string word;
  read(json, word);
  for (size_t v = 0; v < kVerdictCount; ++v) {
    out = static_cast<Verdict>(v);
    if (verdict_word(out) == word) return;
  }
  throw Unfit{"\"" + plain(word) + "\" is no verdict"};
}
void read(const Json& json, ControlOutcome& out) {
  std::string word;
  read(json, word);
  for (size_t i = 0; i < kOutcomeCount; ++i) {
    out = static_cast<ControlOutcome>(i);
    if (word == kOutcomeNames[i]) return;
  }
  throw Unfit{"\"" + plain(word) + "\" is no outcome of a control"};
}
void read(const Json& json, std::map<std::string, int64_t>& out) {
  if (!json.is_object()) throw Unfit{"should be an object"};
  out.clear();
  for (const auto& [key, value] : json.items()) read(value, out[key]);
}
void read(const Json& json, SassRow& out) {
  if (!json.is_array() || (json.size() != 1 && json.size() != 3 && json.size() != 4)) {
    throw Unfit{"should be [change, a, b], [change, a, b, \"hot\"] or [left_out]"};
  }
  out = {};
  if (json.size() == 1) {
    read(json[0], out.left_out);
    if (out.left_out < 1) throw Unfit{"leaves out no rows"};
    return;
  }
  std::string change;
  read(json[0], change);
  if (change.size() != 1 || std::string(" ~-+").find(change) == std::string::npos) {
    throw Unfit{"\"" + plain(change) + "\" is none of ' ', '~', '-', '+'"};
  }
  out.change = change[0];
  read(json[1], out.a);
  read(json[2], out.b);
  out.hot = json.size() == 4;
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

std::string to_json(const Difference& difference) {
  Document document;
  document.add("schema", "namesake.diff/1.0");
  document.add("version", NAMESAKE_VERSION);
  Json verdicts = Json::object();
  for (const std::string& architecture : difference.architectures) {
    auto counts = count_verdicts(difference, architecture);
    Json object = Json::object();
    for (size_t v = 0; v < kVerdictCount; ++v)
      object[std::string(verdict_word(static_cast<Verdict>(v)))] = counts[v];
    verdicts[architecture] = object;
  }
  Json summary = Json::object();
  summary["sentence"] = summary_sentence(difference);
  summary["verdicts"] = verdicts;
  document.add("summary", summary);
  document.add_fields(difference);
  return document.finish();
}

std::string to_json(const Trace& trace) {
  Document document;
  document.add("schema", "namesake.trace/1.0");
  document.add("version", NAMESAKE_VERSION);
  document.add_fields(trace);
  return document.finish();
}

Result<Difference> difference_from_json(std::string_view json) {
  return parsed<Difference>(json, "diff");
}
Result<Trace> trace_from_json(std::string_view json) {
  return parsed<Trace>(json, "trace");
}

}  // namespace namesake::report
