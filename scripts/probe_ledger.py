#!/usr/bin/env python3
"""What `namesake probe` finds in every ptxas at hand: results/probe.json, and its table in docs/effect.md. Reports of
NVRTC and nvJitLink that are given with --from come into both too.

    scripts/probe_ledger.py                         probe all of them, then write both
    scripts/probe_ledger.py --from FILE...          the same from reports made before by probe --json
    scripts/probe_ledger.py --more FILE...          these beside what results/probe.json holds
    scripts/probe_ledger.py --docs                  the table alone, from results/probe.json
    scripts/probe_ledger.py --check                 exit 1 if the table is not what the file gives
    --assembler WISH --arch SM,...                  as namesake probe takes them; --namesake PATH

Texts inside names are cheap and tried on every kernel; as whole names, on the cheapest one that reacts."""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
LEDGER, DOCS = ROOT / "results" / "probe.json", ROOT / "docs" / "effect.md"
BEGIN, END = "<!-- probe -->\n", "<!-- end probe -->\n"
PLACES = {"substring": "anywhere", "prefix": "at the beginning", "suffix": "at the end", "exact": "the whole name",
          "together": "all, anywhere"}
LIBRARIES = {"libnvrtc": "NVRTC", "libnvJitLink": "nvJitLink"}
CHANGES = {"code": "other code", "crash": "the assembler crashes", "hang": "the assembler does not end"}


def order(version):
    return [int(part) for part in version.split(".")]


def run_probe(tool, assembler, architectures):
    reports = []
    for passes in (["--only", "inside"], ["--only", "names", "--kernels", "simt"]):
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            subprocess.run([tool, "probe", "--assembler", assembler, "--arch", architectures, *passes, "--json", file.name,
                            "-o", "/dev/null"], check=True)
            reports.append(json.load(open(file.name)))
    return reports


def merged(reports, known=()):
    """The reports' programs, beside those of a ledger."""
    programs = {(program["kind"], program["version"]): program for program in known}
    for report in reports:
        for program in report["programs"]:
            kept = programs.setdefault((program["kind"], program["version"]), {
                key: program[key] for key in ("kind", "version", "build", "texts_in_file", "texts_in_rot13", "texts_added")} | {
                    "findings": [], "searches": [], "refused": [], "unexplained": [], "cpu_seconds": 0})
            kept["cpu_seconds"] = round(kept["cpu_seconds"] + program["cpu_seconds"], 1)
            kept["searches"] += program["searches"]
            kept["refused"] = sorted({*kept["refused"], *(entry["text"] for entry in program["refused"])})
            kept["unexplained"] += [word for word in program["unexplained"] if word not in kept["unexplained"]]
            for finding in program["findings"]:
                same = [other for other in kept["findings"]
                        if all(other[key] == finding[key] for key in ("text", "match", "any_case"))]
                if same:
                    same[0]["reactions"] += [entry for entry in finding["reactions"] if entry not in same[0]["reactions"]]
                else:
                    kept["findings"].append(finding)
    return {
        "schema": "namesake.probe-ledger/1.0",
        "version": reports[0]["version"],
        "date": max(report["date"] for report in reports)[:10],
        "limits": [limit for limit in reports[0]["limits"] if "--only" not in limit],
        "programs": [programs[key] for key in sorted(programs, key=lambda key: (key[0] != "ptxas", key[0], order(key[1])))],
    }


def written(ledger):
    """One line a search or a finding: a change in one of them is a line in a review."""
    compact = lambda value: json.dumps(value, ensure_ascii=False)
    lines = ["{"]
    for key in ("schema", "version", "date", "limits"):
        lines.append(f" {compact(key)}: {compact(ledger[key])},")
    lines.append(' "programs": [')
    for i, program in enumerate(ledger["programs"]):
        fields = []
        for key, value in program.items():
            if key in ("findings", "searches") and value:
                fields.append(f"   {compact(key)}: [\n    " + ",\n    ".join(compact(entry) for entry in value) + "\n   ]")
            else:
                fields.append(f"   {compact(key)}: {compact(value)}")
        lines.append("  {\n" + ",\n".join(fields) + "\n  }" + ("," if i + 1 < len(ledger["programs"]) else ""))
    return "\n".join(lines) + "\n ]\n}\n"


def span(values):
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def listed(architectures):
    return ", ".join(sorted(architectures, key=lambda name: (int(name[3:].rstrip("abf")), name)))


def releases(found, all_versions):
    """"12.4.131 to 13.5.37", with gaps named one by one."""
    at = sorted(all_versions.index(version) for version in found)
    if at == list(range(at[0], at[-1] + 1)) and len(at) > 1:
        return f"{all_versions[at[0]]} to {all_versions[at[-1]]}" + (" (all)" if len(at) == len(all_versions) else "")
    return ", ".join(all_versions[i] for i in at)


