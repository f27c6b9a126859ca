#!/usr/bin/env python3
"""Writes the tables of docs/measuring.md, between `<!-- table NAME -->` and `<!-- end NAME -->`, the numbers in its prose,
between `<!-- number NAME -->` and `<!-- end -->`, and its figure, from results/. --check changes nothing and ends with 1 if the document is not what the results say.

    scripts/measuring_tables.py [--check]
    scripts/measuring_tables.py --record NAME FILE    takes what measure or tune wrote as JSON into results/NAME.json, the
                                                      folders of the machine it was made on left out of its paths
"""

import html
import json
import math
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
DOCUMENT, FIGURE = ROOT / "docs/measuring.md", ROOT / "docs/measuring-effect.svg"
COLOURS = {"faster": "#1d7f43", "slower": "#bf5f10", "no difference": "#68717b", "undecided": "#7042c1"}
FARTHEST = 1.5  # the figure ends here; what lies beyond is drawn at its edge, its number beside it
ALARMS_AT_MOST = 17  # of 200 control runs at a nominal 5%: one binomial(200, 0.05) in a hundred has more


def load():
    found = {}
    for path in sorted((ROOT / "results").glob("measure-*.json")):
        document = json.loads(path.read_text())
        if not document.get("schema", "").startswith("namesake.measure/1."):
            sys.exit(f"measuring_tables.py: {path.name} is no measurement (schema {document.get('schema')!r})")
        found[path.stem.removeprefix("measure-")] = document
    return found


def warm(kernel):
    return kernel["timings"][0] if kernel["timings"] else None


def assembler_order(name):
    numbers = re.findall(r"\d+", name)
    return (name.startswith("driver"), [int(number) for number in numbers])


def title(kernel):
    """The file's name, for Triton gives one symbol to builds for several targets."""
    return pathlib.PurePath(kernel["file"]).stem


def by_kernel(documents):
    """title → {assembler: kernel}, and the assemblers in order."""
    rows = {}
    for document in documents:
        for kernel in document["kernels"]:
            rows.setdefault(title(kernel), {})[kernel["assembler"]] = kernel
    assemblers = sorted({name for row in rows.values() for name in row}, key=assembler_order)
    return rows, assemblers


def effect(row):
    """To sort by: the ratio with the newest ptxas whose codes differ."""
    ratios = [warm(row[name])["time"]["ratio"] for name in sorted(row, key=assembler_order)
              if warm(row[name]) and row[name]["finding"] != "same code" and not name.startswith("driver")]
    return ratios[-1] if ratios else None


def cell(kernel):
    if kernel is None:
        return ""
    finding = kernel["finding"]
    if finding == "same code":
        return "="
    timing = warm(kernel)
    if finding in ("failed", "refused") or not timing or not timing["time"]["interval"]:
        return f"**{finding}**"
    low, high = timing["time"]["interval"]
    text = f"{timing['time']['ratio']:.3f} ±{50 * (high - low) / timing['time']['ratio']:.2f}%"
    return {"faster": f"**{text}**", "slower": f"**{text}**", "undecided": f"{text} ?"}.get(finding, text)


def table_of(rows, assemblers):
    lines = ["| kernel | " + " | ".join(assemblers) + " |", "| --- |" + " --- |" * len(assemblers)]
    order = sorted(rows, key=lambda name: (effect(rows[name]) is None, effect(rows[name]) or 0, name))
    for name in order:
        if effect(rows[name]) is None:
            continue
        lines.append(f"| {name} | " + " | ".join(cell(rows[name].get(one)) for one in assemblers) + " |")
    same = [name for name in order if effect(rows[name]) is None]
    if same:
        lines.append("")
        lines.append(f"One code under either answer, with every assembler that it was measured with: {', '.join(same)}.")
    return "\n".join(lines) + "\n"


def claims(time, cycles):
    """As the tool does: in time, and where the clock could be read in cycles too."""
    return time["verdict"] in ("faster", "slower") and (not cycles["pairs"] or cycles["verdict"] == time["verdict"])


def control_claims(timing):
    return claims(timing["control"], timing["control_cycles"])


