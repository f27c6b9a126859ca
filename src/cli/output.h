// Where results go, and how the terminal wants them.
#pragma once

#include <string>
#include <string_view>

#include "cli/command.h"
#include "report/text.h"

namespace namesake::cli {

// To a file, whole or not at all; "-" is stdout.
Status write_output(const std::string& target, std::string_view content);

report::TextStyle text_style(const Global& global);

// The command as typed, for reports.
std::string own_command_line();

}  // namespace namesake::cli
