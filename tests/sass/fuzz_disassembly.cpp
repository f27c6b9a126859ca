// A disassembly and its code: an error or functions of the right size on which everything that
// reads functions holds its word. Input: the number of functions (one byte), their instructions
// (one byte each), the code's bytes as far as they go, then the text.
#include <algorithm>
#include <cstdint>
#include <string>

#include "../util/fuzz.h"
#include "sass/sass.h"

namespace {

using namespace namesake;
using namespace namesake::sass;

void require_valid(const Function& a, const Function& b) {
  int32_t next_a = 0, next_b = 0;
  for (const Row& row : align(a, b)) {
    require(row.a == (row.change == Change::added ? -1 : next_a++));
    require(row.b == (row.change == Change::removed ? -1 : next_b++));
  }
  require(next_a == static_cast<int32_t>(a.instructions.size()));
  require(next_b == static_cast<int32_t>(b.instructions.size()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Cursor input(Bytes(reinterpret_cast<const char*>(data), size));
  size_t count = 1 + input.read<uint8_t>() % 4;
  std::vector<size_t> sizes;
  size_t total = 0;
  for (size_t i = 0; i < count; ++i) {
    sizes.push_back(size_t{input.read<uint8_t>()} * 16);
    total += sizes.back();
  }
  std::string bytes(input.take(std::min<uint64_t>(total, input.left() / 2)));
  bytes.resize(total);
  Bytes text = input.take(input.left());

  std::vector<Code> codes;
  size_t at = 0;
  for (size_t i = 0; i < count; ++i) {
    Code code;
    code.symbol = "f" + std::to_string(i);
    code.bytes = Bytes(bytes).substr(at, sizes[i]);
    at += sizes[i];
    // Whatever the first words hold serves as a branch table and a relocation.
    Cursor words(code.bytes);
    uint32_t offset = words.read<uint32_t>(), target = words.read<uint32_t>();
    code.indirect_branches.push_back({offset, {target, target / 2, 0}});
    code.relocations.push_back(
        {words.read<uint32_t>(), 7, static_cast<int64_t>(target) - 9, "target"});
    codes.push_back(std::move(code));
  }
  auto functions = parse_disassembly(text, codes);
  if (!functions) {
    require(!functions.error().message.empty());
    return 0;
  }
  require(functions->size() == count);
  for (size_t i = 0; i < count; ++i) {
    const Function& function = (*functions)[i];
    require(function.instructions.size() * 16 == sizes[i]);
    require(mix_of(function).instructions == unpadded_size(function));
    const Loop* hottest = hottest_loop(function);
    require(!hottest || hottest->last < function.instructions.size());
    require(relation(function, function) == Relation::same);
    const Function& next = (*functions)[(i + 1) % count];
    require((relation(function, next) == Relation::different) ==
            (relation(next, function) == Relation::different));
    require_valid(function, next);
  }
  return 0;
}
