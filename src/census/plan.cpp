#include "census/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "util/file.h"
#include "util/hash.h"
#include "util/subprocess.h"

namespace namesake::census {
namespace {

namespace fs = std::filesystem;

// A path as Ninja reads it in a build line.
std::string ninja_path(const std::string& path) {
  std::string out;
  for (char c : path) {
    if (c == '$' || c == ' ' || c == ':') out += '$';
    out += c;
  }
  return out;
}

// A text as the value of a variable, which a command hands to a shell.
std::string ninja_word(const std::string& word) {
  std::string out;
  for (char c : quoted({word})) {
    if (c == '$') out += '$';
    out += c;
  }
  return out;
}

std::string name_of(const CellKey& key) {
  return hash_bytes(fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}", key.text, key.architecture,
                                key.version, key.build, key.opt_level,
                                assembly::treatment_name(key.treatment), key.draw))
      .hex();
}

Result<std::vector<fs::path>> cell_files(const std::vector<fs::path>& places) {
  std::vector<fs::path> files;
  for (const fs::path& place : places) {
    std::error_code failure;
    if (!fs::is_directory(place, failure)) {
      files.push_back(place);
      continue;
    }
    for (fs::recursive_directory_iterator it(place, failure), end; !failure && it != end;
         it.increment(failure)) {
      if (it->path().extension() == ".cell") files.push_back(it->path());
    }
    if (failure) return error(fmt::format("cannot read {}: {}", place.string(), failure.message()));
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

Result<size_t> write_plan(Ledger& ledger, const Matrix& matrix, const fs::path& ninja,
                          const fs::path& own) {
  TRY_ASSIGN(Units units, units_of(ledger, matrix.inputs));
  TRY_ASSIGN(std::vector<CellRecord> made, ledger.cells());
  std::vector<CellKey> keys = cells_of(matrix, units), draws = further_draws(matrix, units, made);
  keys.insert(keys.end(), draws.begin(), draws.end());
  TRY_ASSIGN(std::vector<Ledger::Wanted> missing, ledger.want(keys));

  std::map<AssemblerName, const toolchain::Tool*> tools;
  for (const toolchain::Tool& tool : matrix.assemblers) tools[{tool.version, tool.build}] = &tool;
  fs::path folder = fs::absolute(ninja).parent_path();
  std::error_code failure;
  fs::create_directories(folder / "inputs", failure);
  if (failure) {
    return error(fmt::format("cannot write to {}: {}", folder.string(), failure.message()));
  }

  std::string text = fmt::format(
      "# Made by `namesake census plan`. Run: ninja -f {}; then: namesake census collect results\n"
      "namesake = {}\n"
      "rule cell\n"
      "  command = $namesake census cell $in --out $out --assembler $assembler --arch $arch --opt "
      "$opt "
      "--treatment $treatment --draw $draw\n"
      "  description = $arch -O$opt $treatment $in\n",
      ninja.filename().string(), ninja_word(own.string()));
  std::set<std::string> written;
  for (const Ledger::Wanted& wanted : missing) {
    const CellKey& key = wanted.key;
    std::string input = fmt::format("inputs/{}.ptx", key.text);
    if (written.insert(key.text).second) {
      TRY_ASSIGN(std::string ptx, ledger.text(key.text));
      TRY(write_file(folder / input, ptx));
    }
    const std::string assembler = fs::absolute(tools.at({key.version, key.build})->path).string();
    text += fmt::format(
        "build results/{}.cell: cell {} | {}\n  assembler = {}\n  arch = {}\n  opt = {}\n"
        "  treatment = {}\n  draw = {}\n",
        name_of(key), input, ninja_path(assembler), ninja_word(assembler), key.architecture,
        key.opt_level, assembly::treatment_name(key.treatment), key.draw);
  }
  TRY(write_file(ninja, text));
  return missing.size();
}

Result<Collected> collect(Ledger& ledger, const std::vector<fs::path>& places) {
  Collected collected;
  TRY_ASSIGN(std::vector<fs::path> files, cell_files(places));
  for (const fs::path& file : files) {
    TRY_ASSIGN(std::string bytes, read_file(file, uint64_t{256} << 20));
    auto cell = read_cell(bytes, file.string());
    if (!cell) {
      collected.refused.push_back(cell.error().message);
      continue;
    }
    auto wanted = ledger.want({cell->key});
    if (!wanted) {
      collected.refused.push_back(fmt::format("{}: {}", file.string(), wanted.error().message));
      continue;
    }
    if (wanted->empty()) {
      ++collected.known;
      continue;
    }
    TRY(ledger.store(wanted->front().id, cell->result));
    ++collected.taken;
  }
  return collected;
}

}  // namespace namesake::census
