// What kernels should compute, on the host in double precision, for those elements that are asked
// for.
//
// A launch file names one of these functions. It gets the kernel's arguments in the kernel's order;
// arguments behind those it needs (Triton adds some) do not matter. Only some elements of a large
// result are computed: a matrix product of 4096^3 takes a host minutes, a few thousand of its
// elements a fraction of a second.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "measure/inputs.h"
#include "measure/plan.h"
#include "util/error.h"

namespace namesake::measure {

// One argument as a reference sees it: a buffer's content before the launch, or a number.
struct ReferenceArgument {
  const BufferPlan* buffer = nullptr;
  std::span<const std::byte> bytes;  // of a buffer; empty for one that is only written …
  const Content* content =
      nullptr;  // … and for one that follows this rule (inputs.h): it is not made
  double number = 0;
};

std::vector<std::string> reference_names();

// Of the launch file's reference, whether there is such a function and the arguments fit it.
Status check_reference(std::string_view name, std::span<const ReferenceArgument> arguments);

// The reference's values for some elements of the output.
Result<std::vector<double>> reference_values(std::string_view name,
                                             std::span<const ReferenceArgument> arguments,
                                             std::span<const size_t> indices, int workers);

// Which elements to check: all of a small output, else runs of neighbours spread over it, the first
// and the last among them.
std::vector<size_t> sample_of(size_t count, size_t most);

}  // namespace namesake::measure
