// As in a policy, an unknown key is an error: a misspelt "tolerence" would otherwise pass every
// result.
#include "measure/launch_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <set>

#include "util/file.h"
#include "util/text.h"
#include "util/toml.h"

namespace namesake::measure {
namespace {

constexpr size_t kLargest = 1 << 20;  // of the file
constexpr size_t kMostSizes = 100, kMostBuffers = 200, kMostArguments = 500;

struct TypeName {
  const char* name;
  gpu::Element type;
};
constexpr TypeName kTypes[] = {
    {"f64", gpu::Element::kF64},   {"f32", gpu::Element::kF32},   {"f16", gpu::Element::kF16},
    {"bf16", gpu::Element::kBF16}, {"e4m3", gpu::Element::kE4M3}, {"e5m2", gpu::Element::kE5M2},
    {"i64", gpu::Element::kS64},   {"u64", gpu::Element::kU64},   {"i32", gpu::Element::kS32},
    {"u32", gpu::Element::kU32},   {"i16", gpu::Element::kS16},   {"u16", gpu::Element::kU16},
    {"i8", gpu::Element::kS8},     {"u8", gpu::Element::kU8}};

bool is_identifier(std::string_view text) {
  if (text.empty() || text.size() > 64 || (text[0] >= '0' && text[0] <= '9')) return false;
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

class Reader : TomlReader {
 public:
  Reader(std::string origin, std::filesystem::path folder)
      : TomlReader(std::move(origin)), folder_(std::move(folder)) {
    file_.origin = this->origin();
  }

  Result<LaunchFile> read(const toml::table& root) {
    TRY(only(root, "a launch file",
             {"kernel", "entry", "architectures", "run", "reason", "sizes", "launch", "buffer",
              "argument", "reference"}));
    TRY_ASSIGN(std::string kernel, text(root, "kernel", "the launch file"));
    file_.kernel = folder_ / kernel;
    TRY_ASSIGN(file_.entry, text(root, "entry", "the launch file"));
    if (const toml::node* list = root.get("architectures")) TRY(architectures(*list));
    TRY(run(root));
    if (const toml::node* node = root.get("sizes")) TRY(sizes(*node));
    TRY(launch(root));
    TRY(each(root, "buffer", kMostBuffers,
             [&](const toml::table& table) { return buffer(table); }));
    TRY(each(root, "argument", kMostArguments,
             [&](const toml::table& table) { return argument(table); }));
    TRY(reference(root));
    return std::move(file_);
  }

 private:
  Result<double> number(const toml::table& table, const char* key, std::string_view where) const {
    const toml::node* node = table.get(key);
    if (!node) return fail(line_of(table), fmt::format("{} has no '{}'", where, key));
    auto value = node->value<double>();
    if (!node->is_number() || !value)
      return fail(*node, fmt::format("'{}' should be a number", key));
    return *value;
  }

  Result<Expression> expression(const toml::node& node, std::string_view what,
                                bool of_element = false) const {
    if (node.is_integer()) return Expression(*node.value<int64_t>());
    if (!node.is_string())
      return fail(node,
                  fmt::format("{} should be a whole number or an expression in quotes", what));
    auto parsed = Expression::parse(*node.value<std::string>());
    if (!parsed) return fail(node, parsed.error().message);
    for (const std::string& name : parsed->names()) {
      bool known = (of_element && name == "i") ||
                   std::any_of(file_.sizes.begin(), file_.sizes.end(),
                               [&](const SizeEntry& size) { return size.name == name; });
      if (!known)
        return fail(node, fmt::format("\"{}\" names {}, which [sizes] does not have",
                                      parsed->text(), name));
    }
    return *parsed;
  }

  Result<std::vector<Expression>> expressions(const toml::table& table, const char* key,
                                              std::string_view where, size_t most) const {
    const toml::node* node = table.get(key);
    if (!node) return fail(line_of(table), fmt::format("{} has no '{}'", where, key));
    const toml::array* list = node->as_array();
    if (!list || list->empty() || list->size() > most)
      return fail(*node, fmt::format("'{}' should be a list of one to {} numbers", key, most));
    std::vector<Expression> result;
    for (const toml::node& element : *list) {
      TRY_ASSIGN(Expression one, expression(element, fmt::format("each of '{}'", key)));
      result.push_back(std::move(one));
    }
    return result;
  }

  template <class Function>
  Status each(const toml::table& root, const char* key, size_t most, Function&& read_one) {
    const toml::node* node = root.get(key);
    if (!node) return {};
    const toml::array* list = node->as_array();
    bool tables = list && std::all_of(list->begin(), list->end(),
                                      [](const toml::node& one) { return one.is_table(); });
    if (!tables) return fail(*node, fmt::format("write each {} as its own [[{}]]", key, key));
    if (list->size() > most) return fail(*node, fmt::format("more than {} of [[{}]]", most, key));
    for (const toml::node& one : *list) TRY(read_one(*one.as_table()));
    return {};
  }

  Status architectures(const toml::node& node) {
    const toml::array* list = node.as_array();
    if (!list || list->empty())
      return fail(node, "'architectures' should be a list, as [\"sm_90a\"]");
    for (const toml::node& one : *list) {
      auto name = one.value<std::string>();
      if (!one.is_string() || !name->starts_with("sm_"))
        return fail(one, "an architecture is written sm_ and a number, for example \"sm_90a\"");
      file_.architectures.push_back(*name);
    }
    return {};
  }

  Status run(const toml::table& root) {
    const toml::node* node = root.get("run");
    if (!node || (node->is_boolean() && *node->value<bool>())) return {};
    if (!node->is_boolean()) return fail(*node, "'run' should be true or false");
    TRY_ASSIGN(file_.not_run, text(root, "reason", "a launch file with run = false"));
    return {};
  }

  Status sizes(const toml::node& node) {
    const toml::table* table = node.as_table();
    if (!table) return fail(node, "write the sizes as a table, [sizes]");
    if (table->size() > kMostSizes)
      return fail(node, fmt::format("more than {} sizes", kMostSizes));
    for (const auto& [key, value] : *table) {
      SizeEntry size;
      size.name = std::string(key.str());
      if (!is_identifier(size.name) || size.name == "i")
        return fail(value,
                    fmt::format("'{}' cannot be a size's name: letters, digits and _, and not i",
                                size.name.substr(0, 64)));
      const toml::table* entry = value.as_table();
      const toml::node* standard = entry ? entry->get("default") : nullptr;
      if (!standard || !standard->is_integer())
        return fail(
            value, fmt::format("write {} = {{ default = 4096, sweep = [1024, 4096] }}", size.name));
      TRY(only(*entry, "a size", {"default", "sweep"}));
      size.standard = *standard->value<int64_t>();
      if (const toml::node* sweep = entry->get("sweep")) {
        if (!sweep->is_array()) return fail(*sweep, "'sweep' should be a list of whole numbers");
        for (const toml::node& one : *sweep->as_array()) {
          if (!one.is_integer()) return fail(one, "'sweep' should be a list of whole numbers");
          size.sweep.push_back(*one.value<int64_t>());
        }
      }
      file_.sizes.push_back(std::move(size));
    }
    return {};
  }

  Status launch(const toml::table& root) {
    const toml::node* node = root.get("launch");
    const toml::table* table = node ? node->as_table() : nullptr;
    if (!table) return fail(node ? line_of(*node) : 1, "the launch file has no [launch] table");
    TRY(only(*table, "[launch]", {"grid", "block", "cluster", "shared"}));
    const auto three = [&](const char* key, std::array<Expression, 3>& into) -> Status {
      into.fill(Expression(1));
      TRY_ASSIGN(std::vector<Expression> list, expressions(*table, key, "[launch]", 3));
      std::copy(list.begin(), list.end(), into.begin());
      return {};
    };
    TRY(three("grid", file_.grid));
    TRY(three("block", file_.block));
    file_.cluster.fill(Expression(1));
    if (table->get("cluster")) TRY(three("cluster", file_.cluster));
    if (const toml::node* shared = table->get("shared")) {
      TRY_ASSIGN(file_.shared, expression(*shared, "'shared'"));
    }
    return {};
  }

  Result<gpu::Element> type(const toml::table& table, std::string_view where) const {
    TRY_ASSIGN(std::string name, text(table, "type", where));
    std::vector<std::string> known;
    for (const TypeName& entry : kTypes) {
      if (name == entry.name) return entry.type;
      known.push_back(entry.name);
    }
    return fail(*table.get("type"), fmt::format("there is no type '{}'; known are {}",
                                                name.substr(0, 64), join(known, ", ")));
  }

  Result<Fill> fill(const toml::table& table) const {
    const toml::node* node = table.get("fill");
    if (!node) return Fill(NoFill{});
    auto word = node->value<std::string>();
    std::string kind = node->is_string() ? *word : "";
    if (kind == "normal") return Fill(NormalFill{});
    if (kind == "uniform") {
      UniformFill uniform;
      TRY_ASSIGN(uniform.low, number(table, "low", "a uniform fill"));
      TRY_ASSIGN(uniform.high, number(table, "high", "a uniform fill"));
      if (!(std::isfinite(uniform.low) && std::isfinite(uniform.high) &&
            uniform.low <= uniform.high))
        return fail(*node, "'low' should not be above 'high', and both finite");
      return Fill(uniform);
    }
    if (kind == "constant") {
      TRY_ASSIGN(double value, number(table, "value", "a constant fill"));
      return Fill(ConstantFill{value});
    }
    if (kind == "pattern") {
      const toml::node* pattern = table.get("pattern");
      if (!pattern) return fail(*node, "a pattern fill has no 'pattern'");
      TRY_ASSIGN(Expression element, expression(*pattern, "'pattern'", true));
      return Fill(PatternFill{std::move(element)});
    }
    if (kind == "file") {
      TRY_ASSIGN(std::string file, text(table, "file", "a fill from a file"));
      return Fill(FileFill{folder_ / file});
    }
    return fail(*node, "'fill' is one of normal, uniform, constant, pattern, file");
  }

  Status buffer(const toml::table& table) {
    TRY(only(table, "a buffer",
             {"name", "type", "count", "fill", "low", "high", "value", "pattern", "file", "output",
              "tolerance"}));
    BufferEntry entry;
    TRY_ASSIGN(entry.name, text(table, "name", "a buffer"));
    if (place_of(entry.name))
      return fail(*table.get("name"), fmt::format("there are two buffers '{}'", entry.name));
    TRY_ASSIGN(entry.type, type(table, "a buffer"));
    const toml::node* count = table.get("count");
    if (!count) return fail(line_of(table), fmt::format("buffer '{}' has no 'count'", entry.name));
    TRY_ASSIGN(entry.count, expression(*count, "'count'"));
    TRY_ASSIGN(entry.fill, fill(table));
    if (const toml::node* output = table.get("output")) {
      if (!output->is_boolean()) return fail(*output, "'output' should be true or false");
      entry.output = *output->value<bool>();
    }
    if (!entry.output && std::holds_alternative<NoFill>(entry.fill))
      return fail(line_of(table),
                  fmt::format("buffer '{}' is no output and has no fill", entry.name));
    if (const toml::node* tolerance = table.get("tolerance")) {
      const toml::table* both = tolerance->as_table();
      if (!both) return fail(*tolerance, "write tolerance = { relative = 1e-4, absolute = 1e-3 }");
      TRY(only(*both, "a tolerance", {"relative", "absolute"}));
      TRY_ASSIGN(entry.tolerance.relative, number(*both, "relative", "a tolerance"));
      TRY_ASSIGN(entry.tolerance.absolute, number(*both, "absolute", "a tolerance"));
      if (!(entry.tolerance.relative >= 0 && entry.tolerance.absolute >= 0))
        return fail(*tolerance, "a tolerance is not negative");
    }
    file_.buffers.push_back(std::move(entry));
    return {};
  }

  std::optional<size_t> place_of(const std::string& name) const {
    for (size_t i = 0; i < file_.buffers.size(); ++i)
      if (file_.buffers[i].name == name) return i;
    return std::nullopt;
  }

  Result<size_t> named_buffer(const toml::table& table, const char* key) const {
    TRY_ASSIGN(std::string name, text(table, key, "an argument"));
    if (auto place = place_of(name)) return *place;
    return fail(*table.get(key), fmt::format("there is no buffer '{}'", name));
  }

  Status argument(const toml::table& table) {
    TRY(only(table, "an argument",
             {"buffer", "type", "value", "tensor_map", "shape", "box", "swizzle"}));
    if (table.get("buffer")) {
      TRY_ASSIGN(size_t buffer, named_buffer(table, "buffer"));
      file_.arguments.emplace_back(BufferArgument{buffer});
    } else if (table.get("tensor_map")) {
      TensorMapArgument map;
      TRY_ASSIGN(map.buffer, named_buffer(table, "tensor_map"));
      TRY_ASSIGN(map.shape, expressions(table, "shape", "a tensor map", 5));
      TRY_ASSIGN(map.box, expressions(table, "box", "a tensor map", 5));
      if (map.shape.size() != map.box.size())
        return fail(line_of(table), "a tensor map's shape and box should be of one length");
      if (const toml::node* swizzle = table.get("swizzle")) {
        map.swizzle = swizzle->is_integer() ? *swizzle->value<int64_t>() : -1;
        if (map.swizzle != 0 && map.swizzle != 32 && map.swizzle != 64 && map.swizzle != 128)
          return fail(*swizzle, "'swizzle' is 0, 32, 64 or 128");
      }
      file_.arguments.emplace_back(std::move(map));
    } else {
      TRY(scalar(table));
    }
    return {};
  }

  Status scalar(const toml::table& table) {
    ScalarArgument scalar;
    TRY_ASSIGN(scalar.type, type(table, "an argument"));
    const toml::node* value = table.get("value");
    if (!value) return fail(line_of(table), "a scalar argument has no 'value'");
    if (value->is_floating_point()) {
      scalar.value = *value->value<double>();
      std::string name = type_name(scalar.type);
      if (name[0] == 'i' || name[0] == 'u')
        return fail(*value, fmt::format("{} is no whole number, as {} wants",
                                        *value->value<double>(), name));
    } else {
      TRY_ASSIGN(scalar.value, expression(*value, "'value'"));
    }
    file_.arguments.emplace_back(std::move(scalar));
    return {};
  }

  Status reference(const toml::table& root) {
    const toml::node* node = root.get("reference");
    if (!node) return {};
    const toml::table* table = node->as_table();
    if (!table) return fail(*node, "write the reference as a table, [reference]");
    TRY(only(*table, "[reference]", {"host", "kernel"}));
    if (table->get("kernel")) {
      TRY_ASSIGN(std::string kernel, text(*table, "kernel", "[reference]"));
      file_.reference_kernel = folder_ / kernel;
      return {};
    }
    TRY_ASSIGN(std::string host, text(*table, "host", "[reference]"));
    if (host != "none") file_.reference = host;
    return {};
  }

  std::filesystem::path folder_;
  LaunchFile file_;
};

}  // namespace

std::string type_name(gpu::Element type) {
  return std::find_if(std::begin(kTypes), std::end(kTypes),
                      [&](const TypeName& entry) { return entry.type == type; })
      ->name;
}

Result<Names> LaunchFile::names(const Names& chosen) const {
  Names names;
  for (const SizeEntry& size : sizes) names[size.name] = size.standard;
  for (const auto& [name, value] : chosen) {
    auto found = names.find(name);
    if (found == names.end()) {
      std::vector<std::string> known;
      for (const SizeEntry& size : sizes) known.push_back(size.name);
      return error(fmt::format("{} has no size {}; it has {}", origin, name,
                               known.empty() ? "none" : join(known, ", ")));
    }
    found->second = value;
  }
  return names;
}

Result<LaunchFile> parse_launch_file(std::string_view text, std::string origin,
                                     const std::filesystem::path& folder) {
  TRY_ASSIGN(const toml::table root, parse_toml(text, origin, "a launch file", kLargest));
  return Reader(std::move(origin), folder).read(root);
}

Result<LaunchFile> read_launch_file(const std::filesystem::path& file) {
  TRY_ASSIGN(std::string text, read_file(file, kLargest));
  return parse_launch_file(text, file.string(), file.parent_path());
}

}  // namespace namesake::measure
