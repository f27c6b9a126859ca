// A name is compared with its neutral twin: a name of equal length in the same module, because some
// assemblers' code depends on the length of names, or on where memory lies, and neither is a
// trigger. What still differs is only suspected; `verify` then looks at the name alone, in runs
// that repeat.
//
// A module that fails says nothing about its names but that one of them did it: the error's line
// tells which where there is one, and halves tell otherwise.
#include "study/probe_bench.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "cubin/cubin.h"
#include "util/cursor.h"
#include "util/file.h"
#include "util/pool.h"

namespace namesake::study {
namespace {

constexpr size_t kMostNames = 256;             // in one module
constexpr size_t kMostText = size_t{4} << 20;  // of one module
constexpr double kModuleSeconds = 1.0;         // that one module may take: progress moves
constexpr size_t kWorthRemembering = 8;        // names
constexpr int kRepeats = 2, kDraws = 3;        // with randomisation off, and on

// What a kernel without code has instead of a code's hash.
constexpr Hash kCrashed{0, 1}, kHung{0, 2}, kRefused{0, 3};

Hash outcome_of_failure(const Made& made) {
  if (made.timed_out) return kHung;
  return made.crashed ? kCrashed : kRefused;
}

Answer answer_of_failure(const Made& made) {
  Hash outcome = outcome_of_failure(made);
  Change change = outcome == kHung      ? Change::hang
                  : outcome == kCrashed ? Change::crash
                                        : Change::refused;
  return {change, made.failure};
}

Result<std::map<std::string, Hash, std::less<>>> codes_of(const std::string& cubin) {
  TRY_ASSIGN(cubin::Module module, cubin::parse(cubin, "the program's output"));
  std::map<std::string, Hash, std::less<>> codes;
  for (const cubin::Function& function : module.functions)
    codes[function.symbol] = function.identity;
  return codes;
}

}  // namespace

// Q, the number, and Q up to the length: no word of any language, and legal everywhere.
std::string neutral_name(size_t length, size_t which) {
  constexpr std::string_view kLetters = "QZXJKVWY";
  std::string name(length, 'Q');
  for (size_t i = length; i-- > 0 && which > 0; which /= kLetters.size())
    name[i] = kLetters[which % kLetters.size()];
  return name;
}

ProbeJournal::ProbeJournal(std::filesystem::path file) : file_(std::move(file)) {
  auto text = read_file(file_);
  if (!text) return;
  Cursor cursor(*text);
  while (!cursor.at_end()) {
    std::string_view line = cursor.take_line();
    if (line.size() != 32) continue;
    Hash hash;
    auto half = [](std::string_view digits) {
      uint64_t value = 0;
      for (char c : digits)
        value = value << 4 | static_cast<uint64_t>(c <= '9' ? c - '0' : c - 'a' + 10);
      return value;
    };
    if (line.find_first_not_of("0123456789abcdef") != line.npos) continue;
    hash.high = half(line.substr(0, 16));
    hash.low = half(line.substr(16));
    known_.insert(hash);
  }
}

std::filesystem::path ProbeJournal::default_folder() {
  std::string cache = environment("XDG_CACHE_HOME"), home = environment("HOME");
  if (!cache.empty()) return std::filesystem::path(cache) / "namesake" / "probe";
  return home.empty() ? std::filesystem::path()
                      : std::filesystem::path(home) / ".cache" / "namesake" / "probe";
}

bool ProbeJournal::holds(const Hash& module) {
  std::lock_guard lock(mutex_);
  return known_.contains(module);
}

// One write at the file's end: two runs at once do not tear each other's lines. What cannot be
// written is not remembered, and costs a later run some time.
void ProbeJournal::add(const Hash& module) {
  std::lock_guard lock(mutex_);
  if (!known_.insert(module).second || file_.empty()) return;
  std::error_code ignored;
  std::filesystem::create_directories(file_.parent_path(), ignored);
  int file = ::open(file_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return;
  std::string line = module.hex() + "\n";
  [[maybe_unused]] ssize_t written = ::write(file, line.data(), line.size());
  ::close(file);
}

bool Bench::neutral(const Hash& code) {
  std::lock_guard lock(mutex_);
  return neutral_codes_.contains(code);
}

Result<Made> Bench::run(const std::vector<std::string>& names, bool fixed_addresses,
                        Stamped* stamped) {
  Stamped own = stamp(kernel_, names);
  auto each =
      std::chrono::milliseconds(static_cast<int64_t>(1000 * std::max(0.1, 20 * seconds_each_)));
  TRY_ASSIGN(Made made, make(program_, own.text, architecture_, fixed_addresses,
                             settings_.least_timeout + each * names.size()));
  if (stamped) *stamped = std::move(own);
  std::lock_guard lock(mutex_);
  ++cost_.assemblies;
  cost_.cpu_seconds += made.cpu_seconds;
  return made;
}

Status Bench::calibrate(size_t longest) {
  std::vector<std::string> names;
  for (size_t length = 4; length <= longest; length += std::max<size_t>(1, length / 4)) {
    names.push_back(neutral_name(length, 1));
  }
  names.push_back(neutral_name(longest, 2));
  TRY_ASSIGN(Made made, run(names, true));
  if (!made.ok()) return error(made.failure);
  TRY_ASSIGN(auto codes, codes_of(made.cubin));
  for (const std::string& name : names) {
    auto code = codes.find(name);
    if (code == codes.end())
      return error(fmt::format("its output holds no kernel named {}", name.substr(0, 20)));
    neutral_codes_.insert(code->second);
  }
  seconds_each_ = std::max(0.0002, made.cpu_seconds / static_cast<double>(names.size()));
  return {};
}

// Fills in the answers of names[which…], which differ from each other. `which` is never empty.
Status Bench::solve(const std::vector<std::string>& names, const std::vector<size_t>& which,
                    std::vector<Answer>& answers) {
  if (settings_.stop && settings_.stop()) return error("interrupted");
  std::vector<std::string> module;
  std::set<std::string_view> taken;
  for (size_t i : which) {
    module.push_back(names[i]);
    taken.insert(names[i]);
  }
  std::map<size_t, std::string> twins;  // by length
  for (size_t i : which) {
    std::string& twin = twins[names[i].size()];
    for (size_t number = 0; twin.empty() || taken.contains(twin); ++number) {
      twin = neutral_name(names[i].size(), number);
      if (number > 64)
        return error(fmt::format("no neutral name of {} letters is left", names[i].size()));
    }
  }
  for (auto& [length, twin] : twins) module.push_back(twin);

  Stamped stamped;
  TRY_ASSIGN(Made made, run(module, true, &stamped));
  if (made.ok()) {
    TRY_ASSIGN(auto codes, codes_of(made.cubin));
    for (size_t i : which) {
      auto code = codes.find(names[i]), twin = codes.find(twins[names[i].size()]);
      if (twin == codes.end()) return error("its output lacks a kernel of the module");
      if (code == codes.end()) {
        answers[i] = {Change::refused, "its output lacks this kernel"};
      } else if (code->second != twin->second && !neutral(code->second)) {
        answers[i] = {Change::code, ""};
      }
    }
    return {};
  }

  // The errors' lines blame names, which are then tried apart from the rest, and from each other:
  // some errors are echoes.
  std::set<size_t> blamed;
  if (!made.crashed && !made.timed_out) {
    for (size_t line : made.lines) {
      auto next = std::upper_bound(stamped.first_lines.begin(), stamped.first_lines.end(), line);
      auto name = static_cast<size_t>(next - stamped.first_lines.begin());
      if (name > 0 && name <= which.size()) blamed.insert(name - 1);
    }
  }
  std::vector<size_t> left, right;
  if (which.size() == 1) {
    TRY_ASSIGN(Made twin, run({twins.begin()->second}, true));
    if (!twin.ok())
      return error(fmt::format("it fails for the neutral name {} too: {}",
                               twins.begin()->second.substr(0, 20), twin.failure));
    answers[which[0]] = answer_of_failure(made);
  } else if (!blamed.empty() && blamed.size() < which.size()) {
    for (size_t k = 0; k < which.size(); ++k)
      (blamed.contains(k) ? right : left).push_back(which[k]);
  } else {
    left.assign(which.begin(), which.begin() + static_cast<std::ptrdiff_t>(which.size() / 2));
    right.assign(which.begin() + static_cast<std::ptrdiff_t>(which.size() / 2), which.end());
  }
  for (auto* part : {&left, &right}) {
    if (!part->empty()) TRY(solve(names, *part, answers));
  }
  return {};
}

Result<std::vector<Answer>> Bench::ask(const std::vector<std::string>& names,
                                       const std::function<void(size_t)>& progress) {
  // Each name once, names of one length together: they share a twin.
  std::vector<size_t> order(names.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return names[a].size() < names[b].size(); });
  std::map<std::string_view, size_t> first;
  std::vector<std::vector<size_t>> modules;
  size_t most =
      std::clamp<size_t>(static_cast<size_t>(kModuleSeconds / seconds_each_), 8, kMostNames);
  size_t text = kMostText;
  for (size_t i : order) {
    if (!first.emplace(names[i], i).second) continue;
    size_t size = kernel_.before.size() + kernel_.after.size() + names[i].size();
    if (modules.empty() || modules.back().size() == most || text + size > kMostText) {
      modules.emplace_back();
      text = 0;
    }
    modules.back().push_back(i);
    text += size;
  }

  std::vector<Answer> answers(names.size());
  Status failure;
  size_t done = 0;
  for_each_parallel(
      modules.size(), settings_.workers,
      [&](size_t m) {
        const std::vector<size_t>& module = modules[m];
        std::string identity =
            settings_.journal_salt + architecture_ + '\n' + kernel_.before + kernel_.after;
        for (size_t i : module) identity += '\n' + names[i];
        Hash hash = hash_bytes(identity);
        bool remember = module.size() >= kWorthRemembering,
             known = remember && journal_.holds(hash);
        Status status = known ? Status() : solve(names, module, answers);
        bool clean = std::all_of(module.begin(), module.end(),
                                 [&](size_t i) { return answers[i].change == Change::none; });
        if (status && clean && remember && !known) journal_.add(hash);
        std::lock_guard lock(mutex_);
        cost_.remembered += known;
        if (!status && failure) failure = status;
        done += module.size();
        if (progress) progress(done);
      },
      [&] {
        std::lock_guard lock(mutex_);
        return !failure || (settings_.stop && settings_.stop());
      });
  TRY(failure);
  if (settings_.stop && settings_.stop()) return error("interrupted");
  for (size_t i = 0; i < names.size(); ++i) answers[i] = answers[first[names[i]]];
  return answers;
}

Result<Hash> Bench::outcome_of(const std::string& name, bool fixed_addresses) {
  TRY_ASSIGN(Made made, run({name}, fixed_addresses));
  if (!made.ok()) return outcome_of_failure(made);
  TRY_ASSIGN(auto codes, codes_of(made.cubin));
  auto code = codes.find(name);
  return code == codes.end() ? kRefused : code->second;
}

Result<Verdict> Bench::verify(const std::string& name) {
  std::string twin = neutral_name(name.size(), 0);
  if (twin == name) twin = neutral_name(name.size(), 1);
  Verdict verdict;
  std::set<Hash> codes, twins;
  auto draw = [&](int count, bool fixed_addresses) -> Status {
    std::vector<Result<Hash>> outcomes(static_cast<size_t>(2 * count), kRefused);
    for_each_parallel(outcomes.size(), settings_.workers, [&](size_t i) {
      outcomes[i] = outcome_of(i % 2 ? twin : name, fixed_addresses);
    });
    if (settings_.stop && settings_.stop()) return error("interrupted");
    for (size_t i = 0; i < outcomes.size(); ++i) {
      if (!outcomes[i]) return tl::unexpected(outcomes[i].error());
      (i % 2 ? twins : codes).insert(*outcomes[i]);
    }
    verdict.runs += count;
    return {};
  };
  TRY(draw(kRepeats, true));
  if (codes.size() == 1 && codes == twins) return verdict;
  TRY(draw(kDraws, false));
  verdict.real = std::none_of(codes.begin(), codes.end(),
                              [&](const Hash& code) { return twins.contains(code); });
  verdict.lottery = !verdict.real;
  if (verdict.lottery) {
    std::lock_guard lock(mutex_);
    for (const std::set<Hash>* seen : {&codes, &twins})
      neutral_codes_.insert(seen->begin(), seen->end());
  }
  return verdict;
}

}  // namespace namesake::study
