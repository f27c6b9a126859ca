#include "study/probe_kernel.h"

#include <fmt/format.h>

#include <algorithm>

#include "ptx/ptx.h"

namespace namesake::study {
namespace {

struct Piece {  // of the module's text: one kernel, from its first word to behind its body
  size_t begin, name, name_end, end;
};

size_t skip_back_over_blanks(std::string_view text, size_t at) {
  while (at > 0 && static_cast<unsigned char>(text[at - 1]) <= ' ') --at;
  return at;
}

std::vector<Piece> pieces_of(const ptx::Module& module) {
  std::vector<Piece> pieces;
  for (const ptx::Function& function : module.functions) {
    if (!function.entry || !function.defined) continue;
    size_t begin = module.text.rfind(".entry", function.name_offset);
    if (begin == module.text.npos) continue;
    for (std::string_view linkage : {".visible", ".weak"}) {
      size_t end = skip_back_over_blanks(module.text, begin);
      if (std::string_view(module.text).substr(0, end).ends_with(linkage))
        begin = end - linkage.size();
    }
    pieces.push_back({begin, function.name_offset, function.name_offset + function.symbol.size(),
                      function.body_end});
  }
  return pieces;
}

bool in_identifier(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Behind the body that begins at the next '{'; strings and comments are passed over.
size_t end_of_body(std::string_view text, size_t at) {
  int depth = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == '"') {
      for (++at; at < text.size() && text[at] != '"'; ++at) at += text[at] == '\\';
    } else if (text.substr(at, 2) == "//") {
      at = std::min(text.find('\n', at), text.size());
    } else if (text[at] == '\'' && at + 2 < text.size() && text[at + 2] == '\'') {
      at += 2;  // a character; a lone ' stands between digits
    } else if (text[at] == '{') {
      ++depth;
    } else if (text[at] == '}' && --depth == 0) {
      return at + 1;
    } else if (text[at] == ';' && depth == 0) {
      return text.npos;  // a declaration
    }
  }
  return text.npos;
}

std::vector<Piece> pieces_of(std::string_view source) {
  constexpr std::string_view kBegin = "extern \"C\" __global__";
  std::vector<Piece> pieces;
  for (size_t begin = source.find(kBegin); begin != source.npos;
       begin = source.find(kBegin, begin + 1)) {
    // The last identifier before the parameters; __launch_bounds__(…) has parentheses of its own.
    size_t at = begin + kBegin.size(), bounds = source.find("__launch_bounds__", at);
    size_t open = source.find('(', at);
    if (bounds < open) open = source.find('(', source.find(')', bounds));
    if (open == source.npos) break;
    size_t name_end = skip_back_over_blanks(source, open), name = name_end;
    while (name > at && in_identifier(source[name - 1])) --name;
    size_t end = end_of_body(source, open);
    if (end != source.npos && name < name_end) pieces.push_back({begin, name, name_end, end});
  }
  return pieces;
}

}  // namespace

Result<std::vector<ProbeKernel>> probe_kernels(const std::string& text,
                                               const std::filesystem::path& file) {
  std::string target;
  std::vector<Piece> pieces;
  bool cuda = file.extension() == ".cu";
  if (cuda) {
    pieces = pieces_of(std::string_view(text));
  } else {
    TRY_ASSIGN(ptx::Module module, ptx::parse(text, file.string()));
    pieces = pieces_of(module);
    target = module.target;
  }
  if (pieces.empty()) {
    return error(fmt::format("{}: no {}", file.string(),
                             cuda ? "kernel declared extern \"C\" __global__" : "kernel"));
  }
  std::vector<ProbeKernel> kernels;
  for (const Piece& piece : pieces) {
    ProbeKernel kernel;
    kernel.name = file.stem().string();
    if (pieces.size() > 1)
      kernel.name += ":" + text.substr(piece.name, piece.name_end - piece.name);
    kernel.language = cuda ? Language::cuda : Language::ptx;
    kernel.target = target;
    kernel.before = text.substr(piece.begin, piece.name - piece.begin);
    kernel.after = text.substr(piece.name_end, piece.end - piece.name_end);
    size_t done = 0;
    for (const Piece& other : pieces) {
      (other.begin <= piece.begin ? kernel.head : kernel.foot) +=
          text.substr(done, other.begin - done);
      done = other.end;
    }
    kernel.foot += text.substr(done);
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

Stamped stamp(const ProbeKernel& kernel, const std::vector<std::string>& names) {
  auto lines_in = [](std::string_view text) {
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  };
  size_t size = kernel.head.size() + kernel.foot.size() + 2;
  for (const std::string& name : names)
    size += kernel.before.size() + name.size() + kernel.after.size() + 1;
  Stamped stamped;
  stamped.text.reserve(size);
  stamped.text = kernel.head + "\n";
  size_t line = lines_in(stamped.text) + 1,
         lines = lines_in(kernel.before) + lines_in(kernel.after) + 1;
  for (const std::string& name : names) {
    stamped.first_lines.push_back(line);
    stamped.text.append(kernel.before).append(name).append(kernel.after).append("\n");
    line += lines;
  }
  stamped.text += kernel.foot;
  return stamped;
}

}  // namespace namesake::study
