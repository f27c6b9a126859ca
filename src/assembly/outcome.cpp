#include "assembly/outcome.h"

#include <nlohmann/json.hpp>
#include <vector>

namespace namesake::assembly {
namespace {

using json = nlohmann::json;

constexpr int kFormat = 2;  // raised whenever Outcome or the meaning of a field changes

std::string to_bytes(const json& value) {
  std::string bytes;
  json::to_cbor(value, bytes);
  return bytes;
}

json written(Hash hash) {
  return {hash.high, hash.low};
}

Hash read_hash(const json& value) {
  return {value.at(0).get<uint64_t>(), value.at(1).get<uint64_t>()};
}

json written_machine_code(const FunctionCode& code) {
  json branches = json::array(), relocations = json::array();
  for (const cubin::IndirectBranch& branch : code.indirect_branches)
    branches.push_back({branch.offset, branch.targets});
  for (const cubin::Relocation& r : code.relocations)
    relocations.push_back({r.offset, r.type, r.addend, r.target});
  return {written(code.identity), json::binary({code.code.begin(), code.code.end()}),
          std::move(branches), std::move(relocations)};
}

FunctionCode read_machine_code(const json& value) {
  FunctionCode code;
  code.identity = read_hash(value.at(0));
  const json::binary_t& bytes = value.at(1).get_binary();
  code.code.assign(bytes.begin(), bytes.end());
  for (const json& branch : value.at(2)) {
    code.indirect_branches.push_back(
        {branch.at(0).get<uint32_t>(), branch.at(1).get<std::vector<uint32_t>>()});
  }
  for (const json& r : value.at(3)) {
    code.relocations.push_back({r.at(0).get<uint32_t>(), r.at(1).get<uint32_t>(),
                                r.at(2).get<int64_t>(), r.at(3).get<std::string>()});
  }
  return code;
}

// The CBOR reader calls itself for each level of nesting, so what nests deeper than we ever write is
// refused before it is read: a file must not be able to exhaust the stack.
struct Depth : json::json_sax_t {
  static constexpr int kMost = 8;
  int now = 0;
  bool enter() { return ++now <= kMost; }
  bool leave() { return --now, true; }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool key(string_t&) override { return true; }
  bool start_object(std::size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool start_array(std::size_t) override { return enter(); }
  bool end_array() override { return leave(); }
  bool parse_error(std::size_t, const std::string&, const json::exception&) override {
    return false;
  }
};

// Throws as the reader does.
json read_bytes(std::string_view bytes) {
  Depth depth;
  if (!json::sax_parse(bytes, &depth, json::input_format_t::cbor)) return nullptr;
  return json::from_cbor(bytes);
}

}  // namespace

std::string encoded(const Outcome& outcome) {
  json functions = json::object();
  for (const auto& [symbol, code] : outcome.functions) {
    functions[symbol] = {written_machine_code(code), code.registers,        code.stack_bytes,
                         code.spill_store_bytes,     code.spill_load_bytes, code.code_bytes,
                         code.shared_bytes};
  }
  json value = {{"format", kFormat},
                {"failure", outcome.failure},
                {"diagnostics", outcome.diagnostics},
                {"fixed", outcome.addresses_fixed},
                {"crashed", outcome.crashed},
                {"timed_out", outcome.timed_out},
                {"wall", outcome.wall_seconds},
                {"cpu", outcome.cpu_seconds},
                {"data", written(outcome.data)},
                {"functions", std::move(functions)}};
  return to_bytes(value);
}

std::optional<Outcome> decoded_outcome(std::string_view bytes) {
  try {
    json value = read_bytes(bytes);
    if (value.at("format") != kFormat) return std::nullopt;
    Outcome outcome;
    outcome.failure = value.at("failure");
    outcome.diagnostics = value.at("diagnostics");
    outcome.addresses_fixed = value.at("fixed");
    outcome.crashed = value.at("crashed");
    outcome.timed_out = value.at("timed_out");
    outcome.wall_seconds = value.at("wall");
    outcome.cpu_seconds = value.at("cpu");
    outcome.data = read_hash(value.at("data"));
    for (const auto& [symbol, function] : value.at("functions").items()) {
      FunctionCode code = read_machine_code(function.at(0));
      code.registers = function.at(1);
      code.stack_bytes = function.at(2);
      code.spill_store_bytes = function.at(3);
      code.spill_load_bytes = function.at(4);
      code.code_bytes = function.at(5);
      code.shared_bytes = function.at(6);
      outcome.functions.emplace(symbol, std::move(code));
    }
    return outcome;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

std::string encoded_code(const FunctionCode& code) {
  return to_bytes(written_machine_code(code));
}

std::optional<FunctionCode> decoded_code(std::string_view bytes) {
  try {
    return read_machine_code(read_bytes(bytes));
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

}  // namespace namesake::assembly
