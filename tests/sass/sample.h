// What the tests of this folder read: real code from fixtures/, and small functions written down.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cubin/cubin.h"
#include "sass/sass.h"
#include "util/file.h"

namespace namesake::sass {

inline std::string fixture(const std::string& name) {
  auto content = read_file(std::string(NAMESAKE_TEST_DIR) + "/fixtures/" + name);
  EXPECT_TRUE(content.has_value()) << name;
  return content.value_or("");
}

// The functions of fixtures/NAME.cubin with the text of NAME.sass.
struct Sample {
  explicit Sample(const std::string& name)
      : file(fixture(name + ".cubin")), text(fixture(name + ".sass")) {
    auto parsed = cubin::parse(file, name);
    EXPECT_TRUE(parsed.has_value()) << name;
    if (parsed) module = std::move(*parsed);
    for (const cubin::Function& function : module.functions) codes.push_back(code_of(function));
    auto made = parse_disassembly(text, codes);
    EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message);
    if (made) functions = std::move(*made);
  }
  const Function& function(const std::string& symbol) const {
    for (const Function& each : functions) {
      if (each.symbol == symbol) return each;
    }
    ADD_FAILURE() << "no function " << symbol;
    static const Function kNone;
    return kNone;
  }
  std::string file, text;
  cubin::Module module;
  std::vector<Code> codes;
  std::vector<Function> functions;
};

inline const std::vector<std::string>& all_samples() {
  static const std::vector<std::string> kNames = {"shapes.sm_80",
                                                  "shapes.sm_90",
                                                  "shapes_relocatable.sm_90",
                                                  "matmul_wgmma.sm_90a",
                                                  "tcgen05_lottery.sm_100a",
                                                  "matmul_mma.sm_120",
                                                  "stencil.sm_90",
                                                  "stencil_treated.sm_90"};
  return kNames;
}

// A function from lines of SASS, as if it stood at the start of nvdisasm's output; every word is
// zero.
inline Function written(const std::vector<std::string>& lines,
                        const std::string& symbol = "kernel") {
  std::string text;
  for (size_t i = 0; i < lines.size(); ++i) {
    char offset[16];
    std::snprintf(offset, sizeof offset, "%04zx", i * 16);
    text += "        /*" + std::string(offset) + "*/                   " + lines[i] + " ;\n";
  }
  std::string bytes(lines.size() * 16, '\0');
  auto made = parse_disassembly(text, {Code{symbol, bytes, {}, {}}});
  EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message);
  return made ? std::move(made->front()) : Function{};
}

}  // namespace namesake::sass
