// What the hook costs an assembler that is answered naturally.
//
//   hook_overhead ROUNDS COMMAND…      e.g. hook_overhead 100 ptxas -arch=sm_80 k.ptx -o /dev/null
//
// Each round runs the command four times, in an order that turns from round to round so that drift
// cancels: hooked and recording, plain, and twice plain for comparison with itself. Printed are the
// median ratios of processor and wall time with the interval that a sign test gives (95%). The pair
// of plain runs is the control: what it shows above 1 is noise, and so is as much of the first.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "session/hook.h"
#include "util/subprocess.h"
#include "util/text.h"

namespace {

using namespace namesake;

struct Interval {
  double low, middle, high;
};

Interval median_of(std::vector<double> ratios) {
  std::sort(ratios.begin(), ratios.end());
  size_t n = ratios.size();
  // Normal approximation of the binomial: order statistics that hold the median with 95%.
  auto reach = static_cast<size_t>(0.98 * std::sqrt(static_cast<double>(n)));
  size_t low = n / 2 > reach ? n / 2 - reach : 0, high = std::min(n - 1, n / 2 + reach);
  return {ratios[low], ratios[n / 2], ratios[high]};
}

}  // namespace

int main(int argc, char** argv) {
  auto rounds = argc > 2 ? parse_integer(argv[1]) : std::nullopt;
  if (!rounds || *rounds < 3) {
    fmt::print(stderr, "usage: {} ROUNDS COMMAND… (at least 3 rounds)\n", argv[0]);
    return 2;
  }
  auto hook = session::Hook::make({});
  if (!hook) {
    fmt::print(stderr, "{}\n", hook.error().message);
    return 2;
  }
  Command plain;
  plain.arguments.assign(argv + 2, argv + argc);
  Command hooked = plain;
  hooked.environment = hook->variables();

  const Command* kinds[] = {&hooked, &plain, &plain, &plain};
  std::vector<double> cpu[2], wall[2];
  for (int round = 0; round < *rounds; round++) {
    Completed results[4];
    for (int i = 0; i < 4; i++) {
      int which = (i + round) % 4;
      auto result = run(*kinds[which]);
      if (!result || !result->ok()) {
        fmt::print(stderr, "{}\n", result ? result->how_it_ended() : result.error().message);
        return 2;
      }
      results[which] = *result;
    }
    for (int pair = 0; pair < 2; pair++) {
      const Completed &a = results[2 * pair], &b = results[2 * pair + 1];
      cpu[pair].push_back(a.cpu_seconds / b.cpu_seconds);
      wall[pair].push_back(a.wall_seconds / b.wall_seconds);
    }
  }
  const char* names[] = {"hooked / plain", "plain / plain "};
  for (int pair = 0; pair < 2; pair++) {
    Interval c = median_of(cpu[pair]), w = median_of(wall[pair]);
    fmt::print("{}  processor {:.4f} [{:.4f}, {:.4f}]  wall {:.4f} [{:.4f}, {:.4f}]\n", names[pair],
               c.middle, c.low, c.high, w.middle, w.low, w.high);
  }
  auto recording = hook->recording();
  fmt::print("{} name tests in {} runs, {} lost\n", recording ? recording->tests.size() : 0,
             *rounds, recording ? recording->lost : 0);
  return 0;
}
