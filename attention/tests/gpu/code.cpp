// A fatbin holds cubins, which are ELF files for machine 190, whole and aligned since the build
// does not compress them. So they are found by their magic number, wherever the file's own format
// has put them; each is then read as plain ELF64.
#include "code.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string_view>

#include "xxhash.h"

namespace namesake::attention::test {
namespace {

constexpr std::string_view kElfMagic =
    "\x7f"
    "ELF";
constexpr uint16_t kMachineCuda = 190;
constexpr uint32_t kNoBits = 8;
constexpr size_t kInstructionBytes = 16;

template <typename T>
T read(std::string_view bytes, size_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T))
    throw std::runtime_error("a cubin is cut short");
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::string_view slice(std::string_view bytes, uint64_t offset, uint64_t size) {
  if (offset > bytes.size() || bytes.size() - offset < size)
    throw std::runtime_error("a cubin is cut short");
  return bytes.substr(offset, size);
}

std::string_view text_at(std::string_view strings, size_t offset) {
  const std::string_view rest =
      slice(strings, offset, strings.size() - std::min(offset, strings.size()));
  return rest.substr(0, rest.find('\0'));
}

struct Section {
  std::string_view name, bytes;
};

class Cubin {
 public:
  explicit Cubin(std::string_view elf) {
    arch_ = "sm_" + std::to_string(read<uint32_t>(elf, 48) >> 8 & 0xff);
    const uint64_t table = read<uint64_t>(elf, 40);
    const auto entry = read<uint16_t>(elf, 58), count = read<uint16_t>(elf, 60),
               names = read<uint16_t>(elf, 62);
    const auto contents = [&](uint64_t header) -> std::string_view {
      if (read<uint32_t>(elf, header + 4) == kNoBits) return {};
      return slice(elf, read<uint64_t>(elf, header + 24), read<uint64_t>(elf, header + 32));
    };
    const std::string_view strings = contents(table + uint64_t{names} * entry);
    for (uint16_t i = 0; i < count; i++) {
      const uint64_t header = table + uint64_t{i} * entry;
      sections_.push_back({text_at(strings, read<uint32_t>(elf, header)), contents(header)});
    }
  }

  std::vector<KernelCode> kernels() const {
    std::map<std::string_view, std::pair<int, int>> sizes = registers_and_frames();
    std::vector<KernelCode> all;
    for (const Section& s : sections_) {
      constexpr std::string_view kPrefix = ".text.";
      if (!s.name.starts_with(kPrefix)) continue;
      const std::string_view symbol = s.name.substr(kPrefix.size());
      KernelCode k{std::string(symbol), arch_, hash_of(symbol)};
      std::tie(k.registers, k.frame) = sizes[symbol];
      for (size_t at = 0; at + kInstructionBytes <= s.bytes.size(); at += kInstructionBytes) {
        switch (read<uint16_t>(s.bytes, at) & 0xfff) {
          case 0x9f0:  // HGMMA, both factors in shared memory
          case 0xdf0:  // HGMMA, the first in registers
          case 0x9f3:  // QGMMA, likewise
          case 0xdf3:
            k.wgmma++;
            break;
          case 0x23c:  // HMMA
            k.mma++;
            break;
          case 0x983:  // LDL
          case 0x387:  // STL
            k.local++;
            break;
        }
      }
      all.push_back(std::move(k));
    }
    return all;
  }

 private:
  std::string_view section(std::string_view name) const {
    for (const Section& s : sections_)
      if (s.name == name) return s.bytes;
    return {};
  }

  std::string hash_of(std::string_view symbol) const {
    std::string all;
    for (const Section& s : sections_) {
      if (!s.name.ends_with(symbol) || s.name.size() == symbol.size()) continue;
      const std::string_view kind = s.name.substr(0, s.name.size() - symbol.size());
      if (kind != ".text." && kind != ".nv.info." &&
          !(kind.starts_with(".nv.constant") && kind.ends_with('.')))
        continue;
      all.append(kind).append(s.bytes);
    }
    const XXH128_hash_t hash = XXH3_128bits(all.data(), all.size());
    char hex[33];
    std::snprintf(hex, sizeof hex, "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                  static_cast<unsigned long long>(hash.low64));
    return hex;
  }

  // .nv.info: entries of format, attribute and 16 bits, which are the size of what follows where
  // the format is 4.
  std::map<std::string_view, std::pair<int, int>> registers_and_frames() const {
    constexpr uint8_t kSized = 4, kRegisters = 0x2f, kFrame = 0x11;
    constexpr size_t kSymbolBytes = 24;
    const std::string_view info = section(".nv.info"), symbols = section(".symtab"),
                           strings = section(".strtab");
    std::map<std::string_view, std::pair<int, int>> result;
    for (size_t at = 0; at + 4 <= info.size();) {
      const auto format = read<uint8_t>(info, at), attribute = read<uint8_t>(info, at + 1);
      const size_t size = format == kSized ? read<uint16_t>(info, at + 2) : 0;
      if (format == kSized && size == 8 && (attribute == kRegisters || attribute == kFrame)) {
        const auto symbol = read<uint32_t>(info, at + 4), value = read<uint32_t>(info, at + 8);
        auto& both = result[text_at(strings, read<uint32_t>(symbols, symbol * kSymbolBytes))];
        (attribute == kRegisters ? both.first : both.second) = static_cast<int>(value);
      }
      at += 4 + size;
    }
    return result;
  }

  std::string arch_;
  std::vector<Section> sections_;
};

}  // namespace

std::vector<KernelCode> kernels_in(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  const std::string all{std::istreambuf_iterator<char>(file), {}};
  std::vector<KernelCode> kernels;
  for (size_t at = all.find(kElfMagic); at != std::string::npos; at = all.find(kElfMagic, at + 1)) {
    const std::string_view elf = std::string_view(all).substr(at);
    if (elf.size() < 64 || read<uint16_t>(elf, 18) != kMachineCuda) continue;
    const std::vector<KernelCode> more = Cubin(elf).kernels();
    kernels.insert(kernels.end(), more.begin(), more.end());
  }
  std::sort(kernels.begin(), kernels.end(), [](const auto& a, const auto& b) {
    return std::tie(a.arch, a.symbol) < std::tie(b.arch, b.symbol);
  });
  return kernels;
}

}  // namespace namesake::attention::test
