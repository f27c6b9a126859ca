/* An application that compiles by NVRTC and, before and after, asks the assembler's question itself.
 *     asks_too LIBNVRTC */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static const char* source =
    "__global__ void gather_rows(const float* t, const int* x, float* o, int w) {\n"
    "  for (int i = threadIdx.x; i < w; i += blockDim.x) o[blockIdx.x * w + i] = t[x[blockIdx.x] * w + i];\n}\n";

static void ask(const char* when) {
  const char* answers[] = {"not found", "found"};
  printf("%s: %s, %s\n", when, answers[strstr("a_neutral_name", "cutlass") != 0], answers[strstr("a_cutlass_name", "cutlass") != 0]);
}

int main(int count, char** arguments) {
  void* library = count == 2 ? dlopen(arguments[1], RTLD_NOW) : 0;
  if (!library) return 2;
  int (*create)(void**, const char*, const char*, int, void*, void*) = dlsym(library, "nvrtcCreateProgram");
  int (*compile)(void*, int, const char* const*) = dlsym(library, "nvrtcCompileProgram");
  void* program;
  const char* options[] = {"-arch=sm_80"};
  ask("before");
  if (create(&program, source, "source.cu", 0, 0, 0) || compile(program, 1, options)) return 1;
  ask("after");
  return 0;
}
