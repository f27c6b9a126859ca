#include "study/scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "cubin/listing.h"
#include "ptx/entries.h"
#include "study/symbol.h"
#include "util/mapping.h"
#include "util/pool.h"
#include "util/text.h"

namespace namesake::study {
namespace {

// What assemblers are known to ask names for. The second is asked for as a prefix, but a name that
// holds it elsewhere is worth a look too.
constexpr std::string_view kTriggers[] = {"cutlass", "__cuda_uf_stub_"};

bool asked_for(const ScanRequest& request, std::string_view symbol, std::string_view architecture) {
  const auto& wanted = request.architectures;
  if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), architecture) == wanted.end())
    return false;
  const std::string& glob = request.kernel_glob;
  return glob.empty() || glob_match(glob, symbol) || glob_match(glob, demangled_name(symbol)) ||
         glob_match(glob, demangled(symbol));
}

// "sm_90a" → 90; 0 for what is no target.
int64_t target_number(std::string_view target) {
  size_t begin = target.find_first_of("0123456789");
  if (begin == std::string_view::npos) return 0;
  size_t end = target.find_first_not_of("0123456789", begin);
  return parse_integer(target.substr(begin, end == std::string_view::npos ? end : end - begin))
      .value_or(0);
}

// The functions of one piece of code that were asked for.
struct Found {
  std::vector<report::ScannedFunction> functions;
  std::vector<std::string_view> symbols;  // theirs
  int64_t kernels = 0;                    // those not asked for included

  void add(std::string_view symbol, report::ScannedFunction function, bool wanted) {
    kernels += function.kernel;
    if (!wanted) return;
    functions.push_back(std::move(function));
    symbols.push_back(symbol);
  }
};

// The same, and where the piece stands, whatever the order in which workers came to it.
struct Listed {
  std::vector<report::ScannedFunction> functions;
  int64_t container = 0;
  uint64_t offset = 0, entry = 0;
};

struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

class Scanner {
 public:
  Scanner(const ScanRequest& request, report::Scan& scan) : request_(request), scan_(scan) {
    scan_.triggers.assign(std::begin(kTriggers), std::end(kTriggers));
    for (const std::string& text : request.denied) {
      if (std::find(scan_.triggers.begin(), scan_.triggers.end(), text) == scan_.triggers.end())
        scan_.triggers.push_back(text);
    }
  }

  void piece(const Piece& piece, uint64_t file) {
    Found found;
    std::string problem;
    if (piece.content == cubin::Content::cubin) {
      problem = list_cubin(piece, found);
    } else if (piece.content == cubin::Content::ptx) {
      problem = list_ptx(piece, found);
    }
    std::lock_guard lock(mutex_);
    if (!problem.empty()) scan_.problems.push_back(std::move(problem));
    int64_t container = count(piece, file, found.kernels);
    if (found.functions.empty()) return;
    for (size_t i = 0; i < found.functions.size(); ++i)
      found.functions[i].symbol = symbol_number(found.symbols[i]);
    functions_ += found.functions.size();
    listed_.push_back({std::move(found.functions), container, piece.offset, piece.entry});
  }

  void problem(std::string sentence) {
    std::lock_guard lock(mutex_);
    scan_.problems.push_back(std::move(sentence));
  }

  size_t kernels() {
    std::lock_guard lock(mutex_);
    return functions_;
  }

