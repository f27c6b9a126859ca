// A ledger as lines of text: what is committed, compared and reviewed, where SQLite's bytes are
// not.
//
//   # namesake census 1
//   assembler  VERSION BUILD
//   kernel     NAME SYMBOL HASH-OF-THE-PTX
//   build      NAME ARCHITECTURE VERSION OPT TREATMENT NUMBERS CODES RUNS
//   failed     NAME ARCHITECTURE VERSION OPT TREATMENT STATE: REASON
//
// separated by tabs and sorted, so that equal ledgers give equal files and a new release adds lines
// and changes none. NAME is the module's, with the kernel's symbol behind a colon where it has
// several. NUMBERS are five: registers, stack bytes, spill stores and loads in bytes, code bytes.
// Codes are the first twelve digits of their hashes, several of a lottery joined by +, sorted, since
// which comes first is chance.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "census/ledger.h"
#include "census/matrix.h"

namespace namesake::census {

Result<std::string> to_lines(const Ledger& ledger);

// The cells that such a text tells of, of those the matrix wants, held against the ledger.
struct Discrepancy {
  std::string where, told, found;
};
struct Check {
  int64_t compared = 0;
  int64_t unknown = 0;  // in the ledger, but not in the text: a new kernel, or other PTX
  std::vector<Discrepancy> discrepancies;
};
// Codes are compared as sets: a lottery may have drawn others, but not only others.
Result<Check> check_lines(std::string_view lines, std::string_view origin, const Ledger& ledger);

}  // namespace namesake::census
