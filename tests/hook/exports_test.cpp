// What the library is made of: nothing from outside, and nothing leaks out.
#include <set>

#include "session/library.h"
#include "targets.h"

namespace namesake::session {
namespace {

std::set<std::string> symbols(const std::string& which, bool all_tests) {
  auto folder = TemporaryFolder::make("namesake-test");
  auto file = folder->path() / "hook.so";
  EXPECT_TRUE(write_file(file, embedded_hook(all_tests)).has_value());
  auto listed = run(Command{.arguments = {"nm", "-D", which, file.string()}});
  EXPECT_TRUE(listed && listed->ok()) << "nm is part of binutils";
  std::set<std::string> names;
  std::string text = listed ? listed->out : "";
  for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
    std::string line = text.substr(at, end - at);
    names.insert(line.substr(line.rfind(' ') + 1));
  }
  return names;
}

TEST(Library, needs_no_symbol_of_any_other) {
  EXPECT_EQ(symbols("--undefined-only", false), std::set<std::string>{});
  EXPECT_EQ(symbols("--undefined-only", true), std::set<std::string>{});
}

TEST(Library, exports_what_it_stands_for_and_no_more) {
  std::set<std::string> audit = {"la_version", "la_objopen", "la_symbind64"};
  std::set<std::string> small = audit, large = audit;
  small.insert("strstr");
  large.insert({"strstr", "strcmp", "strncmp", "strcasecmp", "strcasestr", "memcmp", "memmem"});
  EXPECT_EQ(symbols("--defined-only", false), small);
  EXPECT_EQ(symbols("--defined-only", true), large);
}

TEST(Library, is_embedded_with_the_path_of_its_run) {
  auto library = hook_for("/some/where", false);
  ASSERT_TRUE(library.has_value());
  EXPECT_EQ(library->size(), embedded_hook(false).size());
  EXPECT_NE(library->find("namesake run folder:/some/where"), std::string::npos);
}

TEST(Library, refuses_a_path_that_it_cannot_hold) {
  auto library = hook_for("/" + std::string(2000, 'x'), false);
  ASSERT_FALSE(library.has_value());
  EXPECT_NE(library.error().message.find("TMPDIR"), std::string::npos);
}

// A sanitizer answers strstr itself and insists to come first, so preloading sees nothing of such a
// program; auditing does.
TEST(Library, lives_with_a_sanitizer_and_sees_it_by_auditing) {
  for (Via via : {Via::preload, Via::audit}) {
    Input input(".target sm_90\n.entry k\n");
    auto hooked = run_hooked({target("ptxas-sanitized"), input.path(), "-o", input.output()},
                             {.rules = {treat("*")}}, via);
    EXPECT_EQ(hooked.completed.exit_status, 0) << hooked.completed.err;
    EXPECT_EQ(hooked.completed.err, "");
    EXPECT_EQ(asked(hooked.recording, "cutlass").size(), via == Via::audit ? 1u : 0u);
  }
}

}  // namespace
}  // namespace namesake::session
