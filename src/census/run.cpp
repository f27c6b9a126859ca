#include "census/run.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <mutex>
#include <optional>
#include <thread>

#include "report/words.h"
#include "util/pool.h"

namespace namesake::census {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double own_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](timeval t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

class Run {
 public:
  Run(Ledger& ledger, const RunRequest& request, const Units& units)
      : ledger_(ledger), request_(request), units_(units) {
    for (const toolchain::Tool& tool : request.matrix.assemblers) {
      tools_[{tool.version, tool.build}] = &tool;
    }
  }

  Result<RunReport> run() {
    for (;;) {
      TRY_ASSIGN(std::vector<Ledger::Wanted> missing, still_missing());
      if (missing.empty()) break;
      TRY(ledger_.begin_work());
      int64_t before = report_.cost.cells;
      TRY(make(missing));
      bool all_claimed_by_others = report_.cost.cells == before;
      if (all_claimed_by_others) {
        request_.progress(
            fmt::format("waiting for {} that another process makes",
                        report::counted(static_cast<int64_t>(missing.size()), "cell")));
        std::this_thread::sleep_for(std::chrono::seconds(1));
      }
    }
    TRY(note_cost());
    return report_;
  }

 private:
  Result<std::vector<Ledger::Wanted>> still_missing() {
    TRY_ASSIGN(std::vector<CellRecord> made, ledger_.cells());
    std::vector<CellKey> keys = cells_of(request_.matrix, units_);
    std::vector<CellKey> draws = further_draws(request_.matrix, units_, made);
    keys.insert(keys.end(), draws.begin(), draws.end());
    report_.wanted = static_cast<int64_t>(keys.size());
    return ledger_.want(keys);
  }

  Status make(const std::vector<Ledger::Wanted>& missing) {
    std::optional<Error> failure;
    size_t done = 0;
    Clock::time_point begin = Clock::now();
    for_each_parallel(
        missing.size(), request_.workers,
        [&](size_t i) {
          Status status = make_one(missing[i]);
          std::lock_guard lock(mutex_);
          if (!status && !failure) failure = status.error();
          ++done;
          double left = seconds_since(begin) / static_cast<double>(done) *
                        static_cast<double>(missing.size() - done);
          request_.progress(fmt::format("{} of {} cells, about {} left: ptxas {}, {}",
                                        report::grouped(static_cast<int64_t>(done)),
                                        report::grouped(static_cast<int64_t>(missing.size())),
                                        report::seconds(left), missing[i].key.version,
                                        missing[i].key.architecture));
        },
        [&] {
          if (request_.stop()) return true;
          std::lock_guard lock(mutex_);
          return failure.has_value();
        });
    TRY(note_cost());
    if (failure) return tl::unexpected(*failure);
    if (request_.stop()) return error("interrupted");
    return {};
  }

  Status make_one(const Ledger::Wanted& wanted) {
    {
      std::lock_guard lock(mutex_);
      TRY_ASSIGN(bool mine, ledger_.claim(wanted.id));
      if (!mine) return {};
    }
    TRY_ASSIGN(CellResult result, make_cell(units_.at(wanted.key.text),
                                            *tools_.at({wanted.key.version, wanted.key.build}),
                                            wanted.key, request_.hooks, request_.timeout));
    // An assembler that we were told to stop, or that ^C reached first, has said nothing.
    if (request_.stop()) return {};
    std::lock_guard lock(mutex_);
    TRY(ledger_.store(wanted.id, result));
    ++report_.cost.cells;
    report_.cost.assembler_seconds += result.outcome.cpu_seconds;
    bool due = seconds_since(noted_) > 5;  // so that a kill loses little of it
    return due ? note_cost() : Status();
  }

  Status note_cost() {
    noted_ = Clock::now();
    report_.cost.wall_seconds = seconds_since(begin_);
    report_.cost.own_seconds = own_seconds();
    return ledger_.note_cost(report_.cost);
  }

  Ledger& ledger_;
  const RunRequest& request_;
  const Units& units_;
  std::map<AssemblerName, const toolchain::Tool*> tools_;
  std::mutex mutex_;
  RunReport report_;
  Clock::time_point begin_ = Clock::now(), noted_ = begin_;
};

}  // namespace

Result<RunReport> run(Ledger& ledger, const RunRequest& request) {
  TRY_ASSIGN(Units units, units_of(ledger, request.matrix.inputs));
  return Run(ledger, request, units).run();
}

}  // namespace namesake::census
