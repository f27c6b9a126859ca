// Two builds of each function, side by side, with the controls beside them.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "report/difference.h"
#include "assembly/build.h"
#include "assembly/experiment.h"
#include "assembly/inputs.h"

namespace namesake::study {

struct DiffRequest {
  assembly::InputRequest inputs;
  assembly::Build a, b;
  std::optional<toolchain::Tool> disassembler;  // without one: code is compared, not shown
  assembly::HookVariables hooks;
  const assembly::Cache* cache = nullptr;
  bool controls = true;
  std::optional<int> draws;      // given by the user: every build is drawn that often; else only where codes differ
  bool sass = false;             // fill the side-by-side rows
  std::chrono::milliseconds timeout = std::chrono::minutes(5);  // of one assembly
  int workers = 1;
  std::function<void(std::string_view)> progress = [](std::string_view) {};
  std::function<bool()> stop = [] { return false; };
};

Result<report::Difference> diff(const DiffRequest& request);

}  // namespace namesake::study
