// Fail open, for assemblers inside somebody's process. There the crash takes the application along,
// and no guard stands beside it. But the ring survives: the last function that a thread was
// answered "treated" about is the one it was assembling, or has just assembled. The next run leaves
// those natural, for this architecture and this very library, until the user removes the file's
// line. It errs on the safe side: a process killed for another reason costs its last functions a
// treatment.
#include "session/suspects.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "util/file.h"
#include "util/text.h"

namespace namesake::session {

std::vector<Suspect> suspects_of(const Recording& recording, const std::vector<uint32_t>& died) {
  std::map<std::pair<uint32_t, uint32_t>, const NameTest*> last;
  for (const NameTest& test : recording.tests) {
    bool decided = test.reason == Reason::rule || test.reason == Reason::no_rule;
    if (!test.program && decided) last[{test.process, test.thread}] = &test;
  }
  std::vector<Suspect> suspects;
  for (const auto& [where, test] : last) {
    bool dead = std::find(died.begin(), died.end(), where.first) != died.end();
    bool treated = test->reason == Reason::rule && test->given && !test->truth;
    if (!dead || !treated || test->name.size() != test->name_length) continue;
    Suspect suspect{test->name, test->architecture, test->assembler};
    if (std::find(suspects.begin(), suspects.end(), suspect) == suspects.end()) {
      suspects.push_back(std::move(suspect));
    }
  }
  return suspects;
}

std::vector<Suspect> load_suspects(const std::filesystem::path& file) {
  std::vector<Suspect> suspects;
  auto content = read_file(file, 64 << 20);
  if (!content) return suspects;
  for (std::string_view line : split(*content, '\n')) {
    auto fields = split(line, ' ');
    if (fields.size() != 3 || fields[2].empty()) continue;
    Suspect suspect;
    suspect.assembler = std::strtoull(std::string(fields[0]).c_str(), nullptr, 16);
    suspect.architecture = fields[1] == "-" ? "" : std::string(fields[1]);
    suspect.name = std::string(fields[2]);
    if (!suspect.architecture.empty() && !pack_architecture(suspect.architecture)) continue;
    suspects.push_back(std::move(suspect));
  }
  return suspects;
}

Status add_suspects(const std::filesystem::path& file, const std::vector<Suspect>& more) {
  std::vector<Suspect> all = load_suspects(file);
  for (const Suspect& suspect : more) {
    if (suspect.name.find_first_of(" \n") != std::string::npos) continue;
    if (std::find(all.begin(), all.end(), suspect) == all.end()) all.push_back(suspect);
  }
  std::string content;
  for (const Suspect& suspect : all) {
    content += fmt::format("{:016x} {} {}\n", suspect.assembler,
                           suspect.architecture.empty() ? "-" : suspect.architecture, suspect.name);
  }
  std::error_code ignored;
  std::filesystem::create_directories(file.parent_path(), ignored);
  return write_file(file, content);
}

std::vector<Rule> rules_against(const std::vector<Suspect>& suspects) {
  std::vector<Rule> rules;
  for (const Suspect& suspect : suspects) {
    std::string pattern;
    // Symbols hold no glob characters; a hostile one must not widen the rule.
    for (char c : suspect.name)
      pattern += std::string_view("*?[<(").find(c) == std::string::npos ? c : '?';
    rules.push_back({.pattern = pattern,
                     .treatment = Treatment::natural,
                     .architecture = suspect.architecture,
                     .assembler = suspect.assembler});
  }
  return rules;
}

}  // namespace namesake::session
