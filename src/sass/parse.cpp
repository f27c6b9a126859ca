// nvdisasm's text, one instruction a line:
//
//         /*0290*/              @!P0 BRA 0xc70 ;
//
// in the order of the code, so the parser walks the lines and the code bytes side by side and holds
// the disassembler to every 16 bytes: an nvdisasm older than the assembler leaves instructions out
// silently, and a difference made of its gaps would be worse than none.
//
// Several functions stand behind each other in one address space. A branch prints its target in
// that space; it is rewritten relative to its function, so that a text says the same wherever the
// function happened to stand. Which operands are such addresses was found by disassembling the same
// code at two places and listing what changed.
#include <algorithm>
#include <charconv>
#include <cstdio>

#include "sass/flow.h"
#include "sass/sass.h"

namespace namesake::sass {

namespace {

constexpr size_t kInstructionBytes = 16;

std::string hex(int64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, value < 0 ? "-0x%llx" : "0x%llx",
                static_cast<unsigned long long>(value < 0 ? -value : value));
  return text;
}

std::string_view trimmed_blank(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// "/*0290*/   @!P0 BRA 0xc70 ;   (*"…"*)" → 0x290 and "@!P0 BRA 0xc70"; false for other lines.
bool split_line(std::string_view line, uint64_t& offset, std::string_view& body) {
  line = trimmed_blank(line);
  if (!line.starts_with("/*")) return false;
  line.remove_prefix(2);
  size_t close = line.find("*/");
  if (close == std::string_view::npos || close == 0) return false;
  std::string_view digits = line.substr(0, close);
  auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), offset, 16);
  if (status != std::errc() || end != digits.data() + digits.size()) return false;
  body = line.substr(close + 2);
  body = body.substr(0, std::min(body.find(';'), body.find("(*")));
  body = trimmed_blank(body);
  return !body.empty();
}

struct Parts {
  std::string_view predicate, opcode, operands;
};

Parts parts_of(std::string_view text) {
  Parts parts;
  if (text.starts_with('@')) {
    size_t blank = text.find(' ');
    if (blank == std::string_view::npos) return {text, {}, {}};
    parts.predicate = text.substr(0, blank);
    text = trimmed_blank(text.substr(blank));
  }
  size_t blank = text.find(' ');
  parts.opcode = text.substr(0, blank);
  if (blank != std::string_view::npos) parts.operands = trimmed_blank(text.substr(blank));
  return parts;
}

// Opcodes whose last operand is an address of code, printed absolute.
bool prints_address(std::string_view opcode) {
  std::string_view base = opcode.substr(0, opcode.find('.'));
  std::string_view modifiers = opcode.substr(base.size());
  if (base == "CALL" || base == "RET") return modifiers.starts_with(".REL");
  if (base == "WARPSYNC") return modifiers.starts_with(".COLLECTIVE");
  return base == "BRA" || base == "BSSY" || base == "LEPC";
}

size_t reuse_count(std::string_view text) {
  size_t count = 0;
  constexpr std::string_view kReuse = ".reuse";
  for (size_t at = text.find(kReuse); at != std::string_view::npos;
       at = text.find(kReuse, at + 1)) {
    ++count;
  }
  return count;
}

