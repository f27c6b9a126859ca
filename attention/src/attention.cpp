#include "namesake/attention.h"

#include "decode.h"
#include "describe.h"
#include "gpu.h"
#include "plan.h"
#include "reference/reference.h"
#include "validate.h"

namespace namesake::attention {

struct PlanAccess {
  static void set(Plan& plan, std::shared_ptr<const Plan::State> state) {
    plan.state_ = std::move(state);
  }
  static const Plan::State* get(const Plan& plan) { return plan.state_.get(); }
};

namespace {

constexpr uintptr_t kWorkspaceAlignment = 16;

const std::string kNothing = "nothing was prepared";

// All tensors must lie where the first one does.
Status place_of_all(const Problem& p, Place& place) {
  const std::pair<const void*, const char*> tensors[] = {
      {p.q.data, "q"},
      {p.k.data, "k"},
      {p.v.data, "v"},
      {p.o.data, "o"},
      {p.lse, "lse"},
      {p.cu_seqlens_q, "cu_seqlens_q"},
      {p.cu_seqlens_kv, "cu_seqlens_kv"},
      {p.seqused_q, "seqused_q"},
      {p.seqused_kv, "seqused_kv"},
      {p.q_descale.data, "q_descale"},
      {p.k_descale.data, "k_descale"},
      {p.v_descale.data, "v_descale"},
      {p.o_scale.data, "o_scale"},
  };
  const char* first = nullptr;
  place = Place::host;
  for (const auto& [data, what] : tensors) {
    if (!data) continue;
    Place here;
    if (Status s = place_of(data, what, here); !s.ok()) return s;
    if (!first) {
      first = what;
      place = here;
    } else if (here != place) {
      const char* names[] = {"host", "device"};
      return {Code::invalid_argument,
              std::string(first) + " is " + names[static_cast<int>(place)] + " memory and " + what +
                  " is " + names[static_cast<int>(here)] + " memory: all must lie in one place"};
    }
  }
  return {};
}

Status prepare_reference(const Problem& problem, Kernel asked, Plan& plan) {
  if (Status s = reference::check(problem); !s.ok()) return s;
  auto state = std::make_shared<Plan::State>();
  state->problem = problem;
  state->kernel = Kernel::reference;
  state->why =
      asked == Kernel::reference ? "the reference was asked for" : "the tensors are host memory";
  PlanAccess::set(plan, std::move(state));
  return {};
}

Status prepare_gpu(const Problem& problem, const DeviceInfo& device, Kernel asked, Plan& plan) {
  Choice choice;
  if (Status s = choose_kernel(rows_from_heads(problem), device, asked, choice); !s.ok()) return s;
  auto state = std::make_shared<Plan::State>();
  state->problem = problem;
  state->kernel = choice.kernel;
  state->why = std::move(choice.why);
  state->gpu = std::move(choice.plan);
  state->device = device.ordinal;
  PlanAccess::set(plan, std::move(state));
  return {};
}

}  // namespace

Status prepare(const Forward& call, Plan& plan) {
  Problem problem;
  if (Status s = validate(call, problem); !s.ok()) return s;
  Place place;
  if (Status s = place_of_all(problem, place); !s.ok()) return s;
  if (place == Place::host) {
    if (call.kernel == Kernel::automatic || call.kernel == Kernel::reference)
      return prepare_reference(problem, call.kernel, plan);
    return {Code::invalid_argument, std::string("the ") + name(call.kernel) +
                                        " kernel was asked for, but the tensors are host memory"};
  }
  if (call.kernel == Kernel::reference)
    return {Code::invalid_argument,
            "the reference was asked for, but the tensors are device memory"};
  DeviceInfo device;
  if (Status s = current_device(device); !s.ok()) return s;
  return prepare_gpu(problem, device, call.kernel, plan);
}

Status prepare_for(const Forward& call, const DeviceInfo& device, Plan& plan) {
  Problem problem;
  if (Status s = validate(call, problem); !s.ok()) return s;
  return prepare_gpu(problem, device, call.kernel, plan);
}

const Problem& problem_of(const Plan& plan) {
  return PlanAccess::get(plan)->problem;
}

Kernel Plan::kernel() const {
  return state_ ? state_->kernel : Kernel::automatic;
}

const std::string& Plan::why() const {
  return state_ ? state_->why : kNothing;
}

size_t Plan::workspace_bytes() const {
  return state_ && state_->gpu ? state_->gpu->workspace_bytes() : 0;
}

std::string Plan::describe() const {
  if (!state_) return kNothing;
  return state_->gpu ? state_->gpu->describe()
                     : "reference " + attention::describe(state_->problem);
}

Status Plan::run(void* workspace, size_t bytes, Stream stream) const {
  if (!state_) return {Code::invalid_argument, "this plan is empty: call prepare first"};
  if (!state_->gpu) {
    reference::forward(state_->problem);
    return {};
  }
  const size_t needed = state_->gpu->workspace_bytes();
  if (needed > 0 && (!workspace || bytes < needed))
    return {Code::invalid_argument, "the workspace has " + std::to_string(workspace ? bytes : 0) +
                                        " bytes and this plan needs " + std::to_string(needed)};
  if (needed > 0 && reinterpret_cast<uintptr_t>(workspace) % kWorkspaceAlignment != 0)
    return {Code::invalid_argument, "the workspace does not start at a multiple of " +
                                        std::to_string(kWorkspaceAlignment) + " bytes"};
  if (Status s = require_device(state_->device); !s.ok()) return s;
  return state_->gpu->launch(workspace, stream);
}

}  // namespace namesake::attention
