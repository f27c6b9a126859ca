// PTX as text: which functions a module has, for which target and version, and the few edits the
// product makes. Nothing here understands instructions; an edit touches names and directives only.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "util/error.h"

namespace namesake::ptx {

struct Version {
  int major = 0, minor = 0;
  auto operator<=>(const Version&) const = default;
};

enum class Linkage { local, visible, weak, external };

struct Function {
  std::string symbol;
  bool entry = false;      // .entry; else .func
  Linkage linkage = Linkage::local;
  bool defined = false;    // has a body; else a declaration
  uint64_t name_offset = 0;  // of the symbol in the text
  uint64_t body_begin = 0, body_end = 0;  // from '{' to behind '}' where defined
};

struct Place {
  uint64_t offset = 0, size = 0;
};

struct Module {
  std::string text;
  std::string origin;      // file name for messages
  Version version;         // .version
  std::string target;      // "sm_90a": the first word of .target
  bool debug = false;      // .target …, debug
  std::vector<Function> functions;  // in order of appearance; a symbol once, its definition if there is one
  // For the edits below: where the version's number and the target's name stand, and the functions'
  // positions in the order of their symbols.
  Place version_place;
  std::vector<Place> target_places;
  std::vector<uint32_t> by_symbol;
  // The defined function of that symbol, or nullptr.
  const Function* find(std::string_view symbol) const;
};

// A sentence with file, line and cause for anything that is no PTX module.
Result<Module> parse(std::string text, std::string origin);

// Every occurrence of each symbol (as a whole identifier: definition, declaration, call, address)
// replaced. Fails if a new name exists already or is no PTX identifier.
Result<Module> rename(const Module& module, const std::map<std::string, std::string>& names);

// Names for the experiment, all of one length: as long as the symbol where that holds the text and
// four characters more, which keep names apart.
std::string neutral_name(std::string_view symbol, int which);           // contains no known trigger
std::string name_with(std::string_view symbol, std::string_view trigger);  // begins with it, same length

// The same for many functions at once, as rename() takes them: no two alike, none taken in the module.
std::map<std::string, std::string> neutral_names(const Module& module,
                                                 const std::vector<std::string>& symbols, int which);
std::map<std::string, std::string> names_with(const Module& module,
                                              const std::vector<std::string>& symbols,
                                              std::string_view trigger);

// `.pragma "text";` as the first statement of each entry's (or function's) body, on the brace's own
// line. Symbols without a body are passed over; the text must hold no quote.
Module with_pragma(const Module& module, std::string_view pragma, const std::vector<std::string>& symbols);

// .version replaced by a newer (or older) one; nothing else changes.
Module with_version(const Module& module, Version version);

// The newest .version an assembler release reads ("12.9" → 8.8); releases not known yet: extrapolated
// from the newest known one. And the oldest version that a target exists in (sm_100a → 8.6).
Version newest_version_of(std::string_view assembler_release);
Result<Version> oldest_version_of(std::string_view target);
std::vector<std::string> known_targets();

struct Lowered {
  Module module;
  Version from, to;       // equal where nothing was edited
  bool edited() const { return from != to; }
};
// .version lowered to what the assembler reads. An error, "not expressible here: …", where the
// target needs more than that.
Result<Lowered> lower_for(const Module& module, std::string_view assembler_release);

// .target replaced (an architecture the user asked for): sm_80 PTX assembles for sm_90 without it;
// needed only where the module's own target is newer or arch-specific. Used by callers that ask.
// A .version older than the target is raised to it.
Result<Module> retarget(const Module& module, std::string_view target);

}  // namespace namesake::ptx
