// What `namesake scan` found in binaries, as data.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace namesake::report {

// Where in a symbol a trigger stands, the most deliberate place first.
enum class Place {
  cutlass_kernel,     // a kernel of CUTLASS's own: everything in namespace cutlass
  own_name,           // the kernel's own identifier
  enclosing_scope,    // a namespace, class or function around it
  template_argument,  // a type or value it was made for
  parameter_type,     // a type it takes
  file_name,  // the source file's name, which nvcc mangles into unnamed namespaces and statics
  chance,     // no word of the source: the letters of the mangling itself
};
constexpr size_t kPlaces = 7;

struct TriggerFind {
  std::string trigger;
  std::vector<Place> places;  // in Place's order; the first is what it is counted under
};

struct ScannedSymbol {
  std::string symbol;
  std::string library;                // "cutlass", "at"; "sm80_*" where there is no namespace
  std::vector<TriggerFind> triggers;  // empty for most
};

struct ScannedFunction {
  int64_t symbol = 0;     // in Scan::symbols
  int64_t container = 0;  // in Scan::containers
  std::string architecture;
  bool code = false;      // machine code; else PTX
  bool kernel = false;    // else a device function that was compiled by itself
  int64_t bytes = 0;      // of machine code, or of PTX text
  int64_t registers = 0;  // of machine code
};

// A program, library or file that carries code: a wheel's member counts as one.
struct Container {
  std::string name;  // "fa3.whl(fa3_fwd/_C.abi3.so)"
  int64_t bytes = 0;
  int64_t cubins = 0, ptx = 0, ir = 0, other = 0;  // entries
  int64_t lz4 = 0, zstd = 0;                       // of these, packed
  int64_t kernels = 0, ptx_kernels = 0;            // those that left out by a filter included
  struct Section {
    int64_t cubins = 0, ptx = 0, other = 0, kernels = 0;
  };
  std::map<std::string, Section> sections;  // of the host program; machine code's kernels
};

struct Scan {
  std::string command, date;
  std::vector<std::string> files;  // as given
  int64_t file_bytes = 0, unpacked_bytes = 0;
  std::vector<std::string> triggers;  // looked for
  std::vector<std::string> denied;    // of these, by --deny
  std::string filter;                 // what was asked for alone, for people
  std::vector<Container> containers;  // those with GPU code
  std::vector<ScannedSymbol> symbols;
  std::vector<ScannedFunction> functions;
  std::vector<std::string> problems;  // what could not be read, a sentence each
  double seconds = 0;
  std::string next_command;
};

std::string_view place_word(Place);   // "the kernel's own name", for tables
std::string_view place_short(Place);  // "own name", where room is short
std::string_view place_key(Place);    // "own_name", for JSON

// Functions, kernels or not, whose symbol holds the trigger.
int64_t carrying(const Scan&, std::string_view trigger);

// One row of the terminal's tables: all functions of one library.
struct LibraryGroup {
  std::string library;
  int64_t kernels = 0, ptx_kernels = 0, code_bytes = 0, with_trigger = 0;
  std::map<std::string, int64_t> architectures;  // kernels by architecture
};
struct PlaceGroup {
  std::string trigger;
  Place place = Place::own_name;
  int64_t kernels = 0, symbols = 0;
  int64_t example = 0;  // in Scan::symbols, the one most kernels have
  std::map<std::string, int64_t> architectures;
};
// Kernels alone; machine code and PTX counted apart where both columns exist. Largest first.
std::vector<LibraryGroup> by_library(const Scan&);
std::vector<PlaceGroup> by_place(const Scan&);

}  // namespace namesake::report
