// The assembler that an application uses, among those at hand.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policy/policy.h"
#include "toolchain/toolchain.h"
#include "util/error.h"

namespace namesake::measure {

// The ptxas that a policy was measured with, as far as they are at hand, and a note for each that
// is not; a rule for every assembler asks for the first of `tools`.
std::vector<toolchain::Tool> assemblers_of(const policy::Policy& policy,
                                           const std::vector<toolchain::Tool>& tools,
                                           std::vector<std::string>& notes);

// The one of Triton's assemblers that it runs for a GPU ("sm_90"): a newer Triton brings two, and
// takes ptxas-blackwell from sm_100 on.
Result<toolchain::Tool> triton_assembler(const std::vector<toolchain::Tool>& tools,
                                         std::string_view architecture);

}  // namespace namesake::measure
