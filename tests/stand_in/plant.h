// Triggers planted for a search to find: each with how it matches, and for which functions and
// architecture alone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "module.h"
#include "settings.h"

namespace stand_in {

struct Plant {
  std::string text;
  std::string match = "substring";  // prefix, suffix, exact
  bool any_case = false;
  std::string holding;       // only functions whose body holds this word; empty: all
  std::string architecture;  // only there; empty: everywhere
};

// plant=TEXT/MATCH/CASE/WORD/ARCHITECTURE,…: what is left out at the end is as above; CASE is any
// or same.
std::vector<Plant> read_plants(const Settings& settings);

bool reacts_to(const Plant& plant, const Function& function, std::string_view architecture);

}  // namespace stand_in