Instruction make_instruction(std::string_view body, uint32_t offset, uint64_t base,
                             size_t code_size, Bytes word) {
  Instruction result;
  result.offset = offset;
  Cursor cursor(word);
  result.low = cursor.read<uint64_t>();
  result.high = cursor.read<uint64_t>();
  result.scheduling = decode_scheduling(result.low, result.high);

  Parts parts = parts_of(body);
  result.opcode = parts.opcode;
  result.cls = classify(parts.opcode, parts.operands);
  std::string_view base_name = parts.opcode.substr(0, parts.opcode.find('.'));
  result.local_memory = base_name == "LDL" || base_name == "STL";

  result.text.reserve(body.size());
  result.text = parts.predicate;
  if (!parts.predicate.empty() && !parts.opcode.empty()) result.text += ' ';
  result.text += parts.opcode;
  if (parts.operands.empty()) return result;
  result.text += ' ';

  size_t address =
      prints_address(parts.opcode) ? parts.operands.rfind("0x") : std::string_view::npos;
  uint64_t target = 0;
  if (address != std::string_view::npos) {
    std::string_view digits = parts.operands.substr(address + 2);
    auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), target, 16);
    if (status != std::errc() || end != digits.data() + digits.size())
      address = std::string_view::npos;
  }
  if (address == std::string_view::npos) {
    result.text += parts.operands;
    return result;
  }
  auto relative = static_cast<int64_t>(target - base);
  result.text += parts.operands.substr(0, address);
  result.text += hex(relative);
  if (base_name == "BRA" && relative >= 0 && static_cast<uint64_t>(relative) < code_size &&
      relative % kInstructionBytes == 0) {
    result.branch_target = relative;
  }
  return result;
}

void append_relocations(Function& function, const std::vector<cubin::Relocation>& relocations) {
  for (const cubin::Relocation& relocation : relocations) {
    size_t index = relocation.offset / kInstructionBytes;
    if (index >= function.instructions.size()) continue;
    Instruction& instruction = function.instructions[index];
    instruction.text.append(" &(").append(relocation.target);
    if (relocation.addend > 0) instruction.text.push_back('+');
    if (relocation.addend != 0) instruction.text.append(hex(relocation.addend));
    instruction.text.append(", type ").append(std::to_string(relocation.type)).append(")");
    instruction.branch_target = -1;  // what stands there now is a placeholder
  }
}

tl::unexpected<Error> wrong_count(const Code& code, size_t instructions) {
  return error(
      "nvdisasm printed " + std::to_string(instructions) + " instructions for '" + code.symbol +
      "', whose " + std::to_string(code.bytes.size()) + " bytes of code hold " +
      std::to_string(code.bytes.size() / kInstructionBytes) +
      ": it is older than the assembler; use a newer nvdisasm (namesake toolchain add newest)");
}

}  // namespace

Code code_of(const cubin::Function& function) {
  return {function.symbol, function.code, function.indirect_branches, function.relocations};
}

Result<std::vector<Function>> parse_disassembly(std::string_view text,
                                                const std::vector<Code>& codes) {
  std::vector<Function> functions;
  functions.reserve(codes.size());
  Cursor lines(text);
  uint64_t base = 0;
  uint64_t offset = 0;
  std::string_view body;
  auto next_instruction = [&] {
    while (!lines.at_end()) {
      if (split_line(lines.take_line(), offset, body)) return true;
    }
    return false;
  };

  for (const Code& code : codes) {
    if (code.bytes.size() % kInstructionBytes != 0) {
      return error("the code of '" + code.symbol + "' is " + std::to_string(code.bytes.size()) +
                   " bytes long, no multiple of 16: no architecture this tool knows has such code");
    }
    Function function;
    function.symbol = code.symbol;
    function.indirect_branches = code.indirect_branches;
    function.instructions.reserve(code.bytes.size() / kInstructionBytes);
    Cursor words(code.bytes);
    while (!words.at_end()) {
      size_t index = function.instructions.size();
      uint64_t expected = base + index * kInstructionBytes;
      if (!next_instruction() || offset != expected) return wrong_count(code, index);
      function.instructions.push_back(
          make_instruction(body, static_cast<uint32_t>(index * kInstructionBytes), base,
                           code.bytes.size(), words.take(kInstructionBytes)));
      const Instruction& made = function.instructions.back();
      unsigned bits = static_cast<unsigned>(__builtin_popcount(made.scheduling.reuse));
      if (reuse_count(made.text) != bits) ++function.reuse_mismatches;
    }
    append_relocations(function, code.relocations);
    function.loops = find_loops(function);
    base += code.bytes.size();
    functions.push_back(std::move(function));
  }
  if (next_instruction()) {
    return error("nvdisasm printed instructions beyond the " + std::to_string(base) +
                 " bytes it was given: not the disassembly of this code");
  }
  return functions;
}

}  // namespace namesake::sass
