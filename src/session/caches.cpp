// Nothing leaks between treatments.
//
// Every one of these caches is keyed by source, options and compiler version, none by the answers
// of a hook: after a treated run, an untreated one would be handed treated code (measured with
// Triton). So each run gets folders of its own, named by hook and rules together, which makes them
// reusable by the next run with the same, and by no other. A cache server is a process that
// outlives the run, so sccache's also gets a socket of its own and leaves soon.
#include "session/caches.h"

namespace namesake::session {

std::vector<MovedCache> caches_for(const std::string& key, const std::filesystem::path& below) {
  struct Known {
    const char* owner;
    const char* variable;
    const char* folder;
  };
  static constexpr Known known[] = {
      {"the CUDA driver", "CUDA_CACHE_PATH", "cuda"},
      {"Triton", "TRITON_CACHE_DIR", "triton"},
      {"torch inductor", "TORCHINDUCTOR_CACHE_DIR", "inductor"},
      {"torch extensions", "TORCH_EXTENSIONS_DIR", "torch-extensions"},
      {"torch's kernel cache", "PYTORCH_KERNEL_CACHE_PATH", "torch-kernels"},
      {"ccache", "CCACHE_DIR", "ccache"},
      {"sccache", "SCCACHE_DIR", "sccache"},
      {"CuPy", "CUPY_CACHE_DIR", "cupy"},
      {"Numba", "NUMBA_CACHE_DIR", "numba"},
      {"JAX", "JAX_COMPILATION_CACHE_DIR", "jax"},
      {"FlashInfer", "FLASHINFER_WORKSPACE_BASE", "flashinfer"},
      {"DeepGEMM", "DG_JIT_CACHE_DIR", "deepgemm"},
      {"TileLang", "TILELANG_CACHE_DIR", "tilelang"},
      {"Warp", "WARP_CACHE_PATH", "warp"},
  };
  std::filesystem::path base = below / "runs" / key;
  std::vector<MovedCache> result;
  for (const Known& each : known) {
    result.push_back({each.owner, each.variable, (base / each.folder).string()});
  }
  result.push_back({"sccache", "SCCACHE_SERVER_UDS", (base / "sccache.socket").string()});
  result.push_back({"sccache", "SCCACHE_IDLE_TIMEOUT", "30"});
  return result;
}

}  // namespace namesake::session
