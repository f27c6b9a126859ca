#include "ab/requests.h"

#include <cstring>

#include "live/protocol.h"

namespace namesake::ab {
namespace {

template <class T>
void append(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string with_head(uint32_t kind, const std::string& content) {
  ns_request head{};
  head.magic = NAMESAKE_REQUEST_MAGIC;
  head.protocol = NAMESAKE_LIVE_PROTOCOL;
  head.kind = kind;
  head.size = content.size();
  std::string result;
  append(result, head);
  return result + content;
}

uint64_t eight_bytes(const char* at) {
  uint64_t value = 0;
  std::memcpy(&value, at, sizeof value);
  return value;
}

std::string own(std::string_view text) {
  return std::string(text);
}

}  // namespace

uint64_t symbol_hash(std::string_view text) {
  const char* at = text.data();
  size_t size = text.size();
  uint64_t hash = 0x9e3779b97f4a7c15ull ^ size;
  for (; size >= 8; at += 8, size -= 8) {
    hash = (hash ^ eight_bytes(at)) * 0xbf58476d1ce4e5b9ull;
    hash ^= hash >> 29;
  }
  uint64_t rest = 0;
  std::memcpy(&rest, at, size);
  hash = (hash ^ rest) * 0x94d049bb133111ebull;
  return hash ^ hash >> 32;
}

void TextWriter::text(std::string_view text) {
  append(content_, uint64_t{text.size()});
  content_ += text;
}

void TextWriter::list(const std::vector<std::string>& texts) {
  append(content_, uint64_t{texts.size()});
  for (const std::string& each : texts) text(each);
}

std::string_view take_text(Cursor& cursor) {
  auto size = cursor.read<uint64_t>();
  return cursor.take(size);
}

std::vector<std::string> take_list(Cursor& cursor) {
  auto count = cursor.read<uint64_t>();
  std::vector<std::string> texts;
  // Each takes eight bytes at least: a count beyond that ends at the first one missing.
  for (uint64_t i = 0; i < count && cursor.ok() && !cursor.at_end(); ++i)
    texts.emplace_back(take_text(cursor));
  if (texts.size() < count) cursor.skip(cursor.left() + 1);
  return texts;
}

Result<Request> parse_request(Bytes file) {
  Cursor cursor(file);
  auto head = cursor.read<ns_request>();
  if (!cursor.ok() || head.magic != NAMESAKE_REQUEST_MAGIC ||
      head.protocol != NAMESAKE_LIVE_PROTOCOL || head.size != cursor.left()) {
    return error("no request of this version of the tool");
  }
  Request request;
  if (head.kind == NS_REQUEST_IMAGE) {
    request.kind = Request::Kind::image;
    request.image = {head.hash, static_cast<int>(head.major), static_cast<int>(head.minor),
                     (head.flags & NS_REQUEST_OPTIONS) != 0, cursor.take(head.size)};
  } else if (head.kind == NS_REQUEST_NVRTC) {
    request.kind = Request::Kind::nvrtc;
    NvrtcProgram& program = request.nvrtc;
    program.library = own(take_text(cursor));
    program.source = own(take_text(cursor));
    program.name = own(take_text(cursor));
    program.headers = take_list(cursor);
    program.header_names = take_list(cursor);
    program.options = take_list(cursor);
    program.expressions = take_list(cursor);
    if (program.headers.size() != program.header_names.size())
      return error("a program for NVRTC with headers that have no names");
  } else if (head.kind == NS_REQUEST_PROGRAM) {
    request.kind = Request::Kind::program;
    ProgramRun& run = request.program;
    run.file = own(take_text(cursor));
    run.folder = own(take_text(cursor));
    run.arguments = take_list(cursor);
    run.text = own(take_text(cursor));
  } else {
    return error("a request of an unknown kind");
  }
  if (!cursor.ok()) return error("a request that ends too soon");
  return request;
}

std::string encode_request(const NvrtcProgram& program) {
  TextWriter writer;
  writer.text(program.library);
  writer.text(program.source);
  writer.text(program.name);
  writer.list(program.headers);
  writer.list(program.header_names);
  writer.list(program.options);
  writer.list(program.expressions);
  return with_head(NS_REQUEST_NVRTC, writer.content());
}

std::string encode_request(const ProgramRun& run) {
  TextWriter writer;
  writer.text(run.file);
  writer.text(run.folder);
  writer.list(run.arguments);
  writer.text(run.text);
  return with_head(NS_REQUEST_PROGRAM, writer.content());
}

}  // namespace namesake::ab
