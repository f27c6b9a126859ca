// One start of nvdisasm costs 0.3-0.5 s and a kernel 10 ms, so many kernels should share a start;
// but it takes one file a run, and the functions to look at are spread over many cubins. Three ways
// out: one run a cubin (slow), an ELF written by us around all codes (a format to keep up with), or
// `nvdisasm --binary SMxx`, which takes bare code. We take the last: all codes of one architecture
// behind each other in one file, in batches so that memory stays bounded.
//
// It prints what the cubin mode prints: over 60,624 instructions of 71 cubins (six assemblers, 11.8
// to 13.5; sm_80 to sm_120a) the texts differ only where the cubin mode knows more than the code
// says: labels instead of addresses, symbols that relocations will fill in, and the targets of
// indirect branches. The first sass recomputes; the other two come from the cubin (cubin::Function)
// and are handed over with the code. In return it does not stumble over the ELF flags of older
// assemblers
// ("switching to Old format"), and shows no symbol, so that a renamed kernel reads the same.
//
// `-ndf` (no dataflow analysis) would be no faster here and changed texts elsewhere; it is not
// used.
#include "toolchain/disassemble.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <unordered_map>

#include "util/file.h"
#include "util/hash.h"
#include "util/pool.h"
#include "util/subprocess.h"

namespace namesake::toolchain {

namespace {

// 2 MB of code make about 9 MB of text and 110 MB in nvdisasm, and take it some 3 s.
constexpr size_t kBatchBytes = size_t{2} << 20;

struct Batch {
  std::string architecture;
  std::vector<size_t> members;  // each distinct code's first asker
};

// Everything that makes the resulting instructions: architecture, code and what comes with it.
Hash identity_of(const CodeToDisassemble& code) {
  std::string sum = code.architecture + '\n' + hash_bytes(code.code).hex();
  auto add = [&sum](const auto& value) { sum += ' ' + std::to_string(value); };
  for (const auto& relocation : code.relocations) {
    add(relocation.offset);
    add(relocation.type);
    add(relocation.addend);
    sum += relocation.target;
  }
  for (const auto& branch : code.indirect_branches) {
    add(branch.offset);
    for (uint32_t target : branch.targets) add(target);
  }
  return hash_bytes(sum);
}

// "sm_90a" → "SM90a", as --binary wants it.
Result<std::string> binary_name(const std::string& architecture) {
  if (!architecture.starts_with("sm_") || architecture.size() == 3) {
    return error("'" + architecture + "' is no architecture: expected something like sm_90a");
  }
  return "SM" + architecture.substr(3);
}

std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

class Disassembler {
 public:
  Disassembler(const Tool& nvdisasm, const std::vector<CodeToDisassemble>& codes,
               const std::function<Status(size_t, sass::Function)>& receive)
      : nvdisasm_(nvdisasm), codes_(codes), receive_(receive) {}

  Result<DisassemblyCost> run(int workers) {
    TRY_ASSIGN(TemporaryFolder folder, TemporaryFolder::make("disassemble"));
    std::vector<Batch> batches = make_batches();
    for_each_parallel(
        batches.size(), workers,
        [&](size_t i) {
          Status status = run_batch(batches[i], folder.path() / std::to_string(i));
          std::lock_guard lock(mutex_);
          if (!status && failure_.has_value()) failure_ = status;
        },
        [&] {
          std::lock_guard lock(mutex_);
          return !failure_.has_value();
        });
    if (!failure_) return tl::unexpected(failure_.error());
    return cost_;
  }

 private:
  std::vector<Batch> make_batches() {
    std::unordered_map<Hash, size_t> first_asker;
    std::map<std::string, std::vector<size_t>> by_architecture;
    for (size_t i = 0; i < codes_.size(); ++i) {
      auto [at, is_new] = first_asker.try_emplace(identity_of(codes_[i]), i);
      askers_[at->second].push_back(i);
      if (is_new) by_architecture[codes_[i].architecture].push_back(i);
    }
    std::vector<Batch> batches;
    for (const auto& [architecture, members] : by_architecture) {
      size_t bytes = kBatchBytes;
      for (size_t member : members) {
        if (bytes >= kBatchBytes) {
          batches.push_back({architecture, {}});
          bytes = 0;
        }
        batches.back().members.push_back(member);
        bytes += codes_[member].code.size();
      }
    }
    return batches;
  }

