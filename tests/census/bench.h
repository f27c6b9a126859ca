// A ledger over stand-in assemblers with planted faults.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../study/stand_in.h"
#include "census/ledger.h"
#include "census/run.h"
#include "census/tell.h"
#include "census/text_form.h"

namespace namesake::census {

class Bench : public study::StandIn {
 protected:
  Ledger ledger(const std::string& name = "ledger.sqlite") {
    auto opened = Ledger::open(folder.path() / name, false);
    EXPECT_TRUE(opened) << opened.error().message;
    return std::move(*opened);
  }

  Input input(Ledger& ledger) {
    auto text = read_file(sample());
    auto entered = ledger.add_input("sample", *text, {"large_kernel", "small_kernel"});
    EXPECT_TRUE(entered) << entered.error().message;
    return std::move(*entered);
  }

  RunRequest request(Ledger& ledger, std::vector<toolchain::Tool> assemblers) {
    RunRequest request;
    request.matrix.inputs = {input(ledger)};
    request.matrix.architectures = {"sm_90"};
    request.matrix.assemblers = std::move(assemblers);
    request.hooks = study::StandIn::request(request.matrix.assemblers.front()).hooks;
    request.timeout = std::chrono::seconds(2);
    request.workers = 2;
    return request;
  }

  RunReport make(Ledger& ledger, const RunRequest& request) {
    auto report = run(ledger, request);
    EXPECT_TRUE(report) << report.error().message;
    return report ? *report : RunReport();
  }

  report::Census told(const Ledger& ledger) {
    auto census = tell(ledger, {});
    EXPECT_TRUE(census) << census.error().message;
    return census ? std::move(*census) : report::Census();
  }

  std::string lines(const Ledger& ledger) {
    auto text = to_lines(ledger);
    EXPECT_TRUE(text) << text.error().message;
    return text ? *text : "";
  }

  static const report::CensusPoint& point(const report::Census& census, const std::string& symbol,
                                          const std::string& version = "13.5.37") {
    for (const report::CensusPoint& point : census.points) {
      if (census.kernels[static_cast<size_t>(point.kernel)].symbol == symbol &&
          census.assemblers[static_cast<size_t>(point.assembler)].version == version) {
        return point;
      }
    }
    ADD_FAILURE() << symbol << " by " << version << " is missing";
    static const report::CensusPoint none;
    return none;
  }
};

}  // namespace namesake::census
