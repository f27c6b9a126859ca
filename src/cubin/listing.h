// The functions of a cubin with what a list of them needs, in a fraction of the time of parse().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cubin/elf.h"
#include "cubin/fatbin.h"
#include "util/cursor.h"
#include "util/error.h"
#include "util/room.h"

namespace namesake::cubin {

struct ListedFunction {
  std::string_view symbol;  // a view into the file
  bool entry = false;
  uint64_t code_bytes = 0;
  int registers = 0;  // -1 where nobody asked
  bool operator==(const ListedFunction&) const = default;
};

struct Listing {
  int architecture = 0;
  bool architecture_specific = false;     // the "a" targets; unknown to list_head()
  std::vector<ListedFunction> functions;  // in the order of their symbols
};

Listing list_elf(const Elf& elf);
Result<Listing> list_functions(Bytes file, std::string_view origin);

// Register counts stand behind a linked cubin's code, so they may cost unpacking all of it.
enum class Detail { names, registers };

// The same from the first bytes alone of a cubin of so many, where they tell everything beyond
// doubt. Nothing where they do not, which more of them may.
std::optional<Listing> list_head(Bytes head, uint64_t whole_bytes,
                                 Detail detail = Detail::registers);

// For heads that grow: each begins with the one before, at the same place in memory.
class HeadReader {
 public:
  explicit HeadReader(uint64_t whole_bytes, Detail detail = Detail::registers)
      : whole_bytes_(whole_bytes), detail_(detail) {}
  std::optional<Listing> read(Bytes head);

 private:
  void find_functions(Bytes head, uint16_t section_count);
  bool find_registers(Bytes head);

  uint64_t whole_bytes_;
  Detail detail_;
  bool gave_up_ = false;  // it is laid out in another way
  size_t next_try_ = 0;   // the least size that is worth another look
  size_t at_ = 0;         // what is looked for stands at or behind it: symbols, then attributes
  int places_ = 0;        // where symbols seemed to stand and did not
  std::vector<std::pair<uint32_t, ListedFunction>> functions_;  // with their symbols' numbers
  size_t symbols_ = 0;
};

// The functions of a cubin in a fatbin, unpacking no more of it than is needed. `unpacked` is added
// the bytes that were. The views live as long as `storage` is left alone.
Result<Listing> list_entry(const FatbinEntry& entry, Detail detail, uint64_t limit,
                           std::string_view origin, Room& storage, uint64_t& unpacked);

}  // namespace namesake::cubin
