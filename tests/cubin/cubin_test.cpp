#include "cubin/cubin.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <cstring>
#include <map>

#include "cubin/elf.h"
#include "util/file.h"

namespace namesake::cubin {
namespace {

std::string fixture(const std::string& name) {
  auto content = read_file(std::string(NAMESAKE_SOURCE_DIR) + "/tests/sass/fixtures/" + name);
  EXPECT_TRUE(content.has_value()) << name;
  return content.value_or("");
}

Module parsed(const std::string& file) {
  auto module = parse(file, "fixture");
  EXPECT_TRUE(module.has_value()) << (module ? "" : module.error().message);
  return module ? std::move(*module) : Module{};
}

const Function* find(const Module& module, std::string_view symbol) {
  for (const Function& function : module.functions) {
    if (function.symbol == symbol) return &function;
  }
  return nullptr;
}

// The file with a change made to one section's bytes.
std::string edited(std::string file, std::string_view section_name, size_t at, char value) {
  auto elf = parse_elf(file, "fixture");
  for (const Section& section : elf->sections) {
    if (section.name != section_name || at >= section.data.size()) continue;
    size_t offset = static_cast<size_t>(section.data.data() - file.data()) + at;
    file[offset] = static_cast<char>(file[offset] ^ value);
    return file;
  }
  ADD_FAILURE() << "no such byte in " << section_name;
  return file;
}

constexpr std::string_view kShapes[] = {"straight", "nested", "jump_table",
                                        "spilled",  "calls",  "divides"};

TEST(Cubin, holds_every_kernel_of_its_source) {
  for (const char* name :
       {"shapes.sm_80.cubin", "shapes.sm_90.cubin", "shapes_old_abi.sm_90.cubin"}) {
    std::string file = fixture(name);
    Module module = parsed(file);
    EXPECT_EQ(module.functions.size(), std::size(kShapes)) << name;
    for (std::string_view symbol : kShapes) {
      const Function* function = find(module, symbol);
      ASSERT_NE(function, nullptr) << name << ' ' << symbol;
      EXPECT_TRUE(function->entry);
      EXPECT_GT(function->code.size(), 0u);
      EXPECT_EQ(function->code.size() % 128, 0u);
      EXPECT_GT(function->registers, 0);
      EXPECT_GT(function->constants.size(), 0u);
    }
  }
}

TEST(Cubin, a_relocatable_module_has_device_functions_of_their_own) {
  std::string file = fixture("shapes_relocatable.sm_90.cubin");
  Module module = parsed(file);
  const Function* callee = find(module, "_Z6calleefi");
  ASSERT_NE(callee, nullptr);
  EXPECT_FALSE(callee->entry);
  EXPECT_GT(callee->code.size(), 0u);
  EXPECT_TRUE(find(module, "calls")->entry);
}

TEST(Cubin, architecture_is_read_from_the_flags_of_both_abis) {
  struct Case {
    const char* name;
    int architecture;
    bool specific;
  };
  for (const Case& each :
       {Case{"shapes.sm_80.cubin", 80, false}, Case{"shapes.sm_90.cubin", 90, false},
        Case{"shapes_old_abi.sm_90.cubin", 90, false}, Case{"matmul_wgmma.sm_90a.cubin", 90, true},
        Case{"tcgen05_lottery.sm_100a.cubin", 100, true},
        Case{"matmul_mma.sm_120.cubin", 120, false}}) {
    std::string file = fixture(each.name);
    Module module = parsed(file);
    EXPECT_EQ(module.architecture, each.architecture) << each.name;
    EXPECT_EQ(module.architecture_specific, each.specific) << each.name;
  }
}

TEST(Cubin, stack_shared_memory_and_barriers_are_those_of_the_source) {
  for (const char* name : {"shapes.sm_90.cubin", "shapes_old_abi.sm_90.cubin"}) {
    std::string file = fixture(name);
    Module module = parsed(file);
    EXPECT_GT(find(module, "spilled")->frame_bytes, 0) << name;
    EXPECT_LE(find(module, "spilled")->registers, 32) << name << ": 2 × 1024 threads leave 32";
    EXPECT_EQ(find(module, "straight")->frame_bytes, 0) << name;
    // 64 doubles, and the kilobyte that sm_90 reserves.
    EXPECT_EQ(find(module, "divides")->shared_bytes, 1024 + 64 * 8) << name;
    EXPECT_EQ(find(module, "divides")->barriers, 1) << name;
    EXPECT_EQ(find(module, "straight")->barriers, 0) << name;
  }
}

TEST(Cubin, an_indirect_branch_comes_with_its_targets) {
  for (const char* name : {"shapes.sm_90.cubin", "shapes_old_abi.sm_90.cubin"}) {
    std::string file = fixture(name);
    Module module = parsed(file);
    const Function* function = find(module, "jump_table");
    ASSERT_FALSE(function->indirect_branches.empty()) << name;
    for (const IndirectBranch& branch : function->indirect_branches) {
      EXPECT_GT(branch.targets.size(), 1u);
      EXPECT_LT(branch.offset, function->code.size());
      for (uint32_t target : branch.targets) EXPECT_LT(target, function->code.size());
    }
  }
}

TEST(Identity, does_not_depend_on_names) {
  for (auto [name, renamed] :
       {std::pair{"shapes.sm_90.cubin", "shapes_renamed.sm_90.cubin"},
        std::pair{"shapes_relocatable.sm_90.cubin", "shapes_renamed_relocatable.sm_90.cubin"}}) {
    std::string a = fixture(name), b = fixture(renamed);
    Module module_a = parsed(a), module_b = parsed(b);
    EXPECT_EQ(module_a.data, module_b.data);
    for (std::string_view symbol : kShapes) {
      const Function* other = find(module_b, "other_" + std::string(symbol) + "_name");
      ASSERT_NE(other, nullptr);
      EXPECT_EQ(find(module_a, symbol)->identity, other->identity) << name << ' ' << symbol;
    }
  }
}

TEST(Identity, differs_between_the_functions_of_a_module) {
  std::string file = fixture("shapes.sm_90.cubin");
  std::map<Hash, std::string> seen;
  for (const Function& function : parsed(file).functions) {
    EXPECT_TRUE(seen.emplace(function.identity, function.symbol).second) << function.symbol;
  }
}

TEST(Identity, changes_with_any_byte_of_code_or_constants_and_only_that_functions) {
  std::string file = fixture("shapes.sm_90.cubin");
  Module module = parsed(file);
  for (auto [section, symbol] :
       {std::pair{".text.jump_table", "jump_table"},
        std::pair{".nv.constant0.jump_table", "jump_table"},
        std::pair{".nv.constant2.jump_table", "jump_table"}, std::pair{".text.nested", "nested"}}) {
    std::string other_file = edited(file, section, 5, 1);
    Module other = parsed(other_file);
    for (const Function& function : module.functions) {
      EXPECT_EQ(function.identity != find(other, function.symbol)->identity,
                function.symbol == symbol)
          << section << ' ' << function.symbol;
    }
  }
}

TEST(Identity, changes_with_a_relocation) {
  std::string file = fixture("shapes_relocatable.sm_90.cubin");
  Module module = parsed(file);
  ASSERT_FALSE(find(module, "divides")->relocations.empty());
  constexpr size_t kAddend = 16;
  std::string other = edited(file, ".rela.text.divides", kAddend, 8);
  EXPECT_NE(find(module, "divides")->identity, find(parsed(other), "divides")->identity);
}

TEST(Identity, changes_with_the_code_that_is_called) {
  std::string file = fixture("shapes_relocatable.sm_90.cubin");
  std::string other = edited(file, ".text._Z6calleefi", 5, 1);
  Module a = parsed(file), b = parsed(other);
  EXPECT_NE(find(a, "calls")->identity, find(b, "calls")->identity);
  EXPECT_EQ(find(a, "nested")->identity, find(b, "nested")->identity);
}

TEST(Identity, does_not_change_with_notes_and_version) {
  std::string file = fixture("shapes.sm_90.cubin");
  Module module = parsed(file);
  // The first attribute is the assembler's version; the note holds its command line.
  for (auto [section, at] :
       {std::pair{".nv.info.nested", size_t{4}}, std::pair{".note.nv.tkinfo", size_t{100}}}) {
    std::string other_file = edited(file, section, at, 1);
    Module other = parsed(other_file);
    EXPECT_EQ(find(module, "nested")->identity, find(other, "nested")->identity) << section;
  }
}

TEST(Cubin, a_second_global_function_in_a_section_is_a_function_of_its_own) {
  std::string file = fixture("shapes.sm_90.cubin");
  Module before = parsed(file);
  auto elf = parse_elf(file, "fixture");
  size_t index = 0;
  while (elf->symbols[index].name != "$calls$_Z6calleefi") ++index;
  const Symbol callee = elf->symbols[index];
  constexpr size_t kSymbolBytes = 24, kInfo = 4;
  std::string changed =
      edited(file, ".symtab", index * kSymbolBytes + kInfo, 0x10);  // local → global
  Module after = parsed(changed);
  ASSERT_EQ(after.functions.size(), before.functions.size() + 1);
  const Function* caller = find(after, "calls");
  const Function* part = find(after, "$calls$_Z6calleefi");
  ASSERT_NE(part, nullptr);
  EXPECT_EQ(caller->code.size(), callee.value);
  EXPECT_EQ(caller->code.size() + part->code.size(), find(before, "calls")->code.size());
}

TEST(Cubin, what_is_none_is_refused_in_one_sentence_with_its_origin) {
  EXPECT_EQ(parse("#!/bin/sh", "a.sh").error().message,
            "a.sh: not a cubin: it does not begin with an ELF header");
  EXPECT_EQ(parse("", "empty").error().message,
            "empty: not a cubin: it does not begin with an ELF header");
  auto own = read_file(own_executable());
  ASSERT_TRUE(own);
  EXPECT_NE(parse(*own, "test").error().message.find("an ELF file, but no cubin"),
            std::string::npos);
}

TEST(Cubin, a_file_cut_anywhere_is_an_error) {
  std::string file = fixture("shapes.sm_80.cubin");
  for (size_t size = 0; size + 64 * 30 < file.size(); size += 97) {
    EXPECT_FALSE(parse(Bytes(file).substr(0, size), "cut").has_value()) << size;
  }
}

RC_GTEST_PROP(Cubin, damaged_bytes_give_an_error_or_views_inside_the_file, ()) {
  static const std::string kFile = fixture("shapes_relocatable.sm_90.cubin");
  std::string file = kFile;
  for (int i = *rc::gen::inRange(1, 10); i > 0; --i) {
    file[*rc::gen::inRange<size_t>(0, file.size())] = *rc::gen::arbitrary<char>();
  }
  auto module = parse(file, "damaged");
  if (!module) return;
  for (const Function& function : module->functions) {
    if (function.code.empty()) continue;
    RC_ASSERT(function.code.data() >= file.data());
    RC_ASSERT(function.code.data() + function.code.size() <= file.data() + file.size());
  }
}

// Headers may claim that many sections are one and the same large piece of the file.
TEST(Cubin, sections_that_overlap_cost_no_more_than_their_number) {
  constexpr uint16_t kSections = 60'000;
  constexpr size_t kHeader = 64, kRow = 64;
  std::string file(kHeader + kSections * kRow, '\0');
  auto put = [&](size_t at, auto value) { std::memcpy(file.data() + at, &value, sizeof value); };
  std::memcpy(file.data(),
              "\x7f"
              "ELF\x02\x01\x01\x41\x08",
              9);
  put(18, uint16_t{190});
  put(40, uint64_t{kHeader});
  put(58, uint16_t{kRow});
  put(60, kSections);
  put(62, uint16_t{0});
  std::memcpy(file.data() + 16 + 4, ".text.a", 8);  // a name in the padding of the header
  for (size_t i = 0; i < kSections; ++i) {
    size_t row = kHeader + i * kRow;
    put(row, uint32_t{20});
    put(row + 4, uint32_t{1});
    put(row + 24, uint64_t{0});
    put(row + 32, static_cast<uint64_t>(file.size()));
  }
  auto start = std::chrono::steady_clock::now();
  (void)parse(file, "hostile");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

}  // namespace
}  // namespace namesake::cubin
