// Which calls reach the hook, by how the caller was built, loaded and bound.
#include "targets.h"

namespace namesake::session {
namespace {

size_t tests_of(const std::vector<std::string>& steps, Via via) {
  std::vector<std::string> command = {target("host")};
  command.insert(command.end(), steps.begin(), steps.end());
  auto hooked = run_hooked(command, {.rules = {treat("*")}}, via);
  EXPECT_EQ(hooked.completed.exit_status, 0) << hooked.completed.err;
  size_t treated = 0;
  for (const NameTest& test : asked(hooked.recording, "cutlass")) treated += test.given;
  return treated;
}

const std::vector<std::string> kAsk = {"target=sm_90", "name=k"};

std::vector<std::string> loaded(const std::string& how,
                                const std::string& library = "libnvrtc.so") {
  std::vector<std::string> steps = {how + "=" + target(library)};
  steps.insert(steps.end(), kAsk.begin(), kAsk.end());
  return steps;
}

TEST(Loading, a_library_opened_later_is_seen_either_way) {
  EXPECT_EQ(tests_of(loaded("load"), Via::preload), 1u);
  EXPECT_EQ(tests_of(loaded("load"), Via::audit), 1u);
}

TEST(Loading, deep_binding_and_namespaces_of_their_own_need_auditing) {
  EXPECT_EQ(tests_of(loaded("deepbind"), Via::preload), 0u);
  EXPECT_EQ(tests_of(loaded("namespace"), Via::preload), 0u);
  EXPECT_EQ(tests_of(loaded("deepbind"), Via::audit), 1u);
  EXPECT_EQ(tests_of(loaded("namespace"), Via::audit), 1u);
}

TEST(Loading, a_function_looked_up_on_libcs_handle_needs_auditing) {
  Settings settings{.rules = {treat("*")}, .more_assemblers = {{"host"}}};
  auto preloaded = run_hooked({target("host"), "handle=k"}, settings, Via::preload);
  EXPECT_EQ(preloaded.out(), "handle no\n");
  auto audited = run_hooked({target("host"), "handle=k"}, settings, Via::audit);
  EXPECT_EQ(audited.out(), "handle yes\n");
}

TEST(Loading, a_program_bound_at_start_is_seen_either_way) {
  for (Via via : {Via::preload, Via::audit}) {
    Input input(".target sm_90\n.entry k\n");
    run_hooked({target("ptxas-now"), input.path(), "-o", input.output()}, {.rules = {treat("*")}},
               via);
    EXPECT_EQ(input.assembled(), "k treated\n");
  }
}

TEST(Loading, a_call_from_another_librarys_constructor_is_seen) {
  // Preloaded before the hook in the list, so that it is initialised before it or after, as the
  // loader likes.
  Hook hook = make_hook({.rules = {treat("*")}});
  Command command;
  command.arguments = {target("host")};
  command.environment = {"LD_PRELOAD=" + hook.library().string() + ":" +
                         target("libnvrtc.so.early")};
  ASSERT_TRUE(run(command)->ok());
  auto tests = asked(*hook.recording(), "cutlass");
  ASSERT_EQ(tests.size(), 1u);
  EXPECT_EQ(tests[0].name, "asked_early");
  EXPECT_TRUE(tests[0].given);
}

TEST(Loading, a_static_program_and_one_with_a_cleared_environment_are_not_seen) {
  Input input(".target sm_90\n.entry k\n");
  run_hooked({target("ptxas-static"), input.path(), "-o", input.output()}, {.rules = {treat("*")}});
  EXPECT_EQ(input.assembled(), "k neutral\n");
  run_hooked({"env", "-i", target("ptxas"), input.path(), "-o", input.output()},
             {.rules = {treat("*")}});
  EXPECT_EQ(input.assembled(), "k neutral\n");
}

TEST(Loading, other_preloads_are_kept_behind) {
  ASSERT_EQ(::setenv("LD_PRELOAD", "libm.so.6 libdl.so.2", 1), 0);
  Hook hook = make_hook({});
  auto variables = hook.variables();
  ::unsetenv("LD_PRELOAD");
  EXPECT_EQ(variables[0], "LD_PRELOAD=" + hook.library().string() + ":libm.so.6:libdl.so.2");
}

TEST(Loading, a_sanitizer_stays_first) {
  ASSERT_EQ(::setenv("LD_PRELOAD", "libm.so.6:/usr/lib/libasan.so.8", 1), 0);
  Hook hook = make_hook({});
  auto variables = hook.variables();
  ::unsetenv("LD_PRELOAD");
  EXPECT_EQ(variables[0],
            "LD_PRELOAD=/usr/lib/libasan.so.8:" + hook.library().string() + ":libm.so.6");
}

TEST(Loading, a_musl_program_is_hooked_too) {
  auto compiler = run(Command{.arguments = {"musl-gcc", "--version"}});
  if (!compiler || !compiler->ok()) GTEST_SKIP() << "musl-gcc is not here; install musl-tools";
  auto folder = TemporaryFolder::make("namesake-test");
  std::string program = (folder->path() / "ptxas").string();
  std::string sources = NAMESAKE_TEST_DIR;
  auto built =
      run(Command{.arguments = {"musl-gcc", "-O1", "-fno-builtin", "-o", program,
                                sources + "/stand_in_main.c", sources + "/stand_in_ptxas.c"}});
  ASSERT_TRUE(built && built->ok()) << built->err;
  Input input(".target sm_90\n.entry k\n");
  auto hooked = run_hooked({program, input.path(), "-o", input.output()}, {.rules = {treat("*")}});
  EXPECT_EQ(input.assembled(), "k treated\n");
  EXPECT_EQ(asked(hooked.recording, "cutlass").size(), 1u);
}

TEST(Loading, all_tests_on_a_functions_name_are_seen_by_the_larger_library) {
  // The stand-in compares words of its command line; a function of that name makes them name tests.
  Input input(".target sm_90\n.entry -verbosity\n");
  auto hooked = run_hooked({target("ptxas"), "-v", input.path(), "-o", input.output()},
                           {.all_tests = true, .names = {input.path()}});
  bool found = false;
  for (const NameTest& test : hooked.recording.tests) {
    found |= test.function == Function::strcmp && test.name == input.path() && test.needle == "-o";
  }
  EXPECT_TRUE(found);
  EXPECT_EQ(input.assembled(), "-verbosity neutral\n");
}

TEST(Loading, the_larger_library_works_as_an_audit_library_too) {
  Input input(".target sm_90\n.entry k\n");
  auto hooked = run_hooked({target("ptxas"), "-v", input.path(), "-o", input.output()},
                           {.all_tests = true, .names = {input.path()}}, Via::audit);
  bool found = false;
  for (const NameTest& test : hooked.recording.tests) found |= test.function == Function::strcmp;
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace namesake::session
