#!/usr/bin/env python3
"""Holds examples/promise.py to what it says, with a stand-in for the application and one for the tool."""

import json
import pathlib
import subprocess
import sys
import tempfile

PROMISE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "promise.py"
POLICY = """format = 1
[measured]
assembler = "13.0.88"
[[function]]
symbol = "gemm"
treatment = "treated"
evidence = { ratio = 0.9, interval = [0.89, 0.91] }
[[function]]
symbol = "cutlass_body"
treatment = "untreated"
evidence = { ratio = 1.25, interval = [1.24, 1.26] }
[[function]]
symbol = "saxpy"
treatment = "natural"
"""
# Prints the times of FOLDER/plain.json, or of FOLDER/steered.json where the tool started it.
APPLICATION = """import json, os, pathlib, sys
here = pathlib.Path(__file__).parent
rows = json.loads((here / ("steered.json" if os.environ.get("STEERED") else "plain.json")).read_text())
with open(here / "log", "a") as log:
    print("B" if os.environ.get("STEERED") else "A", "reverse" if "--reverse" in sys.argv else "", file=log)
for row in rows:
    print(json.dumps(row))
"""
TOOL = """#!/bin/sh
[ "$1 $2 $4" = "run --policy --" ] || exit 9
shift 4
STEERED=1 exec "$@"
"""


def row(kernel, milliseconds, checksum="1"):
    return {"kernel": kernel, "milliseconds": milliseconds, "checksum": checksum}


def promise(plain, steered):
    """Exit status, figures and the order of runs."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "app.py").write_text(APPLICATION)
        (folder / "tool").write_text(TOOL)
        (folder / "tool").chmod(0o755)
        (folder / "tuned.toml").write_text(POLICY)
        (folder / "plain.json").write_text(json.dumps(plain))
        (folder / "steered.json").write_text(json.dumps(steered))
        done = subprocess.run([sys.executable, PROMISE, "--policy", folder / "tuned.toml", "--namesake", folder / "tool",
                               "--json", folder / "out.json", "--", sys.executable, folder / "app.py"],
                              capture_output=True, text=True)
        assert done.returncode in (0, 1), done.stderr
        rows = json.loads((folder / "out.json").read_text())["kernels"]
        return done.returncode, {row["kernel"]: row for row in rows}, (folder / "log").read_text().split("\n")[:-1]


def main():
    plain = [row("gemm", 2.0), row("cutlass_body", 1.0), row("saxpy", 3.0)]
    status, rows, order = promise(plain, [row("gemm", 1.8), row("cutlass_body", 0.8), row("saxpy", 3.01)])
    assert status == 0 and all(each["kept"] for each in rows.values())
    assert abs(rows["gemm"]["seen"] - 0.9) < 1e-9 and rows["gemm"]["promised"] == 0.9
    assert rows["cutlass_body"]["promised"] == 1 / 1.25, "untreating a name that costs promises the inverse"
    assert rows["saxpy"]["promised"] == 1
    assert order == ["A ", "B ", "B reverse", "A reverse"] * 2

    status, rows, _ = promise(plain, [row("gemm", 1.98), row("cutlass_body", 0.8), row("saxpy", 3)])
    assert status == 1 and not rows["gemm"]["kept"], "a gain that does not come is no promise kept"

    status, rows, _ = promise(plain, [row("gemm", 1.8, "2"), row("cutlass_body", 0.8), row("saxpy", 3)])
    assert status == 1 and not rows["gemm"]["equal"], "other results are no gain"
    print("examples/promise.py holds what it says")


if __name__ == "__main__":
    sys.exit(main())
