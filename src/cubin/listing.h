// The functions of a cubin with what a list of them needs, in a fraction of the time of parse().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cubin/elf.h"
#include "cubin/fatbin.h"
#include "util/cursor.h"
#include "util/error.h"

namespace namesake::cubin {

struct ListedFunction {
  std::string_view symbol;  // a view into the file
  bool entry = false;
  uint64_t code_bytes = 0;
  int registers = 0;
  bool operator==(const ListedFunction&) const = default;
};

struct Listing {
  int architecture = 0;
  bool architecture_specific = false;     // the "a" targets; unknown to list_head()
  std::vector<ListedFunction> functions;  // in the order of their symbols
};

Listing list_elf(const Elf& elf);
Result<Listing> list_functions(Bytes file, std::string_view origin);

// The same from the first bytes alone of a cubin of so many, where they tell everything beyond
// doubt. Nothing where they do not, which more of them may: but never where the layout is another
// one.
std::optional<Listing> list_head(Bytes head, uint64_t whole_bytes);
bool has_usual_layout(Bytes head);

// The functions of a cubin in a fatbin, unpacking no more of it than is needed. `unpacked` is added
// the bytes that were. The views live as long as `storage` is left alone.
Result<Listing> list_entry(const FatbinEntry& entry, uint64_t limit, std::string_view origin,
                           std::string& storage, uint64_t& unpacked);

}  // namespace namesake::cubin
