// Two builds of every kernel in a ledger as a difference, the page that `namesake diff` makes; the
// code comes out of the ledger, and only what is shown is disassembled.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "census/ledger.h"
#include "census/tell.h"
#include "report/difference.h"
#include "toolchain/toolchain.h"

namespace namesake::census {

// "12.9", "13.0.88,treated", "O2,untreated": like a build of `diff`, from what the ledger has.
struct Side {
  AssemblerName assembler;
  int opt_level = 3;
  assembly::Treatment treatment = assembly::Treatment::untreated;
  bool operator==(const Side&) const = default;
};
Result<Side> parse_side(std::string_view words, const Side& base,
                        const std::vector<AssemblerName>& assemblers);

struct Comparison {
  Selection selection;
  Side a, b;
  std::optional<toolchain::Tool> disassembler;
  bool sass = false;
  int workers = 1;
};
Result<report::Difference> compare(const Ledger& ledger, const Comparison& comparison);

// The side-by-side instructions of two codes in the ledger; none where one is missing.
struct CodePair {
  std::string symbol, architecture, a, b;  // hashes
};
Status side_by_side(const Ledger& ledger, const toolchain::Tool& disassembler,
                    const std::vector<CodePair>& pairs, int workers,
                    const std::function<void(size_t, std::vector<report::SassRow>)>& receive);

}  // namespace namesake::census
