#!/bin/sh
# Compiles each bundled kernel to PTX with nvcc, for the target that kernels.toml gives.
#     kernels/make-ptx.sh [FOLDER]      writes FOLDER/NAME.ptx, kernels/ptx by default
# nvcc is $NAMESAKE_CUDA_ROOT/bin/nvcc, or the one on PATH. The committed files are made by 13.0.88.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/ptx}
nvcc=nvcc
[ -z "${NAMESAKE_CUDA_ROOT:-}" ] || nvcc=$NAMESAKE_CUDA_ROOT/bin/nvcc
mkdir -p "$out"
sed -n 's/^name = "\(.*\)"/\1/p; s/^target = "\(.*\)"/\1/p' "$here/kernels.toml" | while read -r name && read -r target; do
  # Comments and empty lines say nothing about the kernel; the banner would name the front end's build.
  "$nvcc" -std=c++17 -arch="$target" -ptx "$here/$name.cu" -o "$out/$name.ptx.tmp"
  sed '/^[[:space:]]*\/\//d; /^[[:space:]]*$/d' "$out/$name.ptx.tmp" > "$out/$name.ptx"
  rm "$out/$name.ptx.tmp"
done
