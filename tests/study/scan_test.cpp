#include "study/scan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>

#include "../archive/zip_writer.h"
#include "../cubin/fatbin_writer.h"
#include "report/text.h"
#include "util/file.h"
#include "util/subprocess.h"

namespace namesake::study {
namespace {
namespace fs = std::filesystem;

using archive::zip_of;
using cubin::Content;
using cubin::fatbin_of;
using cubin::Packing;

const std::string kFixtures = NAMESAKE_SOURCE_DIR "/tests/cubin/fixtures/";

std::string content(const std::string& path) {
  auto text = read_file(path);
  EXPECT_TRUE(text) << path;
  return text.value_or("");
}

class Scan : public testing::Test {
 protected:
  TemporaryFolder folder = std::move(*TemporaryFolder::make("namesake-scan-test"));

  std::string file(const std::string& name, const std::string& bytes) {
    EXPECT_TRUE(write_file(folder.path() / name, bytes));
    return (folder.path() / name).string();
  }
  report::Scan scanned(std::vector<fs::path> files, ScanRequest request = {}) {
    request.files = std::move(files);
    request.workers = 2;
    auto result = scan(request);
    EXPECT_TRUE(result);
    return result ? std::move(*result) : report::Scan{};
  }
};

int64_t kernels(const report::Scan& scan, bool code = true) {
  return std::count_if(
      scan.functions.begin(), scan.functions.end(),
      [&](const report::ScannedFunction& each) { return each.kernel && each.code == code; });
}

std::map<std::string, report::Place> first_places(const report::Scan& scan) {
  std::map<std::string, report::Place> places;
  for (const report::ScannedSymbol& symbol : scan.symbols) {
    if (!symbol.triggers.empty()) places[symbol.symbol] = symbol.triggers.front().places.front();
  }
  return places;
}

TEST_F(Scan, the_four_ways_to_pack_a_fatbin_hold_the_same_kernels) {
  for (const char* name : {"none", "speed", "balance", "size"}) {
    report::Scan scan = scanned({kFixtures + name + ".fatbin"});
    EXPECT_TRUE(scan.problems.empty());
    EXPECT_EQ(kernels(scan), 16) << name;
    EXPECT_EQ(kernels(scan, false), 8) << name;
    ASSERT_EQ(scan.containers.size(), 1u);
    EXPECT_EQ(scan.containers[0].cubins, 2);
    EXPECT_EQ(scan.containers[0].ptx, 1);
    std::map<std::string, int64_t> architectures;
    for (const report::ScannedFunction& function : scan.functions)
      ++architectures[function.architecture];
    EXPECT_EQ(architectures, (std::map<std::string, int64_t>{{"sm_80", 8}, {"sm_90a", 16}}));
  }
}

TEST_F(Scan, every_place_of_a_trigger_is_told) {
  using report::Place;
  auto places = first_places(scanned({kFixtures + "none.fatbin"}));
  EXPECT_EQ(places, (std::map<std::string, Place>{
                        {"_ZN7cutlass13device_kernelIN4mine5ShapeEEEvT_Pi", Place::cutlass_kernel},
                        {"_ZN4mine12cutlass_likeILi4EEEvPi", Place::own_name},
                        {"_ZN4mine13cutlass_tools5plainEPi", Place::enclosing_scope},
                        {"_Z7genericIN7cutlass5ShapeEEvPi", Place::template_argument},
                        {"_Z5takesN7cutlass5ShapeEPi", Place::parameter_type},
                        {"_Z3cutlass", Place::chance}}));
}

TEST_F(Scan, a_host_object_tells_the_section_its_code_lies_in) {
  report::Scan scan = scanned({kFixtures + "relocatable.o"});
  ASSERT_EQ(scan.containers.size(), 1u);
  ASSERT_EQ(scan.containers[0].sections.size(), 1u);
  EXPECT_EQ(scan.containers[0].sections.begin()->first, "__nv_relfatbin");
  EXPECT_EQ(scan.containers[0].sections.begin()->second.kernels, kernels(scan));
}

TEST_F(Scan, wheels_archives_and_what_is_nested_in_them_hold_what_lies_in_them) {
  std::string object = content(kFixtures + "relocatable.o"),
              fatbin = content(kFixtures + "speed.fatbin");
  fs::copy_file(kFixtures + "relocatable.o", folder.path() / "part.o");
  Command ar;
  ar.folder = folder.path();
  ar.arguments = {"ar", "rc", "lib.a", "part.o"};
  auto done = run(ar);
  if (!done) GTEST_SKIP() << "no ar on this machine; install binutils";
  std::string inner = zip_of({{"lib/lib.a", content((folder.path() / "lib.a").string())},
                              {"lib/code.bin", "xyz" + fatbin, false}});
  std::string wheel =
      file("x.whl", zip_of({{"inner.zip", inner, false},
                            {"x.ptx", content(NAMESAKE_SOURCE_DIR "/kernels/ptx/saxpy.ptx")},
                            {"readme.txt", "no code"}}));
  report::Scan scan = scanned({wheel});
  EXPECT_TRUE(scan.problems.empty()) << scan.problems.front();
  std::map<std::string, int64_t> found;
  for (const report::Container& container : scan.containers)
    found[container.name] = container.kernels + container.ptx_kernels;
  EXPECT_EQ(found, (std::map<std::string, int64_t>{{wheel + "(inner.zip)(lib/lib.a)(part.o)", 16},
                                                   {wheel + "(inner.zip)(lib/code.bin)", 24},
                                                   {wheel + "(x.ptx)", 1}}));
}

TEST_F(Scan, workers_do_not_change_the_order) {
  std::vector<fs::path> files = {kFixtures + "none.fatbin", kFixtures + "relocatable.o",
                                 kFixtures + "size.fatbin"};
  report::Scan first = scanned(files);
  for (int i = 0; i < 5; ++i) {
    report::Scan again = scanned(files);
    ASSERT_EQ(again.functions.size(), first.functions.size());
    for (size_t k = 0; k < first.functions.size(); ++k) {
      EXPECT_EQ(again.symbols[again.functions[k].symbol].symbol,
                first.symbols[first.functions[k].symbol].symbol);
      EXPECT_EQ(again.functions[k].container, first.functions[k].container);
    }
  }
}

TEST_F(Scan, a_filter_leaves_kernels_out_of_the_list_and_not_out_of_the_count) {
  ScanRequest request;
  request.kernel_glob = "mine::*";
  request.architectures = {"sm_80"};
  report::Scan scan = scanned({kFixtures + "none.fatbin"}, request);
  EXPECT_EQ(kernels(scan), 2);
  EXPECT_EQ(scan.containers.at(0).kernels, 16);
}

// What the page shows is had in half of the time; the page must not tell of it.
TEST_F(Scan, without_details_has_the_same_page) {
  for (const char* name : {"none.fatbin", "speed.fatbin", "size.fatbin"}) {
    ScanRequest brief;
    brief.detailed = false;
    report::Scan whole = scanned({kFixtures + name}), quick = scanned({kFixtures + name}, brief);
    ASSERT_EQ(whole.functions.size(), quick.functions.size());
    quick.unpacked_bytes = whole.unpacked_bytes;
    quick.seconds = whole.seconds;
    EXPECT_EQ(report::to_text(quick, {}), report::to_text(whole, {})) << name;
  }
}

TEST_F(Scan, a_denied_text_is_looked_for_beside_the_triggers) {
  ScanRequest request;
  request.denied = {"unnamed"};
  report::Scan scan = scanned({kFixtures + "none.fatbin"}, request);
  EXPECT_EQ(report::carrying(scan, "unnamed"), 3);
  EXPECT_EQ(report::carrying(scan, "cutlass"), 18);
}

TEST_F(Scan, files_without_code_have_none_and_no_problem) {
  report::Scan scan = scanned(
      {file("empty", ""), file("text", "no code at all"), NAMESAKE_SOURCE_DIR "/README.md"});
  EXPECT_TRUE(scan.problems.empty());
  EXPECT_TRUE(scan.containers.empty());
}

TEST_F(Scan, what_cannot_be_read_is_one_sentence_and_the_rest_is_read) {
  std::string fatbin = content(kFixtures + "balance.fatbin");
  report::Scan scan =
      scanned({folder.path() / "missing", folder.path(),
               file("cut.fatbin", fatbin.substr(0, fatbin.size() - 100)),
               file("cut.whl", zip_of({{"a", "aaa"}}).substr(0, 40)), kFixtures + "none.fatbin"});
  EXPECT_EQ(scan.problems.size(), 4u);
  for (const std::string& problem : scan.problems) EXPECT_EQ(problem.find('\n'), std::string::npos);
  EXPECT_GE(kernels(scan), 16 + 16);  // what stands before the cut, too
}

TEST_F(Scan, what_claims_to_unpack_to_anything_is_left_packed) {
  std::string zeros(1 << 20, '\0');
  std::vector<cubin::EntrySource> bombs;
  for (int i = 0; i < 300; ++i) bombs.push_back({zeros, Content::ptx, Packing::zstd});
  ScanRequest request;
  request.limits.total_ratio = 2;
  request.limits.total_bytes = uint64_t{16} << 20;
  report::Scan scan = scanned({file("bomb.fatbin", fatbin_of(bombs))}, request);
  ASSERT_EQ(scan.problems.size(), 1u);
  EXPECT_NE(scan.problems.front().find("(a bomb?)"), std::string::npos);
  EXPECT_LE(scan.unpacked_bytes, 17 << 20);
}

TEST_F(Scan, archives_in_archives_end_somewhere) {
  std::string nested = zip_of({{"a", "aaa"}});
  for (int i = 0; i < 12; ++i) nested = zip_of({{"z.zip", nested}});
  report::Scan scan = scanned({file("deep.zip", nested)});
  ASSERT_EQ(scan.problems.size(), 1u);
  EXPECT_NE(scan.problems.front().find("nested too deeply"), std::string::npos);
}

TEST_F(Scan, a_member_beyond_the_limit_says_what_to_do) {
  ScanRequest request;
  request.limits.member_bytes = 1000;
  report::Scan scan = scanned({file("x.zip", zip_of({{"big", std::string(2000, 'x')}}))}, request);
  ASSERT_EQ(scan.problems.size(), 1u);
  EXPECT_NE(scan.problems.front().find("unpack it to a file first"), std::string::npos);
}

// Thousands of headers that all claim the same bytes must not be read over and over.
TEST_F(Scan, hostile_headers_cost_no_more_than_their_number) {
  std::string magics;
  for (int i = 0; i < 100'000; ++i)
    magics += std::string(cubin::kFatbinMagic) + std::string(8, '\x7f');
  std::string elves;
  for (int i = 0; i < 20'000; ++i) {
    std::string header(
        "\x7f"
        "ELF\x02\x01\x01",
        7);
    header.resize(64);
    header[18] = static_cast<char>(190);
    header[40] = 64;
    header[60] = header[61] = '\xff';
    elves += header;
  }
  auto start = std::chrono::steady_clock::now();
  scanned({file("magics", magics), file("elves", elves)});
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST_F(Scan, ptx_of_a_kernel_is_taken_out_with_its_options) {
  std::string ptx = content(NAMESAKE_SOURCE_DIR "/kernels/ptx/saxpy.ptx");
  ScanRequest request;
  request.files = {file(
      "x.fatbin", fatbin_of({{ptx, Content::ptx, Packing::zstd, 90, 0, "-maxrregcount=96 "}}))};
  request.kernel_glob = "saxpy*";
  auto found = find_ptx(request);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->text, ptx);
  EXPECT_EQ(found->options, "-maxrregcount=96 ");
}

TEST_F(Scan, a_kernel_without_ptx_says_so) {
  ScanRequest request;
  request.files = {NAMESAKE_SOURCE_DIR "/tests/sass/fixtures/stencil.sm_90.cubin"};
  request.kernel_glob = "*stencil*";
  auto found = find_ptx(request);
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("machine code alone"), std::string::npos);
  request.kernel_glob = "nothing";
  EXPECT_NE(find_ptx(request).error().message.find("no kernel matches"), std::string::npos);
}

}  // namespace
}  // namespace namesake::study
