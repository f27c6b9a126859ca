// Any bytes: parse; what is accepted must survive being written and read again.
#include <cstdint>
#include <cstdlib>

#include "policy/policy.h"

using namespace namesake::policy;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  namesake::Result<Policy> policy = parse(text, "fuzz.toml");
  if (!policy) return 0;
  namesake::Result<Policy> again = parse(write(*policy), "again.toml");
  if (!again || write(*again) != write(*policy)) std::abort();
  Resolution resolution = resolve(*policy, policy->measured, "sm_90");
  rule_for(resolution, "_ZN4mine5sgemmEiPf");
  return 0;
}
