// From a measurement to decisions, and from decisions to a policy. Pure functions: what was
// measured on a GPU once is decided, and decided again, without one.
//
// The problem. A kernel is measured at some sizes, with warm caches and with cold ones, and each
// timing is an interval. One treatment must serve them all, and serve functions of one symbol in
// several files, for a policy knows functions by symbol.
//
// Our choice. The natural name is what the user has, so the other answer must earn its place: it is
// given only if it gains more than the threshold in at least one timing, at the measurement's
// confidence, and loses more than the threshold in none, and if both builds give the same results.
// Whatever stays open is natural. The decision is quoted by the timing in which it gains least.
//
// The cost. A kernel that gains at one size and loses at another stays as it is; the report says
// so, and its author can give the two sizes two kernels.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "policy/policy.h"
#include "report/measurement.h"
#include "report/tuning.h"
#include "util/error.h"

namespace namesake::measure {

// The trigger that the assemblers are known to look for.
inline constexpr const char* kTrigger = "cutlass";

// One decision for each function, architecture and assembler. `measurement` compares untreated (a)
// with treated (b); an error says where it does not.
Result<std::vector<report::Decision>> decide(const report::Measurement& measurement,
                                             double threshold);

// Several measurements of one GPU as one.
Result<report::Measurement> merged(std::span<const report::Measurement> measurements);

// Every decision as a rule with its evidence, the natural ones too: they say what was looked at.
// `evidence` is the file that holds the measurement. No limit on spills is written: what was
// measured with its spills and gains may have them.
policy::Policy policy_of(const report::Tuning& tuning, const std::string& evidence);

// Sets `earlier` of each decision by the policy that is checked, and adds a decision for each rule
// of which nothing was measured. True if all rules still hold.
bool check(const policy::Policy& policy, report::Tuning& tuning);

}  // namespace namesake::measure
