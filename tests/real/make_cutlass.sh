#!/bin/sh
# Compiles a GEMM of CUTLASS to PTX, for sm_80 and for sm_90a.
#     make_cutlass.sh FOLDER      writes FOLDER/cutlass_gemm_sm80.ptx and FOLDER/cutlass_gemm_sm90.ptx
# Needs nvcc (NAMESAKE_CUDA_ROOT, or on PATH), and CUTLASS's headers: the wheel nvidia-cutlass of the python3 on
# PATH, or the folder that NAMESAKE_CUTLASS_INCLUDE names. Where one is missing, says so and ends with 77.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$1
nvcc=${NAMESAKE_CUDA_ROOT:+$NAMESAKE_CUDA_ROOT/bin/}nvcc
include=${NAMESAKE_CUTLASS_INCLUDE:-$(python3 - <<'END'
import importlib.util, pathlib
spec = importlib.util.find_spec("cutlass_library")
print(pathlib.Path(spec.origin).parent / "source" / "include" if spec else "")
END
)}
command -v "$nvcc" >/dev/null || { echo "skipped: no nvcc; set NAMESAKE_CUDA_ROOT=FOLDER (with bin/nvcc)"; exit 77; }
[ -f "$include/cutlass/cutlass.h" ] ||
  { echo "skipped: no CUTLASS; type: python3 -m pip install nvidia-cutlass==4.2.0.0, or set NAMESAKE_CUTLASS_INCLUDE"; exit 77; }

mkdir -p "$out"
for target in 80 90a; do
  number=${target%a}
  source=$here/cutlass/gemm_sm$number.cu ptx=$out/cutlass_gemm_sm$number.ptx
  # A minute of work, so not done twice.
  [ "$ptx" -nt "$source" ] ||
    "$nvcc" -std=c++17 -O3 --expt-relaxed-constexpr -diag-suppress 177,20012 -I"$include" -arch="compute_$target" -ptx "$source" -o "$ptx"
  echo "$ptx"
done
