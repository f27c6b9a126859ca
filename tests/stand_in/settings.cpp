#include "settings.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace stand_in {

Settings Settings::load() {
  std::error_code ignored;
  std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", ignored);
  std::stringstream words;
  if (std::ifstream file(own.parent_path() / "settings"); file) words << file.rdbuf() << '\n';
  if (const char* given = std::getenv("NAMESAKE_STAND_IN")) words << given;
  Settings settings;
  for (std::string word; words >> word;) {
    size_t equals = word.find('=');
    if (equals != word.npos) settings.values_[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return settings;
}

std::string Settings::get(const std::string& key, const std::string& otherwise) const {
  auto found = values_.find(key);
  return found == values_.end() ? otherwise : found->second;
}

std::vector<std::string> Settings::list(const std::string& key, const std::string& otherwise) const {
  std::stringstream words(get(key, otherwise));
  std::vector<std::string> result;
  for (std::string word; std::getline(words, word, ',');) result.push_back(word);
  return result;
}

std::vector<std::string> Settings::words() const {
  std::vector<std::string> result;
  for (const auto& [key, value] : values_) {
    if (size_t at = key.find('@'); at != key.npos) result.push_back(key.substr(at + 1));
  }
  return result;
}

Settings Settings::where(const std::vector<std::string>& words) const {
  Settings result = *this;
  for (const auto& [key, value] : values_) {
    for (const std::string& word : words) {
      if (key.ends_with('@' + word)) result.values_[key.substr(0, key.size() - word.size() - 1)] = value;
    }
  }
  return result;
}

}  // namespace stand_in
