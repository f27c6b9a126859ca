#include "measure/first_launch_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "util/cursor.h"
#include "util/text.h"

namespace namesake::measure {
namespace {

constexpr size_t kMostParameters = 500;

// Words, numbers and single signs; comments left out. Enough of PTX for a list of parameters.
std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  const auto belongs = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '$' ||
           c == '%';
  };
  for (size_t i = 0; i < text.size();) {
    if (std::isspace(static_cast<unsigned char>(text[i]))) {
      ++i;
    } else if (text.substr(i, 2) == "//") {
      i = std::min(text.find('\n', i), text.size());
    } else if (text.substr(i, 2) == "/*") {
      const size_t end = text.find("*/", i);
      i = end == text.npos ? text.size() : end + 2;
    } else {
      size_t end = i + 1;
      if (belongs(text[i]))
        while (end < text.size() && belongs(text[end])) ++end;
      words.push_back(text.substr(i, end - i));
      i = end;
    }
  }
  return words;
}

int64_t bytes_of_type(std::string_view type) {
  const size_t digits = type.find_first_of("0123456789");
  return digits == type.npos ? 0 : parse_integer(type.substr(digits)).value_or(0) / 8;
}

// What stands between a function's name and its body: "( … ) .maxntid 256".
std::string_view head_of(const ptx::Module& module, const ptx::Function& entry) {
  const size_t begin = entry.name_offset + entry.symbol.size();
  return slice(module.text, begin, entry.body_begin > begin ? entry.body_begin - begin : 0)
      .value_or("");
}

// The numbers behind .reqntid or .maxntid.
std::vector<std::string> block_of(std::string_view head) {
  const std::vector<std::string_view> words = words_of(head);
  for (std::string_view directive : {".reqntid", ".maxntid"}) {
    const auto found = std::find(words.begin(), words.end(), directive);
    std::vector<std::string> numbers;
    for (auto word = found; word != words.end() && ++word != words.end() && numbers.size() < 3;) {
      if (parse_integer(*word))
        numbers.emplace_back(*word);
      else if (*word != ",")
        break;
    }
    if (!numbers.empty()) return numbers;
  }
  return {"256"};
}

Result<const ptx::Function*> entry_of(const ptx::Module& module, std::string_view glob) {
  std::vector<const ptx::Function*> found;
  std::vector<std::string> names;
  for (const ptx::Function& function : module.functions) {
    if (!function.entry || !function.defined) continue;
    names.push_back(function.symbol);
    if (glob.empty() || glob_match(glob, function.symbol) ||
        glob_match(glob, demangled_name(function.symbol)))
      found.push_back(&function);
  }
  if (found.size() == 1) return found.front();
  if (names.empty()) return error(fmt::format("{} has no kernel", module.origin));
  return error(fmt::format("{} of the kernels in {} match: name one with --kernel; there are {}",
                           found.size(), module.origin, join(names, ", ").substr(0, 500)));
}

std::string scalar_type(const Parameter& parameter) {
  const std::string size = std::to_string(parameter.bytes * 8);
  if (parameter.type[0] == 'f') return parameter.type;
  return (parameter.type[0] == 'u' ? "u" : "i") + size;
}

}  // namespace

