// What nvrtc_app and nvjitlink_app share: many threads, each assembling one text for all
// architectures.
#pragma once

#include <dlfcn.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

[[noreturn]] inline void fail(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(1);
}

inline void* open_library(const char* path) {
  void* library = dlopen(path, RTLD_NOW);
  if (!library) fail(dlerror());
  return library;
}

inline uint64_t hash(const std::string& bytes) {  // FNV-1a
  uint64_t value = 0xcbf29ce484222325;
  for (unsigned char byte : bytes) value = (value ^ byte) * 0x100000001b3;
  return value;
}

// PROGRAM LIBRARY FILE ARCHITECTURE… [--threads N]. A line for each cubin: thread, architecture,
// bytes, hash. open(library) gives assemble(text, architecture), which gives the cubin.
template <typename Open>
int run_threads(int count, char** arguments, Open open) {
  std::vector<std::string> architectures;
  int threads = 4;
  for (int i = 3; i < count; i++) {
    if (std::string(arguments[i]) == "--threads" && i + 1 < count)
      threads = std::atoi(arguments[++i]);
    else
      architectures.push_back(arguments[i]);
  }
  if (architectures.empty())
    fail("usage: " + std::string(arguments[0]) + " LIBRARY FILE ARCHITECTURE… [--threads N]");

  const auto assemble = open(arguments[1]);
  std::ifstream file(arguments[2]);
  if (!file) fail(std::string("cannot read ") + arguments[2]);
  const std::string text{std::istreambuf_iterator<char>(file), {}};

  // Each thread begins with another architecture, so that all of them are in work at once.
  auto architecture = [&](int thread, size_t i) {
    return architectures[(i + thread) % architectures.size()];
  };
  std::vector<std::vector<std::string>> cubins(threads);
  std::vector<std::thread> workers;
  for (int thread = 0; thread < threads; thread++)
    workers.emplace_back([&, thread] {
      for (size_t i = 0; i < architectures.size(); i++)
        cubins[thread].push_back(assemble(text, architecture(thread, i)));
    });
  for (std::thread& worker : workers) worker.join();

  for (int thread = 0; thread < threads; thread++)
    for (size_t i = 0; i < architectures.size(); i++)
      std::printf("%d %s %zu %016" PRIx64 "\n", thread, architecture(thread, i).c_str(),
                  cubins[thread][i].size(), hash(cubins[thread][i]));
  return 0;
}
