#include "cudnn_peer.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <fmt/format.h>

#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#include <cudnn_frontend.h>

namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;  // where the headers look for cuDNN's functions
}

namespace namesake::bench {
namespace {

namespace fe = cudnn_frontend;

constexpr int64_t kQ = 1, kK = 2, kV = 3, kO = 4;

Status said(fe::error_t status, const char* what) {
  if (status.is_good()) return {};
  return error(fmt::format("cuDNN, {}: {}", what, status.get_message()));
}

// The graph's dimensions are batch, head, row, column, whatever the order in memory.
fe::graph::Tensor_attributes tensor(const char* name, int64_t id, const Cell& cell, int64_t heads) {
  const int64_t row = heads * cell.head_dim;
  return fe::graph::Tensor_attributes()
      .set_name(name)
      .set_uid(id)
      .set_dim({cell.batch, heads, cell.length, cell.head_dim})
      .set_stride({cell.length * row, cell.head_dim, row, 1});
}

}  // namespace

struct Cudnn::Private {
  cudnnHandle_t handle = nullptr;
  ~Private() {
    if (handle) (void)fe::detail::destroy_handle(handle);
  }
};

struct Cudnn::Attention::Private {
  std::shared_ptr<Cudnn::Private> library;
  fe::graph::Graph graph;
  std::vector<Plan> plans;
  std::vector<int64_t> indices;  // of the plans, in the graph
};

Result<Cudnn> Cudnn::open() {
  fe::cudnn_dlhandle = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_GLOBAL);
  if (!fe::cudnn_dlhandle)
    return error(
        fmt::format("cuDNN is not here ({}): put its folder into LD_LIBRARY_PATH", dlerror()));
  // The headers throw where a library that they open themselves (the CUDA runtime) is missing.
  try {
    Cudnn cudnn;
    cudnn.private_ = std::make_shared<Private>();
    if (fe::detail::create_handle(&cudnn.private_->handle) != CUDNN_STATUS_SUCCESS)
      return error("cuDNN does not start on this GPU");
    const size_t version = fe::detail::get_backend_version();
    cudnn.version_ = fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
    return cudnn;
  } catch (const std::exception& failure) {
    return error(fmt::format("cuDNN does not start: {}", failure.what()));
  }
}

Result<Cudnn::Attention> Cudnn::attention(const Cell& cell, float scale) const {
  Attention made;
  made.private_ = std::make_shared<Attention::Private>();
  Attention::Private& own = *made.private_;
  own.library = private_;
  fe::graph::Graph& graph = own.graph;
  const cudnnHandle_t handle = private_->handle;
  try {
    graph
        .set_io_data_type(cell.dtype == attention::DType::bf16 ? fe::DataType_t::BFLOAT16
                                                               : fe::DataType_t::HALF)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    const auto q = graph.tensor(tensor("q", kQ, cell, cell.heads_q));
    const auto k = graph.tensor(tensor("k", kK, cell, cell.heads_kv));
    const auto v = graph.tensor(tensor("v", kV, cell, cell.heads_kv));
    auto options = fe::graph::SDPA_attributes().set_name("attention").set_generate_stats(false);
    options.set_attn_scale(scale);
    if (cell.causal) options.set_causal_mask(true);
    const auto [o, stats] = graph.sdpa(q, k, v, options);
    const auto shape = tensor("o", kO, cell, cell.heads_q);
    o->set_output(true).set_uid(kO).set_dim(shape.get_dim()).set_stride(shape.get_stride());

    TRY(said(graph.validate(), "checking the graph"));
    TRY(said(graph.build_operation_graph(handle), "building the graph"));
    TRY(said(graph.create_execution_plans(
                 {fe::HeurMode_t::A, fe::HeurMode_t::B, fe::HeurMode_t::FALLBACK}),
             "asking its heuristics"));
    for (int64_t i = 0; i < graph.get_execution_plan_count(); ++i) {
      if (graph.build_plan_at_index(handle, i).is_bad()) continue;  // not for this card or shape
      Plan plan;
      if (graph.get_plan_name_at_index(i, plan.name).is_bad())
        plan.name = fmt::format("plan {}", i);
      const bool known = std::any_of(own.plans.begin(), own.plans.end(),
                                     [&](const Plan& other) { return other.name == plan.name; });
      if (known) continue;  // two heuristics proposed the same
      plan.workspace_bytes =
          static_cast<size_t>(std::max<int64_t>(graph.get_workspace_size_plan_at_index(i), 0));
      own.plans.push_back(plan);
      own.indices.push_back(i);
    }
  } catch (const std::exception& failure) {
    return error(fmt::format("cuDNN: {}", failure.what()));
  }
  if (own.plans.empty()) return error("cuDNN has no plan for " + cell.name());
  return made;
}

const std::vector<Cudnn::Plan>& Cudnn::Attention::plans() const {
  return private_->plans;
}

Status Cudnn::Attention::run(size_t plan, const CudnnTensors& tensors, void* workspace,
                             CUstream_st* stream) const {
  const cudnnHandle_t handle = private_->library->handle;
  if (fe::detail::set_stream(handle, stream) != CUDNN_STATUS_SUCCESS)
    return error("cuDNN does not take the stream");
  std::unordered_map<int64_t, void*> pointers = {
      {kQ, tensors.q}, {kK, tensors.k}, {kV, tensors.v}, {kO, tensors.o}};
  return said(
      private_->graph.execute_plan_at_index(handle, pointers, workspace, private_->indices[plan]),
      "running");
}

}  // namespace namesake::bench