  // In the order of files and of what lies in them, symbols by their first use.
  void finish() {
    std::vector<size_t> order(containers_.size());
    std::vector<int64_t> place(containers_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return std::tie(containers_[a].first, containers_[a].second.name) <
             std::tie(containers_[b].first, containers_[b].second.name);
    });
    for (size_t i = 0; i < order.size(); ++i) {
      place[order[i]] = static_cast<int64_t>(i);
      scan_.containers.push_back(std::move(containers_[order[i]].second));
    }
    for (Listed& each : listed_) each.container = place[static_cast<size_t>(each.container)];
    std::sort(listed_.begin(), listed_.end(), [](const Listed& a, const Listed& b) {
      return std::tie(a.container, a.offset, a.entry) < std::tie(b.container, b.offset, b.entry);
    });
    std::vector<int64_t> new_number(symbols_.size(), -1);
    std::vector<std::string_view> by_number(symbols_.size());
    for (const auto& [symbol, number] : symbols_) by_number[static_cast<size_t>(number)] = symbol;
    scan_.symbols.reserve(symbols_.size());
    scan_.functions.reserve(functions_);
    for (Listed& each : listed_) {
      for (report::ScannedFunction& function : each.functions) {
        auto old = static_cast<size_t>(function.symbol);
        if (new_number[old] < 0) {
          new_number[old] = static_cast<int64_t>(scan_.symbols.size());
          scan_.symbols.push_back({std::string(by_number[old]), {}, {}});
        }
        function.symbol = new_number[old];
        function.container = each.container;
        scan_.functions.push_back(std::move(function));
      }
    }
    constexpr size_t kMany = 256;
    auto& symbols = scan_.symbols;
    for_each_parallel(symbols.size() / kMany + 1, request_.workers, [&](size_t part) {
      size_t end = std::min(symbols.size(), (part + 1) * kMany);
      for (size_t i = part * kMany; i < end; ++i) tell_of(symbols[i]);
    });
    std::sort(scan_.problems.begin(), scan_.problems.end());
  }

 private:
  void tell_of(report::ScannedSymbol& symbol) const {
    symbol.library = library_of(symbol.symbol);
    for (const std::string& trigger : scan_.triggers) {
      auto places = request_.detailed ? places_of(symbol.symbol, trigger)
                                      : first_place_of(symbol.symbol, trigger);
      if (!places.empty()) symbol.triggers.push_back({trigger, std::move(places)});
    }
  }

  std::string list_cubin(const Piece& piece, Found& found) const {
    auto listing =
        piece.functions(request_.detailed ? cubin::Detail::registers : cubin::Detail::names);
    if (!listing) return listing.error().message;
    std::string architecture(piece.architecture);
    if (architecture.empty())
      architecture =
          fmt::format("sm_{}{}", listing->architecture, listing->architecture_specific ? "a" : "");
    found.functions.reserve(listing->functions.size());
    found.symbols.reserve(listing->functions.size());
    for (const cubin::ListedFunction& each : listing->functions) {
      report::ScannedFunction function;
      function.architecture = architecture;
      function.code = true;
      function.kernel = each.entry;
      function.bytes = static_cast<int64_t>(std::min<uint64_t>(each.code_bytes, INT32_MAX));
      function.registers = each.registers;
      bool wanted = asked_for(request_, each.symbol, architecture);
      found.add(each.symbol, std::move(function), wanted);
    }
    return "";
  }

  std::string list_ptx(const Piece& piece, Found& found) const {
    auto text = piece.bytes();
    if (!text) return text.error().message;
    ptx::ListedText listed = ptx::list_entries(*text);
    for (const ptx::ListedEntry& each : listed.entries) {
      report::ScannedFunction function;
      function.architecture = listed.target.empty() ? piece.architecture : listed.target;
      function.kernel = true;
      function.bytes = static_cast<int64_t>(each.bytes);
      bool wanted = asked_for(request_, each.symbol, function.architecture);
      found.add(each.symbol, std::move(function), wanted);
    }
    return "";
  }

  int64_t count(const Piece& piece, uint64_t file, int64_t kernels) {
    std::string key = std::to_string(file) + ' ' + std::string(piece.container);
    auto [at, is_new] = container_numbers_.try_emplace(std::move(key), containers_.size());
    if (is_new)
      containers_.push_back(
          {file, {std::string(piece.container), static_cast<int64_t>(piece.container_bytes)}});
    report::Container& container = containers_[at->second].second;
    switch (piece.content) {
      case cubin::Content::cubin:
        ++container.cubins;
        break;
      case cubin::Content::ptx:
        ++container.ptx;
        break;
      case cubin::Content::ir:
        ++container.ir;
        break;
      case cubin::Content::other:
        ++container.other;
        break;
    }
    if (piece.packing == cubin::Packing::lz4) ++container.lz4;
    if (piece.packing == cubin::Packing::zstd) ++container.zstd;
    bool code = piece.content == cubin::Content::cubin, ptx = piece.content == cubin::Content::ptx;
    (ptx ? container.ptx_kernels : container.kernels) += kernels;
    if (!piece.section.empty()) {
      report::Container::Section& section = container.sections[std::string(piece.section)];
      ++(code ? section.cubins : ptx ? section.ptx : section.other);
      if (code) section.kernels += kernels;
    }
    return static_cast<int64_t>(at->second);
  }

  int64_t symbol_number(std::string_view symbol) {
    auto at = symbols_.find(symbol);
    if (at == symbols_.end())
      at = symbols_.emplace(symbol, static_cast<int64_t>(symbols_.size())).first;
    return at->second;
  }

  const ScanRequest& request_;
  report::Scan& scan_;
  std::mutex mutex_;
  std::vector<std::pair<uint64_t, report::Container>> containers_;  // with the number of their file
  std::unordered_map<std::string, size_t> container_numbers_;
  std::unordered_map<std::string, int64_t, TextHash, std::equal_to<>> symbols_;
  std::vector<Listed> listed_;
  size_t functions_ = 0;  // in them
};

