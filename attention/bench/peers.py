#!/usr/bin/env python3
"""Times namesake-attention against FlashAttention-3 (the fa3-fwd wheel) and a Triton kernel, on the same tensors, from CUDA
graphs so that Python is not measured, in interleaved rounds. Needs torch with a GPU, the wheel, and libnamesake-attention.so.

    peers.py --library build/libnamesake-attention.so -o results/attention-peers.json [--cells GLOB] [--triton] [--minutes 2]

Cells of e4m3 are timed with V as it comes and transposed (-vt); beside them there is what promoting the tensor cores' sums costs
(-promotion) and how far each result lies from the exact one (-accuracy, accuracy.py; cuDNN's too with --cudnn).
"""

import argparse
import datetime
import fnmatch
import hashlib
import json
import math
import pathlib
import sys
import time

import accuracy
import library
import paired

SCHEMA = "namesake.attention-peers/1.3"  # 1.1: each side alone, too; 1.2: decoding; 1.3: fp8
LENGTHS = [512 << i for i in range(8)]
LENGTHS8 = LENGTHS[1:]
PROMOTION_LENGTH = 16384
SECTIONS = ("accuracy", "promotion", "cells", "decode")
TRITON_LENGTHS = (2048, 16384)
FLASH, TRITON, OURS, DIVIDED = "FlashAttention-3", "Triton", "namesake", "namesake, keys divided"
CHECKED_ROWS = 4
SHORTEST_TIMING = 2.0  # ms
ALONE_ROUNDS = 3
MOST_AGAIN = 6  # more cells below their figures are no bad moment


class Cell:
    def __init__(self, dim, causal, length, dtype="bf16", v_transposed=False):
        self.section, self.dim, self.causal, self.length = "cells", dim, causal, length
        self.dtype, self.v_transposed = dtype, v_transposed
        self.batch, self.heads, self.rows = 4, 16 if dim == 256 else 32, length
        self.heads_kv = self.heads
        self.mask = "causal" if causal else "full"
        self.name = f"{dtype}-d{dim}-{self.mask}-n{length}" + ("-vt" if v_transposed else "")
        self.flops = 4 * self.batch * self.heads * length**2 * dim * (0.5 if causal else 1)


class Decode(Cell):
    """One query row a head over many keys, 32 heads on 8: what dividing the keys is for."""

    def __init__(self, dim, batch, length):
        super().__init__(dim, False, length)
        self.section, self.batch, self.rows, self.heads, self.heads_kv = "decode", batch, 1, 32, 8
        self.name = f"bf16-d{dim}-decode-n{length}-h32x8-b{batch}"
        self.flops = 4 * batch * self.heads * length * dim


class Promotion(Cell):
    """Our fp8 kernel with each number of keys after which sums are promoted: what that costs."""

    def __init__(self, dim, causal):
        super().__init__(dim, causal, PROMOTION_LENGTH, "e4m3")
        self.section, self.name = "promotion", f"e4m3-d{dim}-{self.mask}-promotion-n{self.length}"


def cells(glob):
    every = [accuracy.Cell(dim, data, keys) for dim in (64, 128, 256) for data in accuracy.DATA for keys in accuracy.KEYS]
    every += [Promotion(dim, causal) for dim in (64, 128, 256) for causal in (False, True)]
    every += [Cell(dim, causal, length, "e4m3", v_transposed) for v_transposed in (False, True) for length in LENGTHS8
              for dim in (64, 128, 256) for causal in (False, True)]
    every += [Cell(dim, causal, length) for length in LENGTHS for dim in (64, 128, 256) for causal in (False, True)]
    every += [Decode(128, batch, length) for batch in (1, 8) for length in (2048, 8192, 32768, 131072)]
    return [cell for cell in every if fnmatch.fnmatch(cell.name, glob)]


def tensors(torch, cell):
    generator = torch.Generator("cuda").manual_seed(1)
    normal = lambda *shape: torch.randn(shape, dtype=torch.bfloat16, device="cuda", generator=generator)
    made = [normal(cell.batch, rows, heads, cell.dim)
            for rows, heads in ((cell.rows, cell.heads), (cell.length, cell.heads_kv), (cell.length, cell.heads_kv))]
    if cell.dtype == "e4m3":
        made = [tensor.to(torch.float8_e4m3fn) for tensor in made]
    if cell.v_transposed:  # the same shape, keys side by side in memory
        made[2] = made[2].permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)
    return made