def checks_table(documents):
    sets = equal = repeatable = kernels = referenced = right = elements = rounds = dropped = controls = quiet = 0
    capped = timings = confirmed = verdicts = 0
    widest = 1.0
    for document in documents:
        for kernel in document["kernels"]:
            for inputs in kernel["inputs"]:
                sets += bool(inputs["outputs"])
                equal += bool(inputs["outputs"]) and inputs["equal"] and not inputs["damage"]
            if kernel["repeats"]["runs"]:
                kernels += 1
                repeatable += kernel["repeats"]["differing_a"] + kernel["repeats"]["differing_b"] == 0
            reference = kernel["reference"]
            if reference["checked"]:
                referenced += 1
                elements += reference["checked"]
                right += reference["wrong_a"] + reference["wrong_b"] == 0
            for timing in kernel["timings"]:
                timings += 1
                rounds += timing["rounds"]
                dropped += timing["dropped"]
                capped += timing["card"]["power_capped"]
            timing = warm(kernel)
            if timing and timing["control"]["interval"]:
                controls += 1
                quiet += not control_claims(timing)
                if abs(math.log(timing["control"]["ratio"])) > abs(math.log(widest)):
                    widest = timing["control"]["ratio"]
            if kernel["finding"] in ("faster", "slower"):
                verdicts += 1
                confirmed += timing["cycles"]["verdict"] == kernel["finding"]
    rows = [("results equal bit for bit", f"{equal:,} of {sets:,} sets of inputs"),
            ("the same in every run", f"{repeatable:,} of {kernels:,} pairs of builds"),
            ("within the tolerance of the reference", f"{right:,} of {referenced:,}, {elements:,} elements checked"),
            ("verdicts confirmed in cycles", f"{confirmed:,} of {verdicts:,}"),
            ("no difference claimed between a code and itself", f"{quiet:,} of {controls:,}, farthest ratio {widest:.4f}"),
            ("timings at the power cap", f"{capped:,} of {timings:,}"),
            ("rounds dropped for a slowdown", f"{dropped:,} of {rounds:,}")]
    return "| check | held |\n| --- | --- |\n" + "".join(f"| {name} | {value} |\n" for name, value in rows)


def controls_text(document):
    runs = alarms = inside = beside = 0
    upper = 1 + document["dead_band"]
    for kernel in document["kernels"]:
        control = warm(kernel)["control"]
        if not control["interval"]:
            continue
        low, high = control["interval"]
        in_band = low >= 1 / upper and high <= upper
        alarm = control_claims(warm(kernel))
        runs += 1
        alarms += alarm
        inside += alarm and in_band
        beside += low > 1 or high < 1
    kinds = len({kernel["symbol"] for kernel in document["kernels"]})
    return (f"{runs} runs over {kinds} kernels on {document['gpu']['name']}, {document['date'][:10]}: a difference claimed in {alarms}, "
            f"inside the dead band in {inside}; {beside} intervals do not hold 1 (5% of {runs} are {0.05 * runs:.0f}, and at most "
            f"{ALARMS_AT_MOST} are allowed).\n")


def origin_text(documents):
    lines = []
    for name, document in documents.items():
        gpu = document["gpu"]
        lines.append(f"- `results/measure-{name}.json`: {gpu['name']}, driver {gpu['driver']}, {document['date']}, ECC {'on' if gpu['ecc'] else 'off'}, "
                     f"power limit {gpu['power_limit_watts']:.0f} W, {len(document['kernels'])} measurement{'s' * (len(document['kernels']) > 1)} in {document['gpu_seconds']:.0f} s on the GPU")
    return "\n".join(lines) + "\n"


