#include "session/control.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "hook/protocol.h"
#include "util/file.h"
#include "util/text.h"

namespace namesake::session {
namespace {

uint64_t fnv(Bytes text) {
  uint64_t hash = NS_HASH_START;
  for (char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * NS_HASH_FACTOR;
  return hash;
}

// A file that grows: structs at multiples of eight, texts once each.
class Writer {
 public:
  template <class T>
  uint32_t put(const T& value) {
    return put_bytes(Bytes(reinterpret_cast<const char*>(&value), sizeof value));
  }
  template <class T>
  uint32_t put_all(const std::vector<T>& values) {
    uint32_t at = aligned();
    for (const T& value : values) {
      content_.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    return at;
  }
  uint32_t text(const std::string& text) {
    auto [place, is_new] = texts_.try_emplace(text, 0);
    if (is_new) {
      place->second = static_cast<uint32_t>(content_.size());
      content_.append(text.c_str(), text.size() + 1);
    }
    return place->second;
  }
  std::string& content() { return content_; }

 private:
  uint32_t aligned() {
    content_.resize((content_.size() + 7) & ~size_t{7});
    return static_cast<uint32_t>(content_.size());
  }
  uint32_t put_bytes(Bytes bytes) {
    uint32_t at = aligned();
    content_.append(bytes);
    return at;
  }

  std::string content_;
  std::map<std::string, uint32_t> texts_;
};

bool has_wildcard(std::string_view pattern) {
  return pattern.find_first_of("*?[") != std::string_view::npos;
}

Result<ns_rule> encode_rule(const Rule& rule, Writer& writer) {
  if (rule.pattern.empty()) return error("a rule has an empty pattern; write * for every function");
  if (rule.pattern.find_first_of("<(") != std::string::npos) {
    return error(fmt::format(
        "pattern \"{}\": readable names are matched without template arguments and parameters in a "
        "running assembler; use a glob on the name before them, or on the symbol",
        rule.pattern));
  }
  ns_rule result{};
  if (!rule.architecture.empty()) {
    auto packed = pack_architecture(rule.architecture);
    if (!packed) {
      return error(fmt::format("unknown architecture \"{}\"; it is written like sm_90 or sm_100a",
                               rule.architecture));
    }
    result.architecture = *packed;
  }
  result.assembler = rule.assembler.value_or(0);
  result.exact_hash = has_wildcard(rule.pattern) ? 0 : fnv(rule.pattern);
  result.needle = writer.text(rule.needle);
  result.pattern = writer.text(rule.pattern);
  result.treatment = static_cast<uint32_t>(rule.treatment);
  return result;
}

}  // namespace

const std::vector<AssemblerFile>& known_assembler_files() {
  static const std::vector<AssemblerFile> files = {
      {"ptxas*", true},    {"nvlink*", true}, {"libnvrtc.so*"},      {"libnvrtc.alt.so*"},
      {"libnvrtc-*.so*"},  {"libnvJitLink*"}, {"libnvptxcompiler*"}, {"libnvidia-ptxjitcompiler*"},
      {"libnvidia-nvvm*"}, {"libcuda.so*"},
  };
  return files;
}

bool treats(const Settings& settings) {
  return std::any_of(settings.rules.begin(), settings.rules.end(),
                     [](const Rule& rule) { return rule.treatment == Treatment::treated; });
}

std::optional<uint32_t> pack_architecture(std::string_view text) {
  if (!text.starts_with("sm_")) return std::nullopt;
  text.remove_prefix(3);
  uint32_t letter = 0;
  if (!text.empty() && text.back() >= 'a' && text.back() <= 'z') {
    letter = static_cast<uint8_t>(text.back());
    text.remove_suffix(1);
  }
  auto number = parse_integer(text);
  if (!number || *number <= 0 || *number > 99999) return std::nullopt;
  return static_cast<uint32_t>(*number) << 8 | letter;
}

std::string unpack_architecture(uint32_t packed) {
  if (packed == 0) return "";
  std::string text = fmt::format("sm_{}", packed >> 8);
  char letter = static_cast<char>(packed & 0xff);
  if (letter >= 'a' && letter <= 'z') text += letter;
  return text;
}

Result<uint64_t> assembler_identity(const std::filesystem::path& file) {
  std::string page(NS_IDENTITY_BYTES, '\0');
  std::FILE* stream = std::fopen(file.c_str(), "rbe");
  if (!stream) return error(fmt::format("cannot read {}: {}", file.string(), strerror(errno)));
  size_t got = std::fread(page.data(), 1, page.size(), stream);
  std::fclose(stream);
  if (got == 0) return error(fmt::format("{} is empty, so it is no assembler", file.string()));
  return fnv(page);
}

Result<std::string> encode_control(const Settings& settings, const std::filesystem::path& folder) {
  if (settings.rules.size() > UINT16_MAX) {
    return error(fmt::format("{} rules are more than the {} a run can hold; use globs",
                             settings.rules.size(), UINT16_MAX));
  }
  Writer writer;
  writer.put(ns_control{});
  ns_control head{};
  head.magic = NAMESAKE_CONTROL_MAGIC;
  head.protocol = NAMESAKE_PROTOCOL;
  head.folder = writer.text(folder.string());
  head.spill_limit = -1;

  std::vector<uint32_t> needles = {writer.text("cutlass"), writer.text("sm_")};
  std::vector<ns_rule> rules;
  for (const Rule& rule : settings.rules) {
    TRY_ASSIGN(ns_rule encoded, encode_rule(rule, writer));
    rules.push_back(encoded);
    if (std::find(needles.begin(), needles.end(), encoded.needle) == needles.end()) {
      needles.push_back(encoded.needle);
    }
  }
  std::vector<ns_image_pattern> images;
  for (const auto* list : {&settings.more_assemblers, &known_assembler_files()}) {
    for (const AssemblerFile& file : *list) {
      uint32_t kind = file.program ? NS_IMAGE_PROGRAM : NS_IMAGE_LIBRARY;
      images.push_back({file.call_site, writer.text(file.pattern), kind});
    }
  }
  std::vector<uint32_t> names;
  for (const std::string& name : settings.names) names.push_back(writer.text(name));

  if (settings.record) head.flags |= NS_RECORD;
  if (settings.record && settings.other_texts) head.flags |= NS_RECORD_OTHERS;
  if (settings.guard && (settings.guard->always || treats(settings))) {
    head.flags |= NS_GUARD;
    head.guard_seconds = settings.guard->seconds;
    head.spill_limit = settings.guard->spill_limit.value_or(-1);
    head.helper = writer.text(settings.guard->helper.string());
  }
  head.needle_count = static_cast<uint32_t>(needles.size());
  head.needles = writer.put_all(needles);
  head.rule_count = static_cast<uint32_t>(rules.size());
  head.rules = writer.put_all(rules);
  head.image_count = static_cast<uint32_t>(images.size());
  head.images = writer.put_all(images);
  head.name_count = static_cast<uint32_t>(names.size());
  head.names = writer.put_all(names);
  head.size = static_cast<uint32_t>(writer.content().size());
  std::memcpy(writer.content().data(), &head, sizeof head);
  return std::move(writer.content());
}

Result<GuardTerms> decode_guard_terms(Bytes control) {
  Cursor cursor(control);
  auto head = cursor.read<ns_control>();
  if (!cursor.ok() || head.magic != NAMESAKE_CONTROL_MAGIC || head.protocol != NAMESAKE_PROTOCOL) {
    return error("the run's control file is not of this version of the tool");
  }
  GuardTerms terms;
  terms.seconds = head.guard_seconds;
  if (head.spill_limit >= 0) terms.spill_limit = head.spill_limit;
  return terms;
}

}  // namespace namesake::session
