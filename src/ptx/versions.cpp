// Which PTX a CUDA release reads, and since which PTX a target exists. Both tables are facts of the
// releases; tests/toolchain asks every assembler at hand whether they are still true.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ptx/ptx.h"
#include "util/text.h"

namespace namesake::ptx {
namespace {

struct Release {
  int major, minor;
  Version ptx;
};

constexpr std::array kReleases = {
    Release{11, 0, {7, 0}}, Release{11, 1, {7, 1}}, Release{11, 2, {7, 2}}, Release{11, 3, {7, 3}},
    Release{11, 4, {7, 4}}, Release{11, 5, {7, 5}}, Release{11, 6, {7, 6}}, Release{11, 7, {7, 7}},
    Release{11, 8, {7, 8}}, Release{12, 0, {8, 0}}, Release{12, 1, {8, 1}}, Release{12, 2, {8, 2}},
    Release{12, 3, {8, 3}}, Release{12, 4, {8, 4}}, Release{12, 5, {8, 5}}, Release{12, 6, {8, 5}},
    Release{12, 7, {8, 6}}, Release{12, 8, {8, 7}}, Release{12, 9, {8, 8}}, Release{13, 0, {9, 0}},
    Release{13, 1, {9, 1}}, Release{13, 2, {9, 2}}, Release{13, 3, {9, 3}}, Release{13, 4, {9, 4}},
    Release{13, 5, {9, 5}}};

struct Target {
  std::string_view name;
  Version since;
};

constexpr std::array kTargets = {
    Target{"sm_50", {4, 0}},   Target{"sm_52", {4, 1}},   Target{"sm_53", {4, 2}},
    Target{"sm_60", {5, 0}},   Target{"sm_61", {5, 0}},   Target{"sm_62", {5, 0}},
    Target{"sm_70", {6, 0}},   Target{"sm_72", {6, 1}},   Target{"sm_75", {6, 3}},
    Target{"sm_80", {7, 0}},   Target{"sm_86", {7, 1}},   Target{"sm_87", {7, 4}},
    Target{"sm_88", {9, 0}},   Target{"sm_89", {7, 8}},   Target{"sm_90", {7, 8}},
    Target{"sm_90a", {8, 0}},  Target{"sm_100", {8, 6}},  Target{"sm_100a", {8, 6}},
    Target{"sm_100f", {8, 8}}, Target{"sm_101", {8, 6}},  Target{"sm_101a", {8, 6}},
    Target{"sm_101f", {8, 8}}, Target{"sm_103", {8, 8}},  Target{"sm_103a", {8, 8}},
    Target{"sm_103f", {8, 8}}, Target{"sm_107", {9, 4}},  Target{"sm_107a", {9, 4}},
    Target{"sm_107f", {9, 4}}, Target{"sm_110", {9, 0}},  Target{"sm_110a", {9, 0}},
    Target{"sm_110f", {9, 0}}, Target{"sm_120", {8, 7}},  Target{"sm_120a", {8, 7}},
    Target{"sm_120f", {8, 8}}, Target{"sm_121", {8, 8}},  Target{"sm_121a", {8, 8}},
    Target{"sm_121f", {8, 8}}};

}  // namespace

Version newest_version_of(std::string_view assembler_release) {
  std::vector<std::string_view> parts = split(assembler_release, '.');
  auto number = [&](size_t i) {
    return static_cast<int>(i < parts.size() ? parse_integer(parts[i]).value_or(0) : 0);
  };
  int major = number(0), minor = number(1);
  const Release& newest = kReleases.back();
  if (major == newest.major && minor > newest.minor) {
    return {newest.ptx.major, newest.ptx.minor + minor - newest.minor};
  }
  if (major > newest.major) return {newest.ptx.major + major - newest.major, minor};
  Version best = kReleases.front().ptx;
  for (const Release& release : kReleases) {
    if (std::pair(release.major, release.minor) <= std::pair(major, minor)) best = release.ptx;
  }
  return best;
}

Result<Version> oldest_version_of(std::string_view target) {
  auto found = std::find_if(kTargets.begin(), kTargets.end(),
                            [&](const Target& known) { return known.name == target; });
  if (found != kTargets.end()) return found->since;
  std::vector<std::string> known;
  for (const Target& each : kTargets) known.emplace_back(each.name);
  return error(fmt::format("unknown target '{}'; known are {}", target, join(known, " ")));
}

std::vector<std::string> known_targets() {
  std::vector<std::string> names;
  for (const Target& each : kTargets) names.emplace_back(each.name);
  return names;
}

}  // namespace namesake::ptx
