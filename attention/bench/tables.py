#!/usr/bin/env python3
"""Writes the tables of a document from results files: between the lines `<!-- table NAME -->` and `<!-- end NAME -->`.

    tables.py docs/attention.md results/attention-cudnn.json [results/attention-peers.json] [--check]

Tables: `attention-cudnn` (speed by head_dim, mask and length, each cell with the ratio to cuDNN and its interval),
`attention-peers` (FlashAttention-3 and Triton), `attention-decode` (keys divided), `attention-sustained`, `attention-error`,
`attention-origin` (where and with what it was measured). --check changes nothing and ends with 1 if the document is not what the results say.
"""

import argparse
import json
import pathlib
import re
import sys

SCHEMAS = {"namesake.attention-bench/1.": "bench", "namesake.attention-peers/1.": "peers"}


def load(paths):
    found = {}
    for path in paths:
        document = json.loads(path.read_text())
        kind = next((kind for schema, kind in SCHEMAS.items() if document.get("schema", "").startswith(schema)), None)
        if kind is None:
            sys.exit(f"tables.py: {path} has the schema {document.get('schema')!r}, which has no tables here")
        found[kind] = document
    return found


def lengths_in(cells):
    return sorted({int(re.search(r"-n(\d+)", cell["cell"]).group(1)) for cell in cells})


def label(length):
    return f"{length // 1024}k" if length >= 1024 else str(length)


def block(rows, lengths):
    head = "| | " + " | ".join(label(length) for length in lengths) + " |\n"
    return head + "| --- |" + " --- |" * len(lengths) + "\n" + "".join(
        f"| {name} | " + " | ".join(values) + " |\n" for name, values in rows)


def by_group(cells):
    """(dtype, dim, mask, what else) → {length: cell}, in the order of the file."""
    groups = {}
    for cell in cells:
        parts = re.fullmatch(r"(\w+)-d(\d+)-(full|causal)-n(\d+)(.*)", cell["cell"])
        dtype, dim, mask, length, rest = parts.groups()
        groups.setdefault((dtype, int(dim), mask, rest), {})[int(length)] = cell
    return dict(sorted(groups.items(), key=lambda item: (item[0][1], item[0][2] == "causal", item[0][3], item[0][0])))


def ratio_text(ratio):
    if not ratio:
        return ""
    bounds = ratio["interval"]
    return f"{ratio['ratio']:.3f}" + (f" ({bounds[0]:.3f}–{bounds[1]:.3f})" if bounds else "")


def speed_text(side):
    return f"{side['teraflops']:.0f}" if side else "–"


def cudnn_table(document):
    lengths, rows = lengths_in(document["cells"]), []
    for (dtype, dim, mask, rest), cells in by_group(document["cells"]).items():
        title = f"{dtype} {dim} {mask}" + (f" {rest.strip('-')}" if rest else "")
        pick = lambda text: [text(cells[n]) if n in cells else "" for n in lengths]
        rows.append((f"**{title}** namesake", pick(lambda c: speed_text(c.get("namesake")))))
        rows.append(("cuDNN", pick(lambda c: speed_text(c.get("cudnn")))))
        rows.append(("speed ratio (95%)", pick(lambda c: ratio_text(c.get("speed_ratio")))))
    return block(rows, lengths)


def peers_table(document):
    lengths, rows = lengths_in(document["cells"]), []
    for (dtype, dim, mask, _), cells in by_group(document["cells"]).items():
        names = [name for name in ("namesake", "FlashAttention-3", "Triton")
                 if any(name in cell["sides"] for cell in cells.values())]
        for name in names:
            side = lambda n: cells.get(n, {"sides": {}})["sides"].get(name)
            title = f"**{dtype} {dim} {mask}** {name}" if name == "namesake" else name
            rows.append((title, [speed_text(side(n)) if side(n) else "" for n in lengths]))
            if name == "FlashAttention-3":
                rows.append(("speed ratio (95%)", [ratio_text((side(n) or {}).get("speed_ratio")) for n in lengths]))
    return block(rows, lengths)


