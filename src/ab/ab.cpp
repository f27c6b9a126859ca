#include "ab/ab.h"

#include <fmt/format.h>

#include <chrono>

#include "ab/judge.h"
#include "ab/library.h"
#include "ab/records.h"
#include "ab/service.h"
#include "ab/witness.h"
#include "session/folder.h"
#include "util/text.h"

namespace namesake::ab {

Result<Outcome> run(const RunRequest& request) {
  TRY_ASSIGN(TemporaryFolder folder, session::make_run_folder());
  BoardSettings board;
  board.timed_per_second = request.timed_per_second;
  board.check_launches = request.check_launches;
  board.check_bytes = request.check_bytes;
  board.seed = request.seed;
  TRY(set_up(folder.path(), board));

  session::RunOptions options;
  // Assemblers that are programs pass by our witness; nothing is treated.
  options.settings.guard.emplace();
  options.settings.guard->helper = request.settings.own_executable;
  options.settings.guard->always = true;
  options.remember_crashes = false;
  options.libraries = {folder.path() / "namesake_live.so"};
  options.variables = {std::string(kFolderVariable) + "=" + folder.path().string()};
  // Code out of a cache would have no assembly to be told by.
  options.cache = folder.path() / "caches";

  using Clock = std::chrono::steady_clock;
  Clock::time_point begin = Clock::now();
  session::Outcome session;
  bool served = true;
  {
    TRY_ASSIGN(Service service,
               Service::start(folder.path(), request.settings, request.kernels, request.seconds));
    TRY_ASSIGN(session, session::run(request.command, options));
    served = service.alive();
  }
  report::Live live =
      judge(read_launched(folder.path() / "live"), request.settings.a, request.settings.b);
  live.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  live.date = utc_now();
  if (!served)
    live.notes.push_back(
        "the process that makes the other builds was killed: what was loaded later ran as loaded");
  if (!session.still_running.empty()) {
    folder.keep();
    live.notes.push_back(
        fmt::format("processes of the command live on and keep {}", folder.path().string()));
  }
  if (session.signal)
    live.ended = fmt::format("signal {}", session.signal);
  else if (session.exit_status)
    live.ended = fmt::format("exit status {}", session.exit_status);
  for (const session::Unseen& unseen : session.unseen)
    live.notes.push_back(fmt::format("{}{} ran unseen: what it assembled has no other build",
                                     unseen.program,
                                     unseen.library.empty() ? "" : " with " + unseen.library));
  return Outcome{std::move(live), std::move(session), std::move(folder)};
}

}  // namespace namesake::ab
