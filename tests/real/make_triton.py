#!/usr/bin/env python3
"""Compiles Triton kernels to PTX, for several targets and without a GPU.

    make_triton.py FOLDER      writes FOLDER/triton_KERNEL_smNN.ptx

Needs the wheel `triton` (3.6.0 gave the figures that check_facts.py expects); without it, says so and ends with 77.
"""

import os
import pathlib
import sys

try:
    import triton
    import triton.language as tl
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
except ImportError:
    print("skipped: no Triton; type: python3 -m pip install triton==3.6.0")
    sys.exit(77)

TARGETS = (80, 90, 100, 120)


@triton.jit
def triton_matmul(a, b, c, m, n, k, a_stride, b_stride, c_stride, TILE: tl.constexpr, DEPTH: tl.constexpr,
                  BAND: tl.constexpr):
    """C = A * B, tile by tile, in bands of BAND rows of tiles that share the cache."""
    program = tl.program_id(0)
    tile_rows = tl.cdiv(m, TILE)
    per_band = BAND * tl.cdiv(n, TILE)
    band = program // per_band * BAND
    band_rows = min(tile_rows - band, BAND)
    rows = (band + program % per_band % band_rows) * TILE + tl.arange(0, TILE)
    columns = program % per_band // band_rows * TILE + tl.arange(0, TILE)
    depth = tl.arange(0, DEPTH)

    left = a + (rows % m)[:, None] * a_stride + depth[None, :]
    right = b + depth[:, None] * b_stride + (columns % n)[None, :]
    total = tl.zeros((TILE, TILE), tl.float32)
    for _ in range(0, tl.cdiv(k, DEPTH)):
        total = tl.dot(tl.load(left), tl.load(right), total)
        left += DEPTH
        right += DEPTH * b_stride
    tl.store(c + c_stride * rows[:, None] + columns[None, :], total, mask=(rows[:, None] < m) & (columns[None, :] < n))


@triton.jit
def triton_attention(q, k, v, out, length, scale, QUERIES: tl.constexpr, KEYS: tl.constexpr, WIDTH: tl.constexpr):
    """Attention of one head a program row, the sums corrected as the keys pass by."""
    head = tl.program_id(1) * length * WIDTH
    rows = tl.program_id(0) * QUERIES + tl.arange(0, QUERIES)
    keys = tl.arange(0, KEYS)
    width = tl.arange(0, WIDTH)

    query = tl.load(q + head + rows[:, None] * WIDTH + width[None, :])
    largest = tl.full((QUERIES,), float("-inf"), tl.float32)
    total = tl.zeros((QUERIES,), tl.float32)
    result = tl.zeros((QUERIES, WIDTH), tl.float32)
    for first in range(0, length, KEYS):
        key = tl.load(k + head + (first + keys)[None, :] * WIDTH + width[:, None])
        score = tl.dot(query, key) * scale
        maximum = tl.maximum(largest, tl.max(score, 1))
        weight = tl.exp2(score - maximum[:, None])
        correction = tl.exp2(largest - maximum)
        value = tl.load(v + head + (first + keys)[:, None] * WIDTH + width[None, :])
        result = tl.dot(weight.to(tl.float16), value, result * correction[:, None])
        total = total * correction + tl.sum(weight, 1)
        largest = maximum
    tl.store(out + head + rows[:, None] * WIDTH + width[None, :], (result / total[:, None]).to(tl.float16))


@triton.jit
def triton_saxpy(x, y, scale, n, BLOCK: tl.constexpr):
    """y = scale * x + y"""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, scale * tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


KERNELS = [
    (triton_matmul, dict(a="*fp16", b="*fp16", c="*fp32", m="i32", n="i32", k="i32", a_stride="i32", b_stride="i32",
                         c_stride="i32"), dict(TILE=128, DEPTH=64, BAND=8), dict(num_warps=8, num_stages=3)),
    (triton_attention, dict(q="*fp16", k="*fp16", v="*fp16", out="*fp16", length="i32", scale="fp32"),
     dict(QUERIES=128, KEYS=64, WIDTH=64), dict(num_warps=4, num_stages=3)),
    (triton_saxpy, dict(x="*fp32", y="*fp32", scale="fp32", n="i32"), dict(BLOCK=1024), dict(num_warps=4)),
]


def compile_kernel(kernel, types, constants, options, target):
    signature = types | {name: "constexpr" for name in constants}
    # As at a call with aligned pointers and round sizes.
    aligned = {(i,): [["tt.divisibility", 16]] for i, kind in enumerate(types.values()) if kind != "fp32"}
    source = ASTSource(kernel, signature, constants, aligned)
    return triton.compile(source, target=GPUTarget("cuda", target, 32), options=options)


def main(folder):
    os.environ["TRITON_CACHE_DIR"] = str(folder / "triton-cache")
    folder.mkdir(parents=True, exist_ok=True)
    for kernel, types, constants, options in KERNELS:
        for target in TARGETS:
            path = folder / f"{kernel.fn.__name__}_sm{target}.ptx"
            path.write_text(compile_kernel(kernel, types, constants, options, target).asm["ptx"])
            print(path)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
