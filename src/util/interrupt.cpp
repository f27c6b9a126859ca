#include "util/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>

namespace namesake {
namespace {

// A signal can reach a program only through a variable of the whole process.
std::atomic<bool> flag{false};

void on_signal(int number) {
  if (flag.exchange(true)) ::_exit(128 + number);
}

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  for (int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(number, &action, nullptr);
}

bool interrupted() { return flag.load(); }

}  // namespace namesake
