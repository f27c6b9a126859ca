#!/usr/bin/env python3
"""Writes the tables of docs/ab.md, between `<!-- table NAME -->` and `<!-- end NAME -->`, from results/ab-*.json. --check
changes nothing and ends with 1 if the document is not what the results say.

    scripts/ab_tables.py [--check]
    scripts/ab_tables.py --record NAME FILE      takes what `namesake ab --json` wrote into results/ab-NAME.json, the
                                                 folders of the machine it was made on left out of its command
    scripts/ab_tables.py --overhead FILE         the lines that examples/ab_cuda_program.cu printed, each behind a word:
                                                 plain, under, long, …, into results/ab-overhead.json
"""

import json
import pathlib
import re
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
DOCUMENT = ROOT / "docs/ab.md"
APPLICATIONS = [("nvcc-slow", "nvcc, forty launches a second"), ("nvcc-fast", "nvcc, as many as the host can queue"),
                ("nvcc-capture", "nvcc, while another thread captures graphs"), ("nvrtc", "NVRTC"), ("triton", "Triton"),
                ("cutlass", "CUTLASS"), ("cutlass-O2", "CUTLASS, -O3 against -O2"),
                ("driver-jit", "PTX that the driver assembles"), ("driver-versions", "the same, ptxas 12.9 against 13.5"),
                ("nvcc-jit", "nvcc, PTX alone"), ("nvcc-versions", "nvcc below ab, ptxas 12.9 against 13.5"),
                ("control", "nvcc, each kernel against its own double")]


def load(name):
    return json.loads((ROOT / f"results/ab-{name}.json").read_text())


def short(kernel):
    name = kernel["symbol"]
    if "cutlass" in name:
        return "GEMM " + ("fp32, SIMT" if "MmaPipelined" in name else "fp16, tensor cores")
    if len(name) > 60:
        name = re.sub(r"\W+", " ", kernel["name"])[:48].strip() + "…"
    return name


def result(kernel):
    if kernel["launches_of_b"] == 0:
        return f"{kernel['meaning']}"
    time = kernel["shapes"][0]["time"]
    low, high = time["interval"] or (float("nan"), float("nan"))
    return f"{time['ratio']:.3f} [{low:.3f}, {high:.3f}] {kernel['finding']}"


def results_of(kernel):
    if kernel["checked"] == 0:
        return ""
    return f"equal in {kernel['checked']}" if kernel["differing"] == 0 else f"**differ in {kernel['differing']}**"


def applications():
    lines = ["| application | kernel | launches | ran b | b / a | results |", "| --- | --- | --- | --- | --- | --- |"]
    for name, title in APPLICATIONS:
        document = load(name)
        for kernel in sorted(document["kernels"], key=lambda each: -each["total_milliseconds"]):
            if kernel["launches"] < 3:
                continue
            lines.append(f"| {title} | {short(kernel)} | {kernel['launches']:,} | {kernel['launches_of_b']:,} | "
                         f"{result(kernel)} | {results_of(kernel)} |")
    return "\n".join(lines)


def torch():
    document = load("torch")
    total = sum(kernel["total_milliseconds"] for kernel in document["kernels"])
    shares, captured = {}, 0
    for kernel in document["kernels"]:
        count, share = shares.get(kernel["meaning"], (0, 0))
        shares[kernel["meaning"]] = (count + 1, share + kernel["total_milliseconds"])
        captured += kernel["captured"]
    lines = [f"{document['launches']:,} launches of {len(document['kernels'])} kernels, {captured} of them into a captured graph:", ""]
    lines += [f"* {count} kernels, {100 * share / total:.1f}% of the GPU time: {meaning}"
              for meaning, (count, share) in sorted(shares.items(), key=lambda each: -each[1][1])]
    return "\n".join(lines)


def grown_of(run):
    return run["kilobytes"][1] - run["kilobytes"][0]


