#!/usr/bin/env python3
"""Makes the Triton kernels beside it: PTX, launch files and kernels.toml. Needs no GPU, but `pip install triton==3.6.0`.

    kernels/triton/make.py [FOLDER]      writes into FOLDER, kernels/triton by default

Targets. Triton makes wgmma of a tile product for sm_90 and tcgen05 for sm_100, mma.sync for what came before and for tiles of
less than 64 rows; kernels of all kinds are made, and those for sm_80 and sm_89 are assembled for sm_90 too, where most of
what runs still is of their kind. Line information is left out, for it would name this machine's folders.
"""

import os
import pathlib
import re
import sys
from dataclasses import dataclass, field

HERE = pathlib.Path(__file__).resolve().parent
VERSION = "3.6.0"
TYPES = {"fp16": "f16", "bf16": "bf16", "fp32": "f32", "fp8e5": "e5m2", "fp8e4nv": "e4m3", "i8": "i8", "i32": "i32"}


@dataclass
class Buffer:
    name: str
    type: str  # Triton's word
    count: str
    fill: str = "normal"
    more: dict = field(default_factory=dict)  # of the fill
    tolerance: tuple = None                   # of an output: relative, absolute


@dataclass
class Case:
    kernel: str
    target: int
    architectures: list
    sizes: dict      # name: default, sweep
    grid: list
    arguments: list  # buffers, and scalars as (name, type, value)
    constants: dict
    reference: str
    warps: int = 4
    stages: int = 3


def output(name, kind, count, relative, absolute):
    return Buffer(name, kind, count, fill="", tolerance=(relative, absolute))


def before_hopper(kind):
    """A target whose tile products are mma.sync, and where its PTX is assembled."""
    return (89, ["sm_89", "sm_90", "sm_100a"]) if kind.startswith("fp8") else (80, ["sm_80", "sm_90", "sm_100a"])


HOPPER = (90, ["sm_90a"])
BLACKWELL = (100, ["sm_100a"])


def matmul(where, kind, tile, warps, stages=3, transposed=False):
    result = {"i8": "i32", "bf16": "bf16", "fp32": "fp32"}.get(kind, "fp16")
    tolerance = {"i8": (0, 0), "bf16": (1e-2, 5e-2), "fp32": (1e-4, 1e-3)}.get(kind, (2e-3, 2e-2))
    if kind.startswith("fp8") and where == HOPPER:
        # wgmma cuts every summand to 13 bits below the largest: over 4096 products whose sum is about 64, an error of
        # 0.06 in the mean. Six times that.
        tolerance = (2e-3, 0.4)
    sizes = {name: (4096, [1024, 2048, 4096]) for name in "mnk"}
    buffers = [Buffer("a", kind, "m * k"), Buffer("b", kind, "k * n"), output("c", result, "m * n", *tolerance)]
    if kind == "i8":
        for buffer in buffers[:2]:
            buffer.fill, buffer.more = "pattern", {"pattern": f"i * {7919 if buffer.name == 'a' else 104729} % 255 - 127"}
    constants = dict(zip("MNK", tile)) | {"band": 8, "TRANSPOSED": transposed}
    return Case("matmul", *where, sizes, [f"(m / {tile[0]}) * (n / {tile[1]})"],
                buffers + [(name, "i32", name) for name in "mnk"], constants,
                "matmul_transposed" if transposed else "matmul", warps, stages)


