// Which assemblers ran in a tree of processes, hooked or not.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "session/control.h"
#include "session/records.h"

namespace namesake::session {

// An assembler at work without the hook: its functions were neither seen nor treated.
struct Unseen {
  uint32_t process = 0;
  std::string program;
  std::string library;  // the assembler inside it; "" if it is one itself
};

class Watch {
 public:
  // Watches our descendants, except children that are there already.
  Watch(const std::vector<AssemblerFile>& assemblers, std::filesystem::path hook);

  // False where the kernel does not list a process's children: nothing will be found.
  bool works() const { return works_; }

  // One look at the whole tree. Reaps orphans that have ended.
  void look(pid_t root);

  // How long to wait before the next look, so that looking stays below a fortieth of a processor.
  std::chrono::milliseconds pause() const { return pause_; }

  // Those that never reported, judged against what was recorded.
  std::vector<Unseen> unseen(const Recording& recording) const;

  // Descendants found alive by the last look, the root aside.
  const std::vector<std::string>& running() const { return running_; }

 private:
  struct Seen {
    std::string program;
    uint64_t started = 0;  // clock ticks since boot: tells a process from the next of its number
    bool assembler = false;
    bool hooked = false;
    std::string library;
    int looks = 0;
  };
  void visit(pid_t process);
  void examine(pid_t process, Seen& seen) const;
  bool is_program(const std::string& path) const;

  std::vector<AssemblerFile> assemblers_;
  std::string hook_;
  bool works_;
  std::vector<pid_t> foreign_;  // children we had before
  std::map<pid_t, Seen> alive_;
  std::vector<std::pair<pid_t, Seen>> past_;
  std::vector<std::string> running_;
  std::chrono::milliseconds pause_{2};
};

}  // namespace namesake::session
