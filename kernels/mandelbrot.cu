// Iterations until z = z * z + c escapes, for each point of a picture.
//
// What it shows: a loop of registers only, no memory and no address in it, that reacts all the
// same.
//
// out is width x height, row by row.

extern "C" __global__ void mandelbrot_set(int* out, int width, int height, int limit) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (column >= width || row >= height) return;

  const float real = 3.0f * column / width - 2, imaginary = 2.0f * row / height - 1;
  float x = 0, y = 0;
  int iterations = 0;
  while (iterations < limit && x * x + y * y < 4) {
    const float next = x * x - y * y + real;
    y = 2 * x * y + imaginary;
    x = next;
    iterations++;
  }
  out[row * width + column] = iterations;
}
