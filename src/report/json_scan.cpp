// namesake.scan/1.0, one key a line and one element a line in its arrays:
//   schema, version, command, date, files, file_bytes, unpacked_bytes, seconds
//   triggers     texts looked for; denied: of these, by --deny
//   filter       what was asked for alone
//   summary      {kernels, ptx_kernels, device_functions, with_trigger, places: {trigger: {place:
//   kernels}}};
//                a kernel counts under the most deliberate of its places
//   problems     what could not be read, a sentence each; the list is incomplete where there are
//   any containers   [{name, bytes, cubins, ptx, ir, other, lz4, zstd, kernels, ptx_kernels,
//   sections}],
//                sections being {name: {cubins, ptx, other, kernels}} of a host program
//   functions    [{symbol, name, library, container, architecture, kind, bytes, registers,
//   triggers}]
//                kind is "code", "ptx" or "device function"; container counts from 0;
//                triggers is [{trigger, places}], its places those of report/scan.h
//   next_command
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "report/json.h"
#include "report/scan.h"
#include "util/text.h"

namespace namesake::report {
namespace {

using Json = nlohmann::ordered_json;

std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json summary_of(const Scan& scan) {
  int64_t kernels = 0, ptx_kernels = 0, devices = 0, with_trigger = 0;
  for (const ScannedFunction& function : scan.functions) {
    ++(!function.kernel ? devices : function.code ? kernels : ptx_kernels);
    if (function.kernel && !scan.symbols[static_cast<size_t>(function.symbol)].triggers.empty())
      ++with_trigger;
  }
  Json places = Json::object();
  for (const PlaceGroup& group : by_place(scan))
    places[group.trigger][std::string(place_key(group.place))] = group.kernels;
  return {{"kernels", kernels},
          {"ptx_kernels", ptx_kernels},
          {"device_functions", devices},
          {"with_trigger", with_trigger},
          {"places", places}};
}

Json written(const Container& container) {
  Json sections = Json::object();
  for (const auto& [name, section] : container.sections) {
    sections[name] = {{"cubins", section.cubins},
                      {"ptx", section.ptx},
                      {"other", section.other},
                      {"kernels", section.kernels}};
  }
  return {{"name", container.name},       {"bytes", container.bytes},
          {"cubins", container.cubins},   {"ptx", container.ptx},
          {"ir", container.ir},           {"other", container.other},
          {"lz4", container.lz4},         {"zstd", container.zstd},
          {"kernels", container.kernels}, {"ptx_kernels", container.ptx_kernels},
          {"sections", sections}};
}

Json written(const std::vector<TriggerFind>& finds) {
  Json list = Json::array();
  for (const TriggerFind& find : finds) {
    Json places = Json::array();
    for (Place place : find.places) places.push_back(place_key(place));
    list.push_back({{"trigger", find.trigger}, {"places", places}});
  }
  return list;
}

}  // namespace

std::string to_json(const Scan& scan) {
  std::string out = "{\n \"schema\": \"namesake.scan/1.0\"";
  auto add = [&](const char* key, const Json& value) {
    out += ",\n \"" + std::string(key) + "\": " + dumped(value);
  };
  auto add_list = [&](const char* key, const auto& list, const auto& write) {
    out += ",\n \"" + std::string(key) + "\": [";
    bool first = true;
    for (const auto& element : list) {
      out += first ? "\n  " : ",\n  ";
      out += dumped(write(element));
      first = false;
    }
    out += first ? "]" : "\n ]";
  };
  add("version", NAMESAKE_VERSION);
  add("command", scan.command);
  add("date", scan.date);
  add("files", scan.files);
  add("file_bytes", scan.file_bytes);
  add("unpacked_bytes", scan.unpacked_bytes);
  add("seconds", scan.seconds);
  add("triggers", scan.triggers);
  add("denied", scan.denied);
  add("filter", scan.filter);
  add("summary", summary_of(scan));
  add_list("problems", scan.problems, [](const std::string& sentence) { return Json(sentence); });
  add_list("containers", scan.containers,
           [](const Container& container) { return written(container); });
  // The same symbol is there for many architectures, and reading it is most of the work.
  std::unordered_map<int64_t, Json> read;
  add_list("functions", scan.functions, [&](const ScannedFunction& function) {
    const ScannedSymbol& symbol = scan.symbols[static_cast<size_t>(function.symbol)];
    auto [at, is_new] = read.try_emplace(function.symbol);
    if (is_new) at->second = demangled(symbol.symbol);
    const char* kind = !function.kernel ? "device function" : function.code ? "code" : "ptx";
    Json json = {{"symbol", symbol.symbol},
                 {"name", at->second},
                 {"library", symbol.library},
                 {"container", function.container},
                 {"architecture", function.architecture},
                 {"kind", kind},
                 {"bytes", function.bytes},
                 {"registers", function.registers}};
    if (!symbol.triggers.empty()) json["triggers"] = written(symbol.triggers);
    return json;
  });
  add("next_command", scan.next_command);
  return out + "\n}\n";
}

}  // namespace namesake::report
