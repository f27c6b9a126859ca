// N workers over a list of jobs: the tool's work is waiting for children, so threads are enough.
#pragma once

#include <cstddef>
#include <functional>

namespace namesake {

// The processors this process may use (its affinity, not the machine's count).
int available_processors();

// Calls job(0) … job(count - 1), at most `workers` at a time, and returns when all are done. Jobs
// not yet begun are dropped once `stop` (if given) answers true.
void for_each_parallel(size_t count, int workers, const std::function<void(size_t)>& job,
                       const std::function<bool()>& stop = {});

}  // namespace namesake
