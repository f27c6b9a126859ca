#!/usr/bin/env python3
"""Makes the tables in docs/effect.md and the figure docs/census.svg from results/census.tsv.

    scripts/census_figures.py [--check]      --check changes nothing and exits 1 where they are not up to date

A table stands between `<!-- census NAME -->` and `<!-- end census -->`.
"""

import collections
import html
import json
import math
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
Build = collections.namedtuple("Build", "registers stack stores loads bytes codes runs failure")


def by_number(text):
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", text)]


def read(path):
    builds, kernels = {}, []
    for line in path.read_text().splitlines():
        fields = line.split("\t")
        if fields[0] == "kernel":
            kernels.append(fields[1])
        elif fields[0] == "build":
            *numbers, codes, runs = fields[6:]
            builds[tuple(fields[1:6])] = Build(*map(int, numbers), frozenset(codes.split("+")), int(runs), "")
        elif fields[0] == "failed":
            builds[tuple(fields[1:6])] = Build(0, 0, 0, 0, 0, frozenset(), 1, fields[6])
    return builds, kernels


builds, kernels = read(root / "results/census.tsv")
run = json.loads((root / "results/census-run.json").read_text())
releases = sorted({key[2] for key in builds}, key=by_number)
architectures = sorted({key[1] for key in builds}, key=by_number)
short = {release: ".".join(release.split(".")[:2]) for release in releases}


def pair(kernel, architecture, release, level="O3"):
    return [builds.get((kernel, architecture, release, level, treatment)) for treatment in ("untreated", "treated")]


def reaction(a, b):
    """What `census show` says: same, different, lottery, failed; None where it was not asked or cannot be said."""
    if a is None or b is None or a.failure.startswith("not expressible") or b.failure.startswith("not expressible"):
        return None
    if a.failure or b.failure:
        return "failed"
    if not a.codes & b.codes:
        return "different"
    return "same" if len(a.codes) == len(b.codes) == 1 else "lottery"


points = {}
for kernel in kernels:
    for architecture in architectures:
        for release in releases:
            what = reaction(*pair(kernel, architecture, release))
            if what:
                points[kernel, architecture, release] = what


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def percent(values):
    if not values:
        return ""
    mean = math.exp(sum(map(math.log, values)) / len(values))
    shown = [f"{100 * (value - 1):+.1f}".replace("-", "−") for value in (mean, min(values), max(values))]
    return f"{shown[0]}% ({shown[1]} … {shown[2]})"


def reacting():
    # Only kernels that every release from the first on was asked, so that a column can be read downwards.
    def everywhere(kernel, architecture):
        asked = [release for release in releases if (kernel, architecture, release) in points]
        return len(asked) > 1 and asked == releases[releases.index(asked[0]):]

    rows = []
    for release in releases:
        row = [release]
        for architecture in architectures:
            asked = [points[kernel, architecture, release] for kernel in kernels
                     if (kernel, architecture, release) in points and everywhere(kernel, architecture)]
            row.append(f"{asked.count('different')} of {len(asked)}" if asked else "·")
        rows.append(row)
    return table(["ptxas", *architectures], rows)


def since():
    rows = collections.defaultdict(list)
    for kernel in kernels:
        for architecture in architectures:
            history = [(release, points[kernel, architecture, release]) for release in releases if (kernel, architecture, release) in points]
            for (_, before), (release, now) in zip(history, history[1:]):
                if now != before:
                    rows[kernel, short[release], before, now].append(architecture)
    shown = [[release, f"`{kernel}`", f"{before} → {now}", ", ".join(where)] for (kernel, release, before, now), where in rows.items()]
    return table(["release", "kernel", "was → is", "architectures"], sorted(shown, key=lambda row: (by_number(row[0]), row[1])))


def upgrades():
    rows = []
    for before, after in zip(releases, releases[1:]):
        compared = other = more = fewer = began = ended = 0
        registers, size = [], []
        for kernel in kernels:
            for architecture in architectures:
                a, b = pair(kernel, architecture, before)[0], pair(kernel, architecture, after)[0]
                if not a or not b or a.failure or b.failure:
                    continue
                compared += 1
                was, now = points.get((kernel, architecture, before)), points.get((kernel, architecture, after))
                began += now == "different" != was
                ended += was == "different" != now
                more += b.stores + b.loads > a.stores + a.loads
                fewer += b.stores + b.loads < a.stores + a.loads
                if not a.codes & b.codes:
                    other += 1
                    registers.append(b.registers / a.registers)
                    size.append(b.bytes / a.bytes)
        rows.append([after, f"{other} of {compared}", percent(registers), percent(size), f"+{more} −{fewer}", f"+{began} −{ended}"])
    return table(["to", "other code", "registers", "code size", "spills", "reacting"], rows)


