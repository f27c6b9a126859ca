#!/usr/bin/env python3
"""Writes the tables of a document from results files: between the lines `<!-- table NAME -->` and `<!-- end NAME -->`.

    tables.py docs/attention.md results/attention-cudnn.json [results/attention-fp8.json …] [--check]

Tables: `attention-cudnn` (speed by head_dim, mask and length, each cell with the ratio to cuDNN and its interval),
`attention-peers` (FlashAttention-3 and Triton), `attention-decode` (keys divided), `attention-sustained`, `attention-error`,
`attention-origin` (where and with what it was measured). Of fp8 the same with `attention-fp8-` before the name, `-transposed` behind it
where V was supplied transposed, and `attention-fp8-promotion`, `-accuracy` and `-better-peer`. `attention-story` and its `-origin`: kernels
untreated and treated. --check changes nothing and ends with 1 if the document is not what the results say.
"""

import argparse
import json
import math
import pathlib
import re
import sys

SCHEMAS = {"namesake.attention-bench/1.": "bench", "namesake.attention-peers/1.": "peers"}


def load(paths):
    """(kind, what its tables' names begin with) → the document."""
    found = {}
    for path in paths:
        document = json.loads(path.read_text())
        kind = next((kind for schema, kind in SCHEMAS.items() if document.get("schema", "").startswith(schema)), None)
        if kind is None:
            sys.exit(f"tables.py: {path} has the schema {document.get('schema')!r}, which has no tables here")
        names = [entry["cell"] for section in ("cells", "sustained", "decode", "accuracy") for entry in document.get(section, [])]
        begin = ("attention-story" if document.get("story") else
                 "attention-fp8" if names and all(name.startswith("e4m3") for name in names) else "attention")
        if (kind, begin) in found:
            sys.exit(f"tables.py: {path} holds the same tables as a file before it")
        found[kind, begin] = document
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
        rest = rest.removesuffix("-vt")
        groups.setdefault((dtype, int(dim), mask, rest), {})[int(length)] = cell
    return dict(sorted(groups.items(), key=lambda item: (item[0][1], item[0][2] == "causal", item[0][3], item[0][0])))


def ratio_text(ratio):
    if not ratio:
        return ""
    bounds = ratio["interval"]
    return f"{ratio['ratio']:.3f}" + (f" ({bounds[0]:.3f}–{bounds[1]:.3f})" if bounds else "")


def speed_text(side):
    return f"{side['teraflops']:.0f}" if side else "–"


def cudnn_table(all_cells):
    lengths, rows = lengths_in(all_cells), []
    for (dtype, dim, mask, rest), cells in by_group(all_cells).items():
        title = f"{dtype} {dim} {mask}" + (f" {rest.strip('-')}" if rest else "")
        pick = lambda text: [text(cells[n]) if n in cells else "" for n in lengths]
        rows.append((f"**{title}** namesake", pick(lambda c: speed_text(c.get("namesake")))))
        if not any("cudnn" in cell for cell in cells.values()):
            continue
        rows.append(("cuDNN", pick(lambda c: speed_text(c.get("cudnn")))))
        rows.append(("speed ratio (95%)", pick(lambda c: ratio_text(c.get("speed_ratio")))))
    return block(rows, lengths)


def peers_table(all_cells):
    lengths, rows = lengths_in(all_cells), []
    for (dtype, dim, mask, _), cells in by_group(all_cells).items():
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


def error_table(all_cells):
    rows = []
    lengths = lengths_in(all_cells)
    for (dtype, dim, mask, rest), cells in by_group(all_cells).items():
        if rest:
            continue
        for name in ("namesake", "cudnn"):
            error = lambda n: (cells.get(n, {}).get(name) or {}).get("error")
            if all(error(n) is None for n in lengths):
                continue
            rows.append((f"{dtype} {dim} {mask} {'cuDNN' if name == 'cudnn' else name}",
                         [f"{error(n):.1e}" if error(n) is not None else "" for n in lengths]))
    return block(rows, lengths)


def names_of_sides(entries):
    return list(dict.fromkeys(name for entry in entries for name in entry["sides"]))


def promotion_table(entries):
    """What each choice of keys costs: TFLOP/s, and its time over that of the default."""
    names = names_of_sides(entries)
    text = "| | " + " | ".join(names) + " |\n" + "| --- |" + " --- |" * len(names) + "\n"
    for entry in entries:
        _, dim, mask, _, length = entry["cell"].split("-")
        values = []
        for name in names:
            side = entry["sides"].get(name)
            ratio = side and side.get("speed_ratio")
            values.append(speed_text(side) + (f", time × {ratio_text(ratio)}" if ratio else ""))
        text += f"| {dim[1:]} {mask}, {label(int(length[1:]))} | " + " | ".join(values) + " |\n"
    return text


def accuracy_table(entries):
    names = names_of_sides(entries)
    text = "| head_dim, data, keys | " + " | ".join(names) + " |\n| --- |" + " --- |" * len(names) + "\n"
    for entry in sorted(entries, key=lambda entry: entry["head_dim"]):
        errors = [f"{entry['sides'][name]['error']:.4f}" if name in entry["sides"] else "–" for name in names]
        text += f"| {entry['head_dim']}, {entry['data']}, {label(entry['keys'])} | " + " | ".join(errors) + " |\n"
    return text