Walk walk_for(const ScanRequest& request) {
  Walk walk;
  walk.stop = request.stop;
  walk.limits = request.limits;
  walk.workers = request.workers;
  return walk;
}

}  // namespace

Result<report::Scan> scan(const ScanRequest& request) {
  auto start = std::chrono::steady_clock::now();
  report::Scan scan;
  Scanner scanner(request, scan);
  for (uint64_t i = 0; i < request.files.size(); ++i) {
    std::string name = request.files[i].string();
    scan.files.push_back(name);
    auto file = MappedFile::open(request.files[i]);
    if (!file) {
      scanner.problem(file.error().message);
      continue;
    }
    scan.file_bytes += static_cast<int64_t>(file->bytes().size());
    Walk walk = walk_for(request);
    walk.problem = [&](std::string sentence) { scanner.problem(std::move(sentence)); };
    walk.piece = [&](const Piece& piece) {
      scanner.piece(piece, i);
      if (request.progress)
        request.progress(fmt::format("{}: {} kernels", name, scanner.kernels()));
    };
    scan.unpacked_bytes += static_cast<int64_t>(study::walk(file->bytes(), name, walk));
    file->close(request.workers);
    if (request.stop && request.stop()) return error("interrupted");
  }
  scanner.finish();
  scan.date = utc_now();
  scan.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return scan;
}

Result<CarriedPtx> find_ptx(const ScanRequest& request) {
  std::mutex mutex;
  std::optional<CarriedPtx> best;
  std::vector<std::string> problems;
  bool code_only = false;
  Walk walk = walk_for(request);
  walk.problem = [&](std::string sentence) {
    std::lock_guard lock(mutex);
    problems.push_back(std::move(sentence));
  };
  walk.piece = [&](const Piece& piece) {
    if (piece.content == cubin::Content::cubin) {
      auto listing = piece.functions(cubin::Detail::names);
      if (!listing) return;
      for (const cubin::ListedFunction& each : listing->functions) {
        if (!asked_for(request, each.symbol, piece.architecture)) continue;
        std::lock_guard lock(mutex);
        code_only = true;
      }
    }
    if (piece.content != cubin::Content::ptx) return;
    auto text = piece.bytes();
    if (!text) return;
    ptx::ListedText listed = ptx::list_entries(*text);
    for (const ptx::ListedEntry& each : listed.entries) {
      if (!asked_for(request, each.symbol, listed.target)) continue;
      CarriedPtx found{std::string(piece.container),
                       std::string(piece.options),
                       std::string(listed.target),
                       std::string(each.symbol),
                       {}};
      std::lock_guard lock(mutex);
      auto rank = [](const CarriedPtx& ptx) {
        return std::make_tuple(-target_number(ptx.target), ptx.container, ptx.kernel);
      };
      if (best && rank(*best) <= rank(found)) continue;
      found.text = *text;
      best = std::move(found);
    }
  };
  for (const std::filesystem::path& path : request.files) {
    TRY_ASSIGN(MappedFile file, MappedFile::open(path));
    study::walk(file.bytes(), path.string(), walk);
    if (request.stop && request.stop()) return error("interrupted");
  }
  if (best) {
    best->text = ptx::with_entry_alone(best->text, best->kernel);
    return *best;
  }
  std::string name = request.kernel_glob;
  if (code_only)
    return error(fmt::format(
        "{} is there as machine code alone, without its PTX, so it cannot be assembled again",
        name));
  if (!problems.empty()) return error(fmt::format("no PTX of \"{}\"; {}", name, problems.front()));
  return error(fmt::format("no kernel matches \"{}\"; --list shows all of them", name));
}

}  // namespace namesake::study
