// Any bytes: an error or a module whose views lie inside the file and whose memory is bounded by
// it.
#include <cstdint>

#include "../util/fuzz.h"
#include "cubin/cubin.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace namesake;
  Bytes file(reinterpret_cast<const char*>(data), size);
  auto module = cubin::parse(file, "input");
  if (!module) {
    require(module.error().message.starts_with("input: "));
    return 0;
  }
  auto inside = [&](Bytes view) {
    return view.empty() ||
           (view.data() >= file.data() && view.data() + view.size() <= file.data() + size);
  };
  for (const cubin::Function& function : module->functions) {
    require(inside(function.code) && inside(function.constants) && inside(function.info));
    require(function.shared_bytes >= 0);
    for (const cubin::Relocation& each : function.relocations)
      require(each.offset < function.code.size());
    size_t targets = 0;
    for (const cubin::IndirectBranch& each : function.indirect_branches)
      targets += each.targets.size();
    require(targets * 4 <= size);
  }
  return 0;
}
