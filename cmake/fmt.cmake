# fmt is compiled once (src/util/fmt.cpp), or in every file where its version is one that this does not suit.
set(user ${CMAKE_BINARY_DIR}/fmt_user.cpp)
file(WRITE ${user}.new [=[
#include <fmt/format.h>
#include <string>
int main(int count, char**) {
  try {
    fmt::print(stderr, "{:>9.3f} {:#x} {} {:g} {:Lg} {:L}\n", count / 3.0, count, "word", 1.5f, 2.5L, 1000000);
    return fmt::format(fmt::runtime("{}{}"), std::string("a"), 'b').size() == 2 ? 0 : 1;
  } catch (const fmt::format_error&) {
    return 1;
  }
}
]=])
configure_file(${user}.new ${user} COPYONLY)
try_compile(NAMESAKE_FMT_ONCE ${CMAKE_BINARY_DIR}/fmt_once SOURCES ${CMAKE_SOURCE_DIR}/src/util/fmt.cpp ${user}
  CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON)
if(NAMESAKE_FMT_ONCE)
  add_library(namesake_fmt STATIC ${CMAKE_SOURCE_DIR}/src/util/fmt.cpp)
  set_target_properties(namesake_fmt PROPERTIES POSITION_INDEPENDENT_CODE ON)
else()
  message(STATUS "fmt is compiled in every file: builds take longer")
  add_library(namesake_fmt INTERFACE)
  target_compile_definitions(namesake_fmt INTERFACE FMT_HEADER_ONLY)
endif()
