// A build without the cudnn-frontend headers: no peer, and it says so.
#include "cudnn_peer.h"

namespace namesake::bench {

struct Cudnn::Private {};
struct Cudnn::Attention::Private {
  std::vector<Plan> plans;
};

Result<Cudnn> Cudnn::open() {
  return error(
      "this build has no cuDNN: configure it where cudnn.h and pip (for nvidia-cudnn-frontend) are "
      "at hand");
}

Result<Cudnn::Attention> Cudnn::attention(const Cell& cell, float) const {
  return error("no cuDNN for " + cell.name());
}

const std::vector<Cudnn::Plan>& Cudnn::Attention::plans() const {
  return private_->plans;
}

Status Cudnn::Attention::run(size_t, const CudnnTensors&, void*, CUstream_st*) const {
  return error("no cuDNN");
}

}  // namespace namesake::bench
