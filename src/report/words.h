// How numbers, verdicts and foreign text are written, the same in terminal and HTML.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "report/difference.h"

namespace namesake::report {

std::string grouped(int64_t value);        // 12345 → "12,345"
std::string with_sign(int64_t value);      // "+12", "−35", "0"
std::string change(int64_t a, int64_t b);  // "163 → 128"; "128" where nothing changes
std::string percent_change(int64_t a,
                           int64_t b);  // "+3.1%"; "" where nothing changes, "new" from zero
std::string counted(int64_t n, std::string_view noun);  // "1 kernel", "1,200 kernels"
std::string seconds(double value);                      // "38 ms", "4.2 s", "3 min 20 s"
// Bytes as people compare them: "20 bytes", "6.0 kB", "1.2 MB".
std::string byte_count(int64_t value);

// Symbols come from foreign files: control characters, escape sequences, direction overrides and
// broken UTF-8 become visible "\x1b", so that no name can paint on a terminal or hide text on a
// page.
std::string plain(std::string_view text);

// One word and one mark for each verdict, for tables.
std::string_view verdict_word(Verdict);  // "same", "registers", "different", "lottery", "failed"
std::string_view verdict_mark(Verdict);  // "=", "≈", "≠", "?", "✗"

// The readable name, or the symbol where there is none, made plain.
std::string shown_name(const FunctionDifference&);
// "untreated, ptxas 13.0.88 -O3"
std::string shown_build(const BuildDescription&);
// Both builds in one phrase, naming what they share once: "untreated (A) against treated (B),
// ptxas 13.0.88 -O3".
std::string shown_builds(const BuildDescription& a, const BuildDescription& b);

}  // namespace namesake::report
