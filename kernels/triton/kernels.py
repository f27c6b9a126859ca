"""Kernels in Triton's language, for make.py and for the programs that time them.

Each takes pointers first, then sizes, then what the compiler is to know. Sizes are multiples of the tiles unless a
kernel masks, so that what is left is the work itself. What they show: this is how most new GPU kernels are written, and
the assembler's code for one source sorts into faster and slower by tile shape.
"""

import triton
import triton.language as tl



def named(kernel):
    """A symbol for each specialization, such as triton_matmul_fp16_128x128x64: Triton's own gives all of them one name, and
    a treatment is decided by name."""

    def name(specialization):
        pointer = next(kind for kind in specialization.signature.values() if kind.startswith("*"))
        known = {key: getattr(value, "value", value) for key, value in specialization.constants.items() if key.isupper()}
        tile = "x".join(str(value) for value in known.values() if not isinstance(value, bool))
        flags = [key.lower() for key, value in known.items() if value is True]
        return "_".join(["triton", kernel, pointer[1:], tile] + flags)

    return name


LOG2E: tl.constexpr = tl.constexpr(1.4426950408889634)


@triton.jit(repr=named("matmul"))
def matmul(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, band: tl.constexpr,
           TRANSPOSED: tl.constexpr):
    """C = A B, or A B' with B stored n x k: tile by tile, in bands of `band` rows of tiles that share the cache."""
    program = tl.program_id(0)
    band_tiles = band * (n // N)
    first = program // band_tiles * band
    height = min(m // M - first, band)
    row = (first + program % band_tiles % height) * M + tl.arange(0, M)
    column = program % band_tiles // height * N + tl.arange(0, N)
    depth = tl.arange(0, K)
    if TRANSPOSED:
        right, down, across = b, 1, k
    else:
        right, down, across = b, n, 1
    left = a + row[:, None] * k + depth[None, :]
    right = right + depth[:, None] * down + column[None, :] * across
    total = tl.zeros((M, N), tl.int32 if c.dtype.element_ty == tl.int32 else tl.float32)
    for _ in range(0, k, K):
        total = tl.dot(tl.load(left), tl.load(right), total, input_precision="ieee", out_dtype=total.dtype)
        left += K
        right += K * down
    tl.store(c + row[:, None] * n + column[None, :], total.to(c.dtype.element_ty))


@triton.jit
def attend(query, largest, total, result, key_row, value_row, begin, end, stride, row, factor, KEYS: tl.constexpr,
           MASKED: tl.constexpr):
    """Lets the keys from begin to end pass by, maximum and sum corrected as they go."""
    step = tl.arange(0, KEYS)
    for first in range(begin, end, KEYS):
        key = tl.load(key_row + (first + step)[None, :] * stride)
        score = tl.dot(query, key) * factor
        if MASKED:
            score = tl.where(row[:, None] >= (first + step)[None, :], score, float("-inf"))
        maximum = tl.maximum(largest, tl.max(score, 1))
        weight = tl.exp2(score - maximum[:, None])
        correction = tl.exp2(largest - maximum)
        value = tl.load(value_row + (first + step)[:, None] * stride)
        result = tl.dot(weight.to(value.dtype), value, result * correction[:, None])
        total = total * correction + tl.sum(weight, 1)
        largest = maximum
    return largest, total, result


@triton.jit(repr=named("attention"))
def attention(q, k, v, out, length, heads, QUERIES: tl.constexpr, KEYS: tl.constexpr, WIDTH: tl.constexpr,
              CAUSAL: tl.constexpr):
    """softmax(Q K' / sqrt(WIDTH)) V. All are length x heads x WIDTH; a program owns QUERIES queries of one head, a multiple
    of KEYS where it is causal."""
    stride = heads * WIDTH
    head = tl.program_id(1) * WIDTH
    start = tl.program_id(0) * QUERIES
    row = start + tl.arange(0, QUERIES)
    width = tl.arange(0, WIDTH)
    query = tl.load(q + head + row[:, None] * stride + width[None, :])
    largest = tl.full((QUERIES,), float("-inf"), tl.float32)
    total = tl.zeros((QUERIES,), tl.float32)
    result = tl.zeros((QUERIES, WIDTH), tl.float32)
    factor = LOG2E / WIDTH**0.5
    key_row = k + head + width[:, None]
    value_row = v + head + width[None, :]
    full = start if CAUSAL else length
    largest, total, result = attend(query, largest, total, result, key_row, value_row, 0, full, stride, row, factor,
                                    KEYS, False)
    if CAUSAL:
        largest, total, result = attend(query, largest, total, result, key_row, value_row, start, start + QUERIES,
                                        stride, row, factor, KEYS, True)
    answer = result / total[:, None]
    tl.store(out + head + row[:, None] * stride + width[None, :], answer.to(out.dtype.element_ty))


@triton.jit(repr=named("softmax"))
def softmax(source, out, rows, columns, BLOCK: tl.constexpr):
    """Each row of a matrix: a program a row, held in registers."""
    row = tl.program_id(0).to(tl.int64) * columns
    column = tl.arange(0, BLOCK)
    value = tl.load(source + row + column, mask=column < columns, other=float("-inf"))
    weight = tl.exp(value - tl.max(value, 0))
    tl.store(out + row + column, weight / tl.sum(weight, 0), mask=column < columns)


@triton.jit(repr=named("softmax_passing"))
def softmax_passing(source, out, rows, columns, BLOCK: tl.constexpr):
    """Each row of a matrix of any width: once for maximum and sum, once more for the quotients."""
    row = tl.program_id(0).to(tl.int64) * columns
    step = tl.arange(0, BLOCK)
    largest = tl.full((BLOCK,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, columns, BLOCK):
        value = tl.load(source + row + first + step, mask=first + step < columns, other=float("-inf"))
        maximum = tl.maximum(largest, value)
        total = total * tl.where(maximum > largest, tl.exp(largest - maximum), 1.0) \
            + tl.where(first + step < columns, tl.exp(value - maximum), 0.0)
        largest = maximum
    maximum = tl.max(largest, 0)
    total = tl.sum(total * tl.where(largest > float("-inf"), tl.exp(largest - maximum), 0.0), 0)
    for first in range(0, columns, BLOCK):
        value = tl.load(source + row + first + step, mask=first + step < columns)
        tl.store(out + row + first + step, tl.exp(value - maximum) / total, mask=first + step < columns)


@triton.jit(repr=named("layer_norm"))
def layer_norm(source, gain, bias, out, columns, BLOCK: tl.constexpr):
    """Each row made mean 0 and variance 1, then gain * row + bias; a program a row."""
    row = tl.program_id(0).to(tl.int64) * columns
    step = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, columns, BLOCK):
        total += tl.load(source + row + first + step, mask=first + step < columns, other=0.0)
    mean = tl.sum(total, 0) / columns
    squares = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, columns, BLOCK):
        value = tl.load(source + row + first + step, mask=first + step < columns, other=0.0)
        value = tl.where(first + step < columns, value - mean, 0.0)
        squares += value * value
    scale = 1 / tl.sqrt(tl.sum(squares, 0) / columns + 1e-5)
    for first in range(0, columns, BLOCK):
        inside = first + step < columns
        value = (tl.load(source + row + first + step, mask=inside) - mean) * scale
        value = value * tl.load(gain + first + step, mask=inside) + tl.load(bias + first + step, mask=inside)
        tl.store(out + row + first + step, value, mask=inside)


@triton.jit(repr=named("reduce_rows"))
def reduce_rows(source, out, columns, BLOCK: tl.constexpr):
    """The sum of each row; a program a row."""
    row = tl.program_id(0).to(tl.int64) * columns
    step = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, columns, BLOCK):
        total += tl.load(source + row + first + step, mask=first + step < columns, other=0.0)
    tl.store(out + tl.program_id(0), tl.sum(total, 0))


