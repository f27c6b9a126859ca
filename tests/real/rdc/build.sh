#!/bin/sh
# Builds three files that are compiled apart and linked, as larger projects are, for two architectures.
#     rdc/build.sh FOLDER [rdc|dlto]
# With rdc (the default) ptxas assembles each file, with dlto nvlink assembles all of them at the end.
# Writes FOLDER/linked_smNN.cubin. Needs nvcc (NAMESAKE_CUDA_ROOT, or on PATH); without it, ends with 77.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$1
mode=${2:-rdc}
nvcc=${NAMESAKE_CUDA_ROOT:+$NAMESAKE_CUDA_ROOT/bin/}nvcc
command -v "$nvcc" >/dev/null || { echo "skipped: no nvcc; set NAMESAKE_CUDA_ROOT=FOLDER (with bin/nvcc)"; exit 77; }
case $mode in
  rdc) kind=sm link= ;;
  dlto) kind=lto ;;
  *) echo "build.sh: '$mode' is neither rdc nor dlto" >&2; exit 2 ;;
esac

mkdir -p "$out"
if [ "$mode" = dlto ]; then
  # nvlink looks for libnvvm where an installed CUDA has it; NVIDIA's wheels put it elsewhere.
  root=$(dirname "$(dirname "$(command -v "$nvcc")")")
  library=$(find -L "$root/nvvm" "$root/lib" "$root/lib64" -name 'libnvvm.so*' 2>/dev/null | head -n 1)
  [ -n "$library" ] || { echo "skipped: no libnvvm in $root"; exit 77; }
  mkdir -p "$out/nvvm/lib64"
  ln -sf "$library" "$out/nvvm/lib64/libnvvm.so"
  link="-dlto -nvvmpath=$out/nvvm -L$root/lib -L$root/lib64 -lcudadevrt"
fi
for file in sparse matvec scale; do
  "$nvcc" -rdc=true -gencode "arch=compute_80,code=${kind}_80" -gencode "arch=compute_90,code=${kind}_90" \
    --threads 2 -c "$here/$file.cu" -o "$out/$file.o"
done
for number in 80 90; do
  # shellcheck disable=SC2086
  "${nvcc%nvcc}nvlink" $link -arch=sm_$number "$out/sparse.o" "$out/matvec.o" "$out/scale.o" -o "$out/linked_sm$number.cubin"
  echo "$out/linked_sm$number.cubin"
done
