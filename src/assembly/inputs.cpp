#include "assembly/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "util/file.h"
#include "util/text.h"

namespace namesake::assembly {
namespace {
namespace fs = std::filesystem;

constexpr uint64_t kLargestInput = uint64_t{256} << 20;   // some 200,000 small kernels

struct Architecture {
  int number = 0;     // 90
  char suffix = 0;    // 'a': this chip alone, 'f': its family, 0: it and all newer
};

std::optional<Architecture> architecture_of(std::string_view name) {
  if (!name.starts_with("sm_")) return std::nullopt;
  name.remove_prefix(3);
  Architecture result;
  if (!name.empty() && std::isalpha(static_cast<unsigned char>(name.back()))) {
    result.suffix = name.back();
    name.remove_suffix(1);
  }
  auto number = parse_integer(name);
  if (!number) return std::nullopt;
  result.number = static_cast<int>(*number);
  return result;
}

bool is_cuda_source(const fs::path& file) {
  static const std::set<std::string> kExtensions = {".cu", ".cuh", ".cpp", ".cc", ".cxx"};
  return kExtensions.count(file.extension().string()) > 0;
}

std::vector<std::string> studied(const ptx::Module& module, const std::string& glob) {
  std::vector<std::string> symbols;
  for (const ptx::Function& function : module.functions) {
    if (!function.defined || !function.entry) continue;
    if (glob.empty() || glob_match(glob, function.symbol) ||
        glob_match(glob, demangled_name(function.symbol)) || glob_match(glob, demangled(function.symbol))) {
      symbols.push_back(function.symbol);
    }
  }
  return symbols;
}

// The identifier a programmer wrote for this kernel: "ns::sgemm<128>" → "sgemm".
std::string base_identifier(const std::string& symbol) {
  std::string name = demangled_name(symbol);
  name = name.substr(0, name.find('<'));
  size_t colon = name.rfind("::");
  if (colon != std::string::npos) name = name.substr(colon + 2);
  bool identifier = !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_';
  });
  return identifier ? name : "";
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t place = 0; (place = text.find(from, place)) != std::string::npos; place += to.size()) {
    text.replace(place, from.size(), to);
  }
}

struct LineCounts {
  int64_t removed = 0, added = 0;
};

// Lines of a body as multisets: enough to say "the front end wrote other code", and how much.
LineCounts compare_lines(std::string_view before, std::string_view after) {
  std::map<std::string_view, int64_t> count;
  for (std::string_view line : split(before, '\n')) ++count[trimmed(line)];
  for (std::string_view line : split(after, '\n')) --count[trimmed(line)];
  LineCounts result;
  for (auto& [line, surplus] : count) {
    if (line.empty()) continue;
    (surplus > 0 ? result.removed : result.added) += surplus > 0 ? surplus : -surplus;
  }
  return result;
}

std::string_view body(const ptx::Module& module, const ptx::Function& function) {
  return std::string_view(module.text)
      .substr(function.body_begin, function.body_end - function.body_begin);
}

}  // namespace

int architecture_number(std::string_view name) {
  auto architecture = architecture_of(name);
  return architecture ? architecture->number : 0;
}

bool assembles_for(std::string_view target, std::string_view architecture) {
  auto from = architecture_of(target), to = architecture_of(architecture);
  if (!from || !to) return target == architecture;
  if (from->suffix == 'a') return to->number == from->number && to->suffix == 'a';
  if (from->suffix == 'f') {
    return to->number / 10 == from->number / 10 && to->number >= from->number && to->suffix != 0;
  }
  return to->number >= from->number;
}

