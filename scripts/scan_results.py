#!/usr/bin/env python3
"""Scans libraries that people ship, and holds the counts to NVIDIA's own lister, file by file.

    scripts/scan_results.py NAMESAKE FOLDER [--floor PROGRAM] [--only WORD] [--quick] [--output results/scan.json]
    scripts/scan_results.py --document    (puts results/scan.json into docs/effect.md; with --check: is it there?)

FOLDER receives the wheels below from PyPI (2.5 GB; what is there is not fetched again) and what is unpacked of
them. Each is scanned as a wheel; each library in it is listed by `cuobjdump` -lelf, -lptx and -symbols
too, and both are timed: scan by the best of ten runs before and ten behind cuobjdump, each in a moment in which
nothing else runs; cuobjdump, which takes long and knows no threads, by the best of two, and never by more than its
processor time, so that other work does not make it look slow. PROGRAM is the
build's tests/study/scan_floor.cpp: what unpacking alone takes of a scan.
cuobjdump reads one section of a library; what scan finds elsewhere is counted apart, and the rest must be
equal: exit 1 if it is not. --quick: one run each.
NAMESAKE itself needs none of this."""
import argparse
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import textwrap
import time
import zipfile

WHEELS = {
    "fa3-fwd": "fa3_fwd-*.whl",
    "nvidia-cublas": "nvidia_cublas-*.whl",
    "nvidia-cudnn-cu13": "nvidia_cudnn_cu13-*.whl",
    "flashinfer-cubin": "flashinfer_cubin-*.whl",
    "torch": "torch-*.whl",
}
LISTS = ("-lelf", "-lptx", "-symbols")
SAMPLE = 100  # of a wheel's loose cubins: cuobjdump is started three times for each
LARGE, TARGET = 20_000_000, 20  # bytes from which times are told; how many times faster a scan shall be
READ_BY_CUOBJDUMP = (".nv_fatbin", "__nv_relfatbin")  # the first of them that a file has

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("namesake", type=pathlib.Path, nargs="?")
parser.add_argument("folder", type=pathlib.Path, nargs="?")
parser.add_argument("--floor", type=pathlib.Path, help="the program scan_floor of the build")
parser.add_argument("--only", default="", help="wheels whose name holds this word")
parser.add_argument("--quick", action="store_true")
parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path(__file__).parent.parent / "results/scan.json")
parser.add_argument("--document", action="store_true")
parser.add_argument("--check", action="store_true", help="exit 1 if the document is not what the results say")
arguments = parser.parse_args()
if not arguments.document and not arguments.folder:
    parser.error("give NAMESAKE and FOLDER, or --document")
runs = 1 if arguments.quick else 10


# By a small process of its own: a child's peak begins with the memory of whoever starts it.
STOPWATCH = """import json, os, subprocess, sys, time
start = time.monotonic()
process = subprocess.Popen(sys.argv[1:], stderr=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
print(json.dumps({"wall": time.monotonic() - start, "cpu": usage.ru_utime + usage.ru_stime, "peak_mb": usage.ru_maxrss // 1024}),
      file=sys.stderr)"""


def timed(command, stdout):
    """Wall and processor seconds of one run, and its most memory."""
    command = [sys.executable, "-S", "-c", STOPWATCH, *map(str, command)]
    return json.loads(subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, check=True).stderr)


def best(measurements):
    return {"wall_seconds": round(min(m["wall"] for m in measurements), 4),
            "processor_seconds": round(min(m["cpu"] for m in measurements), 4),
            "peak_megabytes": min(m["peak_mb"] for m in measurements)}


def shown(file, times):
    measurements = []
    for _ in range(times):
        others = quiet_moment() if times > 1 else 0
        measurements.append({**timed([arguments.namesake, "-q", "scan", file], subprocess.DEVNULL), "others": others})
    return measurements


def scanned(file, times=runs):
    """What it found, and how long it takes to show it."""
    report = arguments.folder / "scan.json"
    timed([arguments.namesake, "-q", "scan", file, "--json", report], subprocess.DEVNULL)
    return json.loads(report.read_text()), best(shown(file, times))


def listed(cuobjdump, file, times=runs):
    """What cuobjdump counts, and the sum of the three lists' best times."""
    counts, total = {}, {"wall_seconds": 0, "processor_seconds": 0}
    for option, what, pattern in zip(LISTS, ("cubins", "ptx", "kernels"), (r"^ELF file", r"^PTX file", r"^FUNC .* ENTRY ")):
        output = arguments.folder / "list.txt"
        measurements = []
        for _ in range(times):
            with output.open("wb") as stream:
                measurements.append(timed([cuobjdump, option, file], stream))
        text = output.read_text(errors="replace")
        counts[what] = len(re.findall(pattern, text, re.M))
        if what == "kernels" and not counts[what]:
            counts[what] = len(re.findall(r"STO_ENTRY", text))
        fastest = best(measurements)
        fastest["wall_seconds"] = min(fastest["wall_seconds"], fastest["processor_seconds"])
        for key in total:
            total[key] = round(total[key] + fastest[key], 3)
    return counts, total


