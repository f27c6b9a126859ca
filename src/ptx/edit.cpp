// Edits are lists of replaced places, applied in one pass; everything the module knows by position
// moves along. No edit adds or removes a line: what the assembler says about line 120 is true of the
// user's own file.
#include <fmt/format.h>

#include <algorithm>
#include <bitset>
#include <unordered_map>
#include <unordered_set>

#include "ptx/lexer.h"
#include "ptx/ptx.h"

namespace namesake::ptx {
namespace {

struct Edit {
  Place place;
  std::string_view text;
};

// The module with each place replaced; edits are in order and apart.
Module edited(const Module& module, const std::vector<Edit>& edits) {
  Module result;
  result.origin = module.origin;
  result.version = module.version;
  result.target = module.target;
  result.debug = module.debug;
  result.by_symbol = module.by_symbol;

  std::vector<std::pair<uint64_t, int64_t>> shifts;  // behind this position: moved by so much
  int64_t shift = 0;
  for (const Edit& edit : edits) {
    shift += static_cast<int64_t>(edit.text.size()) - static_cast<int64_t>(edit.place.size);
    shifts.emplace_back(edit.place.offset, shift);
  }
  auto moved = [&](uint64_t position) {
    auto behind = std::lower_bound(shifts.begin(), shifts.end(), position,
                                   [](const auto& s, uint64_t p) { return s.first < p; });
    return behind == shifts.begin() ? position
                                    : position + static_cast<uint64_t>(std::prev(behind)->second);
  };
  auto moved_place = [&](Place place) {
    uint64_t begin = moved(place.offset);
    return Place{begin, moved(place.offset + place.size) - begin};
  };

  result.text.reserve(module.text.size() + static_cast<size_t>(std::max<int64_t>(0, shift)));
  size_t done = 0;
  for (const Edit& edit : edits) {
    result.text.append(module.text, done, edit.place.offset - done);
    result.text.append(edit.text);
    done = edit.place.offset + edit.place.size;
  }
  result.text.append(module.text, done);

  result.version_place = moved_place(module.version_place);
  for (Place place : module.target_places) result.target_places.push_back(moved_place(place));
  result.functions = module.functions;
  for (Function& function : result.functions) {
    function.name_offset = moved(function.name_offset);
    if (!function.defined) continue;
    function.body_begin = moved(function.body_begin);
    function.body_end = moved(function.body_end);
  }
  return result;
}

}  // namespace

Result<Module> rename(const Module& module, const std::map<std::string, std::string>& names) {
  std::unordered_map<std::string_view, std::string_view> wanted;
  std::unordered_set<std::string_view> fresh;
  // Most words of a module are registers and opcodes: their lengths alone rule nearly all of them out.
  std::bitset<256> lengths;
  auto length_class = [](size_t size) { return std::min<size_t>(size, 255); };
  for (const auto& [from, to] : names) {
    auto known = std::lower_bound(module.by_symbol.begin(), module.by_symbol.end(), from,
                                  [&](uint32_t i, const std::string& symbol) {
                                    return module.functions[i].symbol < symbol;
                                  });
    if (known == module.by_symbol.end() || module.functions[*known].symbol != from) {
      return error(fmt::format("{}: no function {} to rename", module.origin, from));
    }
    if (!is_identifier(to)) {
      return error(fmt::format("{}: {} cannot become '{}': that is no PTX name", module.origin, from,
                               to));
    }
    if (!fresh.insert(to).second) {
      return error(fmt::format("{}: two functions would be named {}", module.origin, to));
    }
    wanted.emplace(from, to);
    lengths.set(length_class(from.size()));
    lengths.set(length_class(to.size()));
  }

  std::vector<Edit> edits;
  Lexer lexer(module.text);
  for (Token token = lexer.next(); token.kind != TokenKind::end; token = lexer.next()) {
    if (token.kind != TokenKind::identifier) continue;
    size_t size = token.end - token.begin;
    if (!lengths.test(length_class(size))) continue;
    std::string_view word = lexer.text_of(token);
    if (auto found = wanted.find(word); found != wanted.end()) {
      edits.push_back({{token.begin, size}, found->second});
    } else if (fresh.contains(word)) {
      return error(fmt::format("{}:{}: the name {} is taken", module.origin,
                               line_of(module.text, token.begin), word));
    }
  }

  Module result = edited(module, edits);
  for (Function& function : result.functions) {
    auto found = wanted.find(function.symbol);
    if (found != wanted.end()) function.symbol = found->second;
  }
  std::sort(result.by_symbol.begin(), result.by_symbol.end(), [&](uint32_t a, uint32_t b) {
    return result.functions[a].symbol < result.functions[b].symbol;
  });
  return result;
}

Module with_pragma(const Module& module, std::string_view pragma,
                   const std::vector<std::string>& symbols) {
  std::string statement = fmt::format(" .pragma \"{}\";", pragma);
  std::vector<Edit> edits;
  for (const std::string& symbol : symbols) {
    if (const Function* function = module.find(symbol)) {
      edits.push_back({{function->body_begin + 1, 0}, statement});
    }
  }
  auto offset = [](const Edit& edit) { return edit.place.offset; };
  std::sort(edits.begin(), edits.end(),
            [&](const Edit& a, const Edit& b) { return offset(a) < offset(b); });
  edits.erase(std::unique(edits.begin(), edits.end(),
                          [&](const Edit& a, const Edit& b) { return offset(a) == offset(b); }),
              edits.end());
  return edited(module, edits);
}

Module with_version(const Module& module, Version version) {
  Module result = edited(module, {{module.version_place, fmt::format("{}.{}", version.major, version.minor)}});
  result.version = version;
  return result;
}

Result<Lowered> lower_for(const Module& module, std::string_view assembler_release) {
  Version newest = newest_version_of(assembler_release);
  if (module.version <= newest) return Lowered{module, module.version, module.version};
  Version needed;
  TRY_ASSIGN(needed, oldest_version_of(module.target));
  if (needed > newest) {
    return error(fmt::format(
        "not expressible here: {} is for {}, which needs PTX {}.{}, and the assembler of CUDA {} "
        "reads up to {}.{}",
        module.origin, module.target, needed.major, needed.minor, assembler_release, newest.major,
        newest.minor));
  }
  std::string number = fmt::format("{}.{}", newest.major, newest.minor);
  return Lowered{with_version(module, newest), module.version, newest};
}

Result<Module> retarget(const Module& module, std::string_view target) {
  Version needed;
  TRY_ASSIGN(needed, oldest_version_of(target));
  Version version = std::max(module.version, needed);
  std::string number = fmt::format("{}.{}", version.major, version.minor);
  std::vector<Edit> edits;
  if (version != module.version) edits.push_back({module.version_place, number});
  for (Place place : module.target_places) edits.push_back({place, target});
  Module result = edited(module, edits);
  result.version = version;
  result.target = target;
  return result;
}

}  // namespace namesake::ptx
