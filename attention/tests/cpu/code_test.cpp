#include "code.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "sm80/tile.h"
#include "sm90/tile.h"
#include "verified.h"

namespace namesake::attention::test {
namespace {

const std::vector<KernelCode>& kernels() {
  static const std::vector<KernelCode> all = library_kernels("/proc/self/exe", "");
  return all;
}

TEST(Code, EveryInstanceIsBuiltForEachArchitecture) {
  std::map<std::string, int> portable, hopper, combine;
  for (const KernelCode& k : kernels()) {
    (k.symbol.find("4sm80") != std::string::npos   ? portable
     : k.symbol.find("4sm90") != std::string::npos ? hopper
                                                   : combine)[k.arch]++;
  }
  EXPECT_EQ(combine, (std::map<std::string, int>{{"sm_80", 4}, {"sm_90", 4}, {"sm_120", 4}}));
  EXPECT_EQ(portable, (std::map<std::string, int>{{"sm_80", 6}, {"sm_90", 6}, {"sm_120", 6}}));
  // Of fp8 at head_dim 256 twice.
  EXPECT_EQ(hopper, (std::map<std::string, int>{{"sm_90", 24 + 4}}));
}

// In fp8 the consumers need more registers than there are outside their loops (docs/attention.md).
TEST(Code, NoKernelTouchesLocalMemoryUnlessItIsOfFp8) {
  for (const KernelCode& k : kernels()) {
    if (k.symbol.find("forward8") != std::string::npos) continue;
    EXPECT_EQ(k.frame, 0) << k.arch << " " << k.symbol;
    EXPECT_EQ(k.local, 0) << k.arch << " " << k.symbol;
    EXPECT_GT(k.registers, 0) << k.arch << " " << k.symbol;
  }
}

template <int kHeadDim>
int products_of_a_key_tile() {
  using T = sm80::Tile<kHeadDim>;
  const int scores = kHeadDim / 16 * (T::kKeys / 8), output = T::kKeys / 16 * (kHeadDim / 8);
  return (scores + output) * T::kBands;
}

// The loop over keys is there once, unrolled inside, so its products are all there are.
TEST(Code, ThePortableKernelHoldsTheProductsOfOneKeyTile) {
  for (const KernelCode& k : kernels()) {
    if (k.symbol.find("4sm80") == std::string::npos) continue;
    const int expected = k.symbol.find("Li64E") != std::string::npos ? products_of_a_key_tile<64>()
                         : k.symbol.find("Li128E") != std::string::npos
                             ? products_of_a_key_tile<128>()
                             : products_of_a_key_tile<256>();
    EXPECT_EQ(k.mma, expected) << k.arch << " " << k.symbol;
    EXPECT_EQ(k.wgmma, 0) << k.arch << " " << k.symbol;
  }
}

// A block of keys is computed in two places: the first one, which has no product with V before it,
// and the loop. A causal mask has a loop of its own for the blocks it cuts.
TEST(Code, TheHopperKernelHoldsTheProductsOfEachOfItsLoops) {
  for (DType dtype : {DType::fp16, DType::bf16, DType::e4m3, DType::e5m2}) {
    for (int head_dim : {64, 128, 256}) {
      for (bool causal : {false, true}) {
        const bool both = is_fp8(dtype) && head_dim == 256;
        for (bool ahead : {false, true}) {
          if (ahead && !both) continue;
          const std::string instance = "DTypeE" + std::to_string(static_cast<int>(dtype)) + "ELi" +
                                       std::to_string(head_dim) + "ELb" + std::to_string(causal) +
                                       "ELb" + std::to_string(ahead) + "E";
          const auto k = std::find_if(kernels().begin(), kernels().end(), [&](const KernelCode& k) {
            return k.symbol.find("4sm90") != std::string::npos &&
                   k.symbol.find(instance) != std::string::npos;
          });
          ASSERT_NE(k, kernels().end()) << instance;
          const int step = is_fp8(dtype) ? 32 : 16;
          const int halves = both ? 2 : 1;  // of a product with V (fp8.cuh)
          const int products =
              head_dim / step + halves * sm90::tile_for(dtype, head_dim, causal).keys / step;
          EXPECT_EQ(k->wgmma, (causal ? 3 : 2) * products) << k->symbol;
          EXPECT_EQ(k->mma, 0) << k->symbol;
        }
      }
    }
  }
}

TEST(Code, CutOrForeignFilesAreErrors) {
  EXPECT_THROW(kernels_in("/nonexistent"), std::runtime_error);
  std::ifstream self("/proc/self/exe", std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(self), {}};
  size_t cubin = std::string::npos;  // the first ELF of machine 190
  for (size_t at = all.find("\x7f"
                            "ELF",
                            1);
       at != std::string::npos; at = all.find("\x7f"
                                              "ELF",
                                              at + 1)) {
    if (at + 20 < all.size() && static_cast<unsigned char>(all[at + 18]) == 190) {
      cubin = at;
      break;
    }
  }
  ASSERT_NE(cubin, std::string::npos);
  const std::string path = testing::TempDir() + "/cut";
  for (size_t size : {64u, 200u, 1000u, 4000u}) {
    std::ofstream(path, std::ios::binary)
        .write(all.data() + cubin, static_cast<std::streamsize>(size));
    EXPECT_THROW(kernels_in(path), std::runtime_error) << size;
  }
  std::ofstream(path, std::ios::binary) << "nothing of the kind";
  EXPECT_TRUE(kernels_in(path).empty());
}

// What --compare must notice, on a record of this very binary.
class Comparison : public testing::Test {
 protected:
  void SetUp() override {
    record_.info = {0, 9, 0, 132, 232448, int64_t{60} << 20};
    record_.kernels = library_kernels(kBinary, "sm_90");
    for (const Case& c : all_cases())
      for (Kernel kernel : kKernels)
        if (const auto plan = plan_digest(c, kernel, record_.info))
          record_.outcomes.push_back({c.name(), name(kernel), *plan});
  }
  static constexpr const char* kBinary = "/proc/self/exe";
  Verified record_;
};

TEST_F(Comparison, FindsNothingInWhatWasRecordedOfItself) {
  EXPECT_EQ(compare(record_, kBinary), std::vector<std::string>{});
}

TEST_F(Comparison, SurvivesTheWayThroughTheFile) {
  const std::string path = testing::TempDir() + "/verified.json";
  write(record_, path);
  EXPECT_EQ(compare(read_verified(path), kBinary), std::vector<std::string>{});
}

TEST_F(Comparison, NoticesOtherCodeMissingAndUnknownKernels) {
  record_.kernels[0].hash[0] ^= 1;
  EXPECT_EQ(compare(record_, kBinary).size(), 1u);
  record_.kernels[1].symbol += "x";
  EXPECT_EQ(compare(record_, kBinary).size(), 3u);
}

TEST_F(Comparison, NoticesOtherPlansAndUnknownCases) {
  record_.outcomes[0].plan[0] ^= 1;
  EXPECT_EQ(compare(record_, kBinary).size(), 1u);
  record_.outcomes[1].name += " of yesterday";
  EXPECT_EQ(compare(record_, kBinary).size(), 3u);
  record_.outcomes.pop_back();
  EXPECT_EQ(compare(record_, kBinary).size(), 4u);
}

TEST_F(Comparison, NoticesAnotherDevice) {
  record_.info.sm_count = 114;
  EXPECT_GT(compare(record_, kBinary).size(), 0u);
}

TEST(Log, TakesUpWhatItHoldsAndForgetsOtherCode) {
  const std::string path = testing::TempDir() + "/log";
  std::remove(path.c_str());
  {
    Log log(path, "abc");
    log.add("one", {{"one", "hopper", "p", 0.5, 1, 0}});
    Outcome failed{"two", "hopper", "p"};
    failed.complaint = "bad";
    log.add("two", {failed});
  }
  std::ofstream(path, std::ios::app) << "{\"code\": \"abc\", \"key\": \"cut sho";
  Log again(path, "abc");
  EXPECT_TRUE(again.has("one"));
  EXPECT_EQ(again.outcomes().at("one")[0].error, 0.5);
  EXPECT_EQ(again.outcomes().at("two")[0].complaint, "bad");
  EXPECT_FALSE(Log(path, "other").has("one"));
}

}  // namespace
}  // namespace namesake::attention::test
