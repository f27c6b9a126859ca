#include "verified.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace namesake::attention::test {
namespace {

using nlohmann::json;

constexpr const char* kSchema = "namesake-attention-verified/1";

json to_json(const Outcome& o) {
  char error[16], bound[16], lse[16];
  std::snprintf(error, sizeof error, "%.3e", o.error);
  std::snprintf(bound, sizeof bound, "%.3e", o.bound);
  std::snprintf(lse, sizeof lse, "%.1e", o.lse_error);
  return json::array({o.name, o.kernel, o.plan, error, bound, lse});
}

Outcome from_json(const json& j) {
  Outcome o{j.at(0), j.at(1), j.at(2)};
  const auto number = [&](int i) { return std::stod(j.at(i).get<std::string>()); };
  o.error = number(3);
  o.bound = number(4);
  o.lse_error = number(5);
  if (j.size() > 6) o.complaint = j.at(6);
  return o;
}

json parse(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  json j = json::parse(file, nullptr, false);
  if (j.is_discarded()) throw std::runtime_error(path + ": is no JSON");
  return j;
}

std::string key_of(const Outcome& o) {
  return o.name + " [" + o.kernel + "]";
}

}  // namespace

std::vector<KernelCode> library_kernels(const std::string& path, const std::string& arch) {
  std::vector<KernelCode> kernels = kernels_in(path);
  std::erase_if(kernels, [&](const KernelCode& k) {
    bool ours = false;
    for (const char* part : {"4sm80", "4sm90", "5split"})
      ours |= k.symbol.find(part) != std::string::npos;
    return !ours || (!arch.empty() && k.arch != arch);
  });
  return kernels;
}

void write(const Verified& v, const std::string& path) {
  // Written by hand at the top level: a line for each kernel and case keeps differences readable.
  std::ofstream file(path);
  file << "{\"schema\": " << json(kSchema) << ",\n \"device\": " << json(v.device)
       << ", \"driver\": " << json(v.driver) << ", \"compiler\": " << json(v.compiler)
       << ",\n \"planned_for\": "
       << json({{"major", v.info.major},
                {"minor", v.info.minor},
                {"sm_count", v.info.sm_count},
                {"max_smem_per_block", v.info.max_smem_per_block},
                {"l2_bytes", v.info.l2_bytes}})
       << ",\n \"kernels\": [";
  const char* separator = "\n  ";
  for (const KernelCode& k : v.kernels) {
    file << separator << json::array({k.symbol, k.arch, k.hash, k.registers});
    separator = ",\n  ";
  }
  file << "\n ],\n \"behaviours\": [";
  separator = "\n  ";
  for (const std::string& b : v.behaviours) {
    file << separator << json(b);
    separator = ",\n  ";
  }
  file << "\n ],\n \"cases_are\": [\"name\", \"kernel\", \"plan\", \"error\", \"bound\", "
          "\"lse_error\"],\n \"cases\": [";
  separator = "\n  ";
  for (const Outcome& o : v.outcomes) {
    file << separator << to_json(o);
    separator = ",\n  ";
  }
  file << "\n ]}\n";
  file.flush();
  if (!file) throw std::runtime_error(path + ": cannot be written");
}

Verified read_verified(const std::string& path) {
  const json j = parse(path);
  if (j.value("schema", "") != kSchema)
    throw std::runtime_error(path + ": is not of schema " + kSchema);
  Verified v;
  v.device = j.at("device");
  v.driver = j.at("driver");
  v.compiler = j.at("compiler");
  const json& p = j.at("planned_for");
  v.info = {0,
            p.at("major"),
            p.at("minor"),
            p.at("sm_count"),
            p.at("max_smem_per_block"),
            p.at("l2_bytes")};
  for (const json& k : j.at("kernels")) v.kernels.push_back({k.at(0), k.at(1), k.at(2), k.at(3)});
  for (const json& o : j.at("cases")) v.outcomes.push_back(from_json(o));
  for (const json& b : j.at("behaviours")) v.behaviours.push_back(b);
  return v;
}

std::vector<std::string> compare(const Verified& verified, const std::string& binary) {
  std::vector<std::string> lines;
  std::map<std::string, std::string> code;
  if (!verified.kernels.empty())
    for (const KernelCode& k : library_kernels(binary, verified.kernels[0].arch))
      code[k.symbol] = k.hash;
  for (const KernelCode& k : verified.kernels) {
    const auto found = code.find(k.symbol);
    if (found == code.end()) {
      lines.push_back("kernel " + k.symbol + " was verified and is not in this binary");
    } else {
      if (found->second != k.hash)
        lines.push_back("kernel " + k.symbol + " has other code than what was verified");
      code.erase(found);
    }
  }
  for (const auto& [symbol, hash] : code)
    lines.push_back("kernel " + symbol + " was never verified");

  std::map<std::string, std::string> plans;
  for (const Outcome& o : verified.outcomes) plans[key_of(o)] = o.plan;
  for (const Case& c : all_cases()) {
    for (Kernel kernel : kKernels) {
      const std::optional<std::string> plan = plan_digest(c, kernel, verified.info);
      const std::string key = key_of({c.name(), name(kernel)});
      const auto found = plans.find(key);
      if (found == plans.end()) {
        if (plan) lines.push_back(key + " was never verified");
        continue;
      }
      if (!plan) lines.push_back(key + " was verified and is refused now");
      if (plan && *plan != found->second)
        lines.push_back(key + " is launched in another way than what was verified");
      plans.erase(found);
    }
  }
  for (const auto& [key, plan] : plans)
    lines.push_back(key + " was verified and is no case of this suite");
  return lines;
}

Log::Log(std::string path, std::string code) : path_(std::move(path)), code_(std::move(code)) {
  std::ifstream file(path_);
  for (std::string line; std::getline(file, line);) {
    const json j = json::parse(
        line, nullptr, false);  // the last line of a run that was cut short may be half a line
    if (j.is_discarded() || j.at("code") != code_) continue;
    std::vector<Outcome>& outcomes = outcomes_[j.at("key")];
    outcomes.clear();
    for (const json& o : j.at("outcomes")) outcomes.push_back(from_json(o));
  }
}

void Log::add(const std::string& key, const std::vector<Outcome>& outcomes) {
  outcomes_[key] = outcomes;
  if (path_.empty()) return;
  json list = json::array();
  for (const Outcome& o : outcomes) {
    list.push_back(to_json(o));
    if (!o.complaint.empty()) list.back().push_back(o.complaint);
  }
  std::ofstream file(path_, std::ios::app);
  file << json{{"code", code_}, {"key", key}, {"outcomes", list}} << std::endl;
  if (!file) throw std::runtime_error(path_ + ": cannot be written");
}

std::map<std::string, double> read_peers(const std::string& path) {
  std::map<std::string, double> errors;
  if (path.empty()) return errors;
  const json all = parse(path);
  for (const auto& [name, error] : all.items()) errors[name] = error;
  return errors;
}

std::string peer_line(const Case& c) {
  return json{{"name", c.name()},         {"dtype", name(c.dtype)},
              {"batch", c.batch},         {"heads_q", c.heads_q},
              {"heads_kv", c.heads_kv},   {"seqlen_q", c.seqlen_q},
              {"seqlen_kv", c.seqlen_kv}, {"head_dim", c.head_dim},
              {"causal", c.causal},       {"seeds", {c.q.seed, c.k.seed, c.v.seed}},
              {"outliers", c.v.outliers}, {"mean_of_v", c.v.mean}}
      .dump();
}

}  // namespace namesake::attention::test
