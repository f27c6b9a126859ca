# namesake_test(name SOURCES … LIBS …): one GoogleTest executable, one ctest entry.
# namesake_fuzzer(name SOURCES … LIBS …): one fuzz target. With NAMESAKE_FUZZERS it is a libFuzzer
# executable; always, ctest walks it over tests/<room>/corpus_<x>.
# namesake_unsanitized(target): for what the preloaded library goes into. A sanitizer's runtime insists
# on being loaded first, and would answer strstr itself.
if(NAMESAKE_TESTS)
  find_package(GTest REQUIRED)
  find_library(RAPIDCHECK rapidcheck REQUIRED)
endif()

# The compilers that tests run: NAMESAKE_TOOLCHAINS when configured, else those that ./test fetches.
set(NAMESAKE_TEST_TOOLCHAINS ${CMAKE_BINARY_DIR}/toolchains)
if(DEFINED ENV{NAMESAKE_TOOLCHAINS})
  set(NAMESAKE_TEST_TOOLCHAINS $ENV{NAMESAKE_TOOLCHAINS})
endif()
set(NAMESAKE_TEST_CUDA_ROOT ${NAMESAKE_TEST_TOOLCHAINS}/nvcc-13.0.88/nvidia/cu13)

function(namesake_test name)
  cmake_parse_arguments(T "" "TIMEOUT" "SOURCES;LIBS" ${ARGN})
  if(NOT NAMESAKE_TESTS)
    return()
  endif()
  add_executable(${name} ${T_SOURCES})
  target_link_libraries(${name} PRIVATE ${T_LIBS} ${RAPIDCHECK} GTest::gtest_main Threads::Threads)
  target_compile_definitions(${name} PRIVATE
    NAMESAKE_SOURCE_DIR="${CMAKE_SOURCE_DIR}" NAMESAKE_TEST_DIR="${CMAKE_CURRENT_SOURCE_DIR}"
    NAMESAKE_BINARY_DIR="${CMAKE_BINARY_DIR}")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 300)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${T_TIMEOUT}
    ENVIRONMENT "NAMESAKE_TOOLCHAINS=${NAMESAKE_TEST_TOOLCHAINS};NAMESAKE_CUDA_ROOT=${NAMESAKE_TEST_CUDA_ROOT}")
endfunction()

function(namesake_fuzzer name)
  cmake_parse_arguments(T "" "" "SOURCES;LIBS" ${ARGN})
  if(NOT NAMESAKE_TESTS)
    return()
  endif()
  string(REPLACE "fuzz_" "corpus_" corpus ${name})
  if(NAMESAKE_FUZZERS)
    add_executable(${name} ${T_SOURCES})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    set(once -runs=0)
  else()
    add_executable(${name} ${T_SOURCES} ${CMAKE_SOURCE_DIR}/tests/util/walk_corpus.cpp)
    set(once)
  endif()
  target_link_libraries(${name} PRIVATE ${T_LIBS} Threads::Threads)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
  add_test(NAME ${name} COMMAND ${name} ${once} ${CMAKE_CURRENT_SOURCE_DIR}/${corpus})
  set_tests_properties(${name} PROPERTIES TIMEOUT 120)
endfunction()

function(namesake_unsanitized target)
  if(NAMESAKE_SANITIZE)
    target_compile_options(${target} PRIVATE -fno-sanitize=all)
    target_link_options(${target} PRIVATE -fno-sanitize=all)
  endif()
endfunction()
