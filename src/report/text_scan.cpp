// A scan for a terminal. However many kernels there are, the page is a screen: what carries code,
// the largest libraries in it, where triggers stand. `--verbose`'s page (the command's --list) is a
// line a kernel.
#include <fmt/format.h>

#include <algorithm>

#include "report/scan.h"
#include "report/text.h"
#include "report/text_page.h"
#include "util/text.h"

namespace namesake::report {
namespace {

constexpr size_t kMostContainers = 8, kMostLibraries = 14, kMostProblems = 5,
                 kMostArchitectures = 6;

// "sm_90a 1,200, sm_80 400": the largest first.
std::string shown_architectures(const std::map<std::string, int64_t>& architectures) {
  std::vector<std::pair<std::string, int64_t>> list(architectures.begin(), architectures.end());
  std::stable_sort(list.begin(), list.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (size_t i = 0; i < list.size() && i < kMostArchitectures; ++i) {
    text += fmt::format("{}{} {}", i ? ", " : "", plain(list[i].first), grouped(list[i].second));
  }
  if (list.size() > kMostArchitectures)
    text += fmt::format(", {} more", list.size() - kMostArchitectures);
  return text;
}

std::string shown_entries(const Container& container) {
  std::vector<std::string> parts;
  if (container.cubins) parts.push_back(counted(container.cubins, "cubin"));
  if (container.ptx) parts.push_back(grouped(container.ptx) + " PTX");
  if (container.ir) parts.push_back(grouped(container.ir) + " IR");
  if (container.other) parts.push_back(grouped(container.other) + " of other kinds");
  return join(parts, ", ");
}

std::string shown_packing(const Container& container) {
  std::vector<std::string> parts;
  if (container.zstd) parts.push_back("zstd " + grouped(container.zstd));
  if (container.lz4) parts.push_back("LZ4 " + grouped(container.lz4));
  return join(parts, ", ");
}

void containers_text(TextPage& page, const Scan& scan) {
  if (scan.containers.empty()) return;
  page.heading("what carries GPU code");
  Table table({{"file", false, 0, 20},
               {"kernels", true},
               {"in PTX", true, 1},
               {"entries", false, 0, 12},
               {"packed", false, 3},
               {"size", true, 2}});
  std::vector<const Container*> largest;
  for (const Container& container : scan.containers) largest.push_back(&container);
  std::stable_sort(largest.begin(), largest.end(), [](const Container* a, const Container* b) {
    return a->kernels + a->ptx_kernels > b->kernels + b->ptx_kernels;
  });
  Container rest;
  for (size_t i = 0; i < largest.size(); ++i) {
    const Container& each = *largest[i];
    if (largest.size() <= kMostContainers + 1 || i < kMostContainers) {
      table.add({{plain(each.name)},
                 {grouped(each.kernels)},
                 {each.ptx_kernels ? grouped(each.ptx_kernels) : ""},
                 {shown_entries(each), Tone::dim},
                 {shown_packing(each), Tone::dim},
                 {byte_count(each.bytes), Tone::dim}});
      continue;
    }
    rest.kernels += each.kernels;
    rest.ptx_kernels += each.ptx_kernels;
    rest.cubins += each.cubins;
    rest.ptx += each.ptx;
    rest.ir += each.ir;
    rest.other += each.other;
    rest.zstd += each.zstd;
    rest.lz4 += each.lz4;
    rest.bytes += each.bytes;
    rest.name = fmt::format("{} more files", i + 1 - kMostContainers);
  }
  if (!rest.name.empty()) {
    table.add({{rest.name, Tone::dim},
               {grouped(rest.kernels)},
               {rest.ptx_kernels ? grouped(rest.ptx_kernels) : ""},
               {shown_entries(rest), Tone::dim},
               {shown_packing(rest), Tone::dim},
               {byte_count(rest.bytes), Tone::dim}});
  }
  page.table(table);
}

void libraries_text(TextPage& page, const Scan& scan) {
  std::vector<LibraryGroup> groups = by_library(scan);
  if (groups.empty()) return;
  page.heading("kernels by library");
  Table table({{"library", false, 0, 10},
               {"kernels", true},
               {"in PTX", true, 2},
               {"with a trigger", true},
               {"code", true, 1},
               {"architectures", false, 0, 12, true}});
  auto row = [&](const LibraryGroup& group, Tone tone) {
    table.add({{plain(group.library), tone},
               {grouped(group.kernels)},
               {group.ptx_kernels ? grouped(group.ptx_kernels) : ""},
               {group.with_trigger ? grouped(group.with_trigger) : "", Tone::more},
               {byte_count(group.code_bytes), Tone::dim},
               {shown_architectures(group.architectures), Tone::dim}});
  };
  LibraryGroup rest;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (groups.size() <= kMostLibraries + 1 || i < kMostLibraries) {
      row(groups[i], Tone::plain);
      continue;
    }
    rest.library = fmt::format("{} others", i + 1 - kMostLibraries);
    rest.kernels += groups[i].kernels;
    rest.ptx_kernels += groups[i].ptx_kernels;
    rest.with_trigger += groups[i].with_trigger;
    rest.code_bytes += groups[i].code_bytes;
    for (const auto& [name, count] : groups[i].architectures) rest.architectures[name] += count;
  }
  if (!rest.library.empty()) row(rest, Tone::dim);
  page.table(table);
}

void places_text(TextPage& page, const Scan& scan) {
  std::vector<PlaceGroup> groups = by_place(scan);
  if (groups.empty()) return;
  page.heading("where the trigger stands");
  Table table({{"trigger", false, 0, 8},
               {"in"},
               {"kernels", true},
               {"names", true, 1},
               {"for example", false, 0, 20}});
  for (const PlaceGroup& group : groups) {
    const std::string& symbol = scan.symbols[static_cast<size_t>(group.example)].symbol;
    bool unseen = group.place == Place::file_name || group.place == Place::chance;
    table.add({{plain(group.trigger), Tone::bold},
               {std::string(place_word(group.place))},
               {grouped(group.kernels)},
               {grouped(group.symbols), Tone::dim},
               {plain(unseen ? symbol : demangled(symbol)), Tone::dim}});
  }
  page.table(table);
}

std::string conclusion(const Scan& scan) {
  int64_t kernels = 0, with_trigger = 0, unseen = 0, devices = 0;
  for (const ScannedFunction& function : scan.functions) {
    const auto& triggers = scan.symbols[static_cast<size_t>(function.symbol)].triggers;
    if (!function.kernel) {
      devices += !triggers.empty();
      continue;
    }
    ++kernels;
    if (triggers.empty()) continue;
    ++with_trigger;
    unseen += triggers.front().places.front() > Place::own_name;
  }
  if (kernels == 0) {
    std::string where = scan.problems.empty() ? "" : " in what could be read";
    return scan.filter.empty() ? fmt::format("No GPU code was found{}.", where)
                               : fmt::format("No kernel{} is {}.", where, plain(scan.filter));
  }
  std::string text;
  if (with_trigger == 0) {
    text =
        fmt::format("None of the {} carries a trigger: no assembler treats them for their names.",
                    counted(kernels, "kernel"));
  } else {
    text = fmt::format("{} of {} {} a trigger in the symbol, so an assembler at -O3 treats {}",
                       grouped(with_trigger), counted(kernels, "kernel"),
                       with_trigger == 1 ? "carries" : "carry", with_trigger == 1 ? "it" : "them");
    text += unseen == 0 ? "."
                        : fmt::format(
                              "; {} of them through something around the kernel's own name, "
                              "perhaps by accident.",
                              grouped(unseen));
  }
  if (devices > 0)
    text += fmt::format(" So do {} compiled by themselves.", counted(devices, "device function"));
  return text;
}

void list_text(TextPage& page, const Scan& scan) {
  bool several = scan.containers.size() > 1;
  std::vector<Column> columns = {
      {"kernel", false, 0, 24}, {"trigger in", false, 0, 8}, {"arch"},
      {"kind", false, 1},       {"size", true, 2},           {"registers", true, 3}};
  if (several) columns.push_back({"file", false, 4, 12});
  Table table(columns);
  for (const ScannedFunction& function : scan.functions) {
    const ScannedSymbol& symbol = scan.symbols[static_cast<size_t>(function.symbol)];
    std::string trigger;
    for (const TriggerFind& find : symbol.triggers) {
      trigger += trigger.empty() ? "" : ", ";
      if (find.trigger != "cutlass") trigger += find.trigger + ": ";
      trigger += place_short(find.places.front());
    }
    std::vector<Cell> row = {{plain(demangled(symbol.symbol))},
                             {plain(trigger), Tone::more},
                             {plain(function.architecture)},
                             {!function.code    ? "PTX"
                              : function.kernel ? "code"
                                                : "device",
                              Tone::dim},
                             {byte_count(function.bytes)},
                             {function.code ? grouped(function.registers) : ""}};
    if (several)
      row.push_back(
          {plain(scan.containers[static_cast<size_t>(function.container)].name), Tone::dim});
    table.add(std::move(row));
  }
  page.table(table);
}

}  // namespace

std::string to_text(const Scan& scan, const TextStyle& style) {
  TextPage page(style);
  if (style.verbose && !scan.functions.empty()) {
    list_text(page, scan);
  } else {
    containers_text(page, scan);
    libraries_text(page, scan);
    places_text(page, scan);
  }
  if (!scan.problems.empty()) {
    page.heading("could not be read");
    for (size_t i = 0; i < scan.problems.size() && (style.verbose || i < kMostProblems); ++i) {
      page.marked("✗", Tone::bad, plain(scan.problems[i]));
    }
    if (!style.verbose && scan.problems.size() > kMostProblems) {
      page.line(
          fmt::format("and {} more (--list, or --json)", scan.problems.size() - kMostProblems),
          Tone::dim, 2, 4);
    }
  }
  page.blank();
  page.line(conclusion(scan), Tone::bold);
  page.line(fmt::format("{} read, {} unpacked, in {}.", byte_count(scan.file_bytes),
                        byte_count(scan.unpacked_bytes), seconds(scan.seconds)),
            Tone::dim);
  for (const std::string& denied : scan.denied) {
    int64_t found = carrying(scan, denied);
    page.marked(found ? "✗" : "✓", found ? Tone::bad : Tone::good,
                found ? fmt::format("denied: {} with \"{}\" in the symbol",
                                    counted(found, "function"), plain(denied))
                      : fmt::format("\"{}\" is in no symbol", plain(denied)));
  }
  page.next(scan.next_command);
  return std::move(page.out);
}

}  // namespace namesake::report
