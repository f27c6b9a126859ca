// Outcomes as bytes and back (CBOR): what the cache keeps, and what one machine hands to another.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "assembly/experiment.h"

namespace namesake::assembly {

std::string encoded(const Outcome& outcome);
// Nothing for bytes that are torn, foreign or of another format.
std::optional<Outcome> decoded_outcome(std::string_view bytes);

// The machine code alone, with what its disassembly needs: equal codes give equal bytes.
std::string encoded_code(const FunctionCode& code);
std::optional<FunctionCode> decoded_code(std::string_view bytes);

}  // namespace namesake::assembly