def numbers(results):
    """What the prose quotes, by name. A kernel is named by its file and its assembler."""
    kernels = {}
    for document in results.values():
        for kernel in document["kernels"]:
            kernels[title(kernel), kernel["assembler"]] = kernel

    def ratio(name, assembler, setting=0):
        return kernels[name, assembler]["timings"][setting]["time"]["ratio"]

    def percent(value):
        return f"{abs(100 * (value - 1)):.0f}%"

    assemblers = sorted({assembler for _, assembler in kernels if assembler[0].isdigit()}, key=assembler_order)
    newest = assemblers[-1]
    norm, eight = "triton_layer_norm_fp32_1024_sm90", "triton_attention_fp8e5_128x64x128_sm89"
    products = [ratio(name, assembler) for name, assembler in kernels if re.match(r"triton_matmul_(fp16|bf16).*_sm80", name) and assembler[0].isdigit()]
    norms = [ratio(norm, assembler) for assembler in assemblers]
    shifted = [ratio(norm, assembler, 2) for assembler in assemblers]
    sgemm, slow = kernels["sgemm", newest], kernels[eight, newest]
    every = [kernel for name, document in results.items() if name.startswith(("bundled", "triton")) for kernel in document["kernels"]]
    jitted = {name for name, assembler in kernels if assembler.startswith("driver")}
    promise = {row["kernel"]: row for row in json.loads((ROOT / "results/promise-triton.json").read_text())["kernels"]}
    small = promise["triton_matmul_fp16_32x128x64"]
    return {
        "products gain": percent(min(products)),
        "n_body costs": percent(ratio("n_body", newest)),
        "n_body costs jit": percent(ratio("n_body", "driver JIT")),
        "attention gains": percent(ratio("attention_mma", newest)),
        "attention jit": f"{ratio('attention_mma', 'driver JIT'):.3f}",
        "sgemm costs": percent(ratio("sgemm", newest)),
        "sgemm registers": f"from {sgemm['a']['registers']} to {sgemm['b']['registers']}",
        "sgemm blocks": f"{sgemm['b']['blocks_per_multiprocessor']} fits where {sgemm['a']['blocks_per_multiprocessor']} did",
        "norm gains": f"{100 * (1 - max(norms)):.0f} to {100 * (1 - min(norms)):.0f}%",
        "norm gains shifted": f"{100 * (1 - max(shifted)):.0f} to {100 * (1 - min(shifted)):.0f}%",
        "eight times": f"{ratio(eight, newest):.0f} times",
        "eight before": f"{slow['a']['registers']} registers and spills {slow['a']['spill_bytes'] / 1e3:.1f} kB",
        "eight after": f"{slow['b']['registers']} registers and spills {slow['b']['spill_bytes'] / 1e3:.1f} kB",
        "equal": f"{len(every):,} pairs",
        "jit kernels": f"{len(jitted)}",
        "seconds": f"{sum(document['gpu_seconds'] for name, document in results.items() if name.startswith(('bundled', 'triton'))):.0f} s",
        "small promised": f"{100 * (1 - small['promised']):.1f}%",
        "small seen": f"{100 * (small['seen'] - 1):.1f}%",
        "norm promised": f"{promise['triton_layer_norm_fp32_1024']['promised']:.3f}",
        "norm seen": f"{promise['triton_layer_norm_fp32_1024']['seen']:.3f}",
    }


def planted_text(document):
    return "".join(f"> {kernel['name']}: {kernel['finding']}, {kernel['meaning']}\n" for kernel in document["kernels"])


def figure(rows, assemblers):
    """All kernels whose codes differ, by effect; a bar is the interval with the newest ptxas, a dot another assembler."""
    points = {name: effect(row) for name, row in rows.items() if effect(row) is not None}
    order = sorted(points, key=points.get)
    low = min([warm(k)["time"]["ratio"] for row in rows.values() for k in row.values() if warm(k)] + [0.95])
    high = max([warm(k)["time"]["ratio"] for row in rows.values() for k in row.values() if warm(k)] + [1.05])
    high = min(high, FARTHEST)
    left, right, top, height = 330, 900, 46, 17
    bottom = top + height * len(order)

    def x(ratio):
        return left + (math.log(min(ratio, high * 1.01)) - math.log(low * 0.99)) / (math.log(high * 1.01) - math.log(low * 0.99)) * (right - left)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1000 {bottom + 14}" font-family="sans-serif" font-size="11">',
           f'<rect width="1000" height="{bottom + 14}" fill="#fff"/>',
           '<text x="12" y="18" font-size="14" font-weight="bold">Time treated / time untreated, by kernel</text>',
           f'<text x="12" y="33" fill="#68717b">{html.escape("bar: 95% interval with the newest ptxas; dots: the other assemblers; left of the line the treatment gains")}</text>']
    step = 0.05 if high - low < 0.6 else 0.1
    for tick in range(math.ceil((low - 1) / step), math.floor((high - 1) / step) + 1):
        at = x(1 + tick * step)
        out.append(f'<line x1="{at:.1f}" y1="{top}" x2="{at:.1f}" y2="{bottom}" stroke="{"#68717b" if tick == 0 else "#e2e4e7"}"/>')
        out.append(f'<text x="{at:.1f}" y="{top - 3}" text-anchor="middle" fill="#68717b">{"1" if tick == 0 else f"{1 + tick * step:.2f}"}</text>')
    for place, name in enumerate(order):
        y = top + height * (place + 0.5)
        out.append(f'<text x="{left - 10}" y="{y + 4:.1f}" text-anchor="end">{html.escape(name)}</text>')
        newest = [one for one in assemblers if one in rows[name] and not one.startswith("driver") and rows[name][one]["finding"] != "same code"][-1]
        for one, kernel in rows[name].items():
            timing = warm(kernel)
            if not timing or kernel["finding"] == "same code" or not timing["time"]["interval"]:
                continue
            colour = COLOURS.get(kernel["finding"], "#c92424")
            if one == newest:
                a, b = (x(bound) for bound in timing["time"]["interval"])
                out.append(f'<line x1="{x(1):.1f}" y1="{y:.1f}" x2="{x(timing["time"]["ratio"]):.1f}" y2="{y:.1f}" stroke="{colour}" stroke-opacity=".35" stroke-width="6"/>')
                out.append(f'<rect x="{min(a, b - 2):.1f}" y="{y - 4:.1f}" width="{max(b - a, 2):.1f}" height="8" fill="{colour}"/>')
                out.append(f'<text x="{right + 10}" y="{y + 4:.1f}" fill="{colour}">{timing["time"]["ratio"]:.3f}</text>')
            else:
                out.append(f'<circle cx="{x(timing["time"]["ratio"]):.1f}" cy="{y:.1f}" r="2.2" fill="none" stroke="{colour}"/>')
    return "\n".join(out + ["</svg>", ""])


