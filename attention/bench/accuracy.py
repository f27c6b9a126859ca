"""How far fp8 attention lies from the exact result on the same quantised inputs: ours with each number of keys after which sums
are promoted, FlashAttention-3's and cuDNN's, on normal data, with outliers, and with values of V that do not cancel."""

import ctypes
import math

import library

HEADS, ROWS = 4, 256
E4M3_LARGEST = 448
KEYS = (4096, 32768, 131072)
DATA = ("normal", "outliers", "mean")
OURS, FLASH, CUDNN = "namesake", "FlashAttention-3", "cuDNN"
PROMOTIONS = {"namesake, never promoted": library.NEVER_PROMOTE, "namesake, each 1024 keys": 1024, "namesake, each 2048 keys": 2048,
              "namesake, each 8192 keys": 8192}
ABOUT = {"normal": "normal values", "outliers": "normal values, one in a thousand ten times as large",
         "mean": "normal values, V's around 1"}


class Cell:
    def __init__(self, dim, data, keys):
        self.section, self.dim, self.data, self.keys = "accuracy", dim, data, keys
        self.name = f"e4m3-d{dim}-accuracy-{data}-n{keys}"


class Cudnn:
    """cuDNN's fp8 attention through the bench's own peer, as a shared library (cudnn_c.cpp)."""

    def __init__(self, path):
        self.run = ctypes.CDLL(path).attention_bench_cudnn_fp8
        self.run.restype = ctypes.c_int
        self.run.argtypes = [ctypes.c_void_p] * 4 + [ctypes.c_int64] * 4 + [ctypes.c_float] * 2 + [
            ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]

    def __call__(self, torch, q, k, v, largest):
        """The output in fp32, or why there is none. Its fp8 output gets the factor that suits results of up to `largest`."""
        batch, length, heads, dim = q.shape
        o = torch.empty(q.shape, dtype=torch.float8_e4m3fn, device="cuda")
        o_scale = 2.0 ** math.floor(math.log2(E4M3_LARGEST / 2 / largest))
        message = ctypes.create_string_buffer(1024)
        if self.run(q.data_ptr(), k.data_ptr(), v.data_ptr(), o.data_ptr(), batch, length, heads, dim, 1 / math.sqrt(dim),
                    o_scale, torch.cuda.current_stream().cuda_stream, message, len(message)):
            return None, message.value.decode()
        torch.cuda.synchronize()
        return o.float() / o_scale, None


def inputs(torch, cell):
    generator = torch.Generator("cuda").manual_seed(2)
    made = []
    for name in "qkv":
        values = torch.randn((1, cell.keys, HEADS, cell.dim), device="cuda", generator=generator)
        if cell.data == "outliers":
            values = torch.where(torch.rand(values.shape, device="cuda", generator=generator) < 1e-3, 10 * values, values)
        if cell.data == "mean" and name == "v":
            values += 1
        made.append(values.to(torch.float8_e4m3fn))
    return made


def exact_rows(torch, cell, q, k, v, rows):
    """[head][row][column] in double precision."""
    result = []
    for head in range(HEADS):
        query = q[0, :, head].double()[rows]  # in this order: fp8 tensors take no index
        scores = query @ k[0, :, head].double().T / math.sqrt(cell.dim)
        result.append(scores.softmax(-1) @ v[0, :, head].double())
    return torch.stack(result)


def measure(torch, cell, ours, flash, cudnn):
    q, k, v = inputs(torch, cell)
    rows = torch.arange(ROWS, device="cuda") * (cell.keys // ROWS)
    exact = exact_rows(torch, cell, q, k, v, rows)
    sides = {}

    def judge_side(name, output):
        picked = output[0, rows].double().permute(1, 0, 2)
        relative = (picked - exact).norm(dim=(1, 2)) / exact.norm(dim=(1, 2))
        sides[name] = {"error": relative.max().item() if relative.isfinite().all() else math.inf}

    for name, keys in {OURS: 0, **PROMOTIONS}.items():
        output = torch.full(q.shape, math.nan, dtype=torch.bfloat16, device="cuda")
        run, _ = ours.prepare(q, k, v, output, False, lambda size: torch.empty(size, dtype=torch.uint8, device="cuda"),
                              promote_keys=keys)
        run(torch.cuda.current_stream().cuda_stream)
        torch.cuda.synchronize()
        judge_side(name, output)
    if flash:
        output = flash(q, k, v)
        judge_side(FLASH, output[0] if isinstance(output, tuple) else output)
    entry = {"cell": cell.name, "head_dim": cell.dim, "data": cell.data, "keys": cell.keys, "sides": sides}
    if cudnn:
        output, why = cudnn(torch, q, k, v, exact.abs().max().item())
        if output is None:
            entry["why_no_cudnn"] = why
        else:
            judge_side(CUDNN, output)
    return entry


def judge(entries):
    """How much our error grows from the shortest to the longest context, and where a peer's is smaller than ours."""
    errors = {(entry["head_dim"], entry["data"], entry["keys"]): entry["sides"] for entry in entries}
    growth = {}
    for (dim, data, keys), sides in errors.items():
        first = errors.get((dim, data, KEYS[0]))
        if keys == KEYS[-1] and first:
            growth[f"head_dim {dim}, {data}"] = {name: side["error"] / first[name]["error"]
                                                for name, side in sides.items() if name in first}
    behind = {entry["cell"]: {peer: entry["sides"][OURS]["error"] / entry["sides"][peer]["error"]
                              for peer in (FLASH, CUDNN) if peer in entry["sides"]} for entry in entries}
    return {"growth_of_error_from_4k_to_128k": growth, "error_to_peers": behind}
