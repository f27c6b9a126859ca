#include "study/symbol.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "report/scan.h"

namespace namesake::study {
namespace {

using report::Place;
using Places = std::vector<Place>;

Places at(std::string_view symbol) {
  return places_of(symbol, "cutlass");
}

TEST(Symbol, without_the_text_has_no_place) {
  EXPECT_EQ(at("_Z5sgemmiPKf"), Places{});
  EXPECT_EQ(at(""), Places{});
  EXPECT_EQ(places_of("abc", ""), Places{});
}

TEST(Symbol, own_names_are_told) {
  EXPECT_EQ(at("kernel_cutlass_gemm"), Places{Place::own_name});  // CuTe's DSL
  EXPECT_EQ(at("cutlass_80_tensorop_s16816gemm"), Places{Place::own_name});
  EXPECT_EQ(at("_Z12cutlass_gemmPf"), Places{Place::own_name});
  EXPECT_EQ(at("_ZN2my13cutlass_thingILi4EEEvPf"),
            Places{Place::own_name});  // void my::cutlass_thing<4>(float*)
}

TEST(Symbol, everything_in_namespace_cutlass_is_cutlass_own) {
  EXPECT_EQ(at("_ZN7cutlass13device_kernelIN2my1PEEEvT_Pf").front(), Place::cutlass_kernel);
  EXPECT_EQ(at("_ZN7cutlass13device_kernelINS_1TEEEvT_Pf"),
            (Places{Place::cutlass_kernel, Place::enclosing_scope, Place::template_argument,
                    Place::parameter_type}));
  EXPECT_EQ(at("_ZN7cutlass9reference4fillEPf").front(), Place::cutlass_kernel);
}

TEST(Symbol, a_namespace_around_is_told_from_the_kernel) {
  EXPECT_EQ(at("_ZN2my12cutlass_like1kEPf"),
            Places{Place::enclosing_scope});  // my::cutlass_like::k(float*)
  EXPECT_EQ(at("_ZN12my_cutlass_x1kEPf"), Places{Place::enclosing_scope});
}

TEST(Symbol, template_arguments_and_parameters_are_the_accident_nobody_sees) {
  EXPECT_EQ(at("_Z4mineIN7cutlass1TEEvPf"),
            Places{Place::template_argument});  // void mine<cutlass::T>(float*)
  EXPECT_EQ(at("_Z5paramN7cutlass1TEPf"),
            Places{Place::parameter_type});  // param(cutlass::T, float*)
  EXPECT_EQ(at("_Z4mineIN7cutlass1TEEvT_Pf"),
            (Places{Place::template_argument, Place::parameter_type}));
  // void run<go<cutlass::T>(float*)::{lambda(float)#1}>(go<cutlass::T>(float*)::{lambda(float)#1},
  // float*)
  EXPECT_EQ(at("_Z3runIZ2goIN7cutlass1TEEvPfEUlfE_EvT_S3_"),
            (Places{Place::template_argument, Place::parameter_type}));
}

TEST(Symbol, the_source_files_name_hides_in_unnamed_namespaces_and_statics) {
  EXPECT_EQ(at("_ZN48_GLOBAL__N__e95de0b0_15_cutlass_gemm_cu_c84982fb4anonEPf"),
            Places{Place::file_name});
  EXPECT_EQ(at("_ZN48_GLOBAL__N__e95de0b0_15_cutlass_gemm_cu_c84982fb2in4deepEPf"),
            Places{Place::file_name});
  EXPECT_EQ(at("__nv_static_37__e95de0b0_15_cutlass_gemm_cu_c84982fb__Z4statPf"),
            Places{Place::file_name});
  EXPECT_EQ(at("_ZN51_INTERNAL_15_cutlass_gemm_cpp1_ii_e95de0b0_c84982fb4statEPf"),
            Places{Place::file_name});
}

TEST(Symbol, a_deliberate_place_counts_before_the_files_name) {
  EXPECT_EQ(at("_ZN48_GLOBAL__N__e95de0b0_15_cutlass_gemm_cu_c84982fb12cutlass_gemmEPf"),
            (Places{Place::own_name, Place::file_name}));
  EXPECT_EQ(at("__nv_static_37__e95de0b0_15_cutlass_gemm_cu_c84982fb__Z12cutlass_gemmPf"),
            (Places{Place::own_name, Place::file_name}));
}

TEST(Symbol, letters_of_the_mangling_are_chance) {
  EXPECT_EQ(at("_Z3cutlass"), Places{Place::chance});  // cut(long, signed char, short, short)
}

TEST(Symbol, a_text_is_placed_whatever_stands_around_it) {
  // Expressions with < and >, operators, function types, pointers to members, lambdas in lambdas.
  EXPECT_EQ(places_of("_ZN1nltI3fooEEvT_", "foo"),
            (Places{Place::template_argument, Place::parameter_type}));
  EXPECT_EQ(places_of("_ZN3fooclEi", "foo"),
            Places{Place::enclosing_scope});  // foo::operator()(int)
  EXPECT_EQ(places_of("_Z1fIXgtLi4ELi2EEEv3foo", "foo"),
            Places{Place::parameter_type});  // void f<(4)>(2)>(foo)
  EXPECT_EQ(places_of("_Z3fooIXltLi4ELi2EEEv3bar", "foo"), Places{Place::own_name});
  EXPECT_EQ(places_of("_Z1fPFv3fooE", "foo"), Places{Place::parameter_type});  // f(void (*)(foo))
  EXPECT_EQ(places_of("_ZZ3fooiENKUliE_clEi", "foo"),
            Places{Place::enclosing_scope});  // foo(int)::{lambda(int)#1}::operator()(int) const
}

TEST(Library, is_the_outermost_namespace_or_the_first_word) {
  EXPECT_EQ(library_of("_ZN7cutlass13device_kernelIN2my1PEEEvT_Pf"), "cutlass");
  EXPECT_EQ(library_of("_ZN2at6native3addEPf"), "at");
  EXPECT_EQ(library_of("_ZN48_GLOBAL__N__e95de0b0_15_cutlass_gemm_cu_c84982fb2in4deepEPf"), "in");
  EXPECT_EQ(library_of("_ZN48_GLOBAL__N__e95de0b0_15_cutlass_gemm_cu_c84982fb4anonEPf"), "anon");
  EXPECT_EQ(library_of("_Z11scal_kernelIffEvPf"), "scal_*");
  EXPECT_EQ(library_of("_Z5sgemmPf"), "sgemm");
  EXPECT_EQ(library_of("sm80_xmma_gemm"), "sm80_*");
  EXPECT_EQ(library_of("kernel"), "kernel");
  EXPECT_EQ(library_of("__nv_static_37__e95de0b0_6_mine_c84982fb__ZN3lib1kEv"), "lib");
  EXPECT_EQ(library_of(""), "");
  EXPECT_EQ(library_of("_Z"), "(other)");
}

// Names built by the grammar, so that the right answer is known.
struct Built {
  std::string mangled;
  std::set<Place> places;
};

Built random_symbol() {
  auto identifier = [](bool with) {
    std::string name =
        *rc::gen::element<std::string>("ns", "gemm_kernel", "a1", "_x", "operators", "Lambda");
    if (with) name += *rc::gen::element<std::string>("cutlass", "_cutlass_80", "Acutlassz");
    return std::to_string(name.size()) + name;
  };
  auto some = [](int percent) { return *rc::gen::inRange(0, 100) < percent; };
  Built built;
  bool own = some(30), argument = some(30), parameter = some(30);
  std::string scopes;
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
    bool with = some(20);
    scopes += identifier(with);
    if (with) built.places.insert(Place::enclosing_scope);
  }
  std::string name = identifier(own), arguments;
  bool templated = argument || some(30);
  if (templated) {
    arguments = "I" + std::string(some(50) ? "Li8E" : "") +
                (some(50) ? "N3lib" + identifier(argument) + "E" : identifier(argument)) +
                (some(30) ? "XgtLi4ELi2EE" : "") + "E";
  }
  built.mangled = "_Z" +
                  (scopes.empty() ? name + arguments : "N" + scopes + name + arguments + "E") +
                  (templated ? "v" : "") + (some(50) ? "Pf" : "i") + "P" + identifier(parameter);
  if (own) built.places.insert(Place::own_name);
  if (argument) built.places.insert(Place::template_argument);
  if (parameter) built.places.insert(Place::parameter_type);
  return built;
}

RC_GTEST_PROP(Symbol, places_are_those_that_the_name_was_built_with, ()) {
  Built built = random_symbol();
  RC_LOG(built.mangled);
  Places places = at(built.mangled);
  RC_ASSERT(std::set<Place>(places.begin(), places.end()) == built.places);
}

RC_GTEST_PROP(Symbol, the_first_place_alone_is_the_first_of_all, ()) {
  std::string symbol = random_symbol().mangled;
  RC_LOG(symbol);
  Places all = places_of(symbol, "cutlass"), first = first_place_of(symbol, "cutlass");
  all.resize(std::min<size_t>(all.size(), 1));
  RC_ASSERT(first == all);
}

RC_GTEST_PROP(Symbol, whatever_holds_the_text_has_a_place,
              (std::string before, std::string after)) {
  RC_ASSERT(!at(before + "cutlass" + after).empty());
  RC_ASSERT(!at("_Z" + before + "cutlass" + after).empty());
}

}  // namespace
}  // namespace namesake::study
