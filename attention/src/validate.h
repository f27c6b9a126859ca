// From the user's description to a problem every backend can rely on; or a sentence that says what
// is wrong with it.
#pragma once

#include "problem.h"

namespace namesake::attention {

Status validate(const Forward& call, Problem& problem);

}  // namespace namesake::attention
