// The driver layer against a driver that needs no GPU (fake_driver.cpp).
#include "gpu/driver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "gpu/equality.h"
#include "gpu/memory.h"
#include "gpu/module.h"

using namespace namesake;
using namespace namesake::gpu;

namespace {

struct OnFakeGpu : testing::Test {
  void SetUp() override {
    auto loaded = load_driver(FAKE_DRIVER);
    ASSERT_TRUE(loaded) << loaded.error().message;
    driver = std::move(*loaded);
    auto made = Context::retain(*driver, *open_device(*driver, 0));
    ASSERT_TRUE(made) << made.error().message;
    context.emplace(std::move(*made));
    stream = std::move(*create_stream(*context));
  }
  std::unique_ptr<const Driver> driver;
  std::optional<Context> context;
  Stream stream;
};

TEST(LoadDriver, SaysInOneSentenceThatThereIsNoDriver) {
  const auto driver = load_driver("libno_such_driver.so.1");
  ASSERT_FALSE(driver);
  EXPECT_NE(driver.error().message.find("needs an NVIDIA GPU"), std::string::npos);
  EXPECT_EQ(driver.error().message.find('\n'), std::string::npos);
}

TEST(LoadDriver, SaysThatTheDriverFindsNoGpu) {
  setenv("FAKE_CUDA_INIT", "100", 1);
  const auto driver = load_driver(FAKE_DRIVER);
  unsetenv("FAKE_CUDA_INIT");
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().message,
            "this needs an NVIDIA GPU; a driver is installed but finds none");
}

TEST(LoadDriver, NamesWhatAnOldDriverLacksAndWhichOneIsNeeded) {
  const auto driver = load_driver(FAKE_OLD_DRIVER);
  ASSERT_FALSE(driver);
  EXPECT_NE(driver.error().message.find("cuTensorMapEncodeTiled"), std::string::npos);
  EXPECT_NE(driver.error().message.find("CUDA 12.0"), std::string::npos);
}

TEST_F(OnFakeGpu, ADeviceThatIsNotThereIsNamed) {
  const auto device = open_device(*driver, 3);
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().message, "there is no GPU 3: the driver shows 1 (numbered from 0)");
}

TEST_F(OnFakeGpu, TheDeviceTellsWhatALaunchPlanNeeds) {
  const Device& device = context->device();
  EXPECT_EQ(device.name, "Fake GPU");
  EXPECT_EQ(device.major, 9);
  EXPECT_EQ(device.multiprocessors, 4);
  EXPECT_EQ(device.shared_bytes_per_block, 232448);
}

TEST_F(OnFakeGpu, BytesComeBackAsTheyWent) {
  auto buffer = Buffer::allocate(*context, 1000);
  ASSERT_TRUE(buffer);
  const auto sent = poison(1000, 3);
  ASSERT_TRUE(upload(stream, buffer->address(), sent));
  EXPECT_EQ(*read(stream, *buffer), sent);
}

TEST_F(OnFakeGpu, AnAllocationThatFailsSaysHowMuchWasWanted) {
  const auto buffer = Buffer::allocate(*context, size_t{1} << 40);
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().message,
            "allocating 1099511627776 bytes on the GPU: out of memory (CUDA_ERROR_OUT_OF_MEMORY)");
}

TEST_F(OnFakeGpu, AKernelThatTheModuleLacksIsNamed) {
  auto module = load_module(*context, std::string("ptx"));
  ASSERT_TRUE(module);
  const auto kernel = find_kernel(*module, "absent");
  ASSERT_FALSE(kernel);
  EXPECT_NE(kernel.error().message.find("looking for kernel absent: named symbol not found"),
            std::string::npos);
}

TEST_F(OnFakeGpu, TheDriversCompilerIsQuoted) {
  const auto module = load_module(*context, std::string("garbage"));
  ASSERT_FALSE(module);
  EXPECT_NE(module.error().message.find("line 1: syntax error"), std::string::npos);
}

TEST_F(OnFakeGpu, AnImageTooShortForACubinIsRefusedUnread) {
  const std::vector<std::byte> image(10);
  EXPECT_FALSE(load_module(*context, std::span<const std::byte>(image)));
}

TEST_F(OnFakeGpu, ALaunchThatAsksForTooMuchIsRefusedBeforeItRuns) {
  auto module = load_module(*context, std::string("ptx"));
  const Kernel kernel = *find_kernel(*module, "sleep_1");
  EXPECT_TRUE(prepare(*context, kernel, {.block = {128}, .shared_bytes = 232448}));
  EXPECT_FALSE(prepare(*context, kernel, {.block = {128}, .shared_bytes = 232449}));
  EXPECT_FALSE(prepare(*context, kernel, {.block = {1024, 2}}));
}

TEST_F(OnFakeGpu, AnEmptyRecordingIsAnErrorAndLeavesTheStreamUsable) {
  EXPECT_FALSE(record_graph(stream, [] { return Status{}; }));
  EXPECT_FALSE(record_graph(stream, [] { return Status{error("refused")}; }));
  auto module = load_module(*context, std::string("ptx"));
  const Kernel kernel = *find_kernel(*module, "sleep_1");
  EXPECT_TRUE(record_graph(stream, [&] { return launch(stream, kernel, {}, {}); }));
}

TEST_F(OnFakeGpu, AKernelThatHangsIsReportedAfterTheLimit) {
  const Event event = std::move(*create_event(*context));
  setenv("FAKE_CUDA_HANGS", "1", 1);
  const Status waited = wait(event, std::chrono::milliseconds(20));
  unsetenv("FAKE_CUDA_HANGS");
  ASSERT_FALSE(waited);
  EXPECT_NE(waited.error().message.find("hangs"), std::string::npos);
}

TEST_F(OnFakeGpu, ATensorMapWhoseRanksDisagreeIsRefused) {
  EXPECT_TRUE(
      encode_tensor_map(*context, 0, {.sizes = {64, 128}, .strides = {128}, .box = {64, 64}}));
  EXPECT_FALSE(
      encode_tensor_map(*context, 0, {.sizes = {64, 128}, .strides = {}, .box = {64, 64}}));
}

}  // namespace