def decode_table(document):
    names = list(dict.fromkeys(name for cell in document["decode"] for name in cell["sides"]))
    text = ("| cell | " + " | ".join(f"{name}, µs" for name in names) + " | FA3's time / ours, divided (95%) |\n"
            + "| " + " | ".join(["---"] * (len(names) + 2)) + " |\n")
    for cell in document["decode"]:
        sides = cell["sides"]
        times = [f"{1000 * sides[name]['milliseconds']:.1f}" if name in sides else "" for name in names]
        flash = sides.get("FlashAttention-3", {}).get("ratio_to_divided")
        text += f"| {cell['cell']} | " + " | ".join(times) + f" | {ratio_text(flash)} |\n"
    return text


def sustained_table(document):
    text = ("| cell | | TFLOP/s | MHz | W | flop/clk/SM | of peak | GFLOP/J |\n"
            "| --- | --- | --- | --- | --- | --- | --- | --- |\n")
    for cell in document["sustained"]:
        for i, side in enumerate(cell["sides"]):
            text += (f"| {cell['cell'] if i == 0 else ''} | {side['name']} | {side['teraflops']:.0f} | "
                     f"{side['clock_mhz']:.0f} | {side['watts']:.0f} | {side['flop_per_clock_and_multiprocessor']:.0f} | "
                     f"{side['of_peak']:.2f} | {side['gigaflop_per_joule']:.0f} |\n")
    return text


def error_table(document):
    rows = []
    lengths = lengths_in(document["cells"])
    for (dtype, dim, mask, rest), cells in by_group(document["cells"]).items():
        if rest:
            continue
        for name in ("namesake", "cudnn"):
            error = lambda n: (cells.get(n, {}).get(name) or {}).get("error")
            rows.append((f"{dtype} {dim} {mask} {'cuDNN' if name == 'cudnn' else name}",
                         [f"{error(n):.1e}" if error(n) is not None else "" for n in lengths]))
    return block(rows, lengths)


def origin_text(documents):
    lines = []
    for document in documents.values():
        gpu = document["gpu"]
        what = ", ".join(f"{k} {v}" for k, v in document.get("with", {}).items()) or (
            f"driver {gpu.get('driver')}, cuDNN {document.get('cudnn')}, {document.get('assembler')}")
        judgement = document["judgement"]
        means = lambda key: ", ".join(f"{k} {v:.3f}" for k, v in judgement[key].items())
        line = f"- {gpu['name']}, {document['date']}, {what}: "
        if judgement["void"]:
            line += ("**void** by its own rule, since the peer stayed more than 3% below its earlier figure in "
                     + ", ".join(f"{entry['cell']} ({entry['teraflops']:.0f} for {entry['figure']:.0f})"
                                 for entry in judgement["peer_below_its_figure"]))
        else:
            line += "valid, with every peer at its earlier figures"
        line += "; geometric means of our speed ratio: " + means("geometric_mean_of_speed_ratios")
        if judgement["void"] and "geometric_mean_without_those_cells" in judgement:
            line += "; without those cells: " + means("geometric_mean_without_those_cells")
        lines.append(line)
    return "\n".join(lines) + "\n"


def tables(documents):
    made = {"attention-origin": origin_text(documents)}
    if "bench" in documents:
        made |= {"attention-cudnn": cudnn_table(documents["bench"]),
                 "attention-sustained": sustained_table(documents["bench"]),
                 "attention-error": error_table(documents["bench"])}
    if "peers" in documents:
        made["attention-peers"] = peers_table(documents["peers"])
        if documents["peers"].get("decode"):
            made["attention-decode"] = decode_table(documents["peers"])
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("document", type=pathlib.Path)
    parser.add_argument("results", type=pathlib.Path, nargs="+")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    before = text = options.document.read_text()
    for name, table in tables(load(options.results)).items():
        mark = re.compile(rf"(<!-- table {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
        text = mark.sub(lambda found: found.group(1) + "\n" + table + "\n" + found.group(2), text)
    if options.check:
        if text != before:
            sys.exit(f"tables.py: {options.document} is not what the results say: run it without --check")
    elif text != before:
        options.document.write_text(text)


if __name__ == "__main__":
    main()
