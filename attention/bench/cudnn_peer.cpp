#include "cudnn_peer.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <cstddef>

#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#include <cudnn_frontend.h>

namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;  // where the headers look for cuDNN's functions
}

namespace namesake::bench {
namespace {

namespace fe = cudnn_frontend;

constexpr int64_t kQ = 1, kK = 2, kV = 3, kO = 4;

// The scalars of an fp8 graph: their numbers in the graph and their places in CudnnScalars.
struct Scalar {
  const char* name;
  int64_t id;
  size_t offset;
};
constexpr Scalar kScalars[] = {{"q_descale", 5, offsetof(CudnnScalars, one)},
                               {"k_descale", 6, offsetof(CudnnScalars, one)},
                               {"v_descale", 7, offsetof(CudnnScalars, one)},
                               {"p_descale", 8, offsetof(CudnnScalars, p_descale)},
                               {"p_scale", 9, offsetof(CudnnScalars, p_scale)},
                               {"o_scale", 10, offsetof(CudnnScalars, o_scale)},
                               {"p_largest", 11, offsetof(CudnnScalars, p_largest)},
                               {"o_largest", 12, offsetof(CudnnScalars, o_largest)}};

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

fe::graph::Tensor_attributes transposed(const char* name, int64_t id, const Cell& cell,
                                        int64_t heads) {
  const int64_t head = cell.head_dim * cell.length;
  return tensor(name, id, cell, heads).set_stride({heads * head, head, 1, cell.length});
}

using Node = std::shared_ptr<fe::graph::Tensor_attributes>;

// Adds the cell's attention to the graph and returns its output.
Node attend(fe::graph::Graph& graph, const Cell& cell, float scale, const Node& q, const Node& k,
            const Node& v) {
  fe::graph::SDPA_attributes options;
  options.set_name("attention").set_generate_stats(false).set_attn_scale(scale);
  if (cell.causal) options.set_causal_mask(true);
  if (!cell.fp8()) return graph.sdpa(q, k, v, options)[0];
  const auto scalar = [](const Scalar& of) {
    return fe::graph::Tensor_attributes()
        .set_name(of.name)
        .set_uid(of.id)
        .set_dim({1, 1, 1, 1})
        .set_stride({1, 1, 1, 1})
        .set_data_type(fe::DataType_t::FLOAT);
  };
  Node factors[6];
  for (size_t i = 0; i < std::size(factors); ++i) factors[i] = graph.tensor(scalar(kScalars[i]));
  const auto outputs = graph.sdpa_fp8(q, k, v, factors[0], factors[1], factors[2], factors[3],
                                      factors[4], factors[5], options);
  for (size_t i = 0; i < 2; ++i) {
    const Scalar& of = kScalars[std::size(factors) + i];
    outputs[2 + i]
        ->set_output(true)
        .set_uid(of.id)
        .set_dim({1, 1, 1, 1})
        .set_stride({1, 1, 1, 1})
        .set_data_type(fe::DataType_t::FLOAT);
  }
  return outputs[0];
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
  // One of them reads where nothing is and takes the whole context with it (9.19 on an H200).
  if (cell.fp8() && cell.head_dim > 128)
    return error("cuDNN's fp8 plans are not run at head_dim 256: they fault on Hopper");
  Attention made;
  made.private_ = std::make_shared<Attention::Private>();
  Attention::Private& own = *made.private_;
  own.library = private_;
  fe::graph::Graph& graph = own.graph;
  const cudnnHandle_t handle = private_->handle;
  try {
    graph
        .set_io_data_type(cell.fp8()                             ? fe::DataType_t::FP8_E4M3
                          : cell.dtype == attention::DType::bf16 ? fe::DataType_t::BFLOAT16
                                                                 : fe::DataType_t::HALF)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    const auto q = graph.tensor(tensor("q", kQ, cell, cell.heads_q));
    const auto k = graph.tensor(tensor("k", kK, cell, cell.heads_kv));
    const auto v = graph.tensor(cell.v_transposed ? transposed("v", kV, cell, cell.heads_kv)
                                                  : tensor("v", kV, cell, cell.heads_kv));
    const auto o = attend(graph, cell, scale, q, k, v);
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
  if (tensors.scalars)
    for (const Scalar& scalar : kScalars)
      pointers[scalar.id] = static_cast<std::byte*>(tensors.scalars) + scalar.offset;
  return said(
      private_->graph.execute_plan_at_index(handle, pointers, workspace, private_->indices[plan]),
      "running");
}

}  // namespace namesake::bench
