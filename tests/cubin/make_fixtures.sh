#!/bin/sh
# tests/cubin/make_fixtures.sh FOLDER: makes the fatbins of fixtures/ with the nvcc in FOLDER/bin, one
# for each way in which fatbinary packs. They hold names.cu's kernels as code for sm_80 and as code and PTX
# for sm_90a.
set -eu
cd "$(dirname "$0")"
for mode in none speed balance size; do
  "$1/bin/nvcc" -std=c++17 -gencode arch=compute_80,code=sm_80 -gencode 'arch=compute_90a,code=[sm_90a,compute_90a]' \
    -fatbin -Xfatbin -compress-all --compress-mode=$mode names.cu -o "fixtures/$mode.fatbin"
done
"$1/bin/nvcc" -std=c++17 -arch=sm_80 -rdc=true -c names.cu -o fixtures/relocatable.o