def story_block(kernel, cells, types):
    """A row for each length, columns as in the original report."""
    names = {"fp16": "fp16", "e4m3": "fp8"}
    head = [f"{names[t]} {how}" for t in types for how in ("untreated", "treated")] + [f"cuDNN {names[t]}" for t in types]
    text = "| length | " + " | ".join(head) + " |\n| --- |" + " --- |" * len(head) + "\n"
    for length in sorted({length for length, _ in cells}):
        ours = [cells.get((length, t), {}).get(kernel) for t in types]
        row = [length]
        for side in ours:
            if not side:
                row += ["", ""]
                continue
            row.append(speed_text(side["untreated"]))
            row.append("same code" if side["code"]["same"] else
                       f"{speed_text(side['treated'])}, × {ratio_text(side['treated_to_untreated'])}")
        row += [speed_text(cells.get((length, t), {}).get("cudnn")) for t in types]
        text += "| " + " | ".join(str(value) for value in row) + " |\n"
    for t in types:
        sides = [cell[kernel] for (_, dtype), cell in sorted(cells.items()) if dtype == t and kernel in cell]
        code = sides[0]["code"]
        equal = sum(side.get("differing_bytes", 0) == 0 for side in sides)
        text += f"\n- {names[t]}: " + (
            f"the name changes nothing; both codes have the hash `{code['treated']}`" if code["same"] else
            f"the name changes the code, `{code['untreated']}` to `{code['treated']}`; results are equal bit for bit in {equal} of "
            f"{len(sides)} cells")
    return text + "\n"


def story_table(document):
    blocks = {}
    for cell in document["story"]:
        shape = cell["shape"]
        for kernel in ("hopper", "portable"):
            if kernel in cell:
                blocks.setdefault((kernel, shape["head_dim"], shape["mask"]), {})[shape["length"], shape["dtype"]] = cell
    text = "![TFLOP/s of both builds and of cuDNN, by length](attention-story.svg)\n\n"
    order = sorted(blocks.items(), key=lambda item: (item[0][0], item[0][1], item[0][2] == "causal"))
    for (kernel, dim, mask), cells in order:
        types = [t for t in ("fp16", "e4m3") if any(dtype == t for _, dtype in cells)]
        text += f"**{kernel}, head_dim {dim}, {mask}**\n\n" + story_block(kernel, cells, types) + "\n"
    return text.rstrip("\n") + "\n"


def origin_line(document):
    gpu = document["gpu"]
    what = ", ".join(f"{k} {v}" for k, v in document.get("with", {}).items()) or (
        f"driver {gpu.get('driver')}, cuDNN {document.get('cudnn')}, {document.get('assembler')}")
    judgement = document["judgement"]
    means = lambda key: ", ".join(f"{k} {v:.3f}" for k, v in judgement[key].items())
    line = f"- {gpu['name']}, {document['date']}, {what}"
    if document.get("story"):
        return line
    line += ": "
    if judgement["void"]:
        line += ("**void** by its own rule, since the peer stayed more than 3% below its earlier figure in "
                 + ", ".join(f"{entry['cell']} ({entry['teraflops']:.0f} for {entry['figure']:.0f})"
                             for entry in judgement["peer_below_its_figure"]))
    else:
        line += "valid, with every peer at its earlier figures"
    line += "; geometric means of our speed ratio: " + means("geometric_mean_of_speed_ratios")
    if judgement["void"] and "geometric_mean_without_those_cells" in judgement:
        line += "; without those cells: " + means("geometric_mean_without_those_cells")
    return line


def better_peer_table(bench, peers):
    """Of each cell the ratio to the faster of cuDNN and FlashAttention-3, as far as both or one of them takes it: the smaller of
    the two paired ratios. Geometric means by head_dim and layout of V."""
    ratios = {}
    for document, ratio_in in ((bench, lambda cell: cell.get("speed_ratio")),
                               (peers, lambda cell: cell["sides"].get("FlashAttention-3", {}).get("speed_ratio"))):
        for cell in document["cells"]:
            if found := ratio_in(cell):
                ratios.setdefault(cell["cell"], []).append(found["ratio"])
    groups = {}
    for name, found in ratios.items():
        group = int(re.search(r"-d(\d+)-", name).group(1)), name.endswith("-vt")
        groups.setdefault(group, []).append(min(found))
    text = "| head_dim | V | cells | geometric mean of our speed over the faster peer's |\n| --- | --- | --- | --- |\n"
    for (dim, transposed), found in sorted(groups.items(), key=lambda item: (item[0][1], item[0][0])):
        mean = math.exp(sum(map(math.log, found)) / len(found))
        text += f"| {dim} | {'supplied transposed' if transposed else 'as it comes'} | {len(found)} | {mean:.3f} |\n"
    return text


def tables(documents):
    made, origins = {}, {}
    fp8 = [documents.get((kind, "attention-fp8")) for kind in ("bench", "peers")]
    if all(fp8):
        made["attention-fp8-better-peer"] = better_peer_table(*fp8)
    for (kind, begin), document in documents.items():
        origins.setdefault(f"{begin}-origin", []).append(origin_line(document))
        if document.get("story"):
            made[begin] = story_table(document)
            continue
        for suffix, transposed in (("", False), ("-transposed", True)):
            cells = [cell for cell in document.get("cells", []) if cell["cell"].endswith("-vt") == transposed]
            if not cells:
                continue
            if kind == "peers":
                made[f"{begin}-peers{suffix}"] = peers_table(cells)
            else:
                made |= {f"{begin}-cudnn{suffix}": cudnn_table(cells), f"{begin}-error{suffix}": error_table(cells)}
        for section, table in (("sustained", lambda entries: sustained_table(document)),
                               ("decode", lambda entries: decode_table(document)),
                               ("promotion", promotion_table), ("accuracy", accuracy_table)):
            if document.get(section):
                made[f"{begin}-{section}"] = table(document[section])
    return made | {name: "\n".join(lines) + "\n" for name, lines in origins.items()}


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
