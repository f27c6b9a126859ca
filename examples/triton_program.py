#!/usr/bin/env python3
"""A Triton program that runs the kernels of kernels/triton on the GPU and times itself.

    triton_program.py [--reverse] [--seconds N]
    triton_program.py --ptx FOLDER          only writes the PTX it would run, with launch files

It knows nothing of treatments: whoever wants one starts it by `namesake run`. For each kernel it prints a line of JSON
with the median of its time and a checksum of what it computed. These are the shapes for which Triton makes no wgmma on
Hopper. Their PTX lies in kernels/triton too, but without line information, and that can change the code: tune with what
the program itself compiles.
"""

import argparse
import hashlib
import json
import pathlib
import re
import statistics
import sys
import time

import torch
import triton

KERNELS = pathlib.Path(__file__).resolve().parents[1] / "kernels" / "triton"
sys.path.insert(0, str(KERNELS))
import kernels  # noqa: E402  (it lies in a folder of its own)


def normal(*shape, dtype=torch.float32):
    return torch.randn(*shape, device="cuda").to(dtype)


def matmul(dtype, tile):
    m = n = k = 4096
    a, b, c = normal(m, k, dtype=dtype), normal(k, n, dtype=dtype), torch.empty(m, n, device="cuda", dtype=dtype)
    grid = (m // tile[0] * (n // tile[1]),)
    return c, lambda: kernels.matmul[grid](a, b, c, m, n, k, *tile, 8, False, num_warps=4, num_stages=3)


def attention(width, queries, keys, causal):
    length, heads = 4096, 64 * 32 // width
    q, k, v = (normal(length, heads, width, dtype=torch.float16) for _ in range(3))
    out = torch.empty_like(q)
    grid = (length // queries, heads)
    return out, lambda: kernels.attention[grid](q, k, v, out, length, heads, queries, keys, width, causal, num_warps=4,
                                                num_stages=3)


def softmax_passing(columns, block):
    rows = 2**26 // columns
    source, out = normal(rows, columns), torch.empty(rows, columns, device="cuda")
    return out, lambda: kernels.softmax_passing[(rows,)](source, out, rows, columns, block, num_warps=8)


def layer_norm(columns, block):
    rows = 2**26 // columns
    source, gain, bias = normal(rows, columns), normal(columns), normal(columns)
    out = torch.empty_like(source)
    return out, lambda: kernels.layer_norm[(rows,)](source, gain, bias, out, columns, block, num_warps=4)


def n_body(bodies, others):
    n = 65536
    positions, out = torch.rand(n, 4, device="cuda"), torch.empty(n, 4, device="cuda")
    return out, lambda: kernels.n_body[(n // bodies,)](positions, out, n, bodies, others, num_warps=4)


def workloads():
    return [matmul(torch.float16, (32, 128, 64)), matmul(torch.float32, (64, 64, 16)), attention(64, 32, 64, False),
            attention(128, 32, 32, True), softmax_passing(8192, 2048), layer_norm(4096, 1024), n_body(128, 32)]


def milliseconds(launch, count):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(count):
        launch()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / count


def write_ptx(compiled, folder):
    name = compiled.metadata.name
    (folder / f"{name}.ptx").write_text(compiled.asm["ptx"])
    launch = (KERNELS / f"{name}_sm{compiled.metadata.target.arch}.toml").read_text()
    (folder / f"{name}.toml").write_text(re.sub('^kernel = .*', f'kernel = "{name}.ptx"', launch, count=1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reverse", action="store_true", help="the kernels in the other order")
    parser.add_argument("--seconds", type=float, default=4, help="of timing, in all")
    parser.add_argument("--ptx", type=pathlib.Path, help="only write PTX and launch files into this folder")
    options = parser.parse_args()
    torch.manual_seed(0)
    runs = []
    for out, launch in workloads():
        compiled = launch()
        if options.ptx:
            write_ptx(compiled, options.ptx)
            continue
        torch.cuda.synchronize()
        checksum = hashlib.sha256(out.cpu().numpy().tobytes()).hexdigest()[:16]
        count = max(1, int(5 / milliseconds(launch, 3)))
        runs.append((compiled.metadata.name, launch, checksum, count, []))
    if options.ptx:
        return
    if options.reverse:
        runs.reverse()
    end = time.monotonic() + options.seconds
    while time.monotonic() < end:
        for _, launch, _, count, times in runs:
            times.append(milliseconds(launch, count))
    for name, _, checksum, _, times in runs:
        print(json.dumps({"kernel": name, "milliseconds": statistics.median(times), "checksum": checksum}), flush=True)


if __name__ == "__main__":
    main()
