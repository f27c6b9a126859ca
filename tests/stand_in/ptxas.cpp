// The stand-in's main: options as ptxas has them, questions about names as ptxas asks them, and the
// faults that the settings ask for. README.md says what it can be told.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <utility>

#include "code.h"
#include "cubin.h"
#include "module.h"
#include "plant.h"
#include "settings.h"

namespace stand_in {
namespace {

struct Options {
  std::string architecture = "sm_75", input, output = "elf.o";
  int opt_level = 3;
  bool verbose = false, relocatable = false, version = false;
};

Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    // --name=value, --name value, -name=value: one way to take a value for all.
    auto value_of = [&](std::initializer_list<const char*> names) -> std::unique_ptr<std::string> {
      for (const char* name : names) {
        size_t length = std::strlen(name);
        if (word == name && i + 1 < argc) return std::make_unique<std::string>(argv[++i]);
        if (word.compare(0, length, name) == 0 && word[length] == '=') {
          return std::make_unique<std::string>(word.substr(length + 1));
        }
      }
      return nullptr;
    };
    if (auto arch = value_of({"-arch", "--gpu-name"})) {
      options.architecture = *arch;
    } else if (auto output = value_of({"-o", "--output-file"})) {
      options.output = *output;
    } else if (auto level = value_of({"-O", "--opt-level"})) {
      options.opt_level = std::atoi(level->c_str());
    } else if (word.size() == 3 && word.compare(0, 2, "-O") == 0) {
      options.opt_level = word[2] - '0';
    } else if (word == "-v" || word == "--verbose") {
      options.verbose = true;
    } else if (word == "-c" || word == "--compile-only") {
      options.relocatable = true;
    } else if (word == "-V" || word == "--version") {
      options.version = true;
    } else if (word[0] != '-') {
      options.input = word;
    }
  }
  return options;
}

[[noreturn]] void fatal(const std::string& text) {
  std::fprintf(stderr, "ptxas fatal   : %s\n", text.c_str());
  std::exit(255);
}

// A search that no library sees.
bool contains_by_itself(const std::string& symbol, const std::string& text, const std::string& match) {
  size_t last = match == "substring" ? symbol.size() : 1;
  for (size_t at = 0; at < last && at + text.size() <= symbol.size(); ++at) {
    size_t same = 0;
    while (same < text.size() && symbol[at + same] == text[same]) ++same;
    if (same == text.size() && (match != "exact" || same == symbol.size())) return true;
  }
  return false;
}

// The name test itself. All texts are asked for, as an assembler with several triggers would.
bool asks(const Settings& settings, const std::string& symbol) {
  std::string match = settings.get("match", "substring");
  bool treated = false;
  for (const std::string& text : settings.list("trigger", "cutlass")) {
    if (text == "none") continue;
    if (settings.is("bypass", "yes")) {
      treated |= contains_by_itself(symbol, text, match);
    } else if (match == "prefix") {
      treated |= std::strncmp(symbol.c_str(), text.c_str(), text.size()) == 0;
    } else if (match == "exact") {
      treated |= std::strcmp(symbol.c_str(), text.c_str()) == 0;
    } else {
      treated |= std::strstr(symbol.c_str(), text.c_str()) != nullptr;
    }
  }
  return treated;
}

// "treated", "always" or nothing, against what this function is.
bool applies(const std::string& when, bool treated) {
  return when == "always" || (when == "treated" && treated);
}

// Where a large allocation lies: another place in each run with randomisation on, and with it off
// another one for another set of libraries.
uint64_t draw(uint64_t draws) {
  std::unique_ptr<char[]> memory(new char[1 << 22]);
  return mixed(0, reinterpret_cast<uintptr_t>(memory.get()) >> 12) % draws;
}

void fault(const Settings& settings, bool treated) {
  if (applies(settings.get("hang"), treated)) {
    for (;;) ::pause();
  }
  if (applies(settings.get("crash"), treated)) ::raise(SIGSEGV);
}

int spill_of(const Settings& settings, bool treated) {
  std::string spill = settings.get("spill");
  size_t colon = spill.find(':');
  if (colon == spill.npos || !applies(spill.substr(0, colon), treated)) return 0;
  return std::atoi(spill.c_str() + colon + 1);
}

bool has_pragma(const Settings& settings) {
  int major = 0, minor = 0;
  std::sscanf(settings.get("version", "13.0.88").c_str(), "%d.%d", &major, &minor);
  return major > 13 || (major == 13 && minor >= 3);
}

