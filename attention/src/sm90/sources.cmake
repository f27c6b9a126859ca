# The Hopper backend, for ../../CMakeLists.txt: one object for each head_dim and element type.
target_sources(namesake-attention PRIVATE src/sm90/launch.cpp src/sm90/plan.cpp)
foreach(head_dim 64 128 256)
  foreach(dtype fp16 bf16 e4m3 e5m2)
    set(fp8 0)
    if(dtype MATCHES "^e")
      set(fp8 1)
    endif()
    set(object ${CMAKE_CURRENT_BINARY_DIR}/sm90/forward_${head_dim}_${dtype}.o)
    namesake_nvcc(OBJECT ${object} SOURCE ${NAMESAKE_ATTENTION_DIR}/src/sm90/instance.cu
      OPTIONS -gencode arch=compute_90a,code=sm_90a -DNAMESAKE_HEAD_DIM=${head_dim} -DNAMESAKE_DTYPE=${dtype} -DNAMESAKE_FP8=${fp8})
    target_sources(namesake-attention PRIVATE ${object})
  endforeach()
endforeach()