def of_a_library(program):
    """One sentence on a library that carries an assembler."""
    searches = [search for search in program["searches"] if not search["failure"]]
    parts = []
    for how, what in (("inside", "texts inside names"), ("names", "as whole names")):
        tried = [search for search in searches if search[how]]
        if tried:
            kernels = ", ".join(sorted({f"{search['kernel']} on {search['architecture']}" for search in tried}))
            parts.append(f"{max(search[how] for search in tried):,} {what} of {kernels}")
    found = ", ".join(f"`{finding['text']}` ({PLACES[finding['match']]})" for finding in program["findings"])
    return f"{LIBRARIES[program['kind']]} {program['version']}, {'; '.join(parts)}: {found or 'nothing'}."


def section(ledger):
    libraries = [program for program in ledger["programs"] if program["kind"] != "ptxas"]
    programs = [program for program in ledger["programs"] if program["kind"] == "ptxas"]
    versions = [program["version"] for program in programs]
    rows = {}
    for program in programs:
        for finding in program["findings"]:
            key = (finding["text"], PLACES[finding["match"]] + (", any case" if finding["any_case"] else ""))
            row = rows.setdefault(key, {"changes": {}, "versions": []})
            for reaction in finding["reactions"]:
                row["changes"].setdefault(reaction["change"], set()).add(reaction["architecture"])
            row["versions"].append(program["version"])
    searches = [search for program in programs for search in program["searches"] if not search["failure"]]
    inside = [search for search in searches if search["inside"]]
    names = [search for search in searches if search["names"]]
    kernels = lambda some: ", ".join(sorted({search["kernel"] for search in some}))
    named = {}
    for program in programs:
        for search in program["searches"]:
            if search["names"] and not search["failure"]:
                named.setdefault((search["kernel"], search["architecture"]), []).append(program["version"])
    whole_names = ", ".join(f"{kernel} on {architecture} ({releases(found, versions)})" for (kernel, architecture), found in
                            sorted(named.items(), key=lambda item: -len(item[1])))
    tried = {program["version"]: {search["architecture"] for search in program["searches"] if search["inside"] and not search["failure"]}
             for program in programs}
    everywhere = set.intersection(*tried.values())
    more = [f"{version} also on {listed(tried[version] - everywhere)}" for version in versions if tried[version] - everywhere]
    where = listed(everywhere) + (f" ({'; '.join(more)})" if more else "")
    texts = [program["texts_in_file"] + program["texts_in_rot13"] + program["texts_added"] for program in programs]
    minutes = sum(program["cpu_seconds"] for program in programs) / 60
    lines = textwrap.wrap(
        f"Tried: {len(programs)} releases of ptxas, {versions[0]} to {versions[-1]}, each with the texts of its own file and "
        f"their ROT13, {span(texts)} of them. Inside names: of the kernels {kernels(inside)}, on {where}. As whole names, "
        f"{span([s['names'] for s in names])} of them: of {whole_names}. It took {minutes:.0f} minutes of the assemblers' processor time.",
        110) + [
        "",
        "| text | where in the name | what happens | releases |",
        "| --- | --- | --- | --- |",
    ]
    for (text, place), row in sorted(rows.items(), key=lambda item: ("code" not in item[1]["changes"], -len(item[1]["versions"]), item[0])):
        what = ", ".join(CHANGES[change] + ("" if everywhere <= row["changes"][change] else f" on {listed(row['changes'][change])}")
                         for change in CHANGES if change in row["changes"])
        lines.append(f"| `{text}` | {place} | {what} | {releases(row['versions'], versions)} |")
    refused = [len(program["refused"]) for program in programs]
    rest = f"No other text changed any code. {span(refused)} of them a release are refused as a kernel's name, being reserved. "
    if libraries:
        rest += "The libraries that carry the same code, with the texts of their own files: " + " ".join(map(of_a_library, libraries)) + " "
    lines += [""] + textwrap.wrap(rest + " ".join(ledger["limits"]), 110)
    return "\n".join(lines) + "\n"


def with_section(docs, ledger):
    begin, end = docs.index(BEGIN) + len(BEGIN), docs.index(END)
    return docs[:begin] + section(ledger) + docs[end:]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--namesake", default=str(ROOT / "build" / "namesake"))
    parser.add_argument("--assembler", default="all")
    parser.add_argument("--arch", default="sm_80")
    parser.add_argument("--from", nargs="+", dest="reports")
    parser.add_argument("--more", nargs="+")
    parser.add_argument("--docs", action="store_true")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if not arguments.docs and not arguments.check:
        files = arguments.reports or arguments.more
        reports = [json.loads(pathlib.Path(file).read_text()) for file in files] if files else \
            run_probe(arguments.namesake, arguments.assembler, arguments.arch)
        known = json.loads(LEDGER.read_text())["programs"] if arguments.more else ()
        LEDGER.write_text(written(merged(reports, known)))
    docs = DOCS.read_text()
    fresh = with_section(docs, json.loads(LEDGER.read_text()))
    if arguments.check:
        return 0 if fresh == docs else "docs/effect.md does not say what results/probe.json holds; run scripts/probe_ledger.py --docs"
    DOCS.write_text(fresh)


if __name__ == "__main__":
    sys.exit(main())
