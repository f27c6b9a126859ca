// One step of heat flow on a three-dimensional grid: the seven-point stencil.
//
// A thread owns one (x, y) and walks up z, with the values below, at and above it in registers, so
// that each level is read from memory once (the four neighbours come out of the cache).
//
// What it shows: a loop whose addresses advance by a plane a step: one running pointer, or five
// addresses computed anew, is a choice that the treatment may turn.
//
// in and out are nz x ny x nx; the outermost layer is left as it is.

extern "C" __global__ void stencil_heat(const float* in, float* out, int nx, int ny, int nz,
                                        float rate) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1) return;

  const size_t plane = static_cast<size_t>(nx) * ny;
  size_t at = static_cast<size_t>(y) * nx + x;
  float below = in[at], here = in[at + plane];
  for (int z = 1; z < nz - 1; z++) {
    at += plane;
    const float above = in[at + plane];
    const float around = in[at - 1] + in[at + 1] + in[at - nx] + in[at + nx] + below + above;
    out[at] = here + rate * (around - 6 * here);
    below = here;
    here = above;
  }
}
