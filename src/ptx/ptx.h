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

struct Function {
  std::string symbol;
  bool entry = false;      // .entry; else .func
  bool defined = false;    // has a body; else a declaration
  uint64_t name_offset = 0;  // of the symbol in the text
  uint64_t body_begin = 0, body_end = 0;  // from '{' to behind '}' where defined
};

struct Module {
  std::string text;
  std::string origin;      // file name for messages
  Version version;         // .version
  std::string target;      // "sm_90a": the first word of .target
  bool debug = false;      // .target …, debug
  std::vector<Function> functions;  // in order of appearance; a symbol once, its definition if there is one
  // Position of a defined function, or nullptr.
  const Function* find(std::string_view symbol) const;
};

// A sentence with file, line and cause for anything that is no PTX module.
Result<Module> parse(std::string text, std::string origin);

// Every occurrence of each symbol (as a whole identifier: definition, declaration, call, address)
// replaced. Fails if a new name exists already or is no PTX identifier.
Result<Module> rename(const Module& module, const std::map<std::string, std::string>& names);

// Names for the experiment, all of one length: as long as the symbol where that can hold the text.
std::string neutral_name(std::string_view symbol, int which);           // contains no known trigger
std::string name_with(std::string_view symbol, std::string_view trigger);  // contains it, same length

// `.pragma "text";` as the first statement of each entry's (or function's) body.
Module with_pragma(const Module& module, std::string_view pragma, const std::vector<std::string>& symbols);

// The newest .version an assembler release reads ("12.9" → 8.8); releases not known yet: extrapolated
// from the newest known one. And the oldest version that a target exists in (sm_100a → 8.6).
Version newest_version_of(std::string_view assembler_release);
Result<Version> oldest_version_of(std::string_view target);

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
Result<Module> retarget(const Module& module, std::string_view target);

}  // namespace namesake::ptx
