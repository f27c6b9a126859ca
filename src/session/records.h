// What hooked processes left behind, as plain structs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "session/control.h"
#include "util/cursor.h"
#include "util/error.h"

namespace namesake::session {

enum class Function : uint8_t {
  strstr = 1,
  strcmp,
  strncmp,
  strcasecmp,
  strcasestr,
  memcmp,
  memmem
};
const char* name_of(Function function);

// Why the given answer is what it is; the values are hook/protocol.h's.
enum class Reason : uint8_t {
  observed,  // no rule speaks of this text
  no_rule,   // rules do, but not of this function
  rule,
  architecture_unknown,  // the rules depend on it and it was not known: natural
  natural_run,           // the natural half of a guarded assembler
  other_assembler,       // the rules were made for another assembler: natural
  suspect,               // killed a process in an earlier run: natural (never in a ring)
};

// One name test.
struct NameTest {
  uint32_t process = 0;
  uint32_t thread = 0;
  Function function = Function::strstr;
  std::string name;          // of the function asked about, up to 262,144 characters of it
  uint32_t name_length = 0;  // all of them
  uint64_t name_hash = 0;    // of all of them
  std::string needle;
  std::string image;         // the file whose code asked
  uint64_t call_site = 0;    // offset into that file where the call returns to
  uint64_t address = 0;      // the same in that process's memory
  uint64_t assembler = 0;    // identity of that file (assembler_identity)
  bool program = false;      // the image is an assembler that is a program, not a library
  std::string architecture;  // "sm_90a"; "" where not known
  bool truth = false, given = false;
  Reason reason = Reason::observed;
  uint16_t rule = 0;       // with Reason::rule
  bool discarded = false;  // of a treated run that the guard did not accept
};

struct Process {
  uint32_t id = 0;
  uint32_t parent = 0;
  uint64_t started = 0;    // nanoseconds since boot
  std::string program;     // the last 223 characters of its path
  bool assembler = false;  // a program that is an assembler
  bool guarded = false;    // became the guard
  bool unguarded = false;  // the guard could not be started, so it ran naturally
  bool ended = false;      // went through its destructors: no crash, no _exit, no exec
  uint32_t lost = 0;       // tests that could not be recorded
};

// A guarded assembler whose treated run did not count.
struct Fallback {
  uint32_t process = 0;          // the guard's, and so the natural run's
  uint32_t treated_process = 0;  // 0: none was started
  std::string program;
  std::string reason;  // "signal 11 (Segmentation fault)", "no end within 600 s", …
};

struct Recording {
  std::vector<Process> processes;
  std::vector<NameTest> tests;  // by process, then in the order they were made
  std::vector<Fallback> fallbacks;
  uint64_t lost = 0;                 // tests not recorded, over all processes
  uint64_t unfinished = 0;           // records whose writer died while writing
  uint64_t not_entered = 0;          // processes beyond the table's room
  std::vector<std::string> damaged;  // files that could not be understood, with why
};

Result<Recording> read_recording(const std::filesystem::path& run_folder);

// The parsers beneath, on bytes alone.
struct Ring {
  uint32_t process = 0;
  uint32_t parent = 0;
  uint32_t sequence = 0;
  uint64_t started = 0;
  std::string program;
  std::vector<NameTest> tests;
  uint64_t unfinished = 0;
};
Result<Ring> parse_ring(Bytes file);
Result<std::vector<Process>> parse_table(Bytes file, uint64_t& not_entered);
Result<Fallback> parse_fallback(Bytes file);
std::string format_fallback(const Fallback& fallback);

}  // namespace namesake::session