def attention(where, kind, width, queries, keys, warps, causal=False, stages=3):
    assert not causal or queries % keys == 0, "a causal tile of queries begins where a tile of keys does"
    eight = kind.startswith("fp8")
    count = f"length * heads * {width}"
    sizes = {"length": (4096, [1024, 4096]), "heads": (64 * 32 // width, [16, 32])}
    buffers = [Buffer(name, kind, count) for name in "qkv"]
    buffers.append(output("out", "fp16", count, *((5e-2, 5e-2) if eight else (5e-3, 2e-3))))
    constants = {"QUERIES": queries, "KEYS": keys, "WIDTH": width, "CAUSAL": causal}
    return Case("attention", *where, sizes, [f"length / {queries}", "heads"],
                buffers + [("length", "i32", "length"), ("heads", "i32", "heads")], constants,
                "attention_causal" if causal else "attention", warps, stages)


def rows(where, kernel, reference, columns, block, warps, tolerance):
    """Kernels that treat each row of a matrix by itself."""
    sizes = {"rows": (2**26 // columns, [1024, 2**26 // columns]), "columns": (columns, [1000, columns])}
    count = "rows" if kernel == "reduce_rows" else "rows * columns"
    arguments = [Buffer("source", "fp32", "rows * columns")]
    if kernel == "layer_norm":
        arguments += [Buffer("gain", "fp32", "columns"), Buffer("bias", "fp32", "columns")]
    arguments.append(output("out", "fp32", count, *tolerance))
    if kernel.startswith("softmax"):
        arguments.append(("rows", "i32", "rows"))
    arguments.append(("columns", "i32", "columns"))
    return Case(kernel, *where, sizes, ["rows"], arguments, {"BLOCK": block}, reference, warps)


def elementwise(kernel, block, warps=4):
    x = Buffer("x", "fp32", "n")
    y = output("y", "fp32", "n", 1e-4, 1e-6)
    arguments = [x, y, ("n", "i32", "n")]
    if kernel == "saxpy":
        y.fill = "normal"
        arguments.insert(2, ("scale", "fp32", 0.5))
    return Case(kernel, *before_hopper("fp32"), {"n": (2**26, [2**20, 2**26])}, [f"ceil_div(n, {block})"], arguments,
                {"BLOCK": block}, {"gelu": "gelu_tanh"}.get(kernel, kernel), warps)


def transpose(block):
    count = "rows * columns"
    return Case("transpose", *before_hopper("fp32"), {name: (8192, [1024, 8192]) for name in ("rows", "columns")},
                [f"columns / {block}", f"rows / {block}"],
                [Buffer("source", "fp32", count), output("out", "fp32", count, 0, 0), ("rows", "i32", "rows"),
                 ("columns", "i32", "columns")], {"BLOCK": block}, "transpose")


def gather(block):
    count = "rows * width"
    index = Buffer("index", "i32", "rows", "pattern", {"pattern": "i * 7919 % rows"})
    return Case("gather", *before_hopper("fp32"), {"rows": (65536, [4096, 65536]), "width": (1024, [256, 1000])}, ["rows"],
                [Buffer("table", "fp32", count), index, output("out", "fp32", count, 0, 0), ("width", "i32", "width")],
                {"BLOCK": block}, "gather_rows")


def n_body(where, bodies, others):
    return Case("n_body", *where, {"n": (65536, [16384, 65536])}, [f"n / {bodies}"],
                [Buffer("bodies", "fp32", "4 * n", "uniform", {"low": 0, "high": 1}),
                 output("accelerations", "fp32", "4 * n", 1e-3, 1e-2), ("n", "i32", "n")],
                {"BODIES": bodies, "OTHERS": others}, "n_body")


def cases():
    half, eight = before_hopper("fp16"), before_hopper("fp8e5")
    for tile, warps in [((128, 128, 64), 8), ((128, 256, 64), 8), ((256, 128, 32), 8), ((128, 128, 32), 4),
                        ((128, 64, 32), 4), ((64, 128, 64), 4), ((64, 64, 32), 4), ((32, 128, 64), 4)]:
        yield matmul(half, "fp16", tile, warps)
    yield matmul(half, "bf16", (128, 128, 64), 8)
    yield matmul(half, "fp16", (128, 128, 64), 8, transposed=True)
    yield matmul(half, "i8", (128, 128, 64), 8, transposed=True)
    yield matmul(eight, "fp8e5", (128, 128, 64), 8, transposed=True)
    yield matmul(eight, "fp8e4nv", (128, 256, 64), 8, transposed=True)
    for width, queries, keys, warps in [(64, 128, 64, 4), (64, 64, 64, 4), (64, 128, 128, 8), (128, 128, 64, 8),
                                        (128, 64, 64, 4)]:
        for causal in (False, True):
            yield attention(half, "fp16", width, queries, keys, warps, causal)
    for width, queries, keys, warps in [(64, 128, 64, 8), (64, 64, 64, 4), (128, 128, 64, 4)]:
        for causal in (False, True):
            yield attention(eight, "fp8e5", width, queries, keys, warps, causal)
    yield rows(half, "softmax", "softmax_rows", 1024, 1024, 4, (1e-4, 1e-7))
    yield rows(half, "softmax", "softmax_rows", 4096, 4096, 8, (1e-4, 1e-7))
    yield rows(half, "softmax_passing", "softmax_rows", 8192, 2048, 8, (1e-4, 1e-7))
    yield rows(half, "layer_norm", "layer_norm_rows", 4096, 1024, 4, (1e-3, 1e-4))
    yield rows(half, "layer_norm", "layer_norm_rows", 1024, 256, 2, (1e-3, 1e-4))
    yield rows(half, "reduce_rows", "reduce_rows", 8192, 2048, 8, (1e-4, 1e-3))
    yield elementwise("gelu", 1024)
    yield elementwise("saxpy", 1024)
    yield transpose(64)
    yield gather(256)
    yield n_body(half, 128, 32)
    yield n_body(half, 64, 128)

    # What Triton makes for the H200 without wgmma.
    yield matmul(HOPPER, "fp16", (32, 128, 64), 4)
    yield matmul(HOPPER, "fp32", (64, 64, 16), 4)
    yield attention(HOPPER, "fp16", 64, 32, 64, 4)
    yield attention(HOPPER, "fp16", 128, 32, 32, 4, True)
    yield rows(HOPPER, "softmax_passing", "softmax_rows", 8192, 2048, 8, (1e-4, 1e-7))
    yield rows(HOPPER, "layer_norm", "layer_norm_rows", 4096, 1024, 4, (1e-3, 1e-4))
    yield n_body(HOPPER, 128, 32)
    for where in HOPPER, BLACKWELL:
        yield matmul(where, "fp16", (128, 128, 64), 4)
        yield matmul(where, "fp16", (128, 256, 64), 8)
        yield matmul(where, "fp8e5", (128, 128, 128), 4, transposed=True)
        yield attention(where, "fp16", 64, 128, 64, 4)
        yield attention(where, "fp16", 128, 128, 64, 8, True)
        yield attention(where, "fp8e5", 128, 128, 64, 8)


def compile_case(case):
    import kernels
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    kernel = getattr(kernels, case.kernel)
    types = {}
    for argument in case.arguments:
        types |= {argument.name: "*" + argument.type} if isinstance(argument, Buffer) else {argument[0]: argument[1]}
    assert list(types) + list(case.constants) == kernel.arg_names, f"{case.kernel} takes {kernel.arg_names}"
    # As at a call with aligned pointers and round sizes.
    aligned = {(place,): [["tt.divisibility", 16]] for place, kind in enumerate(types.values()) if kind != "fp32"}
    source = ASTSource(kernel, types | {name: "constexpr" for name in case.constants}, case.constants, aligned)
    return triton.compile(source, target=GPUTarget("cuda", case.target, 32),
                          options={"num_warps": case.warps, "num_stages": case.stages})


def ptx_of(compiled):
    """Without comments and empty lines, which say nothing about the kernel."""
    lines = (re.sub(r"\s*//.*", "", line) for line in compiled.asm["ptx"].splitlines())
    return "\n".join(filter(str.strip, lines)) + "\n"


def toml(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


def launch_file(case, entry, ptx, shared):
    block = int(re.search(r"\.reqntid (\d+)", ptx).group(1))
    out = [f'kernel = "ptx/{entry}_sm{case.target}.ptx"', f'entry = "{entry}"', f"architectures = {toml(case.architectures)}",
           "", "[sizes]"]
    out += [f"{name} = {toml({'default': default, 'sweep': sweep})}" for name, (default, sweep) in case.sizes.items()]
    out += ["", "[launch]", f"grid = {toml(case.grid)}", f"block = [{block}]", f"shared = {shared}"]
    for buffer in (argument for argument in case.arguments if isinstance(argument, Buffer)):
        out += ["", "[[buffer]]", f'name = "{buffer.name}"', f'type = "{TYPES[buffer.type]}"', f'count = "{buffer.count}"']
        if buffer.fill:
            out.append(f'fill = "{buffer.fill}"')
            out += [f"{key} = {toml(value)}" for key, value in buffer.more.items()]
        if buffer.tolerance:
            relative, absolute = buffer.tolerance
            out += ["output = true", f"tolerance = {toml({'relative': relative, 'absolute': absolute})}"]
    for argument in case.arguments:
        out += ["", "[[argument]]"]
        if isinstance(argument, Buffer):
            out.append(f'buffer = "{argument.name}"')
        else:
            out += [f'type = "{TYPES[argument[1]]}"', f"value = {toml(argument[2])}"]
    # Triton's own: scratch memory, and scratch memory of its profiler; no kernel here uses them.
    hidden = len(re.findall(r"^\s*\.param ", ptx.split(")", 1)[0], re.M)) - len(case.arguments)
    out += ["", "[[argument]]", 'type = "u64"', "value = 0"] * hidden
    out += ["", "[reference]", f'host = "{case.reference}"']
    return "\n".join(out) + "\n"


def main(folder):
    os.environ["TRITON_DISABLE_LINE_INFO"] = "1"
    import triton
    if triton.__version__ != VERSION:
        raise SystemExit(f"Triton is {triton.__version__}; the committed kernels are made by {VERSION}")
    (folder / "ptx").mkdir(parents=True, exist_ok=True)
    index = ["# Made by make.py: Triton's kernels, their targets, and where they are assembled. The launch file of each",
             "# lies beside this one, its PTX in ptx/."]
    for case in cases():
        compiled = compile_case(case)
        ptx = ptx_of(compiled)
        entry = compiled.metadata.name
        name = f"{entry}_sm{case.target}"
        (folder / "ptx" / f"{name}.ptx").write_text(ptx)
        (folder / f"{name}.toml").write_text(launch_file(case, entry, ptx, compiled.metadata.shared))
        index += ["", "[[kernel]]", f'name = "{name}"', f'entry = "{entry}"',
                  f'target = "{re.search(r".target (sm_[0-9a-z]+)", ptx).group(1)}"',
                  f"architectures = {toml(case.architectures)}"]
        print(f"{len(ptx):8} bytes  {name}", flush=True)
    (folder / "kernels.toml").write_text("\n".join(index) + "\n")


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
