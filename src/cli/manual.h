// Texts made from the option table.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace namesake::cli {

std::string man_page(const CLI::App& root);                             // troff
std::string completion(const CLI::App& root, const std::string& shell);  // bash, zsh or fish

}  // namespace namesake::cli
