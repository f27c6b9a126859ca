// Whatever a person hands over by mistake: one sentence, bounded time and memory, nothing left behind.
#include "real.h"

#include <sys/stat.h>

namespace namesake::real {
namespace {

class Ugly : public Real {
 protected:
  // A stand-in, so that nothing here needs a real compiler.
  std::string assembler(const std::string& settings = "") {
    fs::create_directories(path("bin"));
    fs::copy_file(NAMESAKE_BINARY_DIR "/stand_in/ptxas", path("bin/ptxas"), fs::copy_options::overwrite_existing);
    write("bin/settings", "version=13.5.37\nreact=all\n" + settings + "\n");
    return path("bin/ptxas");
  }
  Completed diff(const std::string& file, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"-q", "diff", file, "--assembler", assembler()});
    return namesake(more);
  }
  std::string kernel(const std::string& name = "k") {
    return ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry " + name + "()\n{\n.reg .b32 %r<9>;\nadd.s32 %r1, %r1, 1;\nret;\n}\n";
  }

  void expect_refused(const Completed& done, std::string_view naming) {
    EXPECT_EQ(done.exit_status, 2) << done.how_it_ended();
    EXPECT_EQ(std::count(done.err.begin(), done.err.end(), '\n'), 1) << done.err;
    EXPECT_TRUE(says(done, naming));
    EXPECT_EQ(done.out, "");
    EXPECT_LT(done.peak_kilobytes, 1 << 20);
    EXPECT_LT(done.wall_seconds, 30);
  }
};

TEST_F(Ugly, AnEmptyFile) { expect_refused(diff(write("empty.ptx", "")), "empty.ptx"); }

TEST_F(Ugly, BinaryGarbage) {
  std::string garbage;
  for (uint32_t i = 0, x = 1; i < 100000; ++i, x = x * 1664525 + 1013904223) garbage += static_cast<char>(x >> 24);
  expect_refused(diff(write("garbage.ptx", garbage)), "garbage.ptx");
}

TEST_F(Ugly, OneLineOfAHundredMegabytes) { expect_refused(diff(write("line.ptx", std::string(100'000'000, 'a'))), "line.ptx"); }

TEST_F(Ugly, AFolder) {
  fs::create_directory(path("folder.ptx"));
  expect_refused(diff(path("folder.ptx")), "it is a folder");
}

TEST_F(Ugly, AnEndlessDevice) { expect_refused(diff("/dev/zero"), "/dev/zero"); }

TEST_F(Ugly, APipeIsReadToItsEnd) {
  std::string file = write("k.ptx", kernel());
  ASSERT_EQ(::mkfifo(path("pipe.ptx").c_str(), 0600), 0);
  Completed done = call({"sh", "-c", "cat k.ptx > pipe.ptx & \"$@\"", "sh", kTool, "-q", "diff", path("pipe.ptx"), "--assembler", assembler()});
  EXPECT_EQ(done.exit_status, 0) << done.err;
}

TEST_F(Ugly, LinesThatEndAsOnWindows) {
  std::string text;
  for (char c : kernel()) text += c == '\n' ? std::string("\r\n") : std::string(1, c);
  EXPECT_EQ(diff(write("crlf.ptx", text)).exit_status, 0);
}

TEST_F(Ugly, AFunctionWhoseNameHasTenThousandLetters) {
  Completed done = diff(write("long.ptx", kernel(std::string(10000, 'g'))));
  EXPECT_EQ(done.exit_status, 0) << done.err;
  for (std::string_view line : split(done.out, '\n')) EXPECT_LT(line.size(), 400u);
}

TEST_F(Ugly, ANameThatIsNotAsciiIsTheAssemblersToRefuse) {
  NEED_TOOL(ptxas, ptxas, "13.0");
  Completed done = namesake({"-q", "diff", write("name.ptx", kernel("g\xc3\xa4ther")), "--assembler", ptxas});
  EXPECT_EQ(done.exit_status, 0) << done.err;
  EXPECT_TRUE(says(done, "non-ASCII character"));
}

TEST_F(Ugly, APipeNamedAsOutputIsWrittenToAndStaysOne) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  Completed done = call({"sh", "-c", "cat pipe > page & \"$@\" && wait", "sh", kTool, "-q", "diff", write("k.ptx", kernel()),
                         "--assembler", assembler(), "--html", path("pipe")});
  EXPECT_EQ(done.exit_status, 0) << done.err;
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
  EXPECT_NE(read_file(path("page"))->find("</html>"), std::string::npos);
}

TEST_F(Ugly, AFullDiskBehindStdoutIsAnError) {
  for (std::string option : {"", " --json -", " --html -"}) {
    Completed done = call({"sh", "-c", "\"$@\"" + option + " > /dev/full", "sh", kTool, "-q", "diff", write("k.ptx", kernel()), "--assembler", assembler()});
    EXPECT_EQ(done.exit_status, 2) << option;
    EXPECT_TRUE(says(done, "No space left on device"));
  }
}

TEST_F(Ugly, AKilledToolLeavesNoAssemblerRunning) {
  std::string ptxas = assembler("hang=always"), file = write("k.ptx", kernel());
  // The assembler's command line holds its path, which no other process has.
  auto running = [&] {
    Completed found = call({"sh", "-c", "for p in /proc/[0-9]*; do [ \"$(readlink $p/exe)\" = \"" + ptxas + "\" ] && echo $p; done; true"});
    return found.out;
  };
  call({"sh", "-c", "\"$@\" & pid=$!; sleep 1; kill -KILL $pid; wait $pid; sleep 0.5", "sh", kTool, "-q", "diff", file, "--assembler", ptxas});
  EXPECT_EQ(running(), "");
}

}  // namespace
}  // namespace namesake::real
