// results/verified.json: what was verified on a GPU, so that a machine without one can tell whether
// it has the same.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "code.h"
#include "runner.h"

namespace namesake::attention::test {

struct Verified {
  std::string device, driver, compiler;
  DeviceInfo info;                  // what the plans were made for
  std::vector<KernelCode> kernels;  // of the device's architecture
  std::vector<Outcome> outcomes;    // of every case and kernel
  std::vector<std::string> behaviours;
};

// The kernels of the library, without the suite's own, for one architecture.
std::vector<KernelCode> library_kernels(const std::string& path, const std::string& arch);

void write(const Verified& verified, const std::string& path);
Verified read_verified(const std::string& path);

// Where this binary's code or plans are not those that were verified, a line each.
std::vector<std::string> compare(const Verified& verified, const std::string& binary);

// The log of a run: one JSON line an outcome, appended and flushed, so that a run can be cut short
// and taken up again.
class Log {
 public:
  Log(std::string path, std::string code);  // outcomes of other code are ignored
  bool has(const std::string& key) const { return outcomes_.count(key) > 0; }
  void add(const std::string& key, const std::vector<Outcome>& outcomes);
  const std::map<std::string, std::vector<Outcome>>& outcomes() const { return outcomes_; }

 private:
  std::string path_, code_;
  std::map<std::string, std::vector<Outcome>> outcomes_;
};

// The worst error of cuDNN by case name, as peers.py wrote it.
std::map<std::string, double> read_peers(const std::string& path);

// The cases a peer can run, a JSON line each: what peers.py reads.
std::string peer_line(const Case& c);

}  // namespace namesake::attention::test
