// One kernel for the tests here: out = 2 in, over n floats, as the stand-in driver runs it
// (tests/gpu/fake_driver.cpp).
#pragma once

#include <string>

#include "../stand_in/cubin.h"

namespace stand_in {

inline constexpr const char* kLaunchFile = R"toml(kernel = "double.cubin"
entry = "double_floats"
[sizes]
n = { default = 1000, sweep = [10, 1000] }
[launch]
grid = ["ceil_div(n, 128)"]
block = [128]
[[buffer]]
name = "in"
type = "f32"
count = "n"
fill = "normal"
[[buffer]]
name = "out"
type = "f32"
count = "n"
output = true
tolerance = { relative = 0, absolute = 0 }
[[argument]]
buffer = "in"
[[argument]]
buffer = "out"
[[argument]]
type = "i32"
value = "n"
)toml";

// Code that does what the words say: "us=400 flip".
inline std::string cubin_that(std::string deeds) {
  deeds = "FAKE " + deeds + ";";
  deeds.resize((deeds.size() + 15) / 16 * 16, ' ');
  return make_cubin({{.symbol = "double_floats", .entry = true, .code = {deeds, 40}}}, 90);
}

}  // namespace stand_in