  Status run_batch(const Batch& batch, const std::filesystem::path& file) {
    std::string text;
    Status made = disassemble_text(batch, file, text);
    // nvdisasm says an address, not whose code it is: halve until one function is left to name.
    if (!made && batch.members.size() > 1) {
      auto middle = batch.members.begin() + static_cast<std::ptrdiff_t>(batch.members.size() / 2);
      TRY(run_batch({batch.architecture, {batch.members.begin(), middle}}, file));
      return run_batch({batch.architecture, {middle, batch.members.end()}}, file);
    }
    TRY(made);

    std::vector<sass::Code> parts;
    for (size_t member : batch.members) {
      const CodeToDisassemble& code = codes_[member];
      parts.push_back({code.symbol, code.code, code.indirect_branches, code.relocations});
    }
    TRY_ASSIGN(std::vector<sass::Function> functions, sass::parse_disassembly(text, parts));
    text = {};
    std::lock_guard lock(mutex_);
    for (size_t i = 0; i < functions.size(); ++i) {
      const std::vector<size_t>& askers = askers_.at(batch.members[i]);
      for (size_t k = 1; k < askers.size(); ++k) {
        sass::Function copy = functions[i];
        copy.symbol = codes_[askers[k]].symbol;
        TRY(receive_(askers[k], std::move(copy)));
      }
      TRY(receive_(askers[0], std::move(functions[i])));
    }
    return {};
  }

  Status disassemble_text(const Batch& batch, const std::filesystem::path& file,
                          std::string& text) {
    TRY_ASSIGN(std::string binary, binary_name(batch.architecture));
    std::string bytes;
    for (size_t member : batch.members) {
      const CodeToDisassemble& code = codes_[member];
      if (code.code.size() % 16 != 0) {
        return error("the code of '" + code.symbol + "' is " + std::to_string(code.code.size()) +
                     " bytes long, no multiple of 16: is its cubin damaged?");
      }
      bytes += code.code;
    }
    if (bytes.empty()) return {};
    TRY(write_file(file, bytes));
    Command command;
    command.arguments = {nvdisasm_.path.string(), "--binary", binary, file.string()};
    command.output_limit = (uint64_t{64} << 20) + 64 * uint64_t{bytes.size()};
    TRY_ASSIGN(Completed completed, namesake::run(command));
    std::error_code ignored;
    std::filesystem::remove(file, ignored);
    {
      std::lock_guard lock(mutex_);
      ++cost_.runs;
      cost_.cpu_seconds += completed.cpu_seconds;
    }
    if (!completed.ok()) {
      const std::string& symbol = codes_[batch.members.front()].symbol;
      std::string said = first_line(completed.err.empty() ? completed.out : completed.err);
      return error("nvdisasm " + nvdisasm_.version + " could not disassemble '" + symbol +
                   "' for " + batch.architecture + ": " + completed.how_it_ended() +
                   (said.empty() ? "" : ", " + said) +
                   " (a newer nvdisasm may know this code: namesake toolchain add newest)");
    }
    text = std::move(completed.out);
    return {};
  }

  const Tool& nvdisasm_;
  const std::vector<CodeToDisassemble>& codes_;
  const std::function<Status(size_t, sass::Function)>& receive_;
  std::unordered_map<size_t, std::vector<size_t>>
      askers_;  // of the same code, by the first of them
  std::mutex mutex_;
  Status failure_;
  DisassemblyCost cost_;
};

}  // namespace

CodeToDisassemble code_to_disassemble(const cubin::Function& function,
                                      std::string_view architecture) {
  return {function.symbol, std::string(architecture), function.code, function.indirect_branches,
          function.relocations};
}

Result<DisassemblyCost> disassemble(
    const Tool& nvdisasm, const std::vector<CodeToDisassemble>& codes,
    const std::function<Status(size_t index, sass::Function function)>& receive, int workers) {
  return Disassembler(nvdisasm, codes, receive).run(workers);
}

}  // namespace namesake::toolchain
