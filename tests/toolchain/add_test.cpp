// Adding releases, with a python3 of our own in place of the real one: it "downloads" a stand-in, so
// that no test needs a network and every failure can be had.
#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "scene.h"
#include "util/text.h"

namespace namesake::toolchain {
namespace {

namespace fs = std::filesystem;

class Add : public Scene {
 protected:
  void SetUp() override {
    Scene::SetUp();
    put_ptxas(root() / "wheel", "13.0.88");
    put_python("true");
  }

  // `download` runs where pip would download wheels; DEST is the folder they go to.
  void put_python(const std::string& download) {
    put_script("python3", fmt::format(R"sh(
case "$*" in
  "-m pip --version") exit 0 ;;
  "-m zipfile -e "*) mkdir -p "$5/nvidia/cu13/bin" && cp {0}/wheel/ptxas {0}/wheel/settings "$5/nvidia/cu13/bin/" && chmod -x "$5/nvidia/cu13/bin/ptxas"; exit ;;
  *"nvidia-cuda-nvcc==0") echo "ERROR: Could not find a version that satisfies the requirement nvidia-cuda-nvcc==0 (from versions: 0.0.0a0, 13.0.48, 13.0.88, 13.10.1, 13.4.46rc1)" >&2; exit 1 ;;
  *"nvidia-cuda-nvcc-cu1"?"==0") echo "ERROR: Could not find a version that satisfies the requirement x==0 (from versions: none)" >&2; exit 1 ;;
esac
while [ "$1" != --dest ]; do shift; done
DEST=$2
echo "$*" >> {0}/fetched
{1} || exit 1
touch "$DEST/some.whl"
)sh",
                                      root().string(), download));
  }

  size_t downloads() {
    std::string log = read_file(root() / "fetched").value_or("");
    return static_cast<size_t>(std::count(log.begin(), log.end(), '\n'));
  }

  // Folders of the store that a survey would look into.
  std::vector<std::string> stored() {
    std::vector<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(store())) {
      std::string name = entry.path().filename().string();
      if (!name.starts_with('.')) names.push_back(name);
    }
    return names;
  }
};

TEST_F(Add, BringsTheNewestUpdateOfARelease) {
  Result<Added> added = add("13.0", false);
  ASSERT_TRUE(added) << added.error().message;
  EXPECT_EQ(added->version, "13.0.88");
  EXPECT_FALSE(added->was_there);
  ASSERT_EQ(added->tools.size(), 1u);
  EXPECT_EQ(added->tools[0].kind, Kind::ptxas);
  EXPECT_EQ(added->tools[0].source, "project");
  EXPECT_EQ(stored(), std::vector<std::string>{"13.0.88"});
}

TEST_F(Add, FetchesNothingThatIsThere) {
  ASSERT_TRUE(add("13.0.88", false));
  Result<Added> again = add("13.0.88", false);
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->was_there);
  EXPECT_EQ(again->tools.size(), 1u);
  EXPECT_EQ(downloads(), 1u);
}

TEST_F(Add, TheNewestReleaseIsTheHighestNumberAndNoCandidate) {
  EXPECT_EQ(newest_release().value(), "13.10.1");
  EXPECT_EQ(available_releases().value(), (std::vector<std::string>{"13.0.48", "13.0.88", "13.10.1"}));
}

TEST_F(Add, LeavesNothingBehindWhereTheDownloadFails) {
  put_python("{ echo 'ERROR: No space left on device' >&2; false; }");
  EXPECT_EQ(add("13.0.88", false).error().message,
            "fetching nvidia-cuda-nvcc==13.0.88: No space left on device");
  EXPECT_TRUE(stored().empty());
}

TEST_F(Add, SaysThatTheNetworkIsMissing) {
  put_script("python3", R"sh(case "$*" in "-m pip --version") exit 0 ;; esac
echo "WARNING: Retrying ... Failed to establish a new connection: [Errno 101]" >&2
echo "ERROR: Could not find a version that satisfies the requirement x (from versions: none)" >&2
exit 1)sh");
  const char* sentence =
      "PyPI cannot be reached; check the network, or point pip at a proxy or a mirror (https_proxy, "
      "PIP_INDEX_URL)";
  EXPECT_EQ(add("13.0", false).error().message, sentence);
  EXPECT_EQ(add("13.0.88", false).error().message,
            std::string("fetching nvidia-cuda-nvcc==13.0.88: ") + sentence);
}

TEST_F(Add, SaysHowToGetPip) {
  put_script("python3", "exit 1");
  EXPECT_EQ(add("13.0", false).error().message,
            "no Python with pip here, which fetches the compilers: install it (Debian, Ubuntu: apt-get "
            "install python3-pip)");
}

TEST_F(Add, RefusesAPackageThatIsAnotherVersion) {
  EXPECT_EQ(add("13.0.48", false).error().message,
            "the package says 13.0.48 and its ptxas says 13.0.88; nothing was added");
  EXPECT_TRUE(stored().empty());
}

TEST_F(Add, RefusesWhatIsNoRelease) {
  EXPECT_EQ(add("nightly", false).error().message,
            "'nightly' is no release: write 13.0, 13.0.88, newest, or nvcc-, nvdisasm-, nvrtc- or "
            "nvjitlink- before one");
  EXPECT_EQ(add("nvcc-12.8", false).error().message, "PyPI has no nvcc of CUDA 12.8");
  EXPECT_EQ(add("13.7", false).error().message, "PyPI has no ptxas 13.7; it has 13.0.48 13.0.88 13.10.1");
}

TEST_F(Add, TwoAtOnceGetOneWholeFolder) {
  put_python("sleep 0.5");
  std::vector<Result<Added>> results(2, error("not run"));
  std::vector<std::thread> threads;
  for (Result<Added>& result : results) {
    threads.emplace_back([&result] { result = add("13.0.88", false); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Result<Added>& result : results) {
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->tools.size(), 1u);
  }
  EXPECT_EQ(downloads(), 1u);
  EXPECT_EQ(stored(), std::vector<std::string>{"13.0.88"});
}

TEST_F(Add, TheFrontEndComesWithAllItsParts) {
  EXPECT_FALSE(add("13.0.88", true));  // the stand-in is no nvcc
  std::string fetched = read_file(root() / "fetched").value();
  for (const char* part : {"nvidia-cuda-nvcc==13.0.88", "nvidia-cuda-crt==13.0.88", "nvidia-nvvm==13.0.88",
                           "nvidia-cuda-runtime==13.0.*", "nvidia-cuda-cccl==13.0.*"}) {
    EXPECT_NE(fetched.find(part), std::string::npos) << part << " in " << fetched;
  }
}

TEST_F(Add, SaysWhereItCannotWrite) {
  set("NAMESAKE_TOOLCHAINS", "/proc/toolchains");
  std::string message = add("13.0", false).error().message;
  EXPECT_TRUE(message.starts_with("cannot write to /proc/toolchains: ")) << message;
  EXPECT_TRUE(message.ends_with("; name another folder in NAMESAKE_TOOLCHAINS")) << message;
}

}  // namespace
}  // namespace namesake::toolchain
