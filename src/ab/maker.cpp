// Where did this code come from, and what would the other build of it be?
//
// A loaded image does not say. It could be followed from the assembler's output through files,
// caches and memory to the driver, but every application has ways of its own. So we ask the code:
// each assembly seen below the run is made again, and the one whose code equals the loaded code,
// byte for byte, is where it came from. That is at once the proof that our build of the same text
// is the twin of what runs, and the control of the whole method: what cannot be made again is not
// alternated.
//
// For code that was built before the run there are no assemblies to compare with. If its fatbin
// carries the PTX too, and the assembler that made it is at hand (the code names its build), that
// PTX is tried. PTX that is loaded as such is assembled by the driver, and by us through the same
// driver in a process of its own; there alone the loaded code cannot be read back, and is taken for
// the natural one.
//
// The cost: two assemblies or three for each module, in another process, while the application
// runs.
#include "ab/maker.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "ab/own_variables.h"
#include "cubin/cubin.h"
#include "cubin/elf.h"
#include "cubin/fatbin.h"
#include "live/protocol.h"
#include "util/file.h"
#include "util/text.h"

namespace namesake::ab {
namespace {

constexpr uint64_t kLargest = uint64_t{256} << 20;

int number_of(std::string_view architecture) {
  std::string_view digits = architecture.substr(std::min<size_t>(3, architecture.size()));
  while (!digits.empty() && (digits.back() < '0' || digits.back() > '9')) digits.remove_suffix(1);
  return static_cast<int>(parse_integer(digits).value_or(0));
}

bool has_letter(std::string_view architecture) {
  return !architecture.empty() && architecture.back() >= 'a' && architecture.back() <= 'z';
}

// Variables of the whole module, where there is no PTX that says which kernel touches them.
bool has_variables(const std::string& image) {
  auto elf = cubin::parse_elf(image, "a build");
  if (!elf) return true;
  return std::any_of(elf->sections.begin(), elf->sections.end(), [](const cubin::Section& section) {
    return section.size > 0 &&
           (section.name.starts_with(".nv.global") || section.name == ".nv.constant3");
  });
}

// Launched twice on the same memory, does nothing but write to memory: what prints, allocates or
// launches calls a function from outside.
bool is_repeatable(const ptx::Module& module) {
  return std::all_of(module.functions.begin(), module.functions.end(),
                     [](const ptx::Function& function) {
                       return function.defined || function.symbol == "__assertfail";
                     });
}

}  // namespace

void Maker::learn(const ProgramRun& run) {
  if (auto source = source_of(run)) sources_.push_front(std::move(*source));
}

void Maker::learn(const NvrtcProgram& program) {
  if (auto source = source_of(program)) sources_.push_front(std::move(*source));
}

// The code the driver takes of it: made for this device's architecture, or an older one of the same
// generation; an architecture with a letter only for itself.
Maker::Loaded Maker::look_at(const ImageRequest& request) const {
  Loaded loaded;
  const int device = 10 * request.major + request.minor;
  auto take_cubin = [&](Bytes bytes) {
    auto module = cubin::parse(bytes, "what was loaded");
    if (!module) {
      loaded.why = module.error().message;
      return;
    }
    loaded.cubin = std::string(bytes);
    loaded.architecture =
        fmt::format("sm_{}{}", module->architecture, module->architecture_specific ? "a" : "");
    for (const cubin::Function& function : module->functions) {
      if (!function.entry) continue;
      loaded.symbols.push_back(function.symbol);
      loaded.identities[function.symbol] = function.identity.hex();
    }
  };
  if (request.bytes.starts_with("\x7f"
                                "ELF")) {
    take_cubin(request.bytes);
    return loaded;
  }
  constexpr const char* kOptions = "the driver was given options for its assembler";
  if (!request.bytes.starts_with(cubin::kFatbinMagic)) {
    if (request.driver_options) loaded.why = kOptions;
    loaded.ptx.emplace_back(request.bytes.substr(0, request.bytes.find('\0')));
    return loaded;
  }
  auto fatbin = cubin::parse_fatbin(request.bytes, "what was loaded");
  if (!fatbin) {
    loaded.why = fatbin.error().message;
    return loaded;
  }
  const cubin::FatbinEntry* best = nullptr;
  std::vector<const cubin::FatbinEntry*> texts;
  bool both = false;
  for (const cubin::FatbinEntry& entry : fatbin->entries) {
    int number = number_of(entry.architecture);
    if (has_letter(entry.architecture) && number != device) continue;
    if (entry.content == cubin::Content::ptx && number <= device) texts.push_back(&entry);
    if (entry.content != cubin::Content::cubin || number / 10 != request.major || number > device)
      continue;
    both |= best && number == number_of(best->architecture);
    if (!best || number > number_of(best->architecture)) best = &entry;
  }
  std::stable_sort(texts.begin(), texts.end(), [](const auto* x, const auto* y) {
    return number_of(x->architecture) > number_of(y->architecture);
  });
  Room storage;
  for (const cubin::FatbinEntry* entry : texts) {
    auto text = cubin::unpack(*entry, kLargest, "what was loaded", storage);
    if (text) loaded.ptx.emplace_back(text->substr(0, text->find('\0')));
  }
  if (!best) {
    if (request.driver_options && !loaded.ptx.empty()) loaded.why = kOptions;
    return loaded;
  }
  loaded.options = std::string(best->options);
  auto code = cubin::unpack(*best, kLargest, "what was loaded", storage);
  if (code) {
    take_cubin(*code);
  } else {
    loaded.why = code.error().message;
  }
  if (both)
    loaded.why = fmt::format(
        "it holds two codes for sm_{}, and which one the driver takes is not known", device);
  return loaded;
}

// How many of the loaded kernels this source explains.
size_t Maker::proven(Source& source, const Loaded& loaded) const {
  std::vector<std::string> mine;
  for (const std::string& symbol : loaded.symbols)
    if (may_define(source, symbol)) mine.push_back(symbol);
  if (mine.empty()) return 0;
  auto count = [&] {
    return static_cast<size_t>(
        std::count_if(mine.begin(), mine.end(), [&](const std::string& symbol) {
          return std::any_of(source.made.begin(), source.made.end(), [&](const auto& each) {
            auto found = each.second.functions.find(symbol);
            return found != each.second.functions.end() &&
                   found->second.identity == loaded.identities.at(symbol);
          });
        }));
  };
  make(source, {Source::kA, Source::kB}, settings_);
  if (count() < mine.size()) make(source, {Source::kNatural}, settings_);
  return count();
}

// The assembler names its build in the code.
Source* Maker::try_fatbin_ptx(const Loaded& loaded) {
  for (const toolchain::Tool& tool : settings_.tools) {
    if (tool.kind != toolchain::Kind::ptxas || tool.build.empty() ||
        loaded.cubin.find(tool.build) == std::string::npos)
      continue;
    for (const std::string& text : loaded.ptx) {
      Source source;
      auto module = ptx::parse(text, "the PTX in what was loaded");
      if (!module) continue;
      source.module = std::move(*module);
      source.assembler = tool;
      source.architecture = loaded.architecture;
      for (std::string_view option : split(loaded.options, ' '))
        if (option.starts_with("-") && !option.starts_with("-arch"))
          source.options.emplace_back(option);
      source.said_by = "ptxas " + tool.version;
      if (proven(source, loaded) == 0) continue;
      sources_.push_front(std::move(source));
      return &sources_.front();
    }
    return nullptr;
  }
  return nullptr;
}

Source* Maker::find_source(const Loaded& loaded, const ImageRequest& request) {
  if (loaded.cubin.empty()) {
    if (loaded.ptx.empty()) return nullptr;
    auto source = source_of_ptx(loaded.ptx.front(), request.major, request.minor, "");
    if (!source) return nullptr;
    sources_.push_front(std::move(*source));
    make(sources_.front(), {Source::kA, Source::kB, Source::kNatural}, settings_);
    return &sources_.front();
  }
  Source* best = nullptr;
  size_t most = 0;
  for (Source& source : sources_) {
    if (source.kind == Source::Kind::driver) continue;
    size_t count = proven(source, loaded);
    if (count > most) {
      most = count;
      best = &source;
    }
    if (most == loaded.symbols.size()) break;
  }
  return best ? best : try_fatbin_ptx(loaded);
}

Note Maker::judge(const Source& source, const Loaded& loaded, const std::string& symbol,
                  bool from_ptx) const {
  Note note;
  note.symbol = symbol;
  note.architecture = source.architecture;
  note.assembler = source.said_by;
  note.assembler_build = source.assembler.build;
  auto of = [&](Source::Which which) -> const FunctionFacts* {
    auto made = source.made.find(which);
    if (made == source.made.end()) return nullptr;
    auto found = made->second.functions.find(symbol);
    return found == made->second.functions.end() ? nullptr : &found->second;
  };
  const FunctionFacts *a = of(Source::kA), *b = of(Source::kB), *natural = of(Source::kNatural);
  std::string loaded_identity;
  if (!from_ptx) loaded_identity = loaded.identities.at(symbol);
  if (from_ptx && natural) loaded_identity = natural->identity;
  bool known = (a && a->identity == loaded_identity) || (b && b->identity == loaded_identity) ||
               (natural && natural->identity == loaded_identity);
  if (!known) {
    note.why = "what was loaded could not be made again, so a build of ours would not be its twin";
    return note;
  }
  for (Source::Which which : {Source::kA, Source::kB}) {
    if (source.made.at(which).ok()) continue;
    note.why =
        fmt::format("{} could not be made: {}", which == Source::kA ? settings_.a : settings_.b,
                    source.made.at(which).failure);
    return note;
  }
  if (!a || !b) {
    note.why = "one of the builds has no such kernel";
    return note;
  }
  note.a = *a;
  note.b = *b;
  note.a_is_loaded = a->identity == loaded_identity;
  note.b_is_loaded = b->identity == loaded_identity;
  if (is_control(settings_)) {
    note.b_is_loaded = false;  // a second time, from the file
  } else if (a->identity == b->identity) {
    note.standing = Standing::same_code;
    return note;
  }
  if (source.module) {
    std::vector<std::string> variables = own_variables(*source.module, symbol);
    if (!variables.empty()) {
      note.why = fmt::format(
          "it uses {} of its module, and each build would have its own",
          variables.size() == 1
              ? "the variable " + variables.front()
              : fmt::format("{} variables ({}, …)", variables.size(), variables.front()));
      return note;
    }
  } else if (has_variables(source.made.at(Source::kA).cubin)) {
    note.why = "its module has variables, and each build would have its own";
    return note;
  }
  note.standing = Standing::pair;
  return note;
}

std::string Maker::keep_ptx(const Source& source, uint64_t image) const {
  if (!source.module) return "";
  std::filesystem::path file = live_ / "answers" / fmt::format("{:016x}.ptx", image);
  return write_file(file, source.module->text) ? file.string() : "";
}

Status Maker::write(const ImageRequest& request, const Source* source,
                    const std::vector<Note>& notes) const {
  std::string stem = (live_ / "answers" / fmt::format("{:016x}", request.hash)).string();
  ns_answer head{};
  head.magic = NAMESAKE_ANSWER_MAGIC;
  head.protocol = NAMESAKE_LIVE_PROTOCOL;
  std::string kernels;
  uint32_t files = 0;
  for (const Note& note : notes) {
    ns_answer_kernel kernel{symbol_hash(note.symbol), 0, 0};
    if (note.standing == Standing::pair) {
      kernel.flags = NS_ANSWER_PAIR;
      if (source->module && is_repeatable(*source->module)) kernel.flags |= NS_ANSWER_CHECK;
      if (!note.a_is_loaded) kernel.flags |= NS_ANSWER_FILE_A;
      if (!note.b_is_loaded) kernel.flags |= NS_ANSWER_FILE_B;
    }
    files |= kernel.flags;
    kernels.append(reinterpret_cast<const char*>(&kernel), sizeof kernel);
    ++head.count;
  }
  if (files & NS_ANSWER_FILE_A) TRY(write_file(stem + ".a", source->made.at(Source::kA).cubin));
  if (files & NS_ANSWER_FILE_B) TRY(write_file(stem + ".b", source->made.at(Source::kB).cubin));
  TRY(write_file(stem + ".notes", encode(notes)));
  return write_file(stem, std::string(reinterpret_cast<const char*>(&head), sizeof head) + kernels);
}

Status Maker::answer(const ImageRequest& request) {
  Loaded loaded = look_at(request);
  Source* source = loaded.why.empty() ? find_source(loaded, request) : nullptr;
  bool from_ptx = loaded.cubin.empty();
  std::optional<ptx::Module> text;
  if (from_ptx && !loaded.ptx.empty()) {
    auto module = ptx::parse(loaded.ptx.front(), "what was loaded");
    if (module) text = std::move(*module);
    if (!module && loaded.why.empty()) loaded.why = module.error().message;
  }
  for (const ptx::Function& function : text ? text->functions : std::vector<ptx::Function>())
    if (function.entry && function.defined) loaded.symbols.push_back(function.symbol);
  std::vector<Note> notes;
  std::string ptx;
  for (const std::string& symbol : loaded.symbols) {
    bool chosen = kernels_.empty() || glob_match(kernels_, symbol) ||
                  glob_match(kernels_, demangled_name(symbol));
    Note note;
    if (!chosen) {
      note.standing = Standing::not_chosen;
    } else if (source) {
      note = judge(*source, loaded, symbol, from_ptx);
      if (ptx.empty()) ptx = keep_ptx(*source, request.hash);
      note.ptx = ptx;
    } else {
      size_t named = loaded.cubin.find("Build cuda_");
      std::string_view build = named == std::string::npos
                                   ? std::string_view()
                                   : std::string_view(loaded.cubin).substr(named + 6, 48);
      build = build.substr(0, build.find_first_of(std::string_view(" \n\0", 3)));
      note.why = !loaded.why.empty() ? loaded.why
                 : loaded.ptx.empty()
                     ? "it was built before this run, and carries no PTX to build it again from"
                     : fmt::format(
                           "it was built before this run, and no assembler at hand makes the same "
                           "code of its PTX{}",
                           build.empty() ? "" : fmt::format(" ({} made it)", build));
      note.architecture = loaded.architecture;
    }
    note.image = request.hash;
    note.symbol = symbol;
    notes.push_back(std::move(note));
  }
  // Of the image as a whole, for kernels that were not found in it.
  Note& whole = notes.emplace_back();
  whole.image = request.hash;
  whole.why = loaded.why.empty() ? "its code was not found in what was loaded" : loaded.why;
  return write(request, source, notes);
}

}  // namespace namesake::ab
