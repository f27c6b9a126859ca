#!/usr/bin/env python3
"""Holds index, launch files and PTX of the kernels made by Triton against each other. Needs no assembler.

With Triton 3.6.0 at hand they are also made anew, and must be what is committed.
"""

import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib

import check_launch_files as launch_files

FOLDER = launch_files.KERNELS / "triton"
TARGETS = {"sm_80", "sm_89", "sm_90a", "sm_100a"}


def check(kernel):
    name, entry = kernel["name"], kernel["entry"]
    launch = tomllib.loads((FOLDER / f"{name}.toml").read_text())
    ptx = (FOLDER / "ptx" / f"{name}.ptx").read_text()
    assert launch["kernel"] == f"ptx/{name}.ptx" and launch["entry"] == entry, "the launch file is of another kernel"
    assert launch["architectures"] == kernel["architectures"], "launch file and index name other architectures"
    assert re.findall(r"\.entry (\w+)", ptx) == [entry], "the PTX has other entries"
    assert re.search(r"^\.target (\w+)", ptx, re.M).group(1) == kernel["target"], "the PTX has another target"
    assert kernel["target"] in TARGETS and "cutlass" not in entry
    launch_files.check_numbers(launch)
    launch_files.check_arguments(launch, ptx, entry)


def made_anew():
    if not importlib.util.find_spec("triton"):
        return "they were not made anew, for there is no Triton (pip install triton==3.6.0)"
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, FOLDER / "make.py", folder], check=True, stdout=subprocess.DEVNULL)
        made = {path.relative_to(folder): path for path in pathlib.Path(folder).rglob("*.*") if path.is_file()}
        assert len(made) > 100
        for relative, path in made.items():
            assert path.read_text() == (FOLDER / relative).read_text(), f"{relative} is not what make.py gives"
    return "they are what make.py gives"


def main():
    kernels = tomllib.loads((FOLDER / "kernels.toml").read_text())["kernel"]
    names = {kernel["name"] for kernel in kernels}
    assert len(names) == len(kernels)
    assert {file.stem for file in FOLDER.glob("*.toml")} == names | {"kernels"}, "index and launch files differ"
    assert {file.stem for file in (FOLDER / "ptx").iterdir()} == names, "index and PTX differ"
    for kernel in kernels:
        try:
            check(kernel)
        except AssertionError as error:
            raise SystemExit(f"{kernel['name']}: {error}")
    print(f"{len(kernels)} kernels, launch files and PTX agree; {made_anew()}")


if __name__ == "__main__":
    sys.exit(main())
