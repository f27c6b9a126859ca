#include "cli/answering_hooks.h"

namespace namesake::cli {
namespace {

// One answer to every name test, nothing recorded, and no guard: a crash is a finding here.
Result<session::Hook> answering(session::Treatment treatment) {
  session::Settings settings;
  session::Rule rule;
  rule.treatment = treatment;
  settings.rules = {rule};
  settings.record = false;
  return session::Hook::make(settings);
}

}  // namespace

Result<AnsweringHooks> AnsweringHooks::make() {
  TRY_ASSIGN(session::Hook natural, answering(session::Treatment::natural));
  TRY_ASSIGN(session::Hook treated, answering(session::Treatment::treated));
  TRY_ASSIGN(session::Hook untreated, answering(session::Treatment::untreated));
  return AnsweringHooks{std::move(natural), std::move(treated), std::move(untreated)};
}

assembly::HookVariables AnsweringHooks::variables() const {
  return {natural.variables(), treated.variables(), untreated.variables()};
}

}  // namespace namesake::cli
