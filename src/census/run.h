// Makes the cells of a matrix that are not made yet, several at a time, beside other processes that
// do the same.
#pragma once

#include <chrono>
#include <functional>
#include <string_view>

#include "census/ledger.h"
#include "census/matrix.h"

namespace namesake::census {

struct RunRequest {
  Matrix matrix;
  assembly::HookVariables hooks;
  std::chrono::milliseconds timeout = std::chrono::minutes(5);  // of one assembly
  int workers = 1;
  std::function<void(std::string_view)> progress = [](std::string_view) {};
  std::function<bool()> stop = [] { return false; };
};

struct RunReport {
  int64_t wanted = 0;  // cells of the matrix, draws included
  Cost cost;           // of the cells made now, by this process
};

// Ends when every cell is made, by whomever; an interrupted run loses the assemblies in flight.
Result<RunReport> run(Ledger& ledger, const RunRequest& request);

}  // namespace namesake::census