def quiet_moment(patience=4):
    """Waits until nothing else runs, or not longer than that; how many processes still do."""
    end, quiet = time.monotonic() + patience, 0
    while True:
        others = int(pathlib.Path("/proc/loadavg").read_text().split()[3].split("/")[0]) - 1
        quiet = 0 if others else quiet + 1
        if quiet == 2 or time.monotonic() > end:
            return others
        time.sleep(0.005)


def compared(cuobjdump, file, name, times=runs):
    large = os.path.getsize(file) > LARGE
    report, ours = scanned(file, times)
    theirs, lists = listed(cuobjdump, file, min(times, 2))
    more = {}
    if large:
        again = shown(file, times)
        ours = {key: min(ours[key], value) for key, value in best(again).items()}
        more = {"others_running": min(m["others"] for m in again), "json_seconds": best([timed([arguments.namesake, "-q", "scan", file, "--json", "/dev/null"], subprocess.DEVNULL)
                                                    for _ in range(times)])["wall_seconds"]}
        if arguments.floor:
            floors = [float(subprocess.check_output([arguments.floor, file])) for _ in range(times)]
            more["unpacking_seconds"] = min(floors)
    containers = report["containers"]
    all_of_it = {key: sum(c[key] for c in containers) for key in ("cubins", "ptx", "kernels")}
    sections = {}
    for container in containers:
        for section, counts in container["sections"].items():
            into = sections.setdefault(section, {"cubins": 0, "ptx": 0, "other": 0, "kernels": 0})
            for key in into:
                into[key] += counts[key]
    read = next((s for s in READ_BY_CUOBJDUMP if s in sections), None)
    there = {key: sections[read][key] for key in all_of_it} if read else all_of_it if not sections else dict.fromkeys(all_of_it, 0)
    elsewhere = {s: c for s, c in sections.items() if s != read}
    result = {"file": name, "bytes": os.path.getsize(file), "scan": all_of_it, "cuobjdump": theirs, "equal_where_both_look": there == theirs,
              "elsewhere": elsewhere, "problems": len(report["problems"]), "scan_time": ours, "cuobjdump_time": lists,
              "ratio_wall": round(lists["wall_seconds"] / ours["wall_seconds"], 1),
              "ratio_processor": round(lists["processor_seconds"] / ours["processor_seconds"], 1), **more}
    print(f"{name}: {all_of_it['kernels']} kernels, {'equal' if there == theirs else 'NOT EQUAL'}"
          f"{', elsewhere ' + ', '.join(elsewhere) if elsewhere else ''}; "
          f"{ours['wall_seconds']} s against {lists['wall_seconds']} s", file=sys.stderr)
    return result


