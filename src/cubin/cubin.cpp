// What of a cubin is the code, and what only says where it came from.
//
// A kernel's name stands in the string tables and in textual debug sections; .note.nv.tkinfo holds
// the command line, EIATTR_CUDA_API_VERSION the assembler's version. Two builds with equal
// instructions differ in all of those. So identity is taken from what the device executes and a
// launch obeys, by an explicit list: the code bytes, the function's own constant banks, the
// relocations (an address the linker fills in is not in the code bytes), and the attributes that
// bound a launch. An attribute not on the list is left out: those seen are offsets into the code
// (which the code determines), notes about hardware work-arounds, and versions.
//
// Nothing in the identity may depend on a symbol, or a renamed kernel would never equal itself. A
// relocation's target is therefore named by section and offset, with the function's own symbol
// blanked out, and a function that is called by its code.
#include "cubin/cubin.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <unordered_map>

#include "cubin/elf.h"
#include "cubin/info.h"

namespace namesake::cubin {

namespace {

// .nv.info attributes (EIATTR_*), by the numbers that nvdisasm and cuobjdump name.
enum Attribute : uint8_t {
  kCtaidzUsed = 0x04,
  kMaxThreads = 0x05,
  kParamCbank = 0x0a,
  kReqNtid = 0x10,
  kFrameSize = 0x11,
  kMinStackSize = 0x12,
  kKparamInfo = 0x17,
  kCbankParamSize = 0x19,
  kMaxRegCount = 0x1b,
  kCrsStackSize = 0x1e,
  kNeedCnpWrapper = 0x1f,
  kExplicitCaching = 0x21,
  kRegCount = 0x2f,
  kSharedScratch = 0x32,
  kIndirectBranchTargets = 0x34,
  kNumMbarriers = 0x38,
  kCtaPerCluster = 0x3d,
  kExplicitCluster = 0x3e,
  kMaxClusterRank = 0x3f,
  kVrcCtaInitCount = 0x4a,
  kNumBarriers = 0x4c,
};

constexpr Attribute kLaunchAttributes[] = {
    kCtaidzUsed,      kMaxThreads,     kReqNtid,         kFrameSize,    kMinStackSize,
    kKparamInfo,      kCbankParamSize, kMaxRegCount,     kCrsStackSize, kNeedCnpWrapper,
    kExplicitCaching, kRegCount,       kSharedScratch,   kNumMbarriers, kCtaPerCluster,
    kExplicitCluster, kMaxClusterRank, kVrcCtaInitCount, kNumBarriers,
};

bool obeyed_by_launch(uint8_t attribute) {
  return std::find(std::begin(kLaunchAttributes), std::end(kLaunchAttributes), attribute) !=
         std::end(kLaunchAttributes);
}

template <class Integer>
void append(std::string& out, Integer value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
void append_text(std::string& out, std::string_view text) {
  append(out, static_cast<uint64_t>(text.size()));
  out += text;
}

// ".nv.shared.kernel" → ".nv.shared.@", "kernel" → "@".
std::string with_symbol_blanked(std::string_view text, std::string_view symbol) {
  bool named = !symbol.empty() && text.ends_with(symbol);
  std::string_view before = text.substr(0, text.size() - (named ? symbol.size() : 0));
  if (!named || !(before.empty() || before.ends_with('.'))) return std::string(text);
  return std::string(before) + "@";
}

std::string hex(uint64_t value) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string digits;
  do digits.insert(digits.begin(), kDigits[value & 15]);
  while (value >>= 4);
  return "0x" + digits;
}

constexpr std::string_view kText = ".text.";
constexpr uint8_t kEntryFlag = 0x10;  // STO_CUDA_ENTRY

// Attributes of the whole module that speak of one symbol: its number, then one value.
struct BySymbol {
  std::unordered_map<uint32_t, uint32_t> registers, frame, stack;
};

// A valid cubin names each of its pieces from few places. `spend` counts what is read over all of
// them, so that a file made of references to one large piece is given up instead of read for hours.
class Reader {
 public:
  Reader(const Elf& elf, size_t file_bytes) : elf_(elf), budget_(kReadings * (file_bytes + 4096)) {
    for (uint32_t i = 0; i < elf.sections.size(); ++i) {
      const Section& section = elf.sections[i];
      if (!section.name.empty()) by_name_.try_emplace(section.name, i);
      bool relocates = section.type == kRelocations || section.type == kRelocationsWithAddend;
      if (relocates && section.info < elf.sections.size())
        relocations_of_.try_emplace(section.info, i);
    }
  }

