#include "cubin/fatbin.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>

#include "cubin/find.h"
#include "fatbin_writer.h"
#include "util/file.h"

namespace namesake::cubin {
namespace {

constexpr uint64_t kLimit = uint64_t{1} << 30;

std::string fixture(const std::string& name) {
  auto content = read_file(std::string(NAMESAKE_SOURCE_DIR) + "/tests/sass/fixtures/" + name);
  EXPECT_TRUE(content.has_value()) << name;
  return content.value_or("");
}

std::string unpacked(const FatbinEntry& entry) {
  Room storage;
  auto content = unpack(entry, kLimit, "entry", storage);
  EXPECT_TRUE(content) << (content ? "" : content.error().message);
  return content ? std::string(*content) : "";
}

std::string failure(const std::string& file, uint64_t limit = kLimit) {
  auto fatbin = parse_fatbin(file, "x");
  if (!fatbin) return fatbin.error().message;
  if (!fatbin->damage.empty()) return fatbin->damage;
  Room storage;
  for (const FatbinEntry& entry : fatbin->entries) {
    auto content = unpack(entry, limit, "entry", storage);
    if (!content) return content.error().message;
  }
  return "";
}

TEST(Fatbin, entries_come_back_whatever_packs_them) {
  std::string cubin = fixture("shapes.sm_90.cubin");
  std::string file = fatbin_of(
      {{cubin}, {cubin, Content::cubin, Packing::lz4}, {cubin, Content::cubin, Packing::zstd}});
  auto fatbin = parse_fatbin(file, "x");
  ASSERT_TRUE(fatbin) << fatbin.error().message;
  EXPECT_EQ(fatbin->damage, "");
  EXPECT_EQ(fatbin->bytes, file.size());
  ASSERT_EQ(fatbin->entries.size(), 3u);
  for (const FatbinEntry& entry : fatbin->entries) {
    EXPECT_EQ(entry.content, Content::cubin);
    EXPECT_EQ(unpacked(entry).substr(0, cubin.size()), cubin);
  }
}

TEST(Fatbin, architecture_kind_and_options_are_told) {
  std::string file =
      fatbin_of({{"x", Content::ptx, Packing::zstd, 100, 0x200000, "-maxrregcount=96 "},
                 {"x", Content::ir, Packing::none, 90, 0x100000},
                 {"x", Content::other, Packing::none, 75}});
  auto fatbin = parse_fatbin(file, "x");
  ASSERT_TRUE(fatbin);
  ASSERT_EQ(fatbin->entries.size(), 3u);
  EXPECT_EQ(fatbin->entries[0].architecture, "sm_100f");
  EXPECT_EQ(fatbin->entries[0].options, "-maxrregcount=96 ");
  EXPECT_EQ(fatbin->entries[0].content, Content::ptx);
  EXPECT_EQ(fatbin->entries[1].architecture, "sm_90a");
  EXPECT_EQ(fatbin->entries[1].content, Content::ir);
  EXPECT_EQ(fatbin->entries[2].architecture, "sm_75");
  EXPECT_EQ(fatbin->entries[2].content, Content::other);
}

// What nvcc's fatbinary wrote, packed in each of its ways; tests/cubin/make_fixtures.sh makes them.
TEST(Fatbin, what_fatbinary_writes_is_read) {
  for (const char* name : {"none", "speed", "balance", "size"}) {
    auto file = read_file(std::string(NAMESAKE_TEST_DIR) + "/fixtures/" + name + ".fatbin");
    ASSERT_TRUE(file) << name;
    auto fatbin = parse_fatbin(*file, name);
    ASSERT_TRUE(fatbin) << fatbin.error().message;
    ASSERT_EQ(fatbin->entries.size(), 3u) << name;
    EXPECT_EQ(fatbin->damage, "");
    for (const FatbinEntry& entry : fatbin->entries) {
      std::string content = unpacked(entry);
      if (entry.content == Content::ptx) {
        EXPECT_NE(content.find(".entry"), std::string::npos) << name;
      } else {
        EXPECT_TRUE(
            content.starts_with("\x7f"
                                "ELF"))
            << name;
      }
    }
  }
}

TEST(Fatbin, a_file_cut_anywhere_says_so) {
  std::string file = fatbin_of({{fixture("shapes.sm_80.cubin"), Content::cubin, Packing::lz4}});
  for (size_t size = 0; size < file.size(); size += 7)
    EXPECT_NE(failure(file.substr(0, size)), "") << size;
}

TEST(Fatbin, sizes_that_wrap_are_errors) {
  std::string file = fatbin_of({{"some content"}});
  auto with = [&](size_t at, auto value) {
    std::string changed = file;
    std::memcpy(changed.data() + at, &value, sizeof value);
    return failure(changed);
  };
  EXPECT_NE(with(8, UINT64_MAX), "");        // the fatbin's size
  EXPECT_NE(with(8, UINT64_MAX - 15), "");   // with its header 0
  EXPECT_NE(with(16 + 4, UINT32_MAX), "");   // an entry's header
  EXPECT_NE(with(16 + 4, uint32_t{0}), "");  // none at all: entries would never end
  EXPECT_NE(with(16 + 8, UINT64_MAX), "");   // its payload
  EXPECT_NE(with(16 + 8, UINT64_MAX - 63), "");
}

TEST(Fatbin, a_bomb_is_left_packed) {
  for (Packing packing : {Packing::lz4, Packing::zstd}) {
    EXPECT_NE(failure(fatbin_of({{"x", Content::cubin, packing, 90, 0, "", uint64_t{1} << 29}}))
                  .find("packs so well"),
              std::string::npos);
    EXPECT_NE(failure(fatbin_of({{"x", Content::cubin, packing, 90, 0, "", UINT64_MAX - 1}}))
                  .find("are allowed"),
              std::string::npos);
    EXPECT_NE(failure(fatbin_of({{std::string(5000, 'x'), Content::cubin, packing}}), 4999)
                  .find("more than the 4999"),
              std::string::npos);
  }
}

TEST(Fatbin, an_entry_never_becomes_larger_or_smaller_than_it_claims) {
  for (Packing packing : {Packing::lz4, Packing::zstd}) {
    EXPECT_NE(
        failure(fatbin_of({{std::string(5000, 'x'), Content::cubin, packing, 90, 0, "", 4000}}))
            .find("does not unpack"),
        std::string::npos);
    EXPECT_NE(
        failure(fatbin_of({{std::string(5000, 'x'), Content::cubin, packing, 90, 0, "", 6000}}))
            .find("does not unpack"),
        std::string::npos);
  }
}

TEST(Find, code_is_found_wherever_it_lies_and_once) {
  std::string cubin = fixture("shapes.sm_80.cubin");
  std::string fatbin = fatbin_of({{cubin}, {cubin, Content::cubin, Packing::zstd}});
  for (size_t shift : {0, 1, 3, 4090, 4095, 4096, 8191}) {
    std::string file =
        std::string(shift, '\x7f') + fatbin + std::string(shift % 7, 'P') + cubin + "rest";
    std::vector<Find> finds = find_code(file);
    ASSERT_EQ(finds.size(), 2u) << shift;
    EXPECT_TRUE(finds[0].fatbin);
    EXPECT_EQ(finds[0].offset, shift);
    EXPECT_EQ(finds[0].bytes, fatbin);
    EXPECT_FALSE(finds[1].fatbin);
    EXPECT_EQ(finds[1].offset, shift + fatbin.size() + shift % 7);
    EXPECT_EQ(finds[1].bytes, cubin);
  }
}

TEST(Find, several_threads_find_what_one_finds) {
  constexpr size_t kMega = size_t{1} << 20;
  std::string fatbin = fatbin_of({{"some content"}}), file;
  std::vector<uint64_t> places;
  for (size_t gap :
       {kMega - 3, 4 * kMega - 40, 9 * kMega + 5, size_t{0}, 13 * kMega, size_t{100}}) {
    file += std::string(gap, '\x7f');
    places.push_back(file.size());
    file += fatbin;
  }
  for (int workers : {1, 2, 3}) {
    std::vector<uint64_t> found;
    for (const Find& find : find_code(file, workers)) found.push_back(find.offset);
    EXPECT_EQ(found, places) << workers;
  }
}

TEST(Find, neither_a_host_program_nor_half_a_pattern_is_code) {
  auto own = read_file(own_executable());
  ASSERT_TRUE(own);
  // This test holds the fatbin's magic number among its own constants.
  ASSERT_NE(own->find(kFatbinMagic), std::string::npos);
  EXPECT_TRUE(find_code(*own).empty());
  EXPECT_TRUE(find_code(std::string(kFatbinMagic)).empty());
  EXPECT_TRUE(
      find_code(std::string("\x50\xed\x55\xba\x02\x00\x10\x00 and more bytes than that", 30))
          .empty());
  EXPECT_TRUE(find_code("").empty());
}

// Code that compares with the number must not hide what lies behind it, whatever size its bytes
// claim.
TEST(Find, the_magic_number_in_a_programs_code_hides_nothing) {
  std::string fatbin = fatbin_of({{"some content"}});
  std::string file =
      std::string(kFatbinMagic) + std::string(7, '\x02') + std::string(40, '\0') + fatbin;
  std::vector<Find> finds = find_code(file);
  ASSERT_EQ(finds.size(), 1u);
  EXPECT_EQ(finds[0].bytes, fatbin);
}

RC_GTEST_PROP(Fatbin, any_contents_survive, ()) {
  auto contents = *rc::gen::container<std::vector<std::string>>(rc::gen::arbitrary<std::string>());
  std::vector<EntrySource> sources;
  for (const std::string& content : contents) {
    sources.push_back({content, *rc::gen::element(Content::cubin, Content::ptx),
                       *rc::gen::element(Packing::none, Packing::lz4, Packing::zstd)});
  }
  std::string file = fatbin_of(sources);
  auto fatbin = parse_fatbin(file, "x");
  RC_ASSERT(fatbin.has_value());
  RC_ASSERT(fatbin->entries.size() == sources.size());
  for (size_t i = 0; i < sources.size(); ++i) {
    RC_ASSERT(fatbin->entries[i].content == sources[i].kind);
    RC_ASSERT(unpacked(fatbin->entries[i]).substr(0, sources[i].content.size()) ==
              sources[i].content);
  }
}

}  // namespace
}  // namespace namesake::cubin