Result<Inputs> load(const InputRequest& request) {
  Inputs inputs;
  bool any_kernel = false;
  for (const fs::path& file : request.files) {
    std::string name = file.filename().string();
    bool source = is_cuda_source(file);
    if (source && !request.front_end) {
      return error(fmt::format("{} is CUDA source and no nvcc is at hand; type: namesake toolchain add 13.0.88 --front-end",
                               file.string()));
    }
    std::vector<std::string> architectures = request.architectures;
    std::optional<ptx::Module> text_module;
    if (!source) {
      TRY_ASSIGN(std::string text, read_file(file, kLargestInput));
      if (text.starts_with("\x7f" "ELF")) {
        return error(fmt::format("{} is an ELF file; diff assembles, so it wants PTX or CUDA source "
                                 "(`cuobjdump -ptx` takes PTX out of a binary that carries it)", file.string()));
      }
      TRY_ASSIGN(text_module, ptx::parse(std::move(text), name));
      if (architectures.empty()) architectures = {text_module->target};
    } else if (architectures.empty()) {
      architectures = {"sm_90"};
    }
    for (std::string architecture : architectures) {
      if (!architecture_of(architecture)) {
        return error(fmt::format("\"{}\" is no architecture: write sm_ and a number, for example sm_90a", architecture));
      }
      // Text written for sm_90a is what someone means who asks for sm_90.
      if (text_module && text_module->target == architecture + "a") architecture += "a";
      Unit unit{.file = name, .architecture = architecture};
      if (source) {
        unit.source = file;
        toolchain::FrontEndJob job{file, architecture, request.front_end_options, {}};
        auto text = toolchain::compile_to_ptx(*request.front_end, job);
        if (!text) {
          if (request.architectures.size() <= 1) return tl::unexpected(text.error());
          inputs.notes.push_back(fmt::format("{} left out for {}: {}", name, architecture, text.error().message));
          continue;
        }
        TRY_ASSIGN(unit.module, ptx::parse(std::move(*text), name));
      } else {
        if (!assembles_for(text_module->target, architecture)) {
          inputs.notes.push_back(fmt::format("{} left out for {}: it is written for {}", name, architecture, text_module->target));
          continue;
        }
        unit.module = *text_module;
      }
      unit.kernels = studied(unit.module, request.kernel_glob);
      if (unit.kernels.empty()) continue;
      any_kernel = true;
      inputs.units.push_back(std::move(unit));
    }
  }
  if (!any_kernel) {
    std::string first = request.files.empty() ? "" : request.files.front().string();
    std::string reason = request.kernel_glob.empty()
                             ? fmt::format("no kernel in {}{}", first, request.files.size() > 1 ? " and the other files" : "")
                             : fmt::format("no kernel matches \"{}\"", request.kernel_glob);
    if (!inputs.notes.empty()) reason += "; " + inputs.notes.front();
    return error(reason);
  }
  return inputs;
}

Result<FrontEndStudy> study_front_end(const Unit& unit, const toolchain::Tool& front_end,
                                      const std::vector<std::string>& options) {
  FrontEndStudy study;
  toolchain::FrontEndJob job{unit.source, unit.architecture, options, {}};
  std::map<std::string, std::string> back;   // what the renamed source's PTX says → what the original says
  for (const std::string& symbol : unit.kernels) {
    std::string identifier = base_identifier(symbol);
    if (identifier.empty()) continue;
    std::string renamed = identifier.size() >= 8 ? "cutlass" + identifier.substr(7)
                                                 : "cutlass_" + identifier;
    job.options.push_back(fmt::format("-D{}={}", identifier, renamed));
    // In mangled symbols (the kernel's, its parameters', its shared arrays') behind its length, else plain.
    back[fmt::format("{}{}", renamed.size(), renamed)] = fmt::format("{}{}", identifier.size(), identifier);
    back[renamed] = identifier;
  }
  if (back.empty()) return study;
  TRY_ASSIGN(std::string text, toolchain::compile_to_ptx(front_end, job));
  for (auto& [after, before] : back) replace_all(text, after, before);   // digits sort first: mangled before plain
  TRY_ASSIGN(ptx::Module renamed, ptx::parse(std::move(text), unit.file));
  for (const std::string& symbol : unit.kernels) {
    const ptx::Function* original = unit.module.find(symbol);
    const ptx::Function* changed = renamed.find(symbol);
    if (!original || !changed) continue;
    LineCounts lines = compare_lines(body(unit.module, *original), body(renamed, *changed));
    report::FrontEndDifference difference;
    difference.file = unit.file;
    difference.architecture = unit.architecture;
    difference.name = demangled_name(symbol);
    difference.ptx_differs = body(unit.module, *original) != body(renamed, *changed);
    difference.lines_removed = lines.removed;
    difference.lines_added = lines.added;
    study.differences.push_back(std::move(difference));
  }
  study.renamed = std::move(renamed);
  return study;
}

}  // namespace namesake::assembly