Result<std::vector<Parameter>> parameters_of(const ptx::Module& module,
                                             const ptx::Function& entry) {
  std::vector<Parameter> parameters;
  const std::vector<std::string_view> words = words_of(head_of(module, entry));
  if (words.empty() || words[0] != "(") return parameters;
  const auto unfit = [&](std::string_view why) {
    return error(fmt::format("{}: the parameters of {} cannot be read: {}", module.origin,
                             entry.symbol, why));
  };
  for (size_t i = 1; i < words.size() && words[i] != ")";) {
    if (words[i] == ",") {
      ++i;
      continue;
    }
    if (words[i] != ".param")
      return unfit(fmt::format("\"{}\" stands where .param should", words[i].substr(0, 50)));
    Parameter parameter;
    for (++i; i < words.size() && words[i][0] == '.'; ++i) {
      if (words[i] == ".align")
        ++i;  // its number is passed over
      else if (bytes_of_type(words[i]) > 0)
        parameter.type = words[i].substr(1);
    }
    if (i >= words.size() || parameter.type.empty()) return unfit("a type or a name is missing");
    parameter.name = words[i++];
    parameter.bytes = bytes_of_type(parameter.type);
    if (i + 2 < words.size() && words[i] == "[") {
      const auto count = parse_integer(words[i + 1]);
      if (!count || words[i + 2] != "]") return unfit("an array without a size");
      parameter.array = true;
      parameter.bytes *= *count;
      i += 3;
    }
    parameters.push_back(std::move(parameter));
    if (parameters.size() > kMostParameters) return unfit("there are too many");
  }
  return parameters;
}

Result<std::string> first_launch_file(const ptx::Module& module, std::string_view kernel_glob) {
  TRY_ASSIGN(const ptx::Function* entry, entry_of(module, kernel_glob));
  TRY_ASSIGN(const std::vector<Parameter> parameters, parameters_of(module, *entry));
  const auto is_buffer = [](const Parameter& parameter) {
    return parameter.array || parameter.bytes == 8;
  };
  // The last pointer is the output more often than any other.
  const auto output = std::find_if(
      parameters.rbegin(), parameters.rend(),
      [&](const Parameter& parameter) { return is_buffer(parameter) && !parameter.array; });
  std::string buffers, arguments;
  size_t number = 0;
  bool map = false;
  for (const Parameter& parameter : parameters) {
    const std::string name = fmt::format("p{}", number++);
    if (parameter.array && parameter.bytes != 128)
      return error(fmt::format(
          "{} takes a structure of {} bytes ({}) by value, which a launch file cannot say",
          entry->symbol, parameter.bytes, parameter.name));
    if (!is_buffer(parameter)) {
      const std::string type = scalar_type(parameter);
      arguments +=
          fmt::format("\n[[argument]]                       # {}\ntype = \"{}\"\nvalue = {}\n",
                      parameter.name, type, type[0] == 'f' ? "1.0" : "\"n\"");
      continue;
    }
    const bool written = output != parameters.rend() && &parameter == &*output;
    buffers += fmt::format(
        "\n[[buffer]]\nname = \"{}\"\ntype = \"f32\"                       # FILL IN\ncount = "
        "\"n\"                        # FILL IN\n{}\n",
        name,
        written ? "output = true\ntolerance = { relative = 1e-4, absolute = 1e-6 }"
                : "fill = \"normal\"");
    if (parameter.array) {
      map = true;
      arguments += fmt::format(
          "\n[[argument]]                       # {}: a tensor map\ntensor_map = \"{}\"\nshape = "
          "[\"n\"]                      # FILL IN, innermost first\nbox = [64]                     "
          "    # FILL IN\nswizzle = 128\n",
          parameter.name, name);
    } else {
      arguments += fmt::format(
          "\n[[argument]]                       # {}: a number of 64 bits? then type = \"i64\", "
          "value = \"n\", and no buffer\nbuffer = \"{}\"\n",
          parameter.name, name);
    }
  }
  std::string text = fmt::format(
      "# How to run {}. Written from its parameters: what is marked FILL IN only you know, and "
      "which\n"
      "# buffers are inputs (with a fill) and which outputs is a guess.\n"
      "kernel = \"{}\"\nentry = \"{}\"\n\n[sizes]\nn = {{ default = 1048576, sweep = [65536, "
      "1048576] }}\n\n"
      "[launch]\ngrid = [\"ceil_div(n, 256)\"]         # FILL IN\nblock = [{}]\n",
      demangled(entry->symbol), module.origin, entry->symbol,
      join(block_of(head_of(module, *entry)), ", "));
  if (map) text += "shared = 0                         # FILL IN\n";
  return text + buffers + arguments + "\n[reference]\nhost = \"none\"\n";
}

}  // namespace namesake::measure
