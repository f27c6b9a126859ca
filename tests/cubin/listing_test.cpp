#include "cubin/listing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "cubin/cubin.h"
#include "cubin/fatbin.h"
#include "fatbin_writer.h"
#include "util/file.h"

namespace namesake::cubin {
namespace {

constexpr uint64_t kLimit = uint64_t{1} << 30;
constexpr const char* kCubins[] = {"shapes.sm_80.cubin",           "shapes.sm_90.cubin",
                                   "shapes_old_abi.sm_90.cubin",   "shapes_relocatable.sm_90.cubin",
                                   "shapes_renamed.sm_90.cubin",   "matmul_mma.sm_120.cubin",
                                   "matmul_wgmma.sm_90a.cubin",    "stencil.sm_90.cubin",
                                   "tcgen05_lottery.sm_100a.cubin"};

std::string fixture(const std::string& name) {
  auto content = read_file(std::string(NAMESAKE_SOURCE_DIR) + "/tests/sass/fixtures/" + name);
  EXPECT_TRUE(content.has_value()) << name;
  return content.value_or("");
}

TEST(Listing, has_the_functions_that_parse_finds) {
  for (const char* name : kCubins) {
    std::string file = fixture(name);
    auto listing = list_functions(file, name);
    auto module = parse(file, name);
    ASSERT_TRUE(listing && module) << name;
    EXPECT_EQ(listing->architecture, module->architecture);
    EXPECT_EQ(listing->architecture_specific, module->architecture_specific);
    ASSERT_EQ(listing->functions.size(), module->functions.size()) << name;
    for (const Function& function : module->functions) {
      auto same = [&](const ListedFunction& each) {
        return each.symbol == function.symbol && each.entry == function.entry &&
               each.registers == function.registers && each.code_bytes == function.code.size();
      };
      EXPECT_EQ(std::count_if(listing->functions.begin(), listing->functions.end(), same), 1)
          << name << ' ' << function.symbol;
    }
  }
}

// Gives `compare` what each head tells, in steps of 64 bytes, and the bytes of that head. The bytes
// of the first that tells anything.
template <typename Compare>
size_t each_head(const std::string& file, Detail detail, Compare compare) {
  size_t first = file.size();
  for (size_t bytes = 0; bytes < file.size(); bytes += 64) {
    auto head = list_head(Bytes(file).substr(0, bytes), file.size(), detail);
    if (!head) continue;
    first = std::min(first, bytes);
    compare(*head, bytes);
  }
  return first;
}

TEST(Listing, a_head_tells_the_same_as_the_whole_file_or_nothing) {
  for (const char* name : kCubins) {
    std::string file = fixture(name);
    auto whole = list_functions(file, name);
    ASSERT_TRUE(whole);
    size_t first = each_head(file, Detail::registers, [&](const Listing& head, size_t bytes) {
      EXPECT_EQ(head.functions, whole->functions) << name << " from " << bytes;
      EXPECT_EQ(head.architecture, whole->architecture);
    });
    EXPECT_LT(first, file.size() / 2) << name << ": the head alone should do";
  }
}

// As a list without register counts is had earlier, its functions are compared without them.
std::vector<ListedFunction> without_counts(std::vector<ListedFunction> functions) {
  for (ListedFunction& function : functions) function.registers = -1;
  return functions;
}

TEST(Listing, a_head_without_register_counts_names_the_same_functions_or_tells_nothing) {
  for (const char* name : kCubins) {
    std::string file = fixture(name);
    auto whole = list_functions(file, name);
    ASSERT_TRUE(whole);
    size_t first = each_head(file, Detail::names, [&](const Listing& head, size_t bytes) {
      EXPECT_EQ(without_counts(head.functions), without_counts(whole->functions))
          << name << " from " << bytes;
    });
    auto counted = list_head(Bytes(file).substr(0, first), file.size(), Detail::registers);
    EXPECT_FALSE(counted) << name << ": counts stand behind the names";
  }
}

TEST(Listing, a_changed_byte_in_a_head_gives_no_list_of_names_with_one_missing_that_the_file_has) {
  std::string file = fixture("shapes.sm_90.cubin");
  size_t half = file.size() / 2;
  for (size_t at = 64; at < half; ++at) {
    std::string changed = file;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    auto head = list_head(Bytes(changed).substr(0, half), file.size(), Detail::names);
    auto whole = list_functions(changed, "x");
    if (head && whole) {
      EXPECT_GE(head->functions.size(), whole->functions.size()) << at;
    }
  }
}

// A head that contradicts itself must not be believed.
TEST(Listing, a_changed_name_size_or_count_in_a_head_gives_no_list_with_a_function_missing) {
  std::string file = fixture("shapes.sm_90.cubin");
  auto whole = list_functions(file, "x");
  auto elf_end = file.find("\0.text.divides", 64, 14);
  ASSERT_NE(elf_end, std::string::npos);
  size_t half = file.size() / 2;
  for (size_t at = 64; at < half; ++at) {
    std::string changed = file.substr(0, half);
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    auto head = list_head(changed, file.size());
    if (head) {
      EXPECT_EQ(head->functions.size(), whole->functions.size()) << at;
    }
  }
}

// As linkers leave them that take names out.
TEST(Listing, a_head_need_not_have_the_names_of_tables_among_those_of_symbols) {
  std::string file = fixture("shapes.sm_90.cubin"), usual(".shstrtab\0.strtab\0.symtab", 26);
  size_t sections = file.find(usual), symbols = file.find(usual, sections + 1);
  ASSERT_NE(symbols, std::string::npos);
  file.replace(symbols, usual.size(), std::string(usual.size(), 'x'));
  auto head = list_head(Bytes(file).substr(0, file.size() / 2), file.size());
  ASSERT_TRUE(head);
  EXPECT_EQ(head->functions, list_functions(file, "x")->functions);
}

TEST(Listing, a_head_that_grows_tells_as_much_as_one_that_is_given_at_once) {
  for (const char* name : kCubins) {
    std::string file = fixture(name);
    HeadReader reader(file.size());
    std::optional<Listing> listing;
    for (size_t bytes = 0; bytes < file.size() && !listing; bytes += 200)
      listing = reader.read(Bytes(file).substr(0, bytes));
    ASSERT_TRUE(listing) << name;
    EXPECT_EQ(listing->functions, list_functions(file, name)->functions) << name;
  }
}

// A file made to cost time: megabytes of attributes that tell of no function.
TEST(Listing, attributes_that_tell_nothing_are_read_once) {
  std::string file = fixture("shapes.sm_90.cubin");
  std::string count("\x04\x2f\x08\x00", 4), none = count + std::string(8, '\0'), many;
  size_t first = file.find(count);
  ASSERT_NE(first, std::string::npos);
  constexpr size_t kMany = 1 << 19;
  many.reserve(kMany * none.size());
  for (size_t i = 0; i < kMany; ++i) many += none;
  file = file.substr(0, first / 4 * 4) + many + std::string(64, '\0');
  EXPECT_FALSE(list_head(file, file.size() + 1));
}

TEST(Listing, of_a_packed_entry_is_that_of_the_cubin_in_it) {
  for (const char* name : kCubins) {
    std::string file = fixture(name);
    auto whole = list_functions(file, name);
    for (Packing packing : {Packing::none, Packing::lz4, Packing::zstd}) {
      std::string packed_file = fatbin_of({{file, Content::cubin, packing}});
      auto fatbin = parse_fatbin(packed_file, "x");
      ASSERT_TRUE(fatbin);
      Room storage;
      uint64_t unpacked = 0;
      auto listing =
          list_entry(fatbin->entries.front(), Detail::registers, kLimit, "x", storage, unpacked);
      ASSERT_TRUE(listing) << listing.error().message;
      EXPECT_EQ(listing->functions, whole->functions) << name;
      if (packing == Packing::none) {
        EXPECT_EQ(unpacked, 0u);
      }
    }
  }
}

TEST(Listing, a_large_cubin_is_not_unpacked_whole) {
  std::string file = fixture("shapes_relocatable.sm_90.cubin");
  // Its table of sections moves to the end of a file that is mostly code.
  uint64_t table = 0;
  std::memcpy(&table, file.data() + 40, sizeof table);
  uint64_t moved = 1 << 20;
  std::string large = file.substr(0, table) + std::string(moved - table, 'c') + file.substr(table);
  std::memcpy(large.data() + 40, &moved, sizeof moved);
  for (Packing packing : {Packing::lz4, Packing::zstd}) {
    std::string packed_file = fatbin_of({{large, Content::cubin, packing}});
    auto fatbin = parse_fatbin(packed_file, "x");
    ASSERT_TRUE(fatbin);
    Room storage;
    uint64_t unpacked = 0;
    auto listing =
        list_entry(fatbin->entries.front(), Detail::registers, kLimit, "x", storage, unpacked);
    ASSERT_TRUE(listing);
    EXPECT_EQ(listing->functions, list_functions(file, "x")->functions);
    EXPECT_LT(unpacked, large.size() / 4);
  }
}

}  // namespace
}  // namespace namesake::cubin
