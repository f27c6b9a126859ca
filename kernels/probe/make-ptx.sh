#!/bin/sh
# Compiles the probe's kernels to PTX with nvcc, the .version lowered to the oldest that their
# instructions need, so that every assembler since CUDA 11.7 reads them.
#     kernels/probe/make-ptx.sh [FOLDER]      writes FOLDER/NAME.ptx, beside the sources by default
# nvcc is $NAMESAKE_CUDA_ROOT/bin/nvcc, or the one on PATH. The committed files are made by 13.0.88.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here}
nvcc=nvcc
[ -z "${NAMESAKE_CUDA_ROOT:-}" ] || nvcc=$NAMESAKE_CUDA_ROOT/bin/nvcc
mkdir -p "$out"
make() { # make NAME TARGET VERSION
  "$nvcc" -std=c++17 -arch="compute_$2" -ptx "$here/$1.cu" -o "$out/$1.ptx.tmp"
  sed "/^[[:space:]]*\/\//d; /^[[:space:]]*\$/d; s/^\.version .*/.version $3/" "$out/$1.ptx.tmp" > "$out/$1.ptx"
  rm "$out/$1.ptx.tmp"
}
for name in simt fp64 integer mma; do make $name 80 7.0; done
make wgmma 90a 8.0
make tcgen05 100a 8.6
