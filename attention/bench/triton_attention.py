"""Forward attention in Triton, in the plain form that Triton's users write: one block of rows a program, online softmax."""

import torch
import triton
import triton.language as tl

LOG2E = 1.4426950408889634


@triton.jit
def kernel(q, k, v, o, length, heads, scale_log2, ROWS: tl.constexpr, KEYS: tl.constexpr, DIM: tl.constexpr,
           CAUSAL: tl.constexpr):
    # The longest rows of a causal mask come first.
    block = tl.num_programs(0) - 1 - tl.program_id(0)
    batch = tl.program_id(1) // heads
    head = tl.program_id(1) % heads
    stride = heads * DIM
    base = (batch.to(tl.int64) * length * heads + head) * DIM
    rows = block * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, DIM)
    keys = tl.arange(0, KEYS)
    query = tl.load(q + base + rows[:, None].to(tl.int64) * stride + columns[None, :], rows[:, None] < length, 0.0)
    largest = tl.full([ROWS], float("-inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    result = tl.zeros([ROWS, DIM], tl.float32)
    end = tl.minimum((block + 1) * ROWS, length) if CAUSAL else length
    for first in range(0, end, KEYS):
        there = first + keys
        offsets = base + there[:, None].to(tl.int64) * stride + columns[None, :]
        key = tl.load(k + offsets, there[:, None] < length, 0.0)
        scores = tl.dot(query, tl.trans(key)) * scale_log2
        seen = there[None, :] < length
        if CAUSAL:
            seen = seen & (there[None, :] <= rows[:, None])
        scores = tl.where(seen, scores, float("-inf"))
        new = tl.maximum(largest, tl.max(scores, 1))
        weights = tl.exp2(scores - new[:, None])
        rescale = tl.exp2(largest - new)
        total = total * rescale + tl.sum(weights, 1)
        value = tl.load(v + offsets, there[:, None] < length, 0.0)
        result = result * rescale[:, None] + tl.dot(weights.to(value.dtype), value)
        largest = new
    result = result / total[:, None]
    tl.store(o + base + rows[:, None].to(tl.int64) * stride + columns[None, :], result.to(o.dtype.element_ty),
             rows[:, None] < length)


def forward(q, k, v, o, causal):
    """Tensors are dense, [batch][length][heads][dim], as many key heads as query heads."""
    batch, length, heads, dim = q.shape
    rows, warps = (128, 8) if dim > 64 else (128, 4)
    keys = 64
    grid = (triton.cdiv(length, rows), batch * heads)
    kernel[grid](q, k, v, o, length, heads, LOG2E / dim**0.5, ROWS=rows, KEYS=keys, DIM=dim, CAUSAL=causal,
                 num_warps=warps, num_stages=2 if dim > 128 else 3)
    return o
