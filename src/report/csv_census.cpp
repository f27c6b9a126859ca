#include "report/csv_census.h"

#include <fmt/format.h>

#include "util/text.h"

namespace namesake::report {
namespace {

std::string quoted_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == text.npos) return text;
  std::string out = "\"";
  for (char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

std::string build_fields(const CensusBuild& build) {
  if (!build.built()) {
    return fmt::format(",,,,,,{},{}", build.draws, quoted_field(build.failure));
  }
  return fmt::format("{},{},{},{},{},{},{},", build.registers, build.stack_bytes,
                     build.spill_store_bytes, build.spill_load_bytes, build.code_bytes,
                     join(build.codes, "+"), build.draws);
}

}  // namespace

std::string to_csv(const Census& census) {
  std::string out = "kernel,symbol,architecture,ptxas,opt_level,reaction";
  for (const char* side : {"untreated", "treated"}) {
    for (const char* field : {"registers", "stack_bytes", "spill_store_bytes", "spill_load_bytes",
                              "code_bytes", "codes", "runs", "failure"}) {
      out += fmt::format(",{}_{}", side, field);
    }
  }
  out += '\n';
  for (const CensusPoint& point : census.points) {
    const CensusKernel& kernel = census.kernels[static_cast<size_t>(point.kernel)];
    out += fmt::format("{},{},{},{},{},{},{},{}\n", quoted_field(kernel.input),
                       quoted_field(kernel.symbol),
                       census.architectures[static_cast<size_t>(point.architecture)],
                       census.assemblers[static_cast<size_t>(point.assembler)].version,
                       point.opt_level, kReactionNames[static_cast<size_t>(point.reaction)],
                       build_fields(point.untreated), build_fields(point.treated));
  }
  return out;
}

}  // namespace namesake::report
