#include "util/pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace namesake {

int available_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

void for_each_parallel(size_t count, int workers, const std::function<void(size_t)>& job,
                       const std::function<bool()>& stop) {
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i; (i = next.fetch_add(1)) < count;) {
      if (stop && stop()) return;
      job(i);
    }
  };
  std::vector<std::jthread> threads;
  size_t wanted = std::min(count, static_cast<size_t>(std::max(1, workers)));
  for (size_t i = 1; i < wanted; ++i) threads.emplace_back(work);
  work();
}

}  // namespace namesake
