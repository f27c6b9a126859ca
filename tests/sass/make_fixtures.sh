#!/bin/sh
# Makes tests/sass/shapes.ptx and fixtures/ with the real tools:
#   NAMESAKE_CUDA_ROOT  a CUDA 13.0 root with bin/nvcc and bin/ptxas
#   NAMESAKE_NVDISASM   nvdisasm, 13.0 or newer
#   NAMESAKE_OLD_PTXAS  a ptxas 12.x, for cubins of the older ABI
# For each NAME.TARGET: .cubin, and .sass, which is nvdisasm's text of all its functions' code, one
# behind the other in the order of the sections (what toolchain::disassemble asks for).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
kernels=$here/../../kernels/ptx
out=$here/fixtures
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ptxas=$NAMESAKE_CUDA_ROOT/bin/ptxas
mkdir -p "$out"

assemble() {  # assembler ptx target name [option…]
  assembler=$1 ptx=$2 target=$3 name=$4
  shift 4
  sed "s/^\.target .*/.target $target/" "$ptx" > "$work/in.ptx"
  "$assembler" -arch="$target" "$@" "$work/in.ptx" -o "$out/$name.cubin"
}
disassemble() {  # name binary
  python3 - "$out/$1.cubin" "$work/code" <<'PY'
import struct, sys
elf = open(sys.argv[1], "rb").read()
table, = struct.unpack_from("<Q", elf, 40)
size, count, names = struct.unpack_from("<HHH", elf, 58)
rows = [struct.unpack_from("<IIQQQQ", elf, table + i * size) for i in range(count)]
name = lambda row: elf[rows[names][4] + row[0]:].split(b"\0", 1)[0]
with open(sys.argv[2], "wb") as code:
    for row in rows:
        if name(row).startswith(b".text."): code.write(elf[row[4]:row[4] + row[5]])
PY
  # Blanks at the ends of lines are no part of an instruction.
  "$NAMESAKE_NVDISASM" --binary "$2" "$work/code" | sed 's/[[:space:]]*$//' > "$out/$1.sass"
}

"$NAMESAKE_CUDA_ROOT/bin/nvcc" -arch=compute_80 -ptx "$here/shapes.cu" -o "$work/shapes.ptx"
# The oldest version that holds them, so that an older assembler reads them too.
sed -e '/^[[:space:]]*\/\//d' -e '/^[[:space:]]*$/d' -e 's/^\.version .*/.version 7.8/' \
  "$work/shapes.ptx" > "$here/shapes.ptx"

assemble "$ptxas" "$here/shapes.ptx" sm_80 shapes.sm_80
disassemble shapes.sm_80 SM80
assemble "$ptxas" "$here/shapes.ptx" sm_90 shapes.sm_90
disassemble shapes.sm_90 SM90
assemble "$NAMESAKE_OLD_PTXAS" "$here/shapes.ptx" sm_90 shapes_old_abi.sm_90
assemble "$ptxas" "$here/shapes.ptx" sm_90 shapes_relocatable.sm_90 -c
disassemble shapes_relocatable.sm_90 SM90
# Neutral new names for everything, longer than the old ones.
sed -E 's/\b(straight|nested|jump_table|spilled|calls|divides)\b/other_\1_name/g' "$here/shapes.ptx" \
  > "$work/renamed.ptx"
assemble "$ptxas" "$work/renamed.ptx" sm_90 shapes_renamed.sm_90
assemble "$ptxas" "$work/renamed.ptx" sm_90 shapes_renamed_relocatable.sm_90 -c

assemble "$ptxas" "$kernels/matmul_wgmma.ptx" sm_90a matmul_wgmma.sm_90a
disassemble matmul_wgmma.sm_90a SM90a
assemble "$ptxas" "$kernels/tcgen05_lottery.ptx" sm_100a tcgen05_lottery.sm_100a
disassemble tcgen05_lottery.sm_100a SM100a
assemble "$ptxas" "$kernels/matmul_mma.ptx" sm_120 matmul_mma.sm_120
disassemble matmul_mma.sm_120 SM120
# One kernel in both treatments: its name decides.
assemble "$ptxas" "$kernels/stencil.ptx" sm_90 stencil.sm_90
disassemble stencil.sm_90 SM90
sed 's/stencil_heat/cutlass_stencil_heat/g' "$kernels/stencil.ptx" > "$work/treated.ptx"
assemble "$ptxas" "$work/treated.ptx" sm_90 stencil_treated.sm_90
disassemble stencil_treated.sm_90 SM90
