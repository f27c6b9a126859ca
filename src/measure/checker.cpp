#include "measure/checker.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <string>

#include "gpu/equality.h"

namespace namesake::measure {
namespace {

// %d0, mixed as palette_entry and gpu::poison do it.
constexpr const char* kMix = R"(
  shr.u64 %d1, %d0, 30;
  xor.b64 %d0, %d0, %d1;
  mul.lo.u64 %d0, %d0, 0xbf58476d1ce4e5b9;
  shr.u64 %d1, %d0, 27;
  xor.b64 %d0, %d0, %d1;
  mul.lo.u64 %d0, %d0, 0x94d049bb133111eb;
  shr.u64 %d1, %d0, 31;
  xor.b64 %d0, %d0, %d1;)";

// A kernel that is a grid-stride loop: %at runs from this thread's number to the parameter `count`
// in steps of the grid's threads. Before the first step it loads `loaded`, in order, into %d2, %d3
// …
std::string loop_kernel(std::string_view name, std::vector<std::string> loaded,
                        std::string_view body) {
  std::string parameters = ".param .u64 count", loads;
  for (size_t i = 0; i < loaded.size(); ++i) {
    parameters += fmt::format(", .param .u64 {}", loaded[i]);
    loads += fmt::format("  ld.param.u64 %d{}, [{}];\n", i + 2, loaded[i]);
  }
  return fmt::format(R"(
.visible .entry {}({})
{{
  .reg .pred %p;
  .reg .b32 %r<4>;
  .reg .b64 %at, %step, %end, %d<8>;
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %nctaid.x;
  mul.wide.u32 %at, %r1, %r2;
  cvt.u64.u32 %d0, %r0;
  add.u64 %at, %at, %d0;
  mul.wide.u32 %step, %r2, %r3;
  ld.param.u64 %end, [count];
{}again:
  setp.ge.u64 %p, %at, %end;
  @%p ret;{}
  add.u64 %at, %at, %step;
  bra again;
}}
)",
                     name, parameters, loads, body);
}

std::string fill_kernel(size_t size) {
  const std::string body = fmt::format(R"(
  .reg .b{0} %element;
  add.u64 %d0, %at, %d4;{1}
  and.b64 %d0, %d0, 65535;
  mad.lo.u64 %d5, %d0, {2}, %d3;
  ld.global.u{3} %element, [%d5];
  mad.lo.u64 %d5, %at, {2}, %d2;
  st.global.u{3} [%d5], %element;)",
                                       std::max<size_t>(size * 8, 16), kMix, size, size * 8);
  return loop_kernel(fmt::format("namesake_fill_{}", size), {"to", "palette", "offset"}, body);
}

std::string poison_kernel() {
  return loop_kernel("namesake_poison", {"to", "offset", "flip"},
                     fmt::format(R"(
  add.u64 %d0, %at, %d3;{}
  xor.b64 %d0, %d0, %d4;
  mad.lo.u64 %d5, %at, 8, %d2;
  st.global.u64 [%d5], %d0;)",
                                 kMix));
}

std::string compare_kernel() {
  return loop_kernel("namesake_compare", {"a", "b", "found"}, R"(
  mad.lo.u64 %d0, %at, 8, %d2;
  ld.global.u64 %d5, [%d0];
  mad.lo.u64 %d0, %at, 8, %d3;
  ld.global.u64 %d6, [%d0];
  setp.ne.u64 %p, %d5, %d6;
  @%p st.global.u64 [%d4], 1;)");
}

std::string module_text() {
  std::string text = ".version 6.4\n.target sm_52\n.address_size 64\n";
  for (size_t size : {1, 2, 4, 8}) text += fill_kernel(size);
  return text + poison_kernel() + compare_kernel();
}

constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;
constexpr unsigned kThreads = 256, kBlocksEach = 8;

}  // namespace

Result<Checker> Checker::create(const gpu::Context& context) {
  Checker checker;
  TRY_ASSIGN(checker.module_, gpu::load_module(context, module_text()));
  for (size_t i = 0; i < 4; ++i) {
    TRY_ASSIGN(checker.fill_[i],
               gpu::find_kernel(checker.module_, fmt::format("namesake_fill_{}", size_t{1} << i)));
  }
  TRY_ASSIGN(checker.poison_, gpu::find_kernel(checker.module_, "namesake_poison"));
  TRY_ASSIGN(checker.compare_, gpu::find_kernel(checker.module_, "namesake_compare"));
  TRY_ASSIGN(checker.count_, gpu::Buffer::allocate(context, sizeof(uint64_t)));
  checker.blocks_ = static_cast<unsigned>(context.device().multiprocessors) * kBlocksEach;
  return checker;
}

Status Checker::launch(const gpu::Stream& stream, const gpu::Kernel& kernel,
                       std::span<void* const> arguments) const {
  return gpu::launch(stream, kernel, {.grid = {blocks_}, .block = {kThreads}}, arguments);
}

Status Checker::fill(const gpu::Stream& stream, gpu::DeviceAddress to, size_t count, size_t size,
                     gpu::DeviceAddress palette, uint64_t seed) const {
  uint64_t elements = count, offset = seed * kGolden;
  const std::array<void*, 4> arguments = {&elements, &to, &palette, &offset};
  return launch(stream, fill_[std::countr_zero(size)], arguments);
}

Status Checker::poison(const gpu::Stream& stream, gpu::DeviceAddress to, size_t bytes,
                       uint64_t run) const {
  uint64_t words = bytes / 8, offset = run / 2 * 0x100000000 + kGolden,
           flip = run % 2 ? ~uint64_t{0} : 0;
  const std::array<void*, 4> arguments = {&words, &to, &offset, &flip};
  if (words > 0) TRY(launch(stream, poison_, arguments));
  // What is left of the last word: the bytes behind it are a guard zone's.
  std::vector<std::byte> rest;
  if (const size_t left = bytes % 8) {
    rest = gpu::poison(left, run, words * 8);
    TRY(gpu::upload(stream, to + words * 8, rest));
  }
  return gpu::wait(stream);
}

Result<bool> Checker::same(const gpu::Stream& stream, gpu::DeviceAddress a, gpu::DeviceAddress b,
                           size_t bytes) const {
  uint64_t words = (bytes + 7) / 8, found = 0;
  gpu::DeviceAddress into = count_.address();
  const std::array<void*, 4> arguments = {&words, &a, &b, &into};
  TRY(gpu::fill(stream, into, 0, sizeof found));
  TRY(launch(stream, compare_, arguments));
  TRY(gpu::download(stream, std::as_writable_bytes(std::span(&found, 1)), into));
  TRY(gpu::wait(stream));
  return found == 0;
}

}  // namespace namesake::measure
