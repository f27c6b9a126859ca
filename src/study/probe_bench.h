// The experiment of a probe: one kernel, one architecture, one program, and what happens to the
// code when nothing but the kernel's name changes.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "study/probe_kernel.h"
#include "study/probe_program.h"
#include "util/error.h"
#include "util/hash.h"

namespace namesake::study {

enum class Change {
  none,     // the code of the neutral twin, a name of equal length
  code,     // other code
  crash,    // the assembler died
  hang,     // no answer in time
  refused,  // an error: no name for a kernel
};

struct Answer {
  Change change = Change::none;
  std::string why;  // of a crash, a hang, a refusal
};

// A name looked at by itself, in runs that repeat.
struct Verdict {
  bool real = false;     // the twin never has this code
  bool lottery = false;  // both have several codes, and share some
  int runs = 0;
};

// Modules known to hold no name that changes anything, kept from run to run: what was interrupted
// goes on. A line is a hash; a torn last line is no hash.
class ProbeJournal {
 public:
  ProbeJournal() = default;  // remembers nothing
  explicit ProbeJournal(std::filesystem::path file);
  // $XDG_CACHE_HOME/namesake/probe, else ~/.cache/…; empty where there is no home.
  static std::filesystem::path default_folder();

  bool holds(const Hash& module);
  void add(const Hash& module);

 private:
  std::mutex mutex_;
  std::filesystem::path file_;
  std::unordered_set<Hash> known_;
};

// A name of that length which no two calls with other numbers share.
std::string neutral_name(size_t length, size_t which);

class Bench {
 public:
  struct Settings {
    int workers = 1;
    std::chrono::milliseconds least_timeout{20000};  // of one assembly, and more for a large module
    std::function<bool()> stop;
    std::string journal_salt;  // what a remembered module depends on besides itself
  };
  Bench(const Program& program, const ProbeKernel& kernel, std::string architecture,
        ProbeJournal& journal, Settings settings)
      : program_(program),
        kernel_(kernel),
        architecture_(std::move(architecture)),
        journal_(journal),
        settings_(std::move(settings)) {}

  // Neutral names of all lengths up to `longest`: whether the program takes them, what codes they
  // have and how long one takes. A failure is why this bench cannot be used.
  Status calibrate(size_t longest);

  // One answer a name, in order, from modules of many. `progress` is told how many names are done.
  Result<std::vector<Answer>> ask(const std::vector<std::string>& names,
                                  const std::function<void(size_t)>& progress = {});
  Result<Verdict> verify(const std::string& name);

  struct Cost {
    size_t assemblies = 0, remembered = 0;  // modules assembled, and known from an earlier run
    double cpu_seconds = 0;                 // of the program's processes
  };
  Cost cost() const { return cost_; }
  size_t neutral_codes() const { return neutral_codes_.size(); }

 private:
  Result<Made> run(const std::vector<std::string>& names, bool fixed_addresses,
                   Stamped* stamped = nullptr);
  Status solve(const std::vector<std::string>& names, const std::vector<size_t>& which,
               std::vector<Answer>& answers);
  Result<Hash> outcome_of(const std::string& name, bool fixed_addresses);
  bool neutral(const Hash& code);

  const Program& program_;
  const ProbeKernel& kernel_;
  std::string architecture_;
  ProbeJournal& journal_;
  Settings settings_;
  std::mutex mutex_;
  std::set<Hash> neutral_codes_;
  double seconds_each_ = 0.05;
  Cost cost_;
};

}  // namespace namesake::study
