// One program after the other: its own texts are the dictionary, every kernel is searched on every
// architecture by itself, and what any of them found is put to all of them.
#include "study/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "assembly/inputs.h"
#include "ptx/ptx.h"
#include "study/probe_bench.h"
#include "study/probe_search.h"
#include "study/probe_words.h"
#include "util/file.h"
#include "util/text.h"

namespace namesake::study {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string grouped(size_t value) {
  std::string digits = std::to_string(value);
  for (size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string_view match_name(Match match) {
  switch (match) {
    case Match::substring:
      return "substring";
    case Match::prefix:
      return "prefix";
    case Match::suffix:
      return "suffix";
    case Match::exact:
      return "exact";
    case Match::together:
      return "together";
  }
  return "";
}

std::string_view change_name(Change change) {
  switch (change) {
    case Change::code:
      return "code";
    case Change::crash:
      return "crash";
    case Change::hang:
      return "hang";
    default:
      return "";
  }
}

std::string title(const Program& program) {
  if (!program.command.empty()) return program.command;
  return fmt::format("{} {}", toolchain::kind_name(program.tool.kind), program.tool.version);
}

// One kernel on one architecture, searched.
struct Cell {
  const ProbeKernel* kernel;
  ProbeKernel lowered;  // as the program reads it
  std::string architecture;
  std::unique_ptr<Bench> bench;
  report::ProbeSearch report;
  std::vector<Trigger> found;
  bool ok() const { return report.failure.empty(); }
};

class Prober {
 public:
  Prober(const ProbeRequest& request, const Program& program)
      : request_(request), program_(program) {}

  Result<report::ProbedProgram> probe() {
    auto start = Clock::now();
    TRY(read_dictionary());
    TRY(make_cells());
    for (Cell& cell : cells_) {
      if (!cell.ok()) continue;
      TRY(search(cell));
    }
    TRY(put_to_all());
    for (Cell& cell : cells_) {
      if (cell.bench) {
        Bench::Cost cost = cell.bench->cost();
        cell.report.assemblies = static_cast<int64_t>(cost.assemblies);
        cell.report.remembered = static_cast<int64_t>(cost.remembered);
        cell.report.cpu_seconds = cost.cpu_seconds;
        cell.report.neutral_codes = static_cast<int64_t>(cell.bench->neutral_codes());
        result_.cpu_seconds += cost.cpu_seconds;
      }
      result_.searches.push_back(std::move(cell.report));
    }
    result_.wall_seconds = seconds_since(start);
    return std::move(result_);
  }

 private:
  Status read_dictionary() {
    result_.kind = program_.command.empty() ? std::string(toolchain::kind_name(program_.tool.kind))
                                            : "command";
    result_.version = program_.tool.version;
    result_.build = program_.tool.build;
    result_.path = program_.command.empty() ? program_.tool.path.string() : program_.command;
    std::vector<std::filesystem::path> files = request_.dictionaries;
    if (files.empty() && !program_.tool.path.empty()) files = {program_.tool.path};
    std::string texts;
    for (const std::filesystem::path& file : files) {
      TRY_ASSIGN(std::string bytes, read_file(file));
      texts += bytes;
      texts += '\0';
    }
    Dictionary words = dictionary(texts, request_.words);
    result_.texts_in_file = static_cast<int64_t>(words.from_file);
    result_.texts_in_rot13 = static_cast<int64_t>(words.from_rot13);
    result_.texts_added = static_cast<int64_t>(words.added);
    for (const std::string& word : words.unusable) {
      result_.notes.push_back(fmt::format(
          "\"{}\" can be no part of a kernel's name (letters, digits, _ and $): left out", word));
    }
    words_ = std::move(words.words);
    if (words_.empty()) {
      return error(
          fmt::format("{}: no words to try; give some with --words, or a file that holds them with "
                      "--dictionary{}",
                      title(program_), result_.notes.empty() ? "" : "; " + result_.notes.front()));
    }
    // What a program answers is remembered for the program as it is; what a command runs, nobody
    // knows.
    if (request_.journal_folder.empty() || program_.tool.path.empty()) {
      journal_.emplace();
      return {};
    }
    TRY_ASSIGN(std::string program, read_file(program_.tool.path));
    salt_ = fmt::format("{} {} -O{} {}", hash_bytes(program).hex(), program_.command,
                        program_.opt_level, join(program_.options, " "));
    journal_.emplace(request_.journal_folder / hash_bytes(salt_).hex());
    return {};
  }

  // Which kernels this program can take, for which architectures.
  Status make_cells() {
    std::set<std::string> left_out;
    for (const std::string& architecture : request_.architectures) {
      for (const ProbeKernel& kernel : request_.kernels) {
        if (kernel.language != program_.language) continue;
        if (!kernel.target.empty() && !assembly::assembles_for(kernel.target, architecture))
          continue;
        Cell cell;
        cell.kernel = &kernel;
        cell.architecture = architecture;
        cell.report.kernel = kernel.name;
        cell.report.architecture = architecture;
        cells_.push_back(std::move(cell));
      }
    }
    for (Cell& cell : cells_) {  // they stay where they are from here on
      if (Status status = lower(cell); !status) {
        cell.report.failure = status.error().message;
        continue;
      }
      Bench::Settings settings;
      settings.workers = request_.workers;
      settings.least_timeout = request_.timeout;
      settings.stop = request_.stop;
      settings.journal_salt = salt_;
      cell.bench = std::make_unique<Bench>(program_, cell.lowered, cell.architecture, *journal_,
                                           std::move(settings));
      Status ready = cell.bench->calibrate(kNameLength);
      if (request_.stop && request_.stop()) return error("interrupted");
      if (!ready) cell.report.failure = ready.error().message;
    }
    bool any =
        std::any_of(cells_.begin(), cells_.end(), [](const Cell& cell) { return cell.ok(); });
    if (any) return {};
    if (cells_.empty()) {
      return error(
          fmt::format("{}: none of the kernels is written for {}; name others with --kernels",
                      title(program_), join(request_.architectures, ", ")));
    }
    return error(fmt::format("{}: {} on {}: {}", title(program_), cells_[0].report.kernel,
                             cells_[0].architecture, cells_[0].report.failure));
  }

  Status lower(Cell& cell) {
    cell.lowered = *cell.kernel;
    if (cell.lowered.language == Language::cuda || program_.tool.version.empty()) return {};
    TRY_ASSIGN(ptx::Module head, ptx::parse(cell.lowered.head, cell.kernel->name));
    TRY_ASSIGN(ptx::Lowered lowered, ptx::lower_for(head, program_.tool.version));
    cell.lowered.head = lowered.module.text;
    return {};
  }

  Oracle oracle(Cell& cell, std::string_view pass) {
    Oracle oracle;
    oracle.ask = [this, &cell, pass](const std::vector<std::string>& names) {
      return cell.bench->ask(names, [&](size_t done) {
        if (!request_.progress) return;
        std::string count = names.size() == 1
                                ? "looking closer"
                                : fmt::format("{} of {}", grouped(done), grouped(names.size()));
        request_.progress(fmt::format("{}: {} on {}, {}: {}", title(program_), cell.report.kernel,
                                      cell.architecture, pass, count));
      });
    };
    oracle.verify = [&cell](const std::string& name) { return cell.bench->verify(name); };
    return oracle;
  }

  Status search(Cell& cell) {
    std::vector<Trigger> inside;
    auto take = [&](Search&& search) {
      cell.report.dismissed += static_cast<int64_t>(search.dismissed);
      cell.report.given_up |= search.given_up;
      for (Trigger& trigger : search.triggers) cell.found.push_back(std::move(trigger));
      for (Refusal& refusal : search.refused) {
        if (refused_.insert(refusal.word).second)
          result_.refused.push_back({refusal.word, refusal.why});
      }
      for (std::string& word : search.unexplained) {
        if (unexplained_.insert(word).second) result_.unexplained.push_back(std::move(word));
      }
    };
    if (request_.inside) {
      auto start = Clock::now();
      Oracle asked = oracle(cell, "names of many texts");
      TRY_ASSIGN(Search search, search_inside(asked, words_));
      cell.report.inside = static_cast<int64_t>(search.texts);
      take(std::move(search));
      cell.report.inside_seconds = seconds_since(start);
      inside = cell.found;
    }
    if (request_.names) {
      auto start = Clock::now();
      Oracle asked = oracle(cell, "texts as names");
      TRY_ASSIGN(Search search, search_names(asked, words_, inside));
      cell.report.names = static_cast<int64_t>(search.texts);
      take(std::move(search));
      cell.report.names_seconds = seconds_since(start);
    }
    return {};
  }

  // Each trigger once, with what it does to every kernel on every architecture.
  Status put_to_all() {
    struct Distinct {
      Trigger trigger;
      std::set<const Cell*> finders;
    };
    std::vector<Distinct> triggers;
    for (const Cell& cell : cells_) {
      for (const Trigger& trigger : cell.found) {
        auto known = std::find_if(triggers.begin(), triggers.end(), [&](const Distinct& other) {
          return other.trigger.text == trigger.text && other.trigger.match == trigger.match &&
                 other.trigger.any_case == trigger.any_case;
        });
        if (known == triggers.end()) known = triggers.insert(triggers.end(), {trigger, {}});
        known->finders.insert(&cell);
      }
    }
    for (const Distinct& distinct : triggers) {
      report::ProbeFinding finding;
      finding.text = distinct.trigger.text;
      finding.match = match_name(distinct.trigger.match);
      finding.any_case = distinct.trigger.any_case;
      finding.at_far_end = distinct.trigger.at_far_end;
      finding.found_in = distinct.trigger.found_in;
      finding.runs = distinct.trigger.runs;
      for (Cell& cell : cells_) {
        if (!cell.ok()) continue;
        std::string name = name_for(distinct.trigger);
        TRY_ASSIGN(std::vector<Answer> answers, cell.bench->ask({name}));
        Change change = answers[0].change;
        if (change != Change::none && !distinct.finders.contains(&cell)) {
          TRY_ASSIGN(Verdict verdict, cell.bench->verify(name));
          if (!verdict.real) change = Change::none;
        }
        finding.reactions.push_back({cell.report.kernel, cell.architecture,
                                     std::string(change_name(change)),
                                     change == Change::none ? "" : answers[0].why});
      }
      result_.findings.push_back(std::move(finding));
    }
    return {};
  }

  const ProbeRequest& request_;
  const Program& program_;
  report::ProbedProgram result_;
  std::vector<std::string> words_;
  std::string salt_;
  std::optional<ProbeJournal> journal_;
  std::vector<Cell> cells_;
  std::set<std::string> refused_, unexplained_;
};

std::string quoted_finding(const report::ProbeFinding& finding) {
  std::string how = finding.match == "substring" ? "anywhere in a name"
                    : finding.match == "prefix"  ? "at a name's beginning"
                    : finding.match == "suffix"  ? "at a name's end"
                    : finding.match == "exact"   ? "as the whole name"
                                                 : "all of them in a name";
  return fmt::format("\"{}\" {}{}", finding.text, how, finding.any_case ? ", in any case" : "");
}

bool changes_code(const report::ProbeFinding& finding) {
  return std::any_of(
      finding.reactions.begin(), finding.reactions.end(),
      [](const report::ProbeReaction& reaction) { return reaction.change == "code"; });
}

// "1 text changes the code of these kernels: …. 2 texts make the program crash or hang: …. No other
// text did, of 33,030 tried."
std::string conclusion(const report::Probe& probe) {
  std::set<std::string> code, failure;
  int64_t least = 0;
  for (const report::ProbedProgram& program : probe.programs) {
    for (const report::ProbeSearch& search : program.searches) {
      int64_t texts = std::max(search.inside, search.names);
      if (search.failure.empty()) least = least == 0 ? texts : std::min(least, texts);
    }
    for (const report::ProbeFinding& finding : program.findings) {
      (changes_code(finding) ? code : failure).insert(quoted_finding(finding));
    }
  }
  std::string tried = fmt::format("{}{}", probe.programs.size() > 1 ? "at least " : "",
                                  grouped(static_cast<size_t>(least)));
  if (code.empty() && failure.empty())
    return fmt::format("No text changed the code of any of these kernels, of {} tried.", tried);
  auto listed = [](const std::set<std::string>& findings) {
    return join(std::vector<std::string>(findings.begin(), findings.end()), "; ");
  };
  std::string text;
  if (!code.empty()) {
    text += fmt::format("{} text{} the code of these kernels: {}. ", code.size(),
                        code.size() == 1 ? " changes" : "s change", listed(code));
  }
  if (!failure.empty()) {
    text += fmt::format("{} text{} the program crash or hang: {}. ", failure.size(),
                        failure.size() == 1 ? " makes" : "s make", listed(failure));
  }
  return text + fmt::format("No other text did, of {} tried.", tried);
}

std::vector<std::string> limits(const ProbeRequest& request) {
  std::vector<std::string> result = {
      "It holds for the texts tried, the kernels and the architectures above, at this optimisation "
      "level.",
      "Not covered: names that are hashed, texts put together at run time, conditions of several "
      "texts that stand in no name together, "
      "texts of one or two characters unless given, and shapes of code that these "
      "kernels do not have."};
  if (!request.inside) result.push_back("Texts inside names were not tried (--only names).");
  if (!request.names)
    result.push_back(
        "Texts as whole names were not tried (--only inside): a prefix, a suffix or an exact name "
        "goes unseen.");
  return result;
}

}  // namespace

Result<report::Probe> probe(const ProbeRequest& request) {
  report::Probe result;
  result.date = utc_now();
  result.inside = request.inside;
  result.names = request.names;
  for (const Program& program : request.programs) {
    auto probed = Prober(request, program).probe();
    if (request.stop && request.stop())
      return error("interrupted; the same command goes on from here");
    if (probed) {
      result.programs.push_back(std::move(*probed));
    } else if (request.programs.size() == 1) {
      return tl::unexpected(probed.error());
    } else {
      result.notes.push_back(probed.error().message);
    }
  }
  if (result.programs.empty())
    return error(result.notes.empty() ? "nothing to probe" : join(result.notes, "; "));
  result.conclusion = conclusion(result);
  result.limits = limits(request);
  return result;
}

}  // namespace namesake::study
