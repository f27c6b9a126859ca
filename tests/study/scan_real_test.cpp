// Libraries that people ship. Gigabytes, so only where they are named.
#include <gtest/gtest.h>

#include <algorithm>

#include "cubin/fatbin.h"
#include "cubin/find.h"
#include "cubin/listing.h"
#include "study/scan.h"
#include "util/file.h"
#include "util/mapping.h"
#include "util/pool.h"
#include "util/text.h"

namespace namesake::study {
namespace {

constexpr const char* kFiles = "NAMESAKE_SCAN_FILES";

class RealLibraries : public testing::Test {
 protected:
  void SetUp() override {
    named_ = environment(kFiles);
    if (named_.empty()) {
      GTEST_SKIP() << "set " << kFiles << " to libraries or wheels, separated by colons; "
                   << "scripts/scan_results.py fetches some and holds them to cuobjdump";
    }
    for (std::string_view file : split(named_, ':')) files_.emplace_back(file);
  }
  std::string named_;
  std::vector<std::filesystem::path> files_;
};

TEST_F(RealLibraries, are_read_whole) {
  ScanRequest request;
  request.files = files_;
  request.workers = available_processors();
  auto found = scan(request);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->problems.empty()) << found->problems.front();
  EXPECT_FALSE(found->functions.empty());
}

TEST_F(RealLibraries, tell_by_the_heads_of_their_cubins_what_whole_cubins_tell) {
  int64_t cubins = 0, different = 0;
  Room head, whole;
  for (const std::filesystem::path& path : files_) {
    auto file = MappedFile::open(path);
    ASSERT_TRUE(file) << file.error().message;
    for (const cubin::Find& find : cubin::find_code(file->bytes())) {
      if (!find.fatbin) continue;
      auto fatbin = cubin::parse_fatbin(find.bytes, path.string());
      ASSERT_TRUE(fatbin) << fatbin.error().message;
      for (const cubin::FatbinEntry& entry : fatbin->entries) {
        if (entry.content != cubin::Content::cubin) continue;
        constexpr uint64_t kLimit = uint64_t{1} << 30;
        uint64_t unpacked = 0;
        auto quick =
            cubin::list_entry(entry, cubin::Detail::registers, kLimit, "entry", head, unpacked);
        auto content = cubin::unpack(entry, kLimit, "entry", whole);
        ASSERT_TRUE(quick && content);
        auto full = cubin::list_functions(*content, "entry");
        ASSERT_TRUE(full) << full.error().message;
        ++cubins;
        different += quick->functions != full->functions;
        auto names =
            cubin::list_entry(entry, cubin::Detail::names, kLimit, "entry", head, unpacked);
        ASSERT_TRUE(names);
        auto same = [](const cubin::ListedFunction& a, const cubin::ListedFunction& b) {
          return a.symbol == b.symbol && a.entry == b.entry && a.code_bytes == b.code_bytes;
        };
        different += !std::equal(names->functions.begin(), names->functions.end(),
                                 full->functions.begin(), full->functions.end(), same);
      }
    }
  }
  EXPECT_EQ(different, 0) << "of " << cubins;
}

}  // namespace
}  // namespace namesake::study
