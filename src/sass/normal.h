// An instruction with what the register allocator and the scheduler chose erased, so that two
// builds can be compared by what they compute: registers lose their numbers, `.reuse` goes, a
// branch loses its address. Kept are opcodes, modifiers, predication and its sense, constants and
// immediates (differences of constants are deadly), and the registers that stand for a constant
// (RZ, PT, …).
#pragma once

#include <string>
#include <string_view>

#include "sass/sass.h"

namespace namesake::sass {

// "@!P2 IADD3 R4, R5.reuse, -0x1, RZ" → "@!P IADD3 R, R, -0x1, RZ". Overwrites `out`.
void normalise(const Instruction& instruction, std::string& out);

// The text up to a branch's target: equal for a branch that only moved.
std::string_view without_target(const Instruction& instruction);

}  // namespace namesake::sass
