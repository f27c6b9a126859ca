#include <algorithm>

#include "scene.h"

namespace namesake::toolchain {
namespace {

namespace fs = std::filesystem;

// Tools of this scene; the machine's own, which no variable hides, are left out.
class Find : public Scene {
 protected:
  std::vector<Tool> found(Kind kind = Kind::ptxas) {
    std::vector<Tool> mine;
    for (const Tool& tool : find_tools()) {
      if (tool.kind == kind && tool.path.string().starts_with(fs::canonical(root()).string())) {
        mine.push_back(tool);
      }
    }
    return mine;
  }
};

TEST_F(Find, ListsWhatIsAtHandNewestFirstWithItsSource) {
  put_ptxas(root() / "store" / "12.9.86" / "nvidia" / "cuda_nvcc" / "bin", "12.9.86");
  put_ptxas(root() / "bin", "13.10.1");
  put_ptxas(root() / "cuda" / "bin", "13.9.2", "build=cuda_13.9.r13.9/compiler.77_0");
  set("CUDA_HOME", root() / "cuda");
  std::vector<Tool> tools = found();
  ASSERT_EQ(tools.size(), 3u);
  EXPECT_EQ(tools[0].version, "13.10.1");
  EXPECT_EQ(tools[0].source, "PATH");
  EXPECT_EQ(tools[1].version, "13.9.2");
  EXPECT_EQ(tools[1].source, "CUDA_HOME");
  EXPECT_EQ(tools[1].build, "cuda_13.9.r13.9/compiler.77_0");
  EXPECT_EQ(tools[2].version, "12.9.86");
  EXPECT_EQ(tools[2].source, "project");
}

TEST_F(Find, ListsAFileOnceByWhateverWaysItIsReached) {
  fs::path tool = put_ptxas(root() / "cuda" / "bin", "13.9.2");
  fs::create_symlink(tool, root() / "bin" / "ptxas");
  set("CUDA_HOME", root() / "cuda");
  set("CUDA_PATH", root() / "cuda");
  EXPECT_EQ(found().size(), 1u);
}

TEST_F(Find, FindsTheAssemblersThatTritonBrings) {
  fs::path bin = root() / "venv/lib/python3.11/site-packages/triton/backends/nvidia/bin";
  put_ptxas(bin, "12.8.93");
  fs::copy_file(bin / "ptxas", bin / "ptxas-blackwell");
  set("VIRTUAL_ENV", root() / "venv");
  std::vector<Tool> tools = found();
  ASSERT_EQ(tools.size(), 2u);
  EXPECT_EQ(tools[0].source, "triton");
}

TEST_F(Find, PassesOverUnfinishedAdditions) {
  put_ptxas(root() / "store" / ".adding-x" / "nvidia" / "cu13" / "bin", "13.9.2");
  EXPECT_TRUE(found().empty());
}

TEST_F(Find, TellsOfWhatDoesNotSayItsVersion) {
  put_script("ptxas", "echo hello\n");
  Survey all = survey();
  auto broken = std::find_if(all.broken.begin(), all.broken.end(), [&](const BrokenTool& tool) {
    return tool.path == root() / "bin" / "ptxas";
  });
  ASSERT_NE(broken, all.broken.end());
  EXPECT_NE(broken->why.find("--version tells no CUDA release (exit status 0)"), std::string::npos)
      << broken->why;
}

TEST_F(Find, AsksAToolOnceAndAgainWhenItsFileChanges) {
  fs::path tool = put_ptxas(root() / "bin", "13.9.2");
  ASSERT_EQ(found().at(0).version, "13.9.2");
  // The settings are not the tool's file: a second question would see them.
  ASSERT_TRUE(write_file(root() / "bin" / "settings", std::string("version=13.9.3")));
  EXPECT_EQ(found().at(0).version, "13.9.2");
  fs::path copy = root() / "copy";
  fs::copy_file(tool, copy);
  fs::last_write_time(copy, fs::last_write_time(tool));  // even with its size and time kept
  fs::rename(copy, tool);
  EXPECT_EQ(found().at(0).version, "13.9.3");
}

TEST_F(Find, ABrokenCacheCountsAsNone) {
  put_ptxas(root() / "bin", "13.9.2");
  found();
  ASSERT_TRUE(write_file(root() / "cache" / "namesake" / "versions",
                         std::string("namesake versions 1\n\t\t\t\t\n\0\xff\t", 25)));
  EXPECT_EQ(found().at(0).version, "13.9.2");
}

TEST_F(Find, ReadsALibrarysVersionFromItsFile) {
  fs::create_directories(root() / "cuda" / "lib64");
  std::string text(3 << 20, 'x');
  text += "Cuda compilation tools, release 13.9, V13.9.41";
  text += std::string(1, '\0') + "cuda_13.9.r13.9/compiler.5_0" + std::string(9999, '\0');
  ASSERT_TRUE(write_file(root() / "cuda" / "lib64" / "libnvrtc.so.13", text));
  set("CUDA_HOME", root() / "cuda");
  std::vector<Tool> tools = found(Kind::nvrtc);
  ASSERT_EQ(tools.size(), 1u);
  EXPECT_EQ(tools[0].version, "13.9.41");
  EXPECT_EQ(tools[0].build, "cuda_13.9.r13.9/compiler.5_0");
}

class Choose : public Scene {
 protected:
  static Tool tool(const char* version, const char* source = "project") {
    Tool tool;
    tool.version = version;
    tool.source = source;
    tool.path = std::string("/x/") + version;
    return tool;
  }
  std::string chosen(std::string_view wish) {
    std::vector<Tool> tools = {tool("13.5.37"), tool("13.0.88"), tool("12.9.86"),
                               tool("12.8.93", "triton")};
    Result<Tool> chosen = choose(tools, Kind::ptxas, wish);
    return chosen ? chosen->version : chosen.error().message;
  }
};

TEST_F(Choose, TakesTheNewestThatBeginsWithTheWish) {
  EXPECT_EQ(chosen("newest"), "13.5.37");
  EXPECT_EQ(chosen(""), "13.5.37");
  EXPECT_EQ(chosen("13.0"), "13.0.88");
  EXPECT_EQ(chosen("12"), "12.9.86");
  EXPECT_EQ(chosen("12.8.93"), "12.8.93");
  EXPECT_EQ(chosen("triton"), "12.8.93");
}

TEST_F(Choose, SaysWhatIsAtHandAndHowToGetTheRest) {
  EXPECT_EQ(chosen("12.4"),
            "no ptxas 12.4 at hand; there are 13.5.37 (project), 13.0.88 (project), 12.9.86 (project), "
            "12.8.93 (triton); get it with: namesake toolchain add 12.4");
  EXPECT_EQ(choose({}, Kind::nvdisasm, "").error().message,
            "no nvdisasm at hand; get it with: namesake toolchain add nvdisasm");
  EXPECT_EQ(choose({}, Kind::nvcc, "13.0").error().message,
            "no nvcc 13.0 at hand; get it with: namesake toolchain add nvcc-13.0");
}

TEST_F(Choose, TakesAPath) {
  fs::path path = put_ptxas(root() / "mine", "13.7.1");
  Result<Tool> given = choose({}, Kind::ptxas, path.string());
  ASSERT_TRUE(given) << given.error().message;
  EXPECT_EQ(given->version, "13.7.1");
  EXPECT_EQ(given->source, "given");
  EXPECT_EQ(choose({}, Kind::ptxas, "/nowhere/ptxas").error().message,
            "/nowhere/ptxas: no such file");
  EXPECT_EQ(choose({}, Kind::nvcc, path.string()).error().message, path.string() + " is ptxas, not nvcc");
}

TEST_F(Scene, FactsNameTheCommandThatCures) {
  set("PATH", root() / "bin");
  Survey nothing;
  std::map<std::string, Fact> known;
  for (const Fact& fact : facts(nothing)) known[fact.subject] = fact;
  EXPECT_FALSE(known["ptxas"].good);
  EXPECT_EQ(known["ptxas"].cure, "namesake toolchain add newest");
  EXPECT_EQ(known["nvdisasm"].cure, "namesake toolchain add nvdisasm");
  EXPECT_EQ(known["nvcc"].cure, "namesake toolchain add nvcc-newest");
  EXPECT_EQ(known["host compiler"].cure, "apt-get install g++");
  EXPECT_FALSE(known["python3"].good);
  EXPECT_TRUE(known["store"].good);
}

TEST_F(Scene, FactsWarnOfADisassemblerOlderThanTheAssembler) {
  Survey survey;
  survey.tools.resize(2);
  survey.tools[0].version = "13.5.37";
  survey.tools[1].kind = Kind::nvdisasm;
  survey.tools[1].version = "13.2.51";
  for (const Fact& fact : facts(survey)) {
    if (fact.subject != "nvdisasm") continue;
    EXPECT_FALSE(fact.good);
    EXPECT_EQ(fact.what, "13.2.51 is older than ptxas 13.5.37: it may leave out instructions");
  }
}

}  // namespace
}  // namespace namesake::toolchain