def ratios():
    rows = []
    for architecture in architectures:
        both = [pair(*key) for key, what in points.items() if key[1] == architecture and what == "different"]
        spills = [(a.stores + a.loads, b.stores + b.loads) for a, b in both]
        rows.append([architecture, len(both), percent([b.registers / a.registers for a, b in both]), percent([b.bytes / a.bytes for a, b in both]),
                     sum(b > a for a, b in spills), sum(b < a for a, b in spills)])
    return table(["architecture", "pairs", "registers", "code size", "spill more", "spill less"], rows)


def belief():
    rows = [[control["name"], f"{control['checked'] - control['failed']} of {control['checked']}"] for control in run["controls"] if control["checked"]]
    seconds = run["assembler_seconds"], run["own_seconds"]
    rows.append(["processor time that is the assemblers' own", f"{100 * seconds[0] / sum(seconds):.1f}% of {sum(seconds) / 60:.0f} min, {run['cells']:,} cells"])
    return table(["what must hold", "holds"], rows)


def color(key):
    what = points.get(key)
    if what is None:
        return None
    if what != "different":
        return {"same": "#dfe2e5", "lottery": "#7042c1", "failed": "#c92424"}[what]
    a, b = pair(*key)
    if a.registers == b.registers:
        return "#eab8d2"
    steps = (["#a9c4e6", "#6f9bd1", "#2f6ab5"], ["#f3c8a4", "#e59a58", "#bf5f10"])[b.registers > a.registers]
    change = abs(math.log2(b.registers / a.registers))
    return steps[0 if change < 0.1 else 1 if change < 0.3 else 2]


def figure():
    """Kernels by architecture and release; runs of one colour are one rectangle."""
    # One row a kernel that more than one release was asked.
    rows = [kernel for kernel in kernels if len({release for name, _, release in points if name == kernel}) > 1]
    name, cell, line, gap, top = 14 + 7 * max(map(len, rows)), 6, 15, 10, 62
    block = cell * len(releases)
    width, height = name + len(architectures) * (block + gap) + 10, top + line * len(rows) + 14
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" font-family="sans-serif" font-size="11">',
           f'<rect width="{width}" height="{height}" fill="#fff"/>',
           '<g fill="#1c2024"><text x="10" y="17" font-size="14" font-weight="bold">What the name does to each kernel, by architecture and release</text>']
    legend = [("#2f6ab5", "treated: fewer registers"), ("#bf5f10", "more"), ("#eab8d2", "other code, as many"), ("#dfe2e5", "same code"),
              ("#7042c1", "lottery"), ("#c92424", "not built")]
    x = 10
    for fill, text in legend:
        out.append(f'<rect x="{x}" y="25" width="11" height="11" fill="{fill}"/><text x="{x + 15}" y="34">{text}</text>')
        x += 34 + 6 * len(text)
    for a, architecture in enumerate(architectures):
        x = name + a * (block + gap)
        out.append(f'<text x="{x}" y="51" font-weight="bold">{architecture}</text><text x="{x}" y="60" font-size="8">{short[releases[0]]} → {short[releases[-1]]}</text>')
    for r, kernel in enumerate(rows):
        y = top + r * line
        out.append(f'<text x="{name - 8}" y="{y + 11}" text-anchor="end">{html.escape(kernel)}</text>')
        for a, architecture in enumerate(architectures):
            fills = [color((kernel, architecture, release)) for release in releases]
            start = 0
            while start < len(fills):
                end = start
                while end < len(fills) and fills[end] == fills[start]:
                    end += 1
                if fills[start]:
                    out.append(f'<rect x="{name + a * (block + gap) + start * cell}" y="{y + 1}" width="{(end - start) * cell}" height="{line - 2}" fill="{fills[start]}"/>')
                start = end
    return "\n".join(out) + "\n</g></svg>\n"


page = root / "docs/effect.md"
text = old = page.read_text()
tables = {"reacting": reacting, "since": since, "upgrades": upgrades, "ratios": ratios, "belief": belief}
for key, make in tables.items():
    text, found = re.subn(rf"(<!-- census {key} -->\n).*?(<!-- end census -->)", lambda match: f"{match[1]}{make()}\n{match[2]}", text, flags=re.S)
    if found != 1:
        sys.exit(f"docs/effect.md has {found} places for the table {key}")
picture = root / "docs/census.svg"
drawn = figure()
current = text == old and picture.exists() and picture.read_text() == drawn
if "--check" in sys.argv:
    if not current:
        sys.exit("docs/effect.md or docs/census.svg is not what results/census.tsv says: run scripts/census_figures.py")
else:
    page.write_text(text)
    picture.write_text(drawn)
