#!/bin/sh
# examples/nvrtc_program writes the PTX and the launch files of what it runs, under the names it is told.
#     check_nvrtc_program.sh NVRTC_PROGRAM KERNELS
set -eu
library=$(find -L ${NAMESAKE_TOOLCHAINS:-} ${NAMESAKE_LIBRARIES:-} -name 'libnvrtc.so.1[0-9]' 2>/dev/null | head -n 1)
[ -n "$library" ] || { echo "skipped: no libnvrtc; set NAMESAKE_LIBRARIES=FOLDER (that holds it)"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$1" "$2" --ptx "$folder" --named cutlass_ --nvrtc "$library"
for kernel in sgemm n_body mandelbrot layer_norm; do
  entry=$(sed -n 's/^entry = "\(.*\)"/\1/p' "$folder/$kernel.toml")
  case $entry in cutlass_*) ;; *) echo "$kernel.toml names $entry"; exit 1 ;; esac
  grep -q "\.entry $entry(" "$folder/$kernel.ptx" || { echo "$kernel.ptx has no $entry"; exit 1; }
  grep -q "^kernel = \"$kernel.ptx\"" "$folder/$kernel.toml"
done
echo "four kernels under names of the application's own"
