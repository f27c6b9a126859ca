#include "measure/measure.h"

#include <fmt/format.h>

#include "measure/codes.h"
#include "measure/kept_results.h"
#include "measure/subjects.h"
#include "measure/worker.h"
#include "util/text.h"

namespace namesake::measure {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

report::KernelMeasurement describe(const Pair& pair) {
  const Subject& subject = *pair.subject;
  report::KernelMeasurement kernel;
  kernel.launch_file = subject.launch.origin;
  kernel.file = subject.file;
  kernel.symbol = subject.launch.entry;
  kernel.name = demangled_name(subject.launch.entry);
  kernel.architecture = subject.unit.architecture;
  kernel.assembler = pair.maker.version;
  kernel.assembler_build = pair.maker.build;
  kernel.sizes = subject.plan.sizes;
  kernel.launch = subject.plan.describe();
  kernel.a = pair.of_a;
  kernel.b = pair.of_b;
  return kernel;
}

// The reference kernel of a launch file, ready to run.
Status add_reference_kernel(const MeasureRequest& request, const Subject& subject,
                            const std::string& architecture, GpuJob& job) {
  TRY_ASSIGN(const LaunchFile launch, read_launch_file(subject.launch.reference_kernel));
  Names sizes;  // those that it shares
  for (const SizeEntry& size : launch.sizes)
    if (auto found = subject.plan.sizes.find(size.name); found != subject.plan.sizes.end())
      sizes.insert(*found);
  TRY_ASSIGN(job.reference_plan, make_plan(launch, sizes));
  TRY_ASSIGN(const assembly::Unit unit, load_unit(launch, request, architecture));
  TRY_ASSIGN(job.reference_code, make_reference(request, unit));
  return {};
}

Result<GpuJob> job_of(const MeasureRequest& request, const Pair& pair,
                      const std::string& architecture) {
  GpuJob job;
  const Subject& subject = *pair.subject;
  job.plan = subject.plan;
  job.a = pair.a;
  job.b = pair.b;
  job.same_code = pair.of_a.identity == pair.of_b.identity;
  job.reference = subject.launch.reference;
  job.reference_name = job.reference;
  job.care = request.care;
  job.time_only = !request.care.equality;
  job.workers = request.workers;
  if (!subject.launch.reference_kernel.empty() && request.care.equality) {
    job.reference_name = subject.launch.reference_kernel.filename().string();
    TRY(add_reference_kernel(request, subject, architecture, job));
  }
  return job;
}

std::string progress_text(const report::KernelMeasurement& kernel, size_t job, size_t jobs,
                          std::string_view stage) {
  return fmt::format("{} of {}: {} ({}): {}", job + 1, jobs, kernel.name, kernel.assembler, stage);
}

// Runs what an earlier, broken-off run did not come to, and keeps each result as it comes. Leaves
// in `measured` what was measured then and now.
Status run_all(const MeasureRequest& request, const WorkerOptions& worker,
               const std::vector<GpuJob>& jobs, std::vector<report::KernelMeasurement>& measured,
               report::Measurement& result) {
  KeptResults none;
  KeptResults& kept = request.kept ? *request.kept : none;
  std::vector<std::string> keys;
  std::vector<size_t> open;
  std::vector<GpuJob> open_jobs;
  std::vector<report::KernelMeasurement> found;
  for (size_t i = 0; i < jobs.size(); ++i) {
    keys.push_back(key_of(jobs[i], measured[i], result.gpu));
    if (auto earlier = kept.find(keys[i])) {
      measured[i] = std::move(*earlier);
      result.gpu_seconds += measured[i].seconds;
    } else {
      open.push_back(i);
      open_jobs.push_back(jobs[i]);
      found.push_back(measured[i]);
    }
  }
  if (open.size() < jobs.size())
    result.notes.push_back(
        fmt::format("{} of {} were measured by a run that was broken off less than a day ago",
                    jobs.size() - open.size(), jobs.size()));
  const auto began = Clock::now();
  TRY_ASSIGN(const size_t ran,
             run_jobs(
                 open_jobs, found, worker,
                 [&](size_t job, std::string_view stage) {
                   request.progress(progress_text(found[job], open[job], jobs.size(), stage));
                 },
                 [&](size_t job) { kept.keep(keys[open[job]], found[job]); }));
  result.gpu_seconds += seconds_since(began);
  for (size_t i = 0; i < ran; ++i) measured[open[i]] = std::move(found[i]);
  if (ran == open.size()) return {};
  const char* more = request.kept ? "; the same command goes on from there" : "";
  if (!request.partial) return error(fmt::format("interrupted{}", more));
  for (size_t i = open.size(); i-- > ran;)
    measured.erase(measured.begin() + static_cast<ptrdiff_t>(open[i]));
  result.notes.push_back(
      fmt::format("interrupted: {} of {} measured{}", measured.size(), jobs.size(), more));
  return {};
}

}  // namespace

