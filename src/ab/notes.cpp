#include "ab/notes.h"

#include <fmt/format.h>

#include "ab/requests.h"
#include "util/text.h"

namespace namesake::ab {
namespace {

constexpr uint64_t kLayout = 1;

void put(TextWriter& writer, const FunctionFacts& facts) {
  writer.text(facts.identity);
  writer.text(fmt::format("{} {} {}", facts.registers, facts.spill_bytes, facts.code_bytes));
}

FunctionFacts take_facts(Cursor& cursor) {
  FunctionFacts facts;
  facts.identity = take_text(cursor);
  auto numbers = split(take_text(cursor), ' ');
  if (numbers.size() == 3) {
    facts.registers = parse_integer(numbers[0]).value_or(0);
    facts.spill_bytes = parse_integer(numbers[1]).value_or(0);
    facts.code_bytes = parse_integer(numbers[2]).value_or(0);
  }
  return facts;
}

}  // namespace

std::string encode(const std::vector<Note>& notes) {
  TextWriter writer;
  for (const Note& note : notes) {
    writer.text(fmt::format("{} {} {} {} {}", kLayout, note.image, static_cast<int>(note.standing),
                            int{note.a_is_loaded}, int{note.b_is_loaded}));
    for (const std::string* text : {&note.symbol, &note.why, &note.architecture, &note.assembler,
                                    &note.assembler_build, &note.ptx})
      writer.text(*text);
    put(writer, note.a);
    put(writer, note.b);
  }
  return writer.content();
}

Result<std::vector<Note>> decode_notes(Bytes bytes) {
  std::vector<Note> notes;
  Cursor cursor(bytes);
  while (!cursor.at_end()) {
    auto numbers = split(take_text(cursor), ' ');
    if (numbers.size() != 5 || parse_integer(numbers[0]) != int64_t{kLayout})
      return error("notes of another layout");
    Note& note = notes.emplace_back();
    note.image = std::strtoull(std::string(numbers[1]).c_str(), nullptr, 10);
    note.standing = static_cast<Standing>(parse_integer(numbers[2]).value_or(2) & 3);
    note.a_is_loaded = numbers[3] == "1";
    note.b_is_loaded = numbers[4] == "1";
    for (std::string* text : {&note.symbol, &note.why, &note.architecture, &note.assembler,
                              &note.assembler_build, &note.ptx})
      *text = take_text(cursor);
    note.a = take_facts(cursor);
    note.b = take_facts(cursor);
    if (!cursor.ok()) return error("notes that end too soon");
  }
  return notes;
}

}  // namespace namesake::ab
