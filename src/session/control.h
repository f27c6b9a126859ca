// What a run wishes for, and the control file made of it (hook/protocol.h has the layout).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "util/cursor.h"
#include "util/error.h"

namespace namesake::session {

enum class Treatment : uint8_t { natural, treated, untreated };

// The first rule that fits a function decides.
struct Rule {
  // A glob, tried on the symbol and on the qualified name ("ns::kernel", without template arguments
  // and parameters: the name is known only inside the assembler, which decodes no more of it).
  std::string pattern = "*";
  Treatment treatment = Treatment::treated;
  std::string architecture;           // "sm_90a"; empty: any
  std::optional<uint64_t> assembler;  // identity of the one file this was made for; nothing: any
  std::string needle = "cutlass";
};

// Files whose code counts as an assembler's: a glob on the base name, or on the whole path when it
// holds a slash. With a call site (an offset into the file) only the call that returns there
// counts; that is how an assembler linked statically into an application is named.
struct AssemblerFile {
  std::string pattern;
  bool program = false;  // one of its own, like ptxas: it can be run under the guard
  uint64_t call_site = 0;
};

// ptxas*, nvlink*, libnvrtc.so* and so on: those every run knows.
const std::vector<AssemblerFile>& known_assembler_files();

// Fail open for assemblers that are programs (guard.h).
struct Guard {
  std::filesystem::path helper;  // the executable whose main calls guard_main(); usually our own
  unsigned seconds = 600;        // a treated assembly that takes longer counts as hung
  std::optional<int64_t> spill_limit;  // bytes; more spilled by a treated output is not accepted
  bool always = false;  // hand over to the helper even where nothing is treated
};

struct Settings {
  std::vector<Rule> rules;
  std::vector<AssemblerFile> more_assemblers;
  bool record = true;
  bool all_tests = false;          // the larger library: also strcmp, memcmp … on function names
  bool other_texts = false;        // also strstr tests for texts that no rule names
  std::vector<std::string> names;  // function names whose every test is wanted, where known
  std::optional<Guard> guard;      // used where a rule treats, or always
};

bool treats(const Settings& settings);

// "sm_90a" as records and rules hold it, and back ("" for 0).
std::optional<uint32_t> pack_architecture(std::string_view text);
std::string unpack_architecture(uint32_t packed);

// What the hook calls an assembler's file: a hash of its first page.
Result<uint64_t> assembler_identity(const std::filesystem::path& file);

// The control file for a run in `folder`. Fails on a rule that the hook cannot follow.
Result<std::string> encode_control(const Settings& settings, const std::filesystem::path& folder);

// What the guard needs of one.
struct GuardTerms {
  unsigned seconds = 0;
  std::optional<int64_t> spill_limit;
};
Result<GuardTerms> decode_guard_terms(Bytes control);

}  // namespace namesake::session
