// The probe for a terminal: what was found, for one program with every kernel, for several in one
// line each; then how far the claim goes.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/text.h"
#include "report/text_page.h"
#include "util/text.h"

namespace namesake::report {
namespace {

std::string shown_program(const ProbedProgram& program) {
  return program.kind == "command" ? plain(program.path)
                                   : plain(program.kind + " " + program.version);
}

std::string shown_place(const ProbeFinding& finding) {
  static const std::map<std::string, std::string> kPlaces = {{"substring", "anywhere"},
                                                             {"prefix", "at the beginning"},
                                                             {"suffix", "at the end"},
                                                             {"exact", "the whole name"},
                                                             {"together", "all, anywhere"}};
  auto place = kPlaces.find(finding.match);
  return (place == kPlaces.end() ? plain(finding.match) : place->second) +
         (finding.any_case ? ", any case" : "");
}

// "simt, mma on sm_80, sm_90; tcgen05 on sm_100a"
std::string shown_reactions(const ProbeFinding& finding, std::string_view change) {
  std::vector<std::pair<std::string, std::string>> kernels;  // with their architectures, in order
  for (const ProbeReaction& reaction : finding.reactions) {
    if (reaction.change != change) continue;
    auto known = std::find_if(kernels.begin(), kernels.end(),
                              [&](const auto& kernel) { return kernel.first == reaction.kernel; });
    if (known == kernels.end()) {
      kernels.emplace_back(plain(reaction.kernel), plain(reaction.architecture));
    } else {
      known->second += ", " + plain(reaction.architecture);
    }
  }
  std::vector<std::string> parts;
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (i + 1 < kernels.size() && kernels[i + 1].second == kernels[i].second) {
      kernels[i + 1].first = kernels[i].first + ", " + kernels[i + 1].first;
    } else {
      parts.push_back(kernels[i].first + " on " + kernels[i].second);
    }
  }
  return join(parts, "; ");
}

std::string shown_changes(const ProbeFinding& finding) {
  std::vector<std::string> parts;
  for (auto [change, word] :
       {std::pair{"code", "other code"}, {"crash", "a crash"}, {"hang", "no end"}}) {
    std::string where = shown_reactions(finding, change);
    if (!where.empty()) parts.push_back(fmt::format("{}: {}", word, where));
  }
  std::string nothing = shown_reactions(finding, "");
  if (!nothing.empty()) parts.push_back("nothing: " + nothing);
  return join(parts, ". ");
}

int64_t texts_of(const ProbedProgram& program) {
  return program.texts_in_file + program.texts_in_rot13 + program.texts_added;
}

void findings_text(TextPage& page, const ProbedProgram& program) {
  if (program.findings.empty()) {
    page.line("no text changed any code", Tone::dim, 2, 2);
    return;
  }
  Table table({{"text", false, 0, 8},
               {"where in the name"},
               {"found in", false, 3, 8},
               {"confirmed", true, 4}});
  for (const ProbeFinding& finding : program.findings) {
    table.add({{plain(finding.text), Tone::strong},
               {shown_place(finding)},
               {plain(finding.found_in), Tone::dim},
               {fmt::format("{} runs", finding.runs), Tone::dim}});
    table.note(shown_changes(finding), Tone::plain);
    if (!finding.at_far_end)
      table.note("not seen at the end of a name of a thousand letters", Tone::odd);
  }
  page.table(table);
}

void searches_text(TextPage& page, const ProbedProgram& program) {
  Table table({{"kernel", false, 0, 6},
               {"arch"},
               {"inside names", true},
               {"time", true, 2},
               {"as names", true},
               {"time", true, 2},
               {"processor", true, 3}});
  for (const ProbeSearch& search : program.searches) {
    if (!search.failure.empty()) {
      table.add({{plain(search.kernel)}, {plain(search.architecture)}});
      table.note("not searched: " + plain(search.failure), Tone::bad);
      continue;
    }
    table.add({{plain(search.kernel)},
               {plain(search.architecture)},
               {search.inside ? grouped(search.inside) : "·"},
               {search.inside ? seconds(search.inside_seconds) : "", Tone::dim},
               {search.names ? grouped(search.names) : "·"},
               {search.names ? seconds(search.names_seconds) : "", Tone::dim},
               {seconds(search.cpu_seconds), Tone::dim}});
    if (search.remembered > 0) {
      table.note(fmt::format("{} of {} known clean from an earlier run", grouped(search.remembered),
                             counted(search.assemblies + search.remembered, "module")));
    }
    if (search.given_up) {
      table.note(
          "given up: this kernel's code varies under neutral names, more than repetition can "
          "settle",
          Tone::bad);
    } else if (search.dismissed > 0) {
      table.note(fmt::format("{} not confirmed by repetition ({} under neutral names)",
                             counted(search.dismissed, "suspicion"),
                             counted(search.neutral_codes, "code")));
    }
  }
  page.table(table);
}

void program_text(TextPage& page, const ProbedProgram& program) {
  page.heading(shown_program(program));
  std::string texts = counted(texts_of(program), "text");
  if (program.texts_in_file > 0) {
    texts += fmt::format(
        ": {} in its file, {} more in ROT13{}", grouped(program.texts_in_file),
        grouped(program.texts_in_rot13),
        program.texts_added ? fmt::format(", {} given", grouped(program.texts_added)) : "");
  }
  page.line(texts, Tone::dim, 2, 4);
  findings_text(page, program);
  page.blank();
  searches_text(page, program);
  if (!program.refused.empty()) {
    std::vector<std::string> words;
    for (const ProbeRefusal& refusal : program.refused) words.push_back(plain(refusal.text));
    bool all = page.style.verbose || words.size() <= 8;
    if (!all) words.resize(8);
    page.line(
        fmt::format("no names for a kernel here: {}{}", join(words, ", "),
                    all ? "" : fmt::format(" and {} more", program.refused.size() - words.size())),
        Tone::dim, 2, 4);
  }
  for (const std::string& word : program.unexplained) {
    page.marked(
        "?", Tone::odd,
        fmt::format("\"{}\" changes the code inside a long name, but not by itself", plain(word)));
  }
  for (const std::string& note : program.notes) page.marked("•", Tone::dim, plain(note));
}

// Many programs: a line each, and what each text does in words once.
void programs_text(TextPage& page, const Probe& probe) {
  Table table({{"program", false, 0, 10},
               {"texts", true, 1},
               {"kernels", true, 2},
               {"found", false, 0, 12, true},
               {"time", true, 3}});
  for (const ProbedProgram& program : probe.programs) {
    std::vector<std::string> found;
    for (const ProbeFinding& finding : program.findings) found.push_back(plain(finding.text));
    auto searched = std::count_if(program.searches.begin(), program.searches.end(),
                                  [](const ProbeSearch& search) { return search.failure.empty(); });
    table.add(
        {{shown_program(program)},
         {grouped(texts_of(program))},
         {fmt::format("{}", searched)},
         {found.empty() ? "nothing" : join(found, ", "), found.empty() ? Tone::dim : Tone::strong},
         {seconds(program.wall_seconds), Tone::dim}});
  }
  page.table(table);
}

}  // namespace

std::string to_text(const Probe& probe, const TextStyle& style) {
  TextPage page(style);
  if (probe.programs.size() > 1) programs_text(page, probe);
  if (probe.programs.size() == 1 || style.verbose) {
    for (const ProbedProgram& program : probe.programs) program_text(page, program);
  }
  for (const std::string& note : probe.notes) page.marked("✗", Tone::bad, plain(note));
  page.blank();
  page.line(plain(probe.conclusion), Tone::bold);
  for (const std::string& limit : probe.limits) page.line(plain(limit), Tone::dim);
  page.next(probe.next_command);
  return std::move(page.out);
}

}  // namespace namesake::report
