// Triton removes the PTX that it has given to ptxas, and nvcc its temporary files; so what an
// assembler reads must be kept at the moment it starts. The hook's constructor hands the process
// over to us as it does to the guard; we read the input, write it down and execute the assembler in
// our place: same process, same output, same status. Whatever fails here is left out, and the
// assembler runs.
#include "ab/witness.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include "ab/requests.h"
#include "session/guard.h"
#include "util/file.h"
#include "util/text.h"

namespace namesake::ab {
namespace fs = std::filesystem;
namespace {

constexpr int kFirstArgument = 4;  // behind the word, the hook's folder and the assembler's file
constexpr uint64_t kLargestInput = uint64_t{64} << 20;

void write_down(const fs::path& folder, const char* program,
                const std::vector<std::string>& arguments) {
  if (!session::single_use_input(arguments).empty()) return;
  ProgramRun run;
  run.file = program;
  std::error_code code;
  run.folder = fs::current_path(code).string();
  run.arguments.assign(arguments.begin() + 1, arguments.end());
  AssemblerOptions options = read_assembler_options(run.arguments);
  auto text = read_file(options.input, kLargestInput);
  if (options.input.empty() || !text) return;
  run.text = std::move(*text);
  std::erase(run.arguments, options.input);
  fs::path requests = folder / "live" / "requests";
  std::string name = fmt::format("p.{}", ::getpid());
  fs::path beside = requests / ("." + name);
  std::FILE* file = std::fopen(beside.c_str(), "wbe");
  if (!file) return;
  std::string content = encode_request(run);
  bool whole = std::fwrite(content.data(), 1, content.size(), file) == content.size();
  whole &= std::fclose(file) == 0;
  fs::rename(beside, requests / name, code);
  if (!whole || code) fs::remove(beside, code);
}

}  // namespace

// Single dashes and double ones, values behind "=" or in the next word, as ptxas takes them.
AssemblerOptions read_assembler_options(const std::vector<std::string>& arguments) {
  AssemblerOptions options;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    auto value_of =
        [&](std::initializer_list<std::string_view> names) -> std::optional<std::string> {
      for (std::string_view name : names) {
        if (word == name && i + 1 < arguments.size()) return arguments[++i];
        if (word.starts_with(name) && word.size() > name.size() && word[name.size()] == '=')
          return word.substr(name.size() + 1);
      }
      return std::nullopt;
    };
    if (auto architecture = value_of({"-arch", "--arch", "--gpu-name", "-gpu-name"})) {
      options.architecture = *architecture;
    } else if (auto output = value_of({"-o", "--output-file"})) {
      options.output = *output;
    } else if (auto level = value_of({"-O", "--opt-level"})) {
      options.opt_level = static_cast<int>(parse_integer(*level).value_or(3));
    } else if (word.size() == 3 && word.starts_with("-O")) {
      options.opt_level = word[2] - '0';
    } else if (word == "-c" || word == "--compile-only") {
      options.relocatable = true;
    } else if (word == "-v" || word == "--verbose") {
      continue;
    } else if (auto with_value = value_of({"-maxrregcount", "--maxrregcount", "-m", "--machine"});
               with_value && word.find('=') == std::string::npos) {
      options.others.push_back(word);
      options.others.push_back(*with_value);
    } else if (word.starts_with('-')) {
      options.others.push_back(word);
    } else if (std::error_code code; fs::is_regular_file(word, code)) {
      options.input = word;
    } else {
      options.others.push_back(word);  // the value of the option before it
    }
  }
  return options;
}

bool is_witness(int argc, char** argv) {
  return session::is_guard(argc, argv) && !environment(kFolderVariable).empty();
}

void witness_main(int argc, char** argv) {
  const char* program = argv[3];
  char** original = argv + kFirstArgument;
  write_down(environment(kFolderVariable), program,
             std::vector<std::string>(original, argv + argc));
  session::become_natural(program, original);
}

}  // namespace namesake::ab