  bool exhausted() const { return budget_ == 0; }

  Module read() {
    Module module;
    Target target = read_target(elf_);
    module.architecture = target.architecture;
    module.architecture_specific = target.specific;
    read_module_info();
    for (uint32_t i = 0; i < elf_.symbols.size(); ++i) {
      const Symbol& symbol = elf_.symbols[i];
      if (symbol.type == kFunctionSymbol && symbol.section != 0) {
        functions_in_[symbol.section].push_back(i);
      }
    }
    for (uint32_t i = 0; i < elf_.sections.size(); ++i) {
      const Section& section = elf_.sections[i];
      if (section.name.starts_with(kText) && section.type != kNoBits) read_section(module, i);
      if (exhausted()) break;
    }
    read_data(module);
    return module;
  }

 private:
  static constexpr uint64_t kReadings = 64;

  bool spend(uint64_t bytes) {
    budget_ -= std::min(budget_, bytes);
    return budget_ > 0;
  }

  Hash hash_of(const Section& section) {
    auto [at, is_new] = hashes_.try_emplace(&section);
    if (is_new) at->second = hash_bytes(section.data);
    return at->second;
  }

  const Section* section_named(std::string_view name) const {
    auto at = by_name_.find(name);
    return at == by_name_.end() ? nullptr : &elf_.sections[at->second];
  }
  const Section* section_of(std::string_view prefix, std::string_view symbol) const {
    return section_named(std::string(prefix) + std::string(symbol));
  }

  void read_module_info() {
    const Section* section = section_named(".nv.info");
    if (!section) return;
    Cursor cursor(section->data);
    for (Info info; !cursor.at_end() && next_info(cursor, info);) {
      Cursor payload(info.payload);
      uint32_t symbol = payload.read<uint32_t>(), value = payload.read<uint32_t>();
      if (!payload.ok()) continue;
      if (info.attribute == kRegCount) of_.registers[symbol] = value;
      if (info.attribute == kFrameSize) of_.frame[symbol] = value;
      if (info.attribute == kMinStackSize) of_.stack[symbol] = value;
    }
  }

  // A section is one function; only a second entry or global function in it begins another. (Local
  // symbols inside are parts: "$kernel$callee" and the assembler's own division routines.)
  void read_section(Module& module, uint32_t index) {
    const Section& section = elf_.sections[index];
    std::string_view name = section.name.substr(kText.size());
    struct Start {
      uint64_t offset;
      uint32_t symbol;
    };
    constexpr uint32_t kNoSymbol = UINT32_MAX;
    std::vector<Start> starts;
    for (uint32_t i : functions_in_[index]) {
      const Symbol& symbol = elf_.symbols[i];
      bool own = symbol.name == name;
      bool another = symbol.binding == kGlobalBinding || (symbol.other & kEntryFlag);
      if ((own || another) && symbol.value < section.data.size())
        starts.push_back({symbol.value, i});
    }
    std::sort(starts.begin(), starts.end(), [&](const Start& x, const Start& y) {
      if (x.offset != y.offset) return x.offset < y.offset;
      bool x_own = elf_.symbols[x.symbol].name == name, y_own = elf_.symbols[y.symbol].name == name;
      return x_own != y_own ? x_own : x.symbol < y.symbol;
    });
    auto same_offset = [](const Start& x, const Start& y) { return x.offset == y.offset; };
    starts.erase(std::unique(starts.begin(), starts.end(), same_offset), starts.end());
    if (starts.empty() || starts.front().offset != 0) starts.insert(starts.begin(), {0, kNoSymbol});

    for (size_t i = 0; i < starts.size(); ++i) {
      uint64_t end = i + 1 < starts.size() ? starts[i + 1].offset : section.data.size();
      Function function;
      function.code = section.data.substr(starts[i].offset, end - starts[i].offset);
      if (starts[i].symbol == kNoSymbol) {
        function.symbol = name;
      } else {
        const Symbol& symbol = elf_.symbols[starts[i].symbol];
        function.symbol = symbol.name;
        function.entry = symbol.other & kEntryFlag;
      }
      read_function(function, index, starts[i].offset, starts[i].symbol);
      module.functions.push_back(std::move(function));
    }
  }

