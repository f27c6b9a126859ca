// Any bytes: parse, and where that succeeds every edit; what an edit gives must parse again.
#include <cstdint>
#include <cstdlib>

#include "ptx/ptx.h"

using namespace namesake::ptx;

static void must_parse(const Module& module) {
  namesake::Result<Module> again = parse(module.text, "edited.ptx");
  if (!again || again->functions.size() != module.functions.size()) std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namesake::Result<Module> module =
      parse(std::string(reinterpret_cast<const char*>(data), size), "fuzz.ptx");
  if (!module) return 0;
  std::vector<std::string> symbols;
  for (const Function& function : module->functions) symbols.push_back(function.symbol);
  if (auto renamed = rename(*module, names_with(*module, symbols, "cutlass"))) must_parse(*renamed);
  must_parse(with_pragma(*module, "mma_throughput", symbols));
  if (auto lowered = lower_for(*module, "12.9")) must_parse(lowered->module);
  if (auto moved = retarget(*module, "sm_100a")) must_parse(*moved);
  return 0;
}
