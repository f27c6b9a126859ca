// Reads what processes wrote that may have died, or run wild, at any moment. A ring is walked in
// steps of sixteen bytes: a whole record is taken, an unfinished one is stepped over by the size
// that is stored first, and a claim whose writer died before even that is a run of zeros, so that
// one thread's death hides nobody else's records.
#include "session/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "hook/protocol.h"
#include "util/file.h"
#include "util/text.h"

namespace namesake::session {
namespace fs = std::filesystem;

namespace {

constexpr uint64_t kStep = 16;
constexpr uint64_t kLargestRing = 64 << 20;
constexpr uint32_t kLargestTable = 1 << 20;

template <size_t N>
std::string text_of(const char (&field)[N]) {
  Bytes all(field, N);
  return std::string(all.substr(0, all.find('\0')));
}

Result<NameTest> parse_record(const ns_record& record, Bytes texts) {
  Cursor cursor(texts);
  auto text = [&cursor](uint32_t length) {
    std::string result(cursor.take(length));
    cursor.skip(1);
    return result;
  };
  NameTest test;
  test.name = text(record.name_kept);
  test.needle = text(record.needle_kept);
  test.image = text(record.path_kept);
  if (!cursor.ok() || record.function < NS_STRSTR || record.function > NS_MEMMEM ||
      record.reason > NS_OTHER_ASSEMBLER) {
    return error("a record makes no sense");
  }
  test.thread = record.thread;
  test.function = static_cast<Function>(record.function);
  test.name_length = record.name_length;
  test.name_hash = record.name_hash;
  test.call_site = record.site;
  test.address = record.address;
  test.assembler = record.assembler;
  test.program = record.kind == NS_IMAGE_PROGRAM;
  test.architecture = unpack_architecture(record.architecture);
  test.truth = record.truth != 0;
  test.given = record.given != 0;
  test.reason = static_cast<Reason>(record.reason);
  test.rule = record.rule;
  return test;
}

void read_rings(const fs::path& folder, Recording& recording) {
  std::vector<Ring> rings;
  std::error_code code;
  for (const auto& file : fs::directory_iterator(folder, code)) {
    auto content = read_file(file.path(), kLargestRing);
    auto ring = content ? parse_ring(*content) : Result<Ring>(error(content.error().message));
    if (!ring) {
      recording.damaged.push_back(file.path().filename().string() + ": " + ring.error().message);
      continue;
    }
    rings.push_back(std::move(*ring));
  }
  std::sort(rings.begin(), rings.end(), [](const Ring& a, const Ring& b) {
    return std::tie(a.process, a.sequence) < std::tie(b.process, b.sequence);
  });
  std::set<uint32_t> known;
  for (const Process& process : recording.processes) known.insert(process.id);
  for (Ring& ring : rings) {
    // A child that forked and did not exec has no entry of its own in the table.
    if (known.insert(ring.process).second) {
      recording.processes.push_back({.id = ring.process,
                                     .parent = ring.parent,
                                     .started = ring.started,
                                     .program = ring.program});
    }
    recording.unfinished += ring.unfinished;
    std::move(ring.tests.begin(), ring.tests.end(), std::back_inserter(recording.tests));
  }
}

void read_fallbacks(const fs::path& folder, Recording& recording) {
  std::error_code code;
  for (const auto& file : fs::directory_iterator(folder, code)) {
    auto content = read_file(file.path(), 1 << 20);
    auto fallback =
        content ? parse_fallback(*content) : Result<Fallback>(error(content.error().message));
    if (fallback) {
      recording.fallbacks.push_back(std::move(*fallback));
    } else {
      recording.damaged.push_back(file.path().filename().string() + ": " +
                                  fallback.error().message);
    }
  }
  std::set<uint32_t> discarded;
  for (const Fallback& each : recording.fallbacks) discarded.insert(each.treated_process);
  for (NameTest& test : recording.tests) test.discarded = discarded.count(test.process) != 0;
}

}  // namespace

const char* name_of(Function function) {
  static constexpr const char* names[] = {"?",          "strstr",     "strcmp", "strncmp",
                                          "strcasecmp", "strcasestr", "memcmp", "memmem"};
  return names[static_cast<size_t>(function)];
}

Result<Ring> parse_ring(Bytes file) {
  Cursor cursor(file);
  auto head = cursor.read<ns_ring>();
  if (!cursor.ok() || head.magic != NAMESAKE_RING_MAGIC) return error("it is no ring");
  if (head.protocol != NAMESAKE_PROTOCOL) {
    return error(fmt::format("it was written by protocol {}, this tool reads {}", head.protocol,
                             NAMESAKE_PROTOCOL));
  }
  Ring ring{head.pid, head.parent, head.sequence, head.started, text_of(head.program), {}, 0};
  uint64_t end = std::min<uint64_t>({head.next, head.size, file.size()});
  bool in_gap = false;
  for (uint64_t at = sizeof(ns_ring); at + sizeof(ns_record) <= end;) {
    cursor.seek(at);
    auto record = cursor.read<ns_record>();
    bool sized = record.magic == NAMESAKE_RECORD_MAGIC && record.size % kStep == 0 &&
                 record.size >= sizeof(ns_record) && record.size <= end - at;
    if (!sized) {
      ring.unfinished += !in_gap;
      in_gap = true;
      at += kStep;
      continue;
    }
    in_gap = false;
    auto texts = slice(file, at + sizeof record, record.size - sizeof record);
    auto test = record.state == 1 && texts ? parse_record(record, *texts)
                                           : Result<NameTest>(error("unfinished"));
    if (test) {
      test->process = head.pid;
      ring.tests.push_back(std::move(*test));
    } else {
      ring.unfinished++;
    }
    at += record.size;
  }
  // What is left at the end of a full segment was claimed by records that went to the next one.
  if (in_gap && head.next > head.size) ring.unfinished--;
  return ring;
}

Result<std::vector<Process>> parse_table(Bytes file, uint64_t& not_entered) {
  Cursor cursor(file);
  auto head = cursor.read<ns_table>();
  if (!cursor.ok() || head.magic != NAMESAKE_TABLE_MAGIC || head.protocol != NAMESAKE_PROTOCOL ||
      head.capacity > kLargestTable || head.reserved_first > head.capacity) {
    return error("the table of processes is damaged");
  }
  not_entered = head.not_entered;
  std::vector<Process> processes;
  for (uint32_t i = 0; i < head.capacity; i++) {
    uint32_t used = i < head.reserved_first ? head.next_ordinary : head.next_reserved;
    uint32_t place = i < head.reserved_first ? i : i - head.reserved_first;
    auto entry = cursor.read<ns_process>();
    if (!cursor.ok()) return error("the table of processes is cut short");
    if (place >= used || entry.state != 1) continue;
    Process process;
    process.id = entry.pid;
    process.parent = entry.parent;
    process.started = entry.started;
    process.program = text_of(entry.program);
    process.assembler = entry.flags & NS_PROCESS_PROGRAM;
    process.guarded = entry.flags & NS_PROCESS_GUARDED;
    process.unguarded = entry.flags & NS_PROCESS_UNGUARDED;
    process.ended = entry.ended != 0;
    process.lost = entry.lost;
    processes.push_back(std::move(process));
  }
  std::stable_sort(processes.begin(), processes.end(),
                   [](const Process& a, const Process& b) { return a.started < b.started; });
  return processes;
}

std::string format_fallback(const Fallback& fallback) {
  return fmt::format("process {}\ntreated {}\nprogram {}\nreason {}\n", fallback.process,
                     fallback.treated_process, fallback.program, fallback.reason);
}

Result<Fallback> parse_fallback(Bytes file) {
  Fallback fallback;
  auto number = [](Bytes text) { return static_cast<uint32_t>(parse_integer(text).value_or(0)); };
  for (Cursor cursor(file); !cursor.at_end();) {
    Bytes line = cursor.take_line();
    size_t space = std::min(line.find(' '), line.size());
    Bytes key = line.substr(0, space), value = line.substr(std::min(space + 1, line.size()));
    if (key == "process") fallback.process = number(value);
    if (key == "treated") fallback.treated_process = number(value);
    if (key == "program") fallback.program = value;
    if (key == "reason") fallback.reason = value;
  }
  if (fallback.process == 0 || fallback.reason.empty())
    return error("the guard's note is cut short");
  return fallback;
}

Result<Recording> read_recording(const fs::path& run_folder) {
  Recording recording;
  TRY_ASSIGN(std::string table, read_file(run_folder / "table", kLargestRing));
  TRY_ASSIGN(recording.processes, parse_table(table, recording.not_entered));
  read_rings(run_folder / "rings", recording);
  read_fallbacks(run_folder / "guard", recording);
  for (const Process& process : recording.processes) recording.lost += process.lost;
  return recording;
}

}  // namespace namesake::session
