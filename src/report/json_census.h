// A census as JSON, and back: namesake.census/1.0, with the keys and the order of report::Census
// (json.h says how the documents are written). Points name kernel, architecture and assembler by
// their place in the lists. Before them stands, made from the rest and ignored when read,
//   summary   {sentence, reactions: {ptxas: {architecture: {reaction: count}}}, upgrades: […]}
// The instructions side by side are in the HTML page alone.
#pragma once

#include <string>
#include <string_view>

#include "report/census.h"
#include "util/error.h"

namespace namesake::report {

std::string to_json(const Census&);
Result<Census> census_from_json(std::string_view json);

}  // namespace namesake::report