  void read_function(Function& function, uint32_t section_index, uint64_t start, uint32_t symbol) {
    const Section& section = elf_.sections[section_index];
    auto lookup = [symbol](const std::unordered_map<uint32_t, uint32_t>& map, uint32_t fallback) {
      auto at = map.find(symbol);
      return at == map.end() ? fallback : at->second;
    };
    // Up to CUDA 12 the header carries the register count too, and alone the barrier count.
    function.registers = static_cast<int>(lookup(of_.registers, section.info >> 24));
    function.barriers = static_cast<int>(section.flags >> 20 & 0x7f);
    function.frame_bytes = lookup(of_.frame, 0);
    function.stack_bytes = lookup(of_.stack, 0);
    if (const Section* shared = section_of(".nv.shared.", function.symbol)) {
      function.shared_bytes = static_cast<int64_t>(std::min<uint64_t>(shared->size, INT64_MAX));
    }
    if (const Section* bank = section_of(".nv.constant0.", function.symbol)) {
      function.constants = bank->data;
    }
    std::string launch;
    if (const Section* info = section_of(".nv.info.", function.symbol)) {
      function.info = info->data;
      if (spend(info->data.size())) read_function_info(function, launch);
    }
    read_relocations(function, section_index, start);
    function.identity = identity_of(function, launch);
  }

  void read_function_info(Function& function, std::string& launch) {
    std::vector<std::string> obeyed;
    Cursor cursor(function.info);
    for (Info info; !cursor.at_end() && next_info(cursor, info);) {
      if (info.attribute == kNumBarriers) function.barriers = info.value & 0xff;
      if (info.attribute == kIndirectBranchTargets) read_indirect_branches(function, info.payload);
      Bytes payload = info.payload;
      // The parameter bank begins with a symbol's number, which a renamed build may change.
      if (info.attribute == kParamCbank && payload.size() >= 4) payload.remove_prefix(4);
      if (!obeyed_by_launch(info.attribute) && info.attribute != kParamCbank) continue;
      std::string& text = obeyed.emplace_back();
      append(text, info.attribute);
      append(text, info.payload.empty() ? info.value : uint16_t{0});
      append_text(text, payload);
    }
    std::sort(obeyed.begin(), obeyed.end());  // assemblers order them differently
    for (const std::string& text : obeyed) launch += text;
  }

  // Per branch: its offset, two unused halves, a count, and as many offsets.
  static void read_indirect_branches(Function& function, Bytes payload) {
    Cursor cursor(payload);
    while (!cursor.at_end()) {
      IndirectBranch branch;
      branch.offset = cursor.read<uint32_t>();
      cursor.skip(4);
      uint32_t count = cursor.read<uint32_t>();
      if (!cursor.ok() || count > cursor.left() / 4) return;
      for (uint32_t i = 0; i < count; ++i) branch.targets.push_back(cursor.read<uint32_t>());
      function.indirect_branches.push_back(std::move(branch));
    }
  }

