// The process that holds the GPU.
//
// A kernel may hang, or write where it must not; then the driver's context is dead, and with it
// every later call of the process. So the GPU is only ever touched by a child of ours, forked when
// all codes are made: it has the jobs by inheritance, works them off one by one in one context
// (making one takes half a second, and loading our own kernels as long again), and says on a pipe
// what it found. When it fails, or says nothing for too long and is killed, the next one goes on
// behind the job that was to blame. The parent never starts the driver, which does not survive a
// fork.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "measure/gpu_run.h"

namespace namesake::measure {

struct WorkerOptions {
  int device = 0;
  std::string driver_library, management_library;
  std::chrono::milliseconds silence{120'000};  // after which the child counts as hung
  std::function<bool()> stop = [] { return false; };
};

// What and where the GPU is; an error is the sentence that says why there is none.
Result<report::Gpu> ask_gpu(const WorkerOptions& options);

// Runs the jobs; results[i] is filled by jobs[i], or says in `failure` why it is not; then
// `finished` hears of it. The number of jobs that were run: all of them, unless `stop` said
// otherwise.
Result<size_t> run_jobs(const std::vector<GpuJob>& jobs,
                        std::vector<report::KernelMeasurement>& results,
                        const WorkerOptions& options,
                        const std::function<void(size_t job, std::string_view stage)>& progress,
                        const std::function<void(size_t job)>& finished);

}  // namespace namesake::measure
