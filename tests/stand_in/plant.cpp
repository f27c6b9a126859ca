#include "plant.h"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace stand_in {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

}  // namespace

std::vector<Plant> read_plants(const Settings& settings) {
  std::vector<Plant> plants;
  for (const std::string& line : settings.list("plant", "")) {
    std::stringstream fields(line);
    std::vector<std::string> field;
    for (std::string each; std::getline(fields, each, '/');) field.push_back(each);
    field.resize(5);
    Plant plant;
    plant.text = field[0];
    if (!field[1].empty()) plant.match = field[1];
    plant.any_case = field[2] == "any";
    plant.holding = field[3];
    plant.architecture = field[4];
    plants.push_back(plant);
  }
  return plants;
}

bool reacts_to(const Plant& plant, const Function& function, std::string_view architecture) {
  if (!plant.architecture.empty() && plant.architecture != architecture) return false;
  if (!plant.holding.empty() &&
      std::count(function.marks.begin(), function.marks.end(), plant.holding) == 0)
    return false;
  std::string symbol = plant.any_case ? lower(function.symbol) : function.symbol;
  std::string text = plant.any_case ? lower(plant.text) : plant.text;
  if (plant.match == "exact") return symbol == text;
  if (symbol.size() < text.size()) return false;
  if (plant.match == "prefix") return symbol.compare(0, text.size(), text) == 0;
  if (plant.match == "suffix")
    return symbol.compare(symbol.size() - text.size(), text.size(), text) == 0;
  return symbol.find(text) != symbol.npos;
}

}  // namespace stand_in
