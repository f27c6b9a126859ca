// Edited forms of a unit's module, and code looked up under the name it has there.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "assembly/experiment.h"
#include "assembly/inputs.h"

namespace namesake::assembly {

// One form of a unit's module: original kernel symbol → its symbol in `module`.
struct Variant {
  std::shared_ptr<const ptx::Module> module;
  std::map<std::string, std::string> names;
  std::string failure;               // why this form cannot be made for this assembler
  std::vector<std::string> edits;    // shown to the user
  bool ok() const { return failure.empty(); }
};

// The module as this assembler reads it: .version lowered where needed, the kernels renamed or given
// the pragma where the build says so.
Variant variant_for(const Unit& unit, const Build& build);

enum class Naming { as_is, neutral, second_neutral, with_trigger };
// The same, under other names of one length (symbols too short to hold the trigger become longer).
Variant renamed_variant(const Unit& unit, const Build& build, Naming naming);

// .version raised to what the pragma needs; `pragma` decides whether it is written.
Variant pragma_variant(const Unit& unit, const Build& build, bool pragma);
bool knows_pragma(const toolchain::Tool& assembler);

// A variant assembled one way, and its draws with randomisation on.
struct Arm {
  Variant variant;
  Trial trial;
  Trial draw(int i) const;
};
Arm arm(Variant variant, const Build& build, const std::string& architecture, bool hooked);

// The codes one kernel had in an arm: its fixed run and the draws made so far. Empty where the assembly failed.
struct CodeSet {
  std::vector<Hash> codes;           // distinct, the fixed run's first
  int runs = 0;
  std::string failure;               // of the fixed run
};
CodeSet codes_of(const Laboratory& laboratory, const Arm& arm, const std::string& symbol, int draws);
bool intersect(const CodeSet& a, const CodeSet& b);

}  // namespace namesake::assembly