  void read_relocations(Function& function, uint32_t section_index, uint64_t start) {
    auto at = relocations_of_.find(section_index);
    if (at == relocations_of_.end()) return;
    const Section& table = elf_.sections[at->second];
    bool addends = table.type == kRelocationsWithAddend;
    if (!spend(table.data.size())) return;
    Cursor cursor(table.data);
    for (size_t i = 0, count = table.data.size() / (addends ? 24 : 16); i < count; ++i) {
      uint64_t offset = cursor.read<uint64_t>(), info = cursor.read<uint64_t>();
      int64_t addend = addends ? cursor.read<int64_t>() : 0;
      if (offset < start || offset - start >= function.code.size()) continue;
      Relocation relocation;
      relocation.offset = static_cast<uint32_t>(offset - start);
      relocation.type = static_cast<uint32_t>(info);
      relocation.addend = addend;
      relocation.target = target_of(static_cast<uint32_t>(info >> 32), function.symbol);
      if (!spend(relocation.target.size())) return;
      function.relocations.push_back(std::move(relocation));
    }
    std::sort(function.relocations.begin(), function.relocations.end(),
              [](const Relocation& x, const Relocation& y) {
                return std::tie(x.offset, x.type, x.addend, x.target) <
                       std::tie(y.offset, y.type, y.addend, y.target);
              });
  }

  std::string target_of(uint32_t index, std::string_view own_symbol) const {
    if (index >= elf_.symbols.size()) return "?";
    const Symbol& symbol = elf_.symbols[index];
    if (symbol.section == 0 || symbol.section >= elf_.sections.size()) {
      return with_symbol_blanked(symbol.name, own_symbol);
    }
    std::string target = with_symbol_blanked(elf_.sections[symbol.section].name, own_symbol);
    if (symbol.value != 0) target += "+" + hex(symbol.value);
    return target;
  }

  // Another function is what it does: its code stands for its name.
  void append_target(std::string& out, const Relocation& relocation) {
    std::string_view section_name(relocation.target);
    section_name = section_name.substr(0, section_name.find('+'));
    const Section* callee = section_name.starts_with(kText) ? section_named(section_name) : nullptr;
    append_text(out, callee ? std::string_view(hash_of(*callee).hex())
                            : std::string_view(relocation.target));
  }

  Hash identity_of(const Function& function, const std::string& launch) {
    std::string sum;
    sum += hash_bytes(function.code).hex();
    append(sum, function.entry);
    append(sum, static_cast<int64_t>(function.registers));
    append(sum, function.frame_bytes);
    append(sum, function.stack_bytes);
    append(sum, function.shared_bytes);
    append(sum, static_cast<int64_t>(function.barriers));
    append_text(sum, launch);
    for (int bank = 0; bank < 18; ++bank) {
      const Section* section =
          section_of(".nv.constant" + std::to_string(bank) + ".", function.symbol);
      if (!section) continue;
      append(sum, bank);
      sum += hash_of(*section).hex();
    }
    for (const Relocation& relocation : function.relocations) {
      append(sum, relocation.offset);
      append(sum, relocation.type);
      append(sum, relocation.addend);
      append_target(sum, relocation);
    }
    return hash_bytes(sum);
  }

  // Constants and initialised variables that no one function owns, in order of their names.
  void read_data(Module& module) const {
    std::vector<std::string> parts;
    for (uint32_t i = 0; i < elf_.sections.size(); ++i) {
      const Section& section = elf_.sections[i];
      std::string_view bank = section.name;
      constexpr std::string_view kConstant = ".nv.constant";
      bool constant = bank.starts_with(kConstant) && bank.find('.', kConstant.size()) == bank.npos;
      if (!constant && section.name != ".nv.global.init") continue;
      std::string& part = parts.emplace_back(section.name);
      append_text(part, section.data);
    }
    std::sort(parts.begin(), parts.end());
    std::string sum;
    for (const std::string& part : parts) sum += part;
    module.data = hash_bytes(sum);
  }

  const Elf& elf_;
  std::unordered_map<std::string_view, uint32_t> by_name_;
  std::unordered_map<uint32_t, uint32_t> relocations_of_;
  std::unordered_map<uint32_t, std::vector<uint32_t>> functions_in_;
  std::unordered_map<const Section*, Hash> hashes_;
  BySymbol of_;
  uint64_t budget_;
};

}  // namespace

Result<Module> parse(Bytes file, std::string_view origin) {
  TRY_ASSIGN(Elf elf, parse_elf(file, origin));
  Reader reader(elf, file.size());
  Module module = reader.read();
  if (reader.exhausted()) {
    return error(std::string(origin) +
                 ": not a usable cubin: its tables refer to the same bytes over and over");
  }
  return module;
}

}  // namespace namesake::cubin
