#include "measure/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "measure/launch_file.h"
#include "measure/tune.h"
#include "util/file.h"
#include "util/text.h"

namespace namesake::measure {
namespace {

// The first release whose assembler and front end know the treatment by an official name.
constexpr const char* kPragmaSince = "13.3";

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// The last part of "ns::sgemm<128>(int)", which is how a source spells it.
std::string_view own_name(std::string_view name) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  if (size_t at = name.rfind(kAnonymous); at != name.npos)
    name.remove_prefix(at + kAnonymous.size());
  name = name.substr(0, name.find_first_of("<("));
  size_t colons = name.rfind("::");
  return colons == name.npos ? name : name.substr(colons + 2);
}

// Whether a kernel's definition may begin before `at`: __global__ stands there, with nothing that
// ends a declaration in between.
bool is_kernel(std::string_view source, size_t at) {
  size_t global = source.rfind("__global__", at);
  return global != source.npos &&
         source.substr(global, at - global).find_first_of(";{}") == source.npos;
}

constexpr uint64_t kSourceLimit = uint64_t{64} << 20;

}  // namespace

std::string place_of(std::string_view source, std::string_view file, std::string_view name) {
  std::string_view word = own_name(name);
  if (word.empty()) return "";
  for (size_t at = source.find(word); at != source.npos; at = source.find(word, at + 1)) {
    size_t end = at + word.size();
    if ((at > 0 && is_word(source[at - 1])) || (end < source.size() && is_word(source[end])))
      continue;
    while (end < source.size() && std::isspace(static_cast<unsigned char>(source[end]))) ++end;
    if (end == source.size() || source[end] != '(' || !is_kernel(source, at)) continue;
    size_t global = source.rfind("__global__", at);
    return fmt::format(
        "{}:{}", file,
        1 + std::count(source.begin(), source.begin() + static_cast<ptrdiff_t>(global), '\n'));
  }
  return "";
}

std::string advice_for(const report::Decision& decision) {
  bool cuda = decision.file.ends_with(".cu");
  if (decision.treatment == "treated") {
    if (compare_versions(decision.assembler, kPragmaSince) >= 0) {
      return cuda ? "#pragma nv_mma_throughput  // on the line before the kernel"
                  : ".pragma \"mma_throughput\";  // first in the body; needs .version 9.3";
    }
    return fmt::format(
        "give it a name that holds \"{}\", for example {}_{}, also where it is looked up by name",
        kTrigger, own_name(decision.name), kTrigger);
  }
  if (decision.treatment == "untreated") {
    return fmt::format(
        "take \"{}\" out of its name and its namespaces, or assemble its file with -Xptxas -O2",
        kTrigger);
  }
  return "";
}

void add_advice(report::Tuning& tuning) {
  for (report::Decision& decision : tuning.decisions) {
    // What was measured may be the PTX of it.
    if (auto launch = read_launch_file(decision.launch_file))
      decision.file = launch->kernel.string();
    decision.advice = advice_for(decision);
    if (decision.advice.empty() || !decision.file.ends_with(".cu")) continue;
    if (auto source = read_file(decision.file, kSourceLimit)) {
      decision.place = place_of(*source, decision.file, decision.name);
    }
  }
}

}  // namespace namesake::measure