def main():
    folder = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    cuobjdump = shutil.which("cuobjdump") or str(folder / "cuobjdump/nvidia/cu13/bin/cuobjdump")
    if not pathlib.Path(cuobjdump).exists():
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", folder / "cuobjdump", "nvidia-cuda-cuobjdump"], check=True)
    wheels = []
    for package, pattern in WHEELS.items():
        if arguments.only not in package:
            continue
        if not list(folder.glob(pattern)):
            subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, package], check=True)
        wheel = sorted(folder.glob(pattern))[-1]
        report, times = scanned(wheel, min(runs, 2))
        entry = {"wheel": wheel.name, "bytes": wheel.stat().st_size, "summary": report["summary"], "problems": report["problems"],
                 "libraries": library_counts(report), "scan_time": times, "files": []}
        with zipfile.ZipFile(wheel) as archive:
            programs = [i for i in archive.infolist() if re.search(r"\.so(\.\d+)*$", i.filename)]
            loose = [i for i in archive.infolist() if i.filename.endswith(".cubin")]
            entry["loose_cubins"] = len(loose)
            for info in programs:
                file = pathlib.Path(archive.extract(info, folder / "unpacked"))
                entry["files"].append(compared(cuobjdump, file, info.filename))
                file.unlink()
            step = max(1, len(loose) // SAMPLE)
            for info in loose[::step]:
                file = pathlib.Path(archive.extract(info, folder / "unpacked"))
                entry["files"].append(compared(cuobjdump, file, info.filename, 1))
                file.unlink()
        wheels.append(entry)
    version = subprocess.run([cuobjdump, "--version"], capture_output=True, text=True).stdout
    document = {"schema": "namesake.scan-results/1.0", "date": time.strftime("%Y-%m-%d", time.gmtime()),
                "machine": {"processors": len(os.sched_getaffinity(0)), "architecture": platform.machine()},
                "cuobjdump": re.search(r"V[\d.]+", version)[0], "lists": LISTS,
                "wheels": wheels}
    arguments.output.write_text(json.dumps(document, indent=1) + "\n")
    unequal = [f["file"] for w in wheels for f in w["files"] if not f["equal_where_both_look"]]
    if unequal:
        sys.exit("not equal where both look: " + ", ".join(unequal))


def library_counts(report, most=12):
    counts = {}
    for function in report["functions"]:
        if function["kind"] != "code":
            continue
        kernels, triggered = counts.get(function["library"], (0, 0))
        counts[function["library"]] = (kernels + 1, triggered + bool(function.get("triggers")))
    largest = sorted(counts.items(), key=lambda item: -item[1][0])[:most]
    return {name: {"kernels": kernels, "with_trigger": triggered} for name, (kernels, triggered) in largest}


def document():
    """The table of the document, made of what was recorded."""
    results = json.loads(arguments.output.read_text())
    rows = ["| wheel | kernels as code | in PTX | with the text | CUTLASS's own | own name | around it | seconds |",
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for wheel in results["wheels"]:
        summary = wheel["summary"]
        places = summary["places"].get("cutlass", {})
        own, named = places.get("cutlass_kernel", 0), places.get("own_name", 0)
        rows.append(f"| {wheel['wheel'].split('-')[0].replace('_', '-')} {wheel['wheel'].split('-')[1]} | {summary['kernels']:,} | {summary['ptx_kernels']:,} | "
                    f"{sum(places.values()):,} | {own:,} | {named:,} | {sum(places.values()) - own - named:,} | {wheel['scan_time']['wall_seconds']:.1f} |")
    files = [f for w in results["wheels"] for f in w["files"]]
    equal = sum(f["equal_where_both_look"] for f in files)
    elsewhere = [f for f in files if f["elsewhere"]]
    extra = sum(s["kernels"] for f in elsewhere for s in f["elsewhere"].values())
    timed_files = sorted((f for f in files if f["bytes"] > LARGE), key=lambda f: -f["bytes"])
    table = ["| library | size | kernels | scan, ms | cuobjdump, ms | times faster | in processor time | unpacking alone, ms | would be |",
             "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for f in timed_files:
        ours, theirs = f["scan_time"], f["cuobjdump_time"]
        floor = f.get("unpacking_seconds", 0)
        alone = f"{floor * 1e3:,.0f} | {theirs['processor_seconds'] / floor:,.0f}" if floor >= 0.001 else "· | ·"
        table.append(f"| {pathlib.PurePath(f['file']).name} | {f['bytes'] / 1e6:,.0f} MB | {f['scan']['kernels']:,} | {ours['wall_seconds'] * 1e3:,.0f} | "
                     f"{theirs['wall_seconds'] * 1e3:,.0f} | {f['ratio_wall']:.0f} | {f['ratio_processor']:.0f} | {alone} |")
    fast = [sum(f[key] >= TARGET for f in timed_files) for key in ("ratio_wall", "ratio_processor")]
    detailed = [f["json_seconds"] / f["scan_time"]["wall_seconds"] for f in timed_files if f["scan"]["kernels"] > 1000]
    busiest = max(f["others_running"] for f in timed_files)
    text = "\n".join(rows) + "\n\n" + (
        f"Of {len(files)} files that `cuobjdump` {results['cuobjdump'][1:]} lists too, {equal} have the same cubins, PTX modules and kernels in the "
        f"section it reads; {len(elsewhere)} hold {extra:,} more kernels in sections of their own.") + "\n\n" + "\n".join(table) + "\n\n" + (
        f"cuobjdump's time is that of its three lists together (entries, PTX modules, symbols), by the clock or in processor time, "
        f"whichever is less; they name no kernel in PTX; "
        f"scan does all of it at once, on {results['machine']['processors']} processors. At least {TARGET} times faster: "
        f"{fast[0]} of these {len(timed_files)} libraries by the clock, {fast[1]} in processor time. The last two columns are processor time "
        f"too: what unpacking takes of it, PTX whole and cubins as far as their kernels' names reach, and how many times faster a scan would be "
        f"that did nothing else. Libraries without packed code are searched at the speed at which the system maps their pages. The page "
        f"shows no register counts, which stand behind the code, so it does not unpack that far; --json does, and takes "
        f"{min(detailed):.1f} to {max(detailed):.1f} times as long, writing included.")
    if busiest:
        text += " The machine did other work meanwhile."
    target = pathlib.Path(__file__).parent.parent / "docs/effect.md"
    before = target.read_text()
    text = "\n".join(line if line.startswith("|") else textwrap.fill(line, 108, break_on_hyphens=False) for line in text.split("\n"))
    after = re.sub(r"(<!-- scan -->\n).*?(<!-- end scan -->)", lambda m: m[1] + text + "\n" + m[2], before, flags=re.S)
    if arguments.check:
        sys.exit(None if after == before else "docs/effect.md does not say what results/scan.json holds: run scripts/scan_results.py --document")
    target.write_text(after)


document() if arguments.document else main()
