// One hook for each way of answering every name test: what experiments assemble under.
#pragma once

#include <string>

#include "assembly/experiment.h"
#include "session/hook.h"
#include "util/error.h"

namespace namesake::cli {

struct AnsweringHooks {
  session::Hook natural, treated, untreated;

  static Result<AnsweringHooks> make();
  assembly::HookVariables variables() const;
  std::string key() const { return natural.key() + treated.key() + untreated.key(); }
};

}  // namespace namesake::cli
