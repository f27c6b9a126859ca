#include "story_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

namespace namesake::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kKernels[] = {"hopper", "portable"};
constexpr const char* kTypes[] = {"fp16", "e4m3"};

const char* label(const std::string& dtype) {
  return dtype == "e4m3" ? "fp8" : "fp16";
}

// One kernel, head_dim and mask: length → dtype → the cell.
struct Block {
  std::string kernel, mask;
  int64_t head_dim = 0;
  std::map<int64_t, std::map<std::string, Json>> rows;
  std::set<std::string> types;  // that the kernel has

  std::string title() const { return fmt::format("{}, head_dim {}, {}", kernel, head_dim, mask); }
};

std::vector<Block> blocks_of(const Json& document) {
  std::vector<Block> blocks;
  for (const char* kernel : kKernels)
    for (const int64_t head_dim : {64, 128})
      for (const char* mask : {"full", "causal"}) {
        Block block{.kernel = kernel, .mask = mask, .head_dim = head_dim};
        for (const Json& cell : document["story"]) {
          const Json& shape = cell["shape"];
          if (!cell.contains(kernel) || shape["head_dim"] != head_dim || shape["mask"] != mask)
            continue;
          block.rows[shape["length"]][shape["dtype"]] = cell;
          block.types.insert(shape["dtype"]);
        }
        if (!block.rows.empty()) blocks.push_back(block);
      }
  return blocks;
}

std::string speed(const Json& side) {
  return fmt::format("{:.0f}", side["teraflops"].get<double>());
}

std::string treated_text(const Json& ours) {
  if (ours["code"]["same"]) return "same code";
  const Json& ratio = ours["treated_to_untreated"];
  std::string text =
      fmt::format("{} ({:.3f}", speed(ours["treated"]), ratio["ratio"].get<double>());
  if (ratio["interval"].is_array())
    text += fmt::format(": {:.3f}–{:.3f}", ratio["interval"][0].get<double>(),
                        ratio["interval"][1].get<double>());
  return text + ")";
}

// What both builds are, and whether their results are the same.
std::string code_text(const Block& block, const std::string& type) {
  size_t cells = 0, equal = 0;
  Json code;
  for (const auto& [length, types] : block.rows) {
    const auto found = types.find(type);
    if (found == types.end()) continue;
    const Json& ours = found->second[block.kernel];
    code = ours["code"];
    ++cells;
    equal += ours.value("differing_bytes", 0) == 0;
  }
  const std::string untreated = code["untreated"], treated = code["treated"];
  if (code["same"])
    return fmt::format("{}: the name changes nothing, both are {}", label(type), untreated);
  return fmt::format("{}: {} untreated, {} treated; results equal bit for bit in {} of {}",
                     label(type), untreated, treated, equal, cells);
}

std::string table(const Block& block) {
  std::string head = "| length |", rule = "| --- |";
  const auto column = [&](const std::string& name) {
    head += " " + name + " |";
    rule += " --- |";
  };
  for (const char* type : kTypes)
    if (block.types.count(type)) {
      column(fmt::format("{} untreated", label(type)));
      column(fmt::format("{} treated", label(type)));
    }
  for (const char* type : kTypes)
    if (block.types.count(type)) column(fmt::format("cuDNN {}", label(type)));
  std::string text = head + "\n" + rule + "\n";
  for (const auto& [length, types] : block.rows) {
    text += fmt::format("| {} |", length);
    for (const char* type : kTypes) {
      if (!block.types.count(type)) continue;
      const auto cell = types.find(type);
      if (cell == types.end()) {
        text += " | |";
        continue;
      }
      const Json& ours = cell->second[block.kernel];
      text += fmt::format(" {} | {} |", speed(ours["untreated"]), treated_text(ours));
    }
    for (const char* type : kTypes) {
      if (!block.types.count(type)) continue;
      const auto cell = types.find(type);
      const bool timed = cell != types.end() && cell->second.contains("cudnn");
      text += fmt::format(" {} |", timed ? speed(cell->second["cudnn"]) : "–");
    }
    text += "\n";
  }
  return text;
}

// ================================================================================================
// The figure: a panel for each block, lengths to the right, TFLOP/s upwards.

constexpr double kPanelWidth = 300, kPanelHeight = 210, kLeft = 46, kTop = 56, kGap = 14;
constexpr int kColumns = 4;