def worst_error(torch, cell, q, k, v, o):
    """The worst head's ‖o − exact‖₂ / ‖exact‖₂ over some rows, in double precision; one batch, a head at a time."""
    rows = torch.tensor([(2 * i + 1) * cell.rows // (2 * CHECKED_ROWS) for i in range(CHECKED_ROWS)], device="cuda")
    worst = 0.0
    for head in range(cell.heads):
        head_kv = head * cell.heads_kv // cell.heads
        query = q[0, :, head].double()[rows]  # in this order: fp8 tensors take no index
        key, value = k[0, :, head_kv].double(), v[0, :, head_kv].double()
        scores = query @ key.T / math.sqrt(cell.dim)
        if cell.causal:
            scores.masked_fill_(torch.arange(cell.length, device="cuda")[None, :] > rows[:, None], float("-inf"))
        exact = scores.softmax(-1) @ value
        relative = ((o[0, rows, head].double() - exact).norm() / exact.norm()).item()
        worst = relative if not relative <= worst else worst
    return worst


def sides(torch, cell, ours, flash, triton, q, k, v):
    """name → (a function that enqueues one call on the current stream, its output after a call)."""
    def our_side(**choices):
        output = torch.empty(q.shape, dtype=torch.bfloat16, device="cuda")
        run, kernel = ours.prepare(q, k, v, output, cell.causal,
                                   lambda size: torch.empty(size, dtype=torch.uint8, device="cuda"),
                                   v_transposed=cell.v_transposed, **choices)
        return (lambda: run(torch.cuda.current_stream().cuda_stream), lambda: output), kernel

    mine, kernel = our_side()
    result = {OURS: mine}
    if cell.section == "promotion":
        for name, keys in accuracy.PROMOTIONS.items():
            result[name], _ = our_side(promote_keys=keys)
        return result, kernel
    if cell.section == "decode":
        result[DIVIDED], _ = our_side(key_splits=library.FILL_DEVICE)
    if flash:
        output = [None]

        def call_flash():
            # 0: as many splits as it judges best, what its own decoding asks for.
            output[0] = flash(q, k, v, causal=cell.causal, num_splits=0 if cell.section == "decode" else 1)

        result[FLASH] = (call_flash, lambda: output[0][0] if isinstance(output[0], tuple) else output[0])
    if triton and cell.section == "cells" and cell.length in TRITON_LENGTHS:
        theirs = torch.empty_like(q)
        result[TRITON] = (lambda: triton(q, k, v, theirs, cell.causal), lambda: theirs)
    return result, kernel


def measure(torch, cell, ours, flash, triton, milliseconds, pause=0):
    q, k, v = tensors(torch, cell)
    candidates, kernel = sides(torch, cell, ours, flash, triton, q, k, v)
    entry = {"cell": cell.name, "kernel": kernel, "flops": cell.flops, "sides": {}}
    names, graphs, alone = list(candidates), [], []
    side_stream = torch.cuda.Stream()
    side_stream.wait_stream(torch.cuda.current_stream())  # the inputs are made there
    for name in list(names):
        call, output = candidates[name]
        with torch.cuda.stream(side_stream):
            try:
                call()
            except RuntimeError as refusal:
                if name == OURS:
                    raise
                entry.setdefault("refused", {})[name] = str(refusal).splitlines()[0]
                names.remove(name)
                continue
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            call()
            end.record()
        torch.cuda.synchronize()
        alone.append(begin.elapsed_time(end))
        entry["sides"][name] = {"error": worst_error(torch, cell, q, k, v, output())}
    calls = max(1, math.ceil(SHORTEST_TIMING / (sum(alone) / len(alone))))
    for name in names:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(calls):
                candidates[name][0]()
        graphs.append(graph)
    # Alone first: beside a hungrier kernel a peer shares that one's lower clock, and would seem worse than it was before.
    for name, graph in zip(names, graphs):
        time.sleep(pause)
        times = paired.time_rounds(torch, [graph], ALONE_ROUNDS, warm_up=0 if pause else 1)[0]
        entry["sides"][name]["teraflops_alone"] = cell.flops * calls / paired.median(times) / 1e9
    rounds = min(30, max(6, int(milliseconds / (sum(alone) * calls))))
    rounds += rounds % 2
    times = paired.time_rounds(torch, graphs, rounds, warm_up=int(40 / (sum(alone) * calls)))
    for name, side in zip(names, times):
        speeds = [cell.flops * calls / t / 1e9 for t in side]
        entry["sides"][name] |= {"teraflops": paired.median(speeds), "interval": paired.interval(speeds),
                                 "milliseconds": paired.median(side) / calls}
        if name != OURS:
            entry["sides"][name]["speed_ratio"] = paired.ratio(side, times[names.index(OURS)])
        if DIVIDED in names and name != DIVIDED:
            entry["sides"][name]["ratio_to_divided"] = paired.ratio(side, times[names.index(DIVIDED)])
    entry |= {"rounds": rounds, "calls_a_timing": calls}
    return entry


def judge(document, figures):
    """Void if FlashAttention-3 stays more than the tolerance below its earlier figure; geometric means of our ratio, of all
    cells and of those where it does not."""
    below, ratios, sound = [], {}, {}
    for entry in document["cells"]:
        flash = entry["sides"].get(FLASH)
        if not flash:
            continue
        dtype, dim, mask, length, *rest = entry["cell"].split("-")
        what = "" if dtype != "e4m3" else "fp8, V transposed, " if rest else "fp8, "
        ratio, group, short = math.log(flash["speed_ratio"]["ratio"]), f"{what}head_dim {dim[1:]}", len(below)
        ratios.setdefault(group, []).append(ratio)
        for row in figures["figures"]:
            if (document["gpu"]["name"] != figures["gpu"] or row["peer"] != FLASH or row["head_dim"] != int(dim[1:])
                    or row["mask"] != mask or row.get("fp8", False) != (dtype == "e4m3") or rest or int(length[1:]) not in figures["lengths"]):
                continue
            figure = row["teraflops"][figures["lengths"].index(int(length[1:]))] or 0
            reached = max(flash["teraflops"], flash.get("teraflops_alone", 0))
            if reached < figure * (1 - figures["tolerance"]):
                below.append({"cell": entry["cell"], "peer": FLASH, "teraflops": reached, "figure": figure})
        if len(below) == short:
            sound.setdefault(group, []).append(ratio)
    means = lambda groups: {k: math.exp(sum(v) / len(v)) for k, v in groups.items()}
    document["judgement"] = {"void": bool(below), "peer_below_its_figure": below,
                             "geometric_mean_of_speed_ratios": means(ratios),
                             "geometric_mean_without_those_cells": means(sound)}
    if document.get("accuracy"):
        document["judgement"] |= accuracy.judge(document["accuracy"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True, help="libnamesake-attention.so")
    parser.add_argument("-o", "--output", required=True, type=pathlib.Path)
    parser.add_argument("--cells", default="*", help="glob of names such as bf16-d128-causal-n4096")
    parser.add_argument("--triton", action="store_true", help="time a Triton kernel too, where it is not too slow")
    parser.add_argument("--cudnn", help="libattention-bench-cudnn.so, for cuDNN's accuracy in fp8")
    parser.add_argument("--milliseconds", type=float, default=400, help="of interleaved calls in each cell")
    parser.add_argument("--minutes", type=float, default=0, help="start no cell after so many")
    options = parser.parse_args()
    begin = time.monotonic()
    import torch

    torch.set_grad_enabled(False)
    ours = library.Library(options.library)
    flash = triton = None
    versions = {"torch": torch.__version__}
    try:
        from importlib.metadata import version
        from fa3_fwd_interface import flash_attn_func as flash

        versions["fa3-fwd"] = version("fa3-fwd")
    except Exception as failure:  # whatever an extension module raises
        print(f"note: no FlashAttention-3 here ({failure})", file=sys.stderr)
    if options.triton:
        import triton as package
        from triton_attention import forward as triton

        versions["triton"] = package.__version__
    figures = json.loads((pathlib.Path(__file__).parent / "peer_figures.json").read_text())
    document = {"schema": SCHEMA,
                "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                "gpu": {"name": torch.cuda.get_device_name()}, "with": versions,
                "library": hashlib.sha256(pathlib.Path(options.library).read_bytes()).hexdigest(),
                **{section: [] for section in SECTIONS}}
    if options.output.exists():
        before = json.loads(options.output.read_text())
        if before.get("schema") != SCHEMA or any(
                before.get(key) != document[key] for key in ("with", "library")):
            sys.exit(f"peers.py: {options.output} holds another run: give another file or remove it")
        document = before

    cudnn = accuracy.Cudnn(options.cudnn) if options.cudnn else None

    def take(cell, pause=0):
        if cell.section == "accuracy":
            entry = accuracy.measure(torch, cell, ours, flash, cudnn)
        else:
            entry = measure(torch, cell, ours, flash, triton, options.milliseconds, pause)
        document[cell.section] = [e for e in document[cell.section] if e["cell"] != cell.name] + [entry]
        judge(document, figures)
        options.output.write_text(json.dumps(document, indent=1) + "\n")
        found = ", ".join(f"{name} {side['teraflops']:.0f} TFLOP/s" if "teraflops" in side else f"{name} {side['error']:.2e}"
                          for name, side in entry["sides"].items())
        print(f"[{time.monotonic() - begin:5.1f} s] {cell.name}: {found}", file=sys.stderr)
        torch.cuda.empty_cache()

    done = {entry["cell"] for section in SECTIONS for entry in document[section]}
    for cell in cells(options.cells):
        if cell.name in done:
            continue
        if options.minutes and time.monotonic() - begin > 60 * options.minutes:
            print(f"note: the time is up before {cell.name}; the same command goes on from there", file=sys.stderr)
            break
        take(cell)
    # A peer below its earlier figure has had a bad moment or the whole run is void: asked once more, and alone after a
    # pause, for the figures are of short bursts and a card that has been at its power limit answers them with a low clock.
    below = [entry["cell"] for entry in document.get("judgement", {}).get("peer_below_its_figure", [])]
    for cell in cells(options.cells):
        if cell.name in below and len(below) <= MOST_AGAIN:
            take(cell, pause=1)


if __name__ == "__main__":
    main()
