#include "util/pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace namesake {

namespace {

using Work = std::function<void()>;

// Linux often puts a new thread on its maker's processor, where it waits until the maker does,
// though others are idle: half of a job that takes milliseconds. So a thread is born on any other
// processor; once it runs it goes where it likes, and so do the programs it starts.
class Threads {
 public:
  explicit Threads(const Work& work) : start_{&work, {}} {
    CPU_ZERO(&start_.everywhere);
    known_ = sched_getaffinity(0, sizeof start_.everywhere, &start_.everywhere) == 0;
  }
  ~Threads() {
    for (pthread_t thread : threads_) pthread_join(thread, nullptr);
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  // One more, if the system has one.
  void add() {
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) return;
    cpu_set_t others = start_.everywhere;
    int here = sched_getcpu();
    if (known_ && here >= 0) CPU_CLR(static_cast<size_t>(here), &others);
    if (known_ && CPU_COUNT(&others) > 0)
      pthread_attr_setaffinity_np(&attributes, sizeof others, &others);
    pthread_t thread;
    auto run = [](void* start) -> void* {
      auto* mine = static_cast<Start*>(start);
      if (CPU_COUNT(&mine->everywhere) > 0)
        sched_setaffinity(0, sizeof mine->everywhere, &mine->everywhere);
      (*mine->work)();
      return nullptr;
    };
    if (pthread_create(&thread, &attributes, run, &start_) == 0) threads_.push_back(thread);
    pthread_attr_destroy(&attributes);
  }

 private:
  struct Start {
    const Work* work;
    cpu_set_t everywhere;
  };
  Start start_;
  bool known_ = false;
  std::vector<pthread_t> threads_;
};

}  // namespace

int available_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

void for_each_parallel(size_t count, int workers, const std::function<void(size_t)>& job,
                       const std::function<bool()>& stop) {
  std::atomic<size_t> next{0};
  Work work = [&] {
    for (size_t i; (i = next.fetch_add(1)) < count;) {
      if (stop && stop()) return;
      job(i);
    }
  };
  Threads threads(work);
  size_t wanted = std::min(count, static_cast<size_t>(std::max(1, workers)));
  for (size_t i = 1; i < wanted; ++i) threads.add();
  work();
}

}  // namespace namesake
