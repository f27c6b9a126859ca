#include "report/sass_rows.h"

#include <algorithm>
#include <cctype>

#include "report/words.h"

namespace namesake::report {

SassText split_scheduling(std::string_view text) {
  if (text.empty() || text[0] != '[') return {"", text};
  size_t close = text.find("] ");
  if (close == std::string_view::npos) return {"", text};
  return {text.substr(1, close - 1), text.substr(close + 2)};
}

std::vector<SassBlock> sass_blocks(const std::vector<SassRow>& rows, bool renames_count) {
  constexpr size_t kContext = 3;
  // First the lines with pairs joined, then the folds over them.
  struct Line : SassLine {
    int64_t left_out = 0;
  };
  std::vector<Line> lines;
  for (size_t i = 0; i < rows.size();) {
    char change = rows[i].change;
    if (rows[i].left_out > 0 || (change != '-' && change != '+')) {
      lines.push_back(
          {{change, rows[i].a, rows[i].b, rows[i].hot}, std::max<int64_t>(0, rows[i].left_out)});
      ++i;
      continue;
    }
    std::vector<const SassRow*> removed, added;
    for (; i < rows.size() && rows[i].left_out <= 0 &&
           (rows[i].change == '-' || rows[i].change == '+');
         ++i) {
      (rows[i].change == '-' ? removed : added).push_back(&rows[i]);
    }
    for (size_t k = 0; k < std::max(removed.size(), added.size()); ++k) {
      const SassRow* a = k < removed.size() ? removed[k] : nullptr;
      const SassRow* b = k < added.size() ? added[k] : nullptr;
      lines.push_back(
          {{a && b ? '|'
            : a    ? '-'
                   : '+',
            a ? std::string_view(a->a) : std::string_view(),
            b ? std::string_view(b->b) : std::string_view(), (a && a->hot) || (b && b->hot)},
           0});
    }
  }

  std::vector<bool> kept(lines.size(), false);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].change == ' ' || (lines[i].change == '~' && !renames_count)) continue;
    size_t first = i >= kContext ? i - kContext : 0,
           last = std::min(lines.size() - 1, i + kContext);
    std::fill(kept.begin() + static_cast<std::ptrdiff_t>(first),
              kept.begin() + static_cast<std::ptrdiff_t>(last) + 1, true);
  }
  std::vector<SassBlock> blocks;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].left_out > 0) {
      blocks.push_back({false, lines[i].left_out, {}});
      continue;
    }
    bool folds = !kept[i];
    if (blocks.empty() || blocks.back().left_out > 0 || blocks.back().folds != folds)
      blocks.push_back({folds, 0, {}});
    blocks.back().lines.push_back(lines[i]);
  }
  // A fold of one or two lines hides less than it costs.
  for (SassBlock& block : blocks) block.folds = block.folds && block.lines.size() > 2;
  return blocks;
}

std::string fold_label(const SassBlock& block) {
  if (block.left_out > 0) return counted(block.left_out, "equal line") + " left out";
  int64_t renamed = std::count_if(block.lines.begin(), block.lines.end(),
                                  [](const SassLine& line) { return line.change == '~'; });
  int64_t lines = static_cast<int64_t>(block.lines.size());
  if (renamed == 0) return counted(lines, "equal line");
  return counted(lines, "line") + ", equal but for registers or scheduling" +
         (renamed == lines ? "" : " in " + grouped(renamed));
}

std::vector<SassRow> shortened(const std::vector<SassRow>& rows, size_t context) {
  std::vector<SassRow> out;
  for (size_t i = 0; i < rows.size();) {
    if (rows[i].change != ' ') {
      out.push_back(rows[i++]);
      continue;
    }
    size_t end = i;
    while (end < rows.size() && rows[end].change == ' ') ++end;
    size_t head = i == 0 ? 0 : context, tail = end == rows.size() ? 0 : context;
    if (end - i <= head + tail + 1) {
      out.insert(out.end(), rows.begin() + static_cast<std::ptrdiff_t>(i),
                 rows.begin() + static_cast<std::ptrdiff_t>(end));
    } else {
      auto copy = [&](size_t from, size_t to) {
        out.insert(out.end(), rows.begin() + static_cast<std::ptrdiff_t>(from),
                   rows.begin() + static_cast<std::ptrdiff_t>(to));
      };
      copy(i, i + head);
      SassRow gap;
      for (size_t k = i + head; k < end - tail; ++k)
        gap.left_out += std::max<int64_t>(1, rows[k].left_out);
      out.push_back(gap);
      copy(end - tail, end);
    }
    i = end;
  }
  return out;
}

namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || (c & 0x80);
}

std::vector<SassToken> tokens(std::string_view text) {
  std::vector<SassToken> out;
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    if (is_word(text[i])) {
      while (end < text.size() && is_word(text[end])) ++end;
    } else if (text[i] == ' ') {
      while (end < text.size() && text[end] == ' ') ++end;
    }
    out.push_back({text.substr(i, end - i), false});
    i = end;
  }
  return out;
}

std::string_view opcode(std::string_view instruction) {
  if (instruction.substr(0, 1) == "@") {
    instruction.remove_prefix(std::min(instruction.find(' ') + 1, instruction.size()));
  }
  return instruction.substr(0, instruction.find(' '));
}

constexpr size_t kMostTokens =
    64;  // an instruction has some thirty; a hostile text is not worth n²

}  // namespace

bool tokens_compare(char change, std::string_view a, std::string_view b) {
  return a != b && (change == '~' || (change == '|' && opcode(a) == opcode(b)));
}

void mark_tokens(std::string_view a, std::string_view b, std::vector<SassToken>& out_a,
                 std::vector<SassToken>& out_b) {
  out_a = tokens(a);
  out_b = tokens(b);
  size_t n = out_a.size(), m = out_b.size();
  if (n > kMostTokens || m > kMostTokens) {
    for (SassToken& token : out_a) token.changed = a != b;
    for (SassToken& token : out_b) token.changed = a != b;
    return;
  }
  // Longest common subsequence from the back, walked from the front.
  std::vector<uint8_t> length((n + 1) * (m + 1), 0);
  auto at = [&](size_t i, size_t j) -> uint8_t& { return length[i * (m + 1) + j]; };
  for (size_t i = n; i-- > 0;) {
    for (size_t j = m; j-- > 0;) {
      at(i, j) = out_a[i].text == out_b[j].text ? static_cast<uint8_t>(at(i + 1, j + 1) + 1)
                                                : std::max(at(i + 1, j), at(i, j + 1));
    }
  }
  size_t i = 0, j = 0;
  while (i < n && j < m) {
    if (out_a[i].text == out_b[j].text) {
      ++i, ++j;
    } else if (at(i + 1, j) >= at(i, j + 1)) {
      out_a[i++].changed = true;
    } else {
      out_b[j++].changed = true;
    }
  }
  for (; i < n; ++i) out_a[i].changed = true;
  for (; j < m; ++j) out_b[j].changed = true;
}

}  // namespace namesake::report