def overhead():
    runs = load("overhead")["runs"]
    each = {how: [run["microseconds_each"] for run in runs if run["how"] == how] for how in ("plain", "under")}
    host = {how: [run["host_microseconds_each"] for run in runs if run["how"] == how] for how in ("plain", "under")}
    plain, under = (statistics.median(each[how]) for how in ("plain", "under"))
    alone, beside = (statistics.median(host[how]) for how in ("plain", "under"))
    same = len({(run["sgemm"], run["n_body"]) for run in runs}) == 1
    longest = max(runs, key=lambda run: run["launches"])
    grown = grown_of(longest)
    descriptors = longest["descriptors"][1] - longest["descriptors"][0]
    return (f"A launch of the fast application took {plain:.2f} µs as it is ({', '.join(f'{x:.2f}' for x in sorted(each['plain']))}) and "
            f"{under:.2f} µs under `ab` ({', '.join(f'{x:.2f}' for x in sorted(each['under']))}), each kernel alternating with its own "
            f"double: {100 * (under / plain - 1):+.1f}%. The host's part of it was {alone:.2f} µs "
            f"({', '.join(f'{x:.2f}' for x in sorted(host['plain']))}) and {beside:.2f} µs "
            f"({', '.join(f'{x:.2f}' for x in sorted(host['under']))}), {100 * (beside / alone - 1):+.0f}%, which an application "
            f"feels that waits for nothing but the host. What it computed was {'the same bit for bit' if same else '**not the same**'} "
            f"in all {len(runs)} runs. Over the last two thirds of {longest['launches']:,} launches its memory grew by {grown} kB and "
            f"its descriptors by {descriptors}; as it is, its memory grows by {statistics.median(grown_of(run) for run in runs if run['how'] == 'plain'):.0f} kB.")


def record(name, file):
    document = json.loads(pathlib.Path(file).read_text())
    if not document.get("schema", "").startswith("namesake.ab/1."):
        sys.exit(f"ab_tables.py: {file} is not from namesake ab")
    words = [pathlib.PurePath(word).name if "/" in word else word for word in document["command"].split()]
    document["command"] = " ".join(words)
    if document["next_command"]:
        document["next_command"] = " ".join(pathlib.PurePath(w).name if "/" in w else w for w in document["next_command"].split(" "))
    text = json.dumps(document, ensure_ascii=False, indent=1)
    # Numbers of one list on one line.
    text = re.sub(r"\[\s+([-0-9.e,\s]+?)\s+\]", lambda m: "[" + re.sub(r"\s+", " ", m.group(1)) + "]", text)
    (ROOT / f"results/ab-{name}.json").write_text(text + "\n")


def record_overhead(file):
    runs = []
    for line in pathlib.Path(file).read_text().splitlines():
        how, _, run = line.partition(" ")
        runs.append({"how": how} | json.loads(run))
    lines = ",\n  ".join(json.dumps(run) for run in runs)
    (ROOT / "results/ab-overhead.json").write_text(f'{{\n "runs": [\n  {lines}\n ]\n}}\n')


def main():
    if sys.argv[1:2] == ["--record"]:
        return record(*sys.argv[2:4])
    if sys.argv[1:2] == ["--overhead"]:
        return record_overhead(sys.argv[2])
    before = text = DOCUMENT.read_text()
    for name, make in {"applications": applications, "torch": torch, "overhead": overhead}.items():
        pattern = re.compile(rf"(<!-- table {name} -->\n\n).*?(\n\n<!-- end {name} -->)", re.S)
        if not pattern.search(text):
            sys.exit(f"ab_tables.py: {DOCUMENT.name} has no place for the table {name}")
        text = pattern.sub(lambda m: m.group(1) + make() + m.group(2), text)
    if sys.argv[1:2] == ["--check"]:
        if text != before:
            sys.exit("ab_tables.py: docs/ab.md is not what results/ say; run scripts/ab_tables.py")
        return print("docs/ab.md is what results/ say")
    DOCUMENT.write_text(text)


main()