struct Line {
  const char *name, *colour, *dash;
  const char* type;
  const char* side;  // "cudnn", or a build of the block's kernel
};
constexpr Line kLines[] = {{"fp16 untreated", "#1f77b4", "", "fp16", "untreated"},
                           {"fp16 treated", "#17becf", "6 4", "fp16", "treated"},
                           {"fp8 untreated", "#d62728", "", "e4m3", "untreated"},
                           {"fp8 treated", "#ff9896", "6 4", "e4m3", "treated"},
                           {"cuDNN fp16", "#7f7f7f", "", "fp16", "cudnn"},
                           {"cuDNN fp8", "#7f7f7f", "2 3", "e4m3", "cudnn"}};

const Json* side_of(const Json& cell, const std::string& kernel, const std::string& side) {
  if (side == "cudnn") return cell.contains("cudnn") ? &cell["cudnn"] : nullptr;
  const Json& ours = cell[kernel];
  return ours.contains(side) ? &ours[side] : nullptr;
}

std::string panel(const Block& block, double left, double top, double highest) {
  const double width = kPanelWidth - kLeft, height = kPanelHeight - kTop;
  const auto x_of = [&](int64_t length) {
    return left + kLeft + width * (std::log2(static_cast<double>(length)) - 9.6) / 6.8;
  };
  const auto y_of = [&](double teraflops) { return top + 24 + height * (1 - teraflops / highest); };
  std::string text = fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" font-weight=\"bold\">{}</text>\n",
                                 left + kLeft, top + 14, block.title());
  for (double mark = 0; mark <= highest; mark += 200)
    text += fmt::format(
        "<line x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#ddd\"/>"
        "<text x=\"{3:.1f}\" y=\"{4:.1f}\" text-anchor=\"end\">{5:.0f}</text>\n",
        left + kLeft, left + kPanelWidth, y_of(mark), left + kLeft - 5, y_of(mark) + 4, mark);
  for (const auto& [length, types] : block.rows)
    text += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}k</text>\n",
                        x_of(length), y_of(0) + 14, length / 1024);
  for (const Line& line : kLines) {
    std::string points;
    for (const auto& [length, types] : block.rows) {
      const auto cell = types.find(line.type);
      if (cell == types.end()) continue;
      if (const Json* side = side_of(cell->second, block.kernel, line.side))
        points +=
            fmt::format("{:.1f},{:.1f} ", x_of(length), y_of((*side)["teraflops"].get<double>()));
    }
    if (!points.empty())
      text += fmt::format(
          "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\" "
          "stroke-dasharray=\"{}\"/>\n",
          points, line.colour, line.dash);
  }
  return text;
}

}  // namespace

std::string story_text(const Json& document) {
  std::string text;
  for (const Block& block : blocks_of(document)) {
    text += fmt::format("\n**{}**, TFLOP/s; of treated ones the speed ratio to untreated (95%)\n\n",
                        block.title());
    text += table(block) + "\n";
    for (const char* type : kTypes)
      if (block.types.count(type)) text += "- " + code_text(block, type) + "\n";
  }
  return text;
}

std::string story_figure(const Json& document) {
  const std::vector<Block> blocks = blocks_of(document);
  double highest = 200;
  for (const Block& block : blocks)
    for (const auto& [length, types] : block.rows)
      for (const auto& [type, cell] : types)
        for (const char* side : {"untreated", "treated", "cudnn"})
          if (const Json* found = side_of(cell, block.kernel, side))
            highest = std::max(highest, (*found)["teraflops"].get<double>());
  highest = std::ceil(highest / 100) * 100;
  const size_t rows = (blocks.size() + kColumns - 1) / kColumns;
  const double width = kColumns * (kPanelWidth + kGap) + kGap;
  const double height = 44 + static_cast<double>(rows) * (kPanelHeight + kGap);
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" font-family=\"sans-serif\" font-size=\"11\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      width, height);
  double x = kLeft;
  for (const Line& line : kLines) {
    text += fmt::format(
        "<line x1=\"{:.0f}\" x2=\"{:.0f}\" y1=\"20\" y2=\"20\" stroke=\"{}\" stroke-width=\"1.8\" "
        "stroke-dasharray=\"{}\"/><text x=\"{:.0f}\" y=\"24\">{}</text>\n",
        x, x + 30, line.colour, line.dash, x + 36, line.name);
    x += 140;
  }
  text += fmt::format(
      "<text x=\"{:.0f}\" y=\"24\">TFLOP/s by length; no treated line: the same code</text>\n", x);
  for (size_t i = 0; i < blocks.size(); ++i)
    text += panel(blocks[i], kGap + static_cast<double>(i % kColumns) * (kPanelWidth + kGap),
                  40 + static_cast<double>(i / kColumns) * (kPanelHeight + kGap), highest);
  return text + "</svg>\n";
}

}  // namespace namesake::bench
