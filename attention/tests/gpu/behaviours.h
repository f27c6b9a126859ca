// What must hold of calls beyond the right numbers: repetition, batching, graphs, streams, threads,
// devices, errors.
#pragma once

#include <string>
#include <vector>

#include "stage.h"

namespace namesake::attention::test {

struct Behaviour {
  std::string name;
  std::string (*check)(Arena& arena);  // what is wrong; empty: nothing
};

const std::vector<Behaviour>& behaviours();

}  // namespace namesake::attention::test
