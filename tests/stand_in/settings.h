// What a stand-in assembler was told to do; README.md lists the keys.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace stand_in {

class Settings {
 public:
  static Settings load();
  std::string get(const std::string& key, const std::string& otherwise = "") const;
  bool is(const std::string& key, const std::string& value) const { return get(key) == value; }
  std::vector<std::string> list(const std::string& key, const std::string& otherwise) const;

  // "key@WORD=value" holds in place of "key" for functions whose body holds WORD.
  std::vector<std::string> words() const;
  Settings where(const std::vector<std::string>& words) const;

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace stand_in