Module read_input(const Settings& settings, const Options& options) {
  std::ifstream stream(options.input, std::ios::binary);
  if (!stream) fatal("Input file '" + options.input + "' could not be opened");
  std::stringstream text;
  text << stream.rdbuf();
  std::vector<std::string> marks = settings.words();
  for (const Plant& plant : read_plants(settings)) marks.push_back(plant.holding);
  Module module = read_module(text.str(), marks);
  auto abort_with = [&](const std::string& what) {
    std::fprintf(stderr, "ptxas %s, line 1; %s\n", options.input.c_str(), what.c_str());
    fatal("Ptx assembly aborted due to errors");
  };
  if (!module.failure.empty()) abort_with("fatal   : " + module.failure);
  if (std::string text = settings.get("fail"); !text.empty()) abort_with("error   : " + text);
  std::string reads = settings.get("reads", "99.0");
  int major = 0, minor = 0;
  std::sscanf(reads.c_str(), "%d.%d", &major, &minor);
  if (std::pair(module.major, module.minor) > std::pair(major, minor)) {
    abort_with("fatal   : Unsupported .version " + std::to_string(module.major) + "." +
               std::to_string(module.minor) + "; current version is '" + reads + "'");
  }
  return module;
}

void say(const Options& options, const Piece& piece) {
  if (!options.verbose) return;
  const char* symbol = piece.symbol.c_str();
  int spilt = piece.spill_bytes;
  if (piece.entry) {
    std::fprintf(stderr, "ptxas info    : Compiling entry function '%s' for '%s'\n", symbol,
                 options.architecture.c_str());
  }
  std::fprintf(stderr,
               "ptxas info    : Function properties for %s\n    %d bytes stack frame, %d bytes spill "
               "stores, %d bytes spill loads\n",
               symbol, spilt, spilt, spilt);
  if (piece.entry) {
    std::fprintf(stderr, "ptxas info    : Used %d registers, used 0 barriers\n", piece.code.registers);
  }
}

int run(int argc, char** argv) {
  Settings settings = Settings::load();
  Options options = read_options(argc, argv);
  std::string version = settings.get("version", "13.0.88");
  if (options.version) {
    std::string release = version.substr(0, version.rfind('.'));
    std::printf("ptxas: NVIDIA (R) Ptx optimizing assembler\n(a stand-in for tests)\n"
                "Cuda compilation tools, release %s, V%s\nBuild %s\n",
                release.c_str(), version.c_str(),
                settings.get("build", "cuda_" + release + ".r" + release + "/compiler.1_0").c_str());
    return 0;
  }
  bool known = settings.is("ask_sm", "no") ? options.architecture.rfind("sm_", 0) == 0
                                           : std::strstr(options.architecture.c_str(), "sm_") != nullptr;
  int architecture = known ? std::atoi(options.architecture.c_str() + 3) : 0;
  if (architecture < 75) fatal("Value '" + options.architecture + "' is not defined for option 'gpu-name'");

  Module module = read_input(settings, options);
  ::usleep(static_cast<unsigned>(1000 * std::atoi(settings.get("slow", "0").c_str())));
  uint64_t draws = std::strtoull(settings.get("lottery", "0").c_str(), nullptr, 10);
  uint64_t drawn = draws ? draw(draws) : 0;
  if (options.verbose) std::fprintf(stderr, "ptxas info    : 0 bytes gmem\n");

  std::vector<Plant> plants = read_plants(settings);
  std::vector<Piece> pieces;
  for (const Function& function : module.functions) {
    Settings own = settings.where(function.marks);
    bool asked = function.entry || options.relocatable;
    bool treated = asked && asks(settings, function.symbol);
    for (const Plant& plant : plants) treated |= asked && reacts_to(plant, function, options.architecture);
    if (function.pragma && has_pragma(settings)) treated = true;
    std::string react = own.get("react", "large");
    bool reacts = react == "all" || (react == "large" && function.statements.size() >= 6);
    treated = treated && reacts && options.opt_level >= 3;
    fault(own, treated);
    Choice choice;
    choice.architecture = mixed(0, options.architecture);
    choice.opt_level = options.opt_level;
    choice.treated = treated;
    choice.variant = drawn + (settings.is("length", "yes") ? 1000 * function.symbol.size() : 0) +
                     1000000 * std::strtoull(own.get("code", "0").c_str(), nullptr, 10);
    choice.spill_bytes = spill_of(own, treated);
    pieces.push_back({function.symbol, function.entry, generate(function, choice), choice.spill_bytes});
    say(options, pieces.back());
  }
  std::ofstream out(options.output, std::ios::binary);
  out << make_cubin(pieces, architecture);
  if (!out.flush()) fatal("Could not write '" + options.output + "'");
  return 0;
}

}  // namespace
}  // namespace stand_in

int main(int argc, char** argv) { return stand_in::run(argc, argv); }
