// namesake.probe/1.0: the members of report::Probe by their own names and in their own order.
// Written only: nothing reads it back but scripts.
#include <nlohmann/json.hpp>

#include "report/json.h"

namespace namesake::report {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const ProbeFinding& finding) {
  Json reactions = Json::array();
  for (const ProbeReaction& reaction : finding.reactions) {
    Json one = {{"kernel", reaction.kernel},
                {"architecture", reaction.architecture},
                {"change", reaction.change}};
    if (!reaction.why.empty()) one["why"] = reaction.why;
    reactions.push_back(std::move(one));
  }
  return {{"text", finding.text},
          {"match", finding.match},
          {"any_case", finding.any_case},
          {"at_far_end", finding.at_far_end},
          {"found_in", finding.found_in},
          {"runs", finding.runs},
          {"reactions", std::move(reactions)}};
}

// Milliseconds are all a reader needs.
double rounded(double seconds) {
  return static_cast<double>(static_cast<int64_t>(seconds * 1000 + 0.5)) / 1000;
}

Json json_of(const ProbeSearch& search) {
  return {{"kernel", search.kernel},
          {"architecture", search.architecture},
          {"failure", search.failure},
          {"inside", search.inside},
          {"names", search.names},
          {"assemblies", search.assemblies},
          {"remembered", search.remembered},
          {"neutral_codes", search.neutral_codes},
          {"dismissed", search.dismissed},
          {"given_up", search.given_up},
          {"inside_seconds", rounded(search.inside_seconds)},
          {"names_seconds", rounded(search.names_seconds)},
          {"cpu_seconds", rounded(search.cpu_seconds)}};
}

Json json_of(const ProbedProgram& program) {
  Json searches = Json::array(), findings = Json::array(), refused = Json::array();
  for (const ProbeSearch& search : program.searches) searches.push_back(json_of(search));
  for (const ProbeFinding& finding : program.findings) findings.push_back(json_of(finding));
  for (const ProbeRefusal& refusal : program.refused)
    refused.push_back({{"text", refusal.text}, {"why", refusal.why}});
  return {{"kind", program.kind},
          {"version", program.version},
          {"build", program.build},
          {"path", program.path},
          {"texts_in_file", program.texts_in_file},
          {"texts_in_rot13", program.texts_in_rot13},
          {"texts_added", program.texts_added},
          {"findings", std::move(findings)},
          {"searches", std::move(searches)},
          {"refused", std::move(refused)},
          {"unexplained", program.unexplained},
          {"notes", program.notes},
          {"wall_seconds", rounded(program.wall_seconds)},
          {"cpu_seconds", rounded(program.cpu_seconds)}};
}

}  // namespace

std::string to_json(const Probe& probe) {
  Json programs = Json::array();
  for (const ProbedProgram& program : probe.programs) programs.push_back(json_of(program));
  Json json = {{"schema", "namesake.probe/1.0"},  {"version", NAMESAKE_VERSION},
               {"command", probe.command},        {"date", probe.date},
               {"conclusion", probe.conclusion},  {"limits", probe.limits},
               {"inside", probe.inside},          {"names", probe.names},
               {"programs", std::move(programs)}, {"notes", probe.notes}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace namesake::report
