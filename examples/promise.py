#!/usr/bin/env python3
"""Does a policy keep what it promises, in the application itself?

    promise.py --policy tuned.toml [--namesake build/namesake] [--rounds 2] [--json FILE] -- COMMAND…
    promise.py --show FILE         prints what an earlier run wrote with --json

Runs COMMAND as it is and by `namesake run --policy`, in the order A B B A, with --reverse added to it in every second
pair. COMMAND prints a line of JSON for each kernel: {"kernel": SYMBOL, "milliseconds": X, "checksum": TEXT}. For each
kernel two figures are printed: the time with the policy over the time without, as the policy's evidence promises it and
as the application shows it. Ends with 1 if a checksum changes, or a promised gain does not come (less than half of it).
"""

import argparse
import json
import math
import pathlib
import re
import statistics
import subprocess
import sys
import time
import tomllib

TRIGGER = "cutlass"


def promises(policy):
    """For each symbol: what is to be given, and the time with the policy / the time without, as measured."""
    result = {}
    for rule in policy["function"]:
        symbol, treatment, evidence = rule["symbol"], rule["treatment"], rule.get("evidence", {})
        natural = "treated" if TRIGGER in symbol else "untreated"
        ratio, interval = evidence.get("ratio"), evidence.get("interval")
        if treatment in ("natural", natural) or ratio is None:
            ratio, interval = 1.0, None
        elif treatment == "untreated":  # evidence is treated / untreated
            ratio, interval = 1 / ratio, [1 / interval[1], 1 / interval[0]]
        result[symbol] = {"treatment": treatment, "promised": ratio, "interval": interval}
    return result


def run(command):
    begin = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    said = [line for line in done.stderr.splitlines() if line.startswith("namesake:")]
    print(f"{time.monotonic() - begin:5.1f} s  {' '.join(command)}", *said, sep="\n         ", file=sys.stderr)
    if done.returncode != 0:
        raise SystemExit(f"{command[0]} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {row["kernel"]: row for row in rows}


def compare(options):
    natural, steered = [], []
    for pair in range(2 * options.rounds):
        command = options.command + (["--reverse"] if pair % 2 else [])
        hooked = [options.namesake, "run", "--policy", options.policy, "--"] + command
        for each in (command, hooked) if pair % 2 == 0 else (hooked, command):
            (natural if each is command else steered).append(run(each))
    return natural, steered


def table(policy, natural, steered):
    promised = promises(policy)
    for symbol in natural[0]:
        ratios = [b[symbol]["milliseconds"] / a[symbol]["milliseconds"] for a, b in zip(natural, steered)]
        sums = {run[symbol]["checksum"] for run in natural + steered}
        row = {"kernel": symbol, "treatment": "none", "promised": 1.0, "interval": None} | promised.get(symbol, {})
        row |= {"seen": math.exp(statistics.fmean(map(math.log, ratios))), "each": ratios, "equal": len(sums) == 1}
        row["milliseconds"] = statistics.median(run[symbol]["milliseconds"] for run in natural)
        promise = math.log(row["promised"])
        row["kept"] = row["equal"] and (promise == 0 or math.log(row["seen"]) < promise / 2)
        yield row


def print_table(rows):
    width = max(len(row["kernel"]) for row in rows)
    print(f"{'kernel':{width}}  {'treatment':9}  natural ms  promised   seen  each pair")
    for row in rows:
        each = " ".join(f"{ratio:.3f}" for ratio in row["each"])
        note = "" if row["kept"] else "  NOT KEPT" if row["equal"] else "  RESULTS DIFFER"
        print(f"{row['kernel']:{width}}  {row['treatment']:9}  {row['milliseconds']:10.4f}  {row['promised']:8.3f}  "
              f"{row['seen']:.3f}  {each}{note}")
    broken = sum(not row["kept"] for row in rows)
    print(f"{len(rows) - broken} of {len(rows)} kernels as promised")
    return 1 if broken else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policy", help="what namesake tune wrote")
    parser.add_argument("--namesake", default="namesake")
    parser.add_argument("--rounds", type=int, default=2, help="of A B B A")
    parser.add_argument("--json", help="write the figures to this file too")
    parser.add_argument("--show", metavar="FILE", help="print these figures and run nothing")
    parser.add_argument("command", nargs="*", help="the application, behind --")
    options = parser.parse_args()
    if options.show:
        print_table(json.loads(pathlib.Path(options.show).read_text())["kernels"])
        return 0
    if not options.policy or not options.command:
        parser.error("needs --policy and, behind --, the application")
    try:
        policy = tomllib.loads(pathlib.Path(options.policy).read_text())
    except (OSError, tomllib.TOMLDecodeError) as problem:
        raise SystemExit(f"promise.py: {options.policy}: {problem}")
    rows = list(table(policy, *compare(options)))
    if options.json:
        document = {"schema": "namesake.promise/1.0", "command": options.command, "measured": policy["measured"], "kernels": rows}
        text = json.dumps(document, indent=1)
        text = re.sub(r"\[\s+([\d.,\s]+?)\s+\]", lambda m: "[" + " ".join(m[1].split()) + "]", text)  # a list on one line
        pathlib.Path(options.json).write_text(text + "\n")
    return print_table(rows)


if __name__ == "__main__":
    sys.exit(main())
