#include "codes.h"

#include <fmt/format.h>

#include <exception>
#include <map>

#include "../tests/gpu/code.h"

namespace namesake::bench {
namespace {

using attention::DType;
using attention::Kernel;

// What a mangled symbol says: …4sm907forward…DTypeE0ELi64ELb1E…, …4sm807forwardI6__halfLi64E….
struct Names {
  const char *untreated, *treated;  // the namespace with its length
  Kernel kernel;
};
constexpr Names kNames[] = {{"4sm90", "12sm90_cutlass", Kernel::hopper},
                            {"4sm80", "12sm80_cutlass", Kernel::portable}};

Code code_of(const attention::test::KernelCode& kernel) {
  return {kernel.symbol, kernel.hash, kernel.registers, kernel.local};
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

bool describe(const std::string& symbol, CodePair& pair) {
  const auto holds = [&](const std::string& text) {
    return symbol.find(text) != std::string::npos;
  };
  pair.causal = holds("ELb1E");
  for (const int64_t head_dim : {64, 128})
    if (holds(fmt::format("Li{}E", head_dim))) pair.head_dim = head_dim;
  for (const DType dtype : {DType::fp16, DType::e4m3})
    if (holds(fmt::format("DTypeE{}E", static_cast<int>(dtype)))) pair.dtype = dtype;
  return holds("forward");
}

}  // namespace

Result<std::vector<CodePair>> code_pairs(const std::filesystem::path& binary) {
  std::map<std::string, Code> codes;
  try {
    for (const attention::test::KernelCode& kernel : attention::test::kernels_in(binary.string()))
      if (kernel.arch == "sm_90") codes[kernel.symbol] = code_of(kernel);
  } catch (const std::exception& failure) {
    return error(failure.what());
  }
  std::vector<CodePair> pairs;
  for (const auto& [symbol, treated] : codes) {
    for (const Names& names : kNames) {
      if (symbol.find(names.treated) == std::string::npos) continue;
      const auto untreated = codes.find(replaced(symbol, names.treated, names.untreated));
      if (untreated == codes.end())
        return error(
            fmt::format("{} holds {} and no untreated build of it", binary.string(), symbol));
      CodePair pair{.kernel = names.kernel, .untreated = untreated->second, .treated = treated};
      if (describe(symbol, pair)) pairs.push_back(pair);
    }
  }
  return pairs;
}

const CodePair* pair_for(const std::vector<CodePair>& pairs, Kernel kernel, const Cell& cell) {
  for (const CodePair& pair : pairs)
    if (pair.kernel == kernel && pair.dtype == cell.dtype && pair.head_dim == cell.head_dim &&
        (kernel == Kernel::portable || pair.causal == cell.causal))
      return &pair;
  return nullptr;
}

}  // namespace namesake::bench
