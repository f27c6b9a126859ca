#include "census/matrix.h"

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>

namespace namesake::census {
namespace {

// A module built for one architecture at one level: what is, or is not, a lottery.
using Subject = std::tuple<std::string, std::string, int>;

void for_each_build(const Matrix& matrix, const Units& units,
                    const std::function<void(const CellKey&)>& receive) {
  for (const toolchain::Tool& assembler : matrix.assemblers) {
    std::set<std::string> seen;  // one text may have two names
    for (const Input& input : matrix.inputs) {
      if (!seen.insert(input.hash).second) continue;
      const assembly::Unit& unit = units.at(input.hash);
      for (const std::string& architecture : matrix.architectures) {
        if (!impossible(unit.module, architecture, assembler.version).empty()) continue;
        for (int opt_level : matrix.opt_levels) {
          receive({input.hash, architecture, assembler.version, assembler.build, opt_level});
        }
      }
    }
  }
}

Subject subject_of(const CellKey& key) {
  return {key.text, key.architecture, key.opt_level};
}

std::set<Subject> lotteries(const std::vector<CellRecord>& made) {
  std::map<std::pair<CellKey, std::string>, std::string>
      first_code;  // key without its draw, kernel
  std::set<Subject> found;
  for (const CellRecord& cell : made) {
    CellKey build = cell.key;
    build.draw = 0;
    for (const FunctionRecord& function : cell.functions) {
      auto [first, is_new] = first_code.emplace(std::pair(build, function.symbol), function.code);
      if (!is_new && first->second != function.code) found.insert(subject_of(cell.key));
    }
  }
  return found;
}

}  // namespace

Result<Units> units_of(const Ledger& ledger, const std::vector<Input>& inputs) {
  Units units;
  for (const Input& input : inputs) {
    if (units.count(input.hash)) continue;
    TRY_ASSIGN(std::string text, ledger.text(input.hash));
    assembly::Unit unit;
    unit.file = input.name;
    unit.kernels = input.kernels;
    TRY_ASSIGN(unit.module, ptx::parse(std::move(text), input.name));
    units.emplace(input.hash, std::move(unit));
  }
  return units;
}

std::vector<CellKey> cells_of(const Matrix& matrix, const Units& units) {
  std::vector<CellKey> keys;
  for_each_build(matrix, units, [&](CellKey key) {
    for (assembly::Treatment treatment : matrix.treatments) {
      key.treatment = treatment;
      keys.push_back(key);
    }
    if (matrix.draws == 0 || matrix.treatments.empty()) return;
    key.treatment = matrix.treatments.front();
    key.draw = 1;
    keys.push_back(key);
  });
  return keys;
}

std::vector<CellKey> further_draws(const Matrix& matrix, const Units& units,
                                   const std::vector<CellRecord>& made) {
  std::set<Subject> drawn = lotteries(made);
  std::vector<CellKey> keys;
  for_each_build(matrix, units, [&](CellKey key) {
    if (!drawn.count(subject_of(key))) return;
    for (assembly::Treatment treatment : matrix.treatments) {
      bool probed = treatment == matrix.treatments.front();
      key.treatment = treatment;
      for (key.draw = probed ? 2 : 1; key.draw <= matrix.draws; ++key.draw) keys.push_back(key);
    }
  });
  return keys;
}

}  // namespace namesake::census