def shortened(text):
    """Paths as seen from the repository, and file names alone for what lies outside it."""
    return re.sub(r"(?<![\w.])/[\w./+-]+", lambda match: re.sub(r".*?/(?=(?:kernels|tests|examples)/)|.*/", "", match.group(0), count=1), text)


def record(name, path):
    """A kernel or a decision is a line, as the tool writes it."""
    document = json.loads(pathlib.Path(path).read_text(), parse_float=lambda text: float(f"{float(text):.9g}"))
    if isinstance(document["gpu"], dict):
        document["gpu"]["uuid"] = document["gpu"]["bus_id"] = ""
        for side in "ab":
            document[side]["label"] = shortened(document[side]["label"])
    document["command"] = shortened(document["command"])
    document["next_command"] = shortened(document["next_command"])
    document["notes"] = [shortened(note) for note in document["notes"]]
    for each in document.get("kernels", []) + document.get("decisions", []):
        each["launch_file"] = shortened(each["launch_file"])
    lines = []
    for key, value in document.items():
        if key in ("kernels", "decisions"):
            value = "[" + ",".join("\n  " + json.dumps(each, ensure_ascii=False) for each in value) + "\n ]"
        else:
            value = json.dumps(value, ensure_ascii=False)
        lines.append(f" {json.dumps(key)}: {value}")
    (ROOT / "results" / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


def main():
    if sys.argv[1:2] == ["--record"]:
        return record(*sys.argv[2:])
    check = sys.argv[1:] == ["--check"]
    results = load()
    comparisons = {name: document for name, document in results.items() if not name.startswith(("controls", "planted"))}
    bundled = [document for name, document in comparisons.items() if name.startswith("bundled")]
    triton = [document for name, document in comparisons.items() if name.startswith("triton")]
    tables = {"checks": checks_table(comparisons.values()), "origin": origin_text(results)}
    for name, documents in ("bundled", bundled), ("triton", triton):
        if documents:
            tables[name] = table_of(*by_kernel(documents))
    if "controls" in results:
        tables["controls"] = controls_text(results["controls"])
    if "planted" in results:
        tables["planted"] = planted_text(results["planted"])
    text = before = DOCUMENT.read_text()
    for name, table in tables.items():
        place = re.compile(rf"(<!-- table {name} -->\n).*?(<!-- end {name} -->)", re.S)
        if not place.search(text):
            sys.exit(f"measuring_tables.py: {DOCUMENT.name} has no place for the table {name}")
        text = place.sub(lambda match: f"{match.group(1)}\n{table}\n{match.group(2)}", text)
    quoted = numbers(results)
    for name in re.findall(r"<!-- number (.*?) -->", text):
        if name not in quoted:
            sys.exit(f"measuring_tables.py: {DOCUMENT.name} quotes a number {name!r} that nothing gives")
    text = re.sub(r"<!-- number (.*?) -->.*?<!-- end -->", lambda match: f"<!-- number {match[1]} -->{quoted[match[1]]}<!-- end -->", text)
    picture = figure(*by_kernel(comparisons.values())) if comparisons else ""
    old = FIGURE.read_text() if FIGURE.exists() else ""
    if check:
        if text != before or picture != old:
            sys.exit("measuring_tables.py: docs/measuring.md or its figure is not what results/ say; run scripts/measuring_tables.py")
        print(f"docs/measuring.md holds what {len(results)} results say")
        return
    DOCUMENT.write_text(text)
    FIGURE.write_text(picture)


if __name__ == "__main__":
    main()
