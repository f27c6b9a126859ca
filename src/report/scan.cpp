#include "report/scan.h"

#include <algorithm>
#include <array>
#include <utility>

namespace namesake::report {
namespace {

struct Spelling {
  const char* key;
  const char* word;
  const char* brief;
};
constexpr std::array<Spelling, kPlaces> kSpellings = {{
    {"cutlass_kernel", "CUTLASS's own kernel", "CUTLASS"},
    {"own_name", "the kernel's own name", "own name"},
    {"enclosing_scope", "a namespace around it", "namespace"},
    {"template_argument", "a template argument", "template"},
    {"parameter_type", "a parameter's type", "parameter"},
    {"file_name", "the source file's name", "file name"},
    {"chance", "chance, in the mangling", "chance"},
}};

}  // namespace

std::string_view place_word(Place place) {
  return kSpellings[static_cast<size_t>(place)].word;
}
std::string_view place_short(Place place) {
  return kSpellings[static_cast<size_t>(place)].brief;
}
std::string_view place_key(Place place) {
  return kSpellings[static_cast<size_t>(place)].key;
}

int64_t carrying(const Scan& scan, std::string_view trigger) {
  return std::count_if(
      scan.functions.begin(), scan.functions.end(), [&](const ScannedFunction& function) {
        const auto& finds = scan.symbols[static_cast<size_t>(function.symbol)].triggers;
        return std::any_of(finds.begin(), finds.end(),
                           [&](const TriggerFind& find) { return find.trigger == trigger; });
      });
}

std::vector<LibraryGroup> by_library(const Scan& scan) {
  std::map<std::string, LibraryGroup> groups;
  std::vector<LibraryGroup*> group_of(scan.symbols.size());
  for (const ScannedFunction& function : scan.functions) {
    if (!function.kernel) continue;
    const ScannedSymbol& symbol = scan.symbols[static_cast<size_t>(function.symbol)];
    LibraryGroup*& known = group_of[static_cast<size_t>(function.symbol)];
    if (!known) known = &groups[symbol.library];
    LibraryGroup& group = *known;
    group.library = symbol.library;
    ++(function.code ? group.kernels : group.ptx_kernels);
    if (function.code) group.code_bytes += function.bytes;
    if (!symbol.triggers.empty()) ++group.with_trigger;
    ++group.architectures[function.architecture];
  }
  std::vector<LibraryGroup> list;
  for (auto& [name, group] : groups) list.push_back(std::move(group));
  std::stable_sort(list.begin(), list.end(), [](const LibraryGroup& a, const LibraryGroup& b) {
    return a.kernels + a.ptx_kernels > b.kernels + b.ptx_kernels;
  });
  return list;
}

std::vector<PlaceGroup> by_place(const Scan& scan) {
  struct Counting {
    PlaceGroup group;
    std::map<int64_t, int64_t> kernels_of;  // by symbol
  };
  std::map<std::pair<std::string, Place>, Counting> groups;
  for (const ScannedFunction& function : scan.functions) {
    if (!function.kernel) continue;
    for (const TriggerFind& find : scan.symbols[static_cast<size_t>(function.symbol)].triggers) {
      Counting& counting = groups[{find.trigger, find.places.front()}];
      counting.group.trigger = find.trigger;
      counting.group.place = find.places.front();
      ++counting.group.kernels;
      ++counting.group.architectures[function.architecture];
      ++counting.kernels_of[function.symbol];
    }
  }
  std::vector<PlaceGroup> list;
  for (auto& [key, counting] : groups) {
    counting.group.symbols = static_cast<int64_t>(counting.kernels_of.size());
    int64_t most = 0;
    for (auto [symbol, kernels] : counting.kernels_of) {
      if (kernels > most) counting.group.example = symbol;
      most = std::max(most, kernels);
    }
    list.push_back(std::move(counting.group));
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const PlaceGroup& a, const PlaceGroup& b) { return a.kernels > b.kernels; });
  return list;
}

}  // namespace namesake::report