Result<report::Measurement> measure(const MeasureRequest& request) {
  report::Measurement result;
  result.date = utc_now();
  result.confidence = request.care.confidence;
  result.dead_band = request.care.dead_band;
  if (request.cubin_a.empty()) {
    const auto [label_a, label_b] = assembly::labels(request.a, request.b);
    result.a = assembly::describe(request.a, label_a);
    result.b = assembly::describe(request.b, label_b);
  } else {
    result.a.label = request.cubin_a.filename().string();
    result.b.label = request.cubin_b.filename().string();
  }

  const WorkerOptions worker{.device = request.device,
                             .driver_library = request.driver_library,
                             .management_library = request.management_library,
                             .stop = request.stop};
  request.progress("looking for the GPU");
  TRY_ASSIGN(result.gpu, ask_gpu(worker));
  if (!result.gpu.unknown.empty()) result.notes.push_back(result.gpu.unknown);
  if (!result.gpu.other_processes.empty())
    result.notes.push_back(
        fmt::format("processes on this GPU besides this one: {}; times may be theirs",
                    result.gpu.other_processes.size()));

  const auto began = Clock::now();
  TRY_ASSIGN(const Subjects subjects, find_subjects(request, result.gpu.architecture));
  result.notes.insert(result.notes.end(), subjects.notes.begin(), subjects.notes.end());
  TRY_ASSIGN(const std::vector<Pair> pairs, make_codes(request, subjects.all, result.gpu.cuda));
  std::vector<GpuJob> jobs;
  std::vector<report::KernelMeasurement> measured;
  for (const Pair& pair : pairs) {
    report::KernelMeasurement kernel = describe(pair);
    if (pair.ok()) {
      auto job = job_of(request, pair, result.gpu.architecture);
      if (job) {
        jobs.push_back(std::move(*job));
        measured.push_back(std::move(kernel));
        continue;
      }
      kernel.failure = "the reference: " + job.error().message;
    }
    result.kernels.push_back(std::move(kernel));
  }
  if (request.controls > 0) {
    if (jobs.empty()) return error("there is no code to hold against itself");
    const size_t kinds = jobs.size(), wanted = static_cast<size_t>(request.controls);
    for (size_t i = 0; i < kinds; ++i) {
      jobs[i].same_code = jobs[i].time_only = true;
      measured[i].b = measured[i].a;
    }
    for (size_t i = kinds; i < wanted; ++i) {
      jobs.push_back(jobs[i % kinds]);
      measured.push_back(measured[i % kinds]);
    }
    jobs.resize(wanted);
    measured.resize(wanted);
    for (size_t i = 0; i < wanted; ++i) jobs[i].seed = i + 1;
  }
  result.build_seconds = seconds_since(began);

  TRY(run_all(request, worker, jobs, measured, result));
  for (report::KernelMeasurement& kernel : measured) result.kernels.push_back(std::move(kernel));
  for (report::KernelMeasurement& kernel : result.kernels) {
    kernel.finding = judge(kernel);
    kernel.meaning = explain(kernel);
  }
  if (request.controls > 0) {
    const FalseAlarms alarms = false_alarms(result);
    result.notes.push_back(
        fmt::format("{} runs of kernels against themselves: a difference was claimed in {}; {} "
                    "intervals do not hold 1, where {:.0f} are to be expected",
                    alarms.runs, alarms.alarms, alarms.beside_one,
                    (1 - request.care.confidence) * static_cast<double>(alarms.runs)));
  }
  return result;
}

}  // namespace namesake::measure