@triton.jit(repr=named("gelu"))
def gelu(x, y, n, BLOCK: tl.constexpr):
    """x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))), the tanh through an exponential."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    inner = 0.7978845608028654 * (value + 0.044715 * value * value * value)
    tl.store(y + at, value / (1 + tl.exp(-2 * inner)), mask=at < n)


@triton.jit(repr=named("saxpy"))
def saxpy(x, y, scale, n, BLOCK: tl.constexpr):
    """y = scale * x + y"""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, scale * tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


@triton.jit(repr=named("transpose"))
def transpose(source, out, rows, columns, BLOCK: tl.constexpr):
    """A matrix, square tile by square tile."""
    row = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    column = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tile = tl.load(source + row[:, None] * columns + column[None, :])
    tl.store(out + column[:, None] * rows + row[None, :], tl.trans(tile))


@triton.jit(repr=named("n_body"))
def n_body(bodies, accelerations, n, BODIES: tl.constexpr, OTHERS: tl.constexpr):
    """Gravity among all pairs; a body is {x, y, z, mass}, a program owns BODIES of them."""
    own = (tl.program_id(0) * BODIES + tl.arange(0, BODIES)) * 4
    x, y, z = tl.load(bodies + own), tl.load(bodies + own + 1), tl.load(bodies + own + 2)
    pull_x = tl.zeros((BODIES,), tl.float32)
    pull_y = tl.zeros((BODIES,), tl.float32)
    pull_z = tl.zeros((BODIES,), tl.float32)
    for first in range(0, n, OTHERS):
        other = (first + tl.arange(0, OTHERS)) * 4
        dx = tl.load(bodies + other)[None, :] - x[:, None]
        dy = tl.load(bodies + other + 1)[None, :] - y[:, None]
        dz = tl.load(bodies + other + 2)[None, :] - z[:, None]
        inverse = tl.rsqrt(dx * dx + dy * dy + dz * dz + 1e-3)
        pull = tl.load(bodies + other + 3)[None, :] * inverse * inverse * inverse
        pull_x += tl.sum(pull * dx, 1)
        pull_y += tl.sum(pull * dy, 1)
        pull_z += tl.sum(pull * dz, 1)
    tl.store(accelerations + own, pull_x)
    tl.store(accelerations + own + 1, pull_y)
    tl.store(accelerations + own + 2, pull_z)
    tl.store(accelerations + own + 3, tl.zeros((BODIES,), tl.float32))


@triton.jit(repr=named("gather"))
def gather(table, index, out, width, BLOCK: tl.constexpr):
    """Row i of out is row index[i] of the table."""
    row = tl.program_id(0).to(tl.int64)
    chosen = tl.load(index + row).to(tl.int64)
    step = tl.arange(0, BLOCK)
    for first in range(0, width, BLOCK):
        inside = first + step < width
        tl.store(out + row * width + first + step, tl.load(table + chosen * width + first + step, mask=inside), mask=inside)
