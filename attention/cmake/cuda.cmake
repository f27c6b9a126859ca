# nvcc as plain custom commands: CMake's CUDA language wants a whole toolkit with its libraries in their usual places, and
# spends longer asking about it than the kernels take to compile.
#
# NAMESAKE_CUDA_ROOT  a folder with bin/nvcc, include and lib or lib64: a toolkit, or the nvidia-cuda-nvcc, -crt, -runtime, -cccl
#                     and nvidia-nvvm wheels unpacked (their folder nvidia/cu13). Empty: nvcc from PATH or /usr/local/cuda.
set(NAMESAKE_CUDA_ROOT "" CACHE PATH "folder with bin/nvcc")
if(NAMESAKE_CUDA_ROOT)
  find_program(NAMESAKE_NVCC nvcc PATHS ${NAMESAKE_CUDA_ROOT}/bin NO_DEFAULT_PATH)
else()
  find_program(NAMESAKE_NVCC nvcc PATHS /usr/local/cuda/bin)
endif()

if(NAMESAKE_NVCC)
  get_filename_component(nvcc_folder ${NAMESAKE_NVCC} REALPATH)
  get_filename_component(nvcc_folder ${nvcc_folder} DIRECTORY)
  get_filename_component(cuda_root ${nvcc_folder} DIRECTORY)
  execute_process(COMMAND ${NAMESAKE_NVCC} --version OUTPUT_VARIABLE nvcc_version)
  string(REGEX MATCH "V([0-9.]+)" nvcc_version "${nvcc_version}")
  set(NAMESAKE_NVCC_VERSION "${CMAKE_MATCH_1}")
  find_path(NAMESAKE_CUDA_INCLUDE cuda_runtime_api.h
    PATHS ${cuda_root}/include ${cuda_root}/targets/x86_64-linux/include NO_DEFAULT_PATH)
  find_library(NAMESAKE_CUDART cudart_static
    PATHS ${cuda_root}/lib64 ${cuda_root}/lib ${cuda_root}/targets/x86_64-linux/lib NO_DEFAULT_PATH)
endif()

# namesake_nvcc(OBJECT file SOURCE file [OPTIONS …]): compiles one .cu into one object file. Device code is left uncompressed, so that
# the machine code in a finished binary can be read and compared.
function(namesake_nvcc)
  cmake_parse_arguments(N "" "OBJECT;SOURCE" "OPTIONS" ${ARGN})
  get_filename_component(folder ${N_OBJECT} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(
    OUTPUT ${N_OBJECT}
    COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${NAMESAKE_NVCC} -c -std=c++20 -O3 -no-compress
      -ccbin ${CMAKE_CXX_COMPILER} -Xcompiler=-fPIC,-fvisibility=hidden -I ${NAMESAKE_ATTENTION_DIR}/include ${N_OPTIONS}
      -MD -MF ${N_OBJECT}.d -o ${N_OBJECT} ${N_SOURCE}
    DEPENDS ${N_SOURCE}
    DEPFILE ${N_OBJECT}.d
    COMMENT "nvcc ${N_OBJECT}"
    VERBATIM)
endfunction()
