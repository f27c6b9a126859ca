#!/usr/bin/env python3
"""Holds index, sources, launch files and PTX of the bundled kernels against each other. Needs no assembler.

With nvcc 13.0.88 at hand (NAMESAKE_CUDA_ROOT, or the project's toolchains) the PTX is also made anew, and must be what
is committed.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib

import assembler as asm

KERNELS = pathlib.Path(__file__).resolve().parents[2] / "kernels"
NVCC = "13.0.88"  # made the committed PTX
BYTES = {"u64": 8, "i64": 8, "f64": 8, "f32": 4, "i32": 4, "u32": 4, "f16": 2, "bf16": 2, "i8": 1, "u8": 1,
         "e4m3": 1, "e5m2": 1}
FILLS = {"normal": (), "uniform": ("low", "high"), "constant": ("value",), "pattern": ("pattern",), "file": ("file",)}


def value(expression, names):
    """Of a number or an expression in a launch file."""
    if not isinstance(expression, str):
        return expression
    assert re.fullmatch(r"[\w\s+\-*/%(),]+", expression), f"'{expression}' is no expression"
    functions = {"min": min, "max": max, "ceil_div": lambda a, b: -(-a // b)}
    return eval(expression.replace("/", "//"), {"__builtins__": {}}, functions | names)


def parameters(ptx, entry):
    """The sizes in bytes of an entry's parameters."""
    head = re.search(rf"\.entry {entry}\((.*?)\n\)", ptx, re.S).group(1)
    sizes = []
    for line in head.split(",\n"):
        kind, array = re.search(r"\.param (?:\.align \d+ )?\.(\w+).*?(?:\[(\d+)\])?$", line).groups()
        sizes.append(int(array) if array else int(kind[1:]) // 8)
    return sizes


def check_arguments(launch, ptx, entry):
    buffers = {buffer["name"]: buffer for buffer in launch.get("buffer", [])}
    used = [argument.get("buffer") or argument.get("tensor_map") for argument in launch["argument"]]
    assert set(filter(None, used)) == set(buffers), "buffers and arguments do not match"
    expected = [128 if "tensor_map" in argument else 8 if "buffer" in argument else BYTES[argument["type"]]
                for argument in launch["argument"]]
    assert expected == parameters(ptx, entry), f"arguments of {expected} bytes, the PTX has {parameters(ptx, entry)}"


def check_numbers(launch):
    sizes = launch["sizes"]
    settings = [{size: spec["default"] for size, spec in sizes.items()}]
    settings += [settings[0] | {size: swept} for size, spec in sizes.items() for swept in spec["sweep"]]
    for names in settings:
        for number in launch["launch"]["grid"] + launch["launch"]["block"]:
            assert value(number, names) > 0, f"{number} is not positive with {names}"
        value(launch["launch"].get("shared", 0), names)
        for buffer in launch.get("buffer", []):
            count = value(buffer["count"], names)
            assert 0 < count * BYTES[buffer["type"]] <= 4 << 30, f"{buffer['name']} has {count} elements"
            if "fill" in buffer:
                for key in FILLS[buffer["fill"]]:
                    value(buffer[key], names | {"i": count - 1})
            else:
                assert buffer.get("output"), f"{buffer['name']} is no output and has no fill"
            assert not buffer.get("output") or {"relative", "absolute"} == set(buffer["tolerance"])
        for argument in launch["argument"]:
            for number in argument.get("shape", []) + [argument.get("value", 0)]:
                value(number, names)
    assert any(buffer.get("output") for buffer in launch.get("buffer", [])) or not launch.get("run", True), "has no output"


def check(kernel):
    name, entry = kernel["name"], kernel["entry"]
    launch = tomllib.loads((KERNELS / f"{name}.toml").read_text())
    ptx = (KERNELS / "ptx" / f"{name}.ptx").read_text()

    assert launch["kernel"] == f"{name}.cu", "names another source"
    assert launch["entry"] == entry, "names another entry than kernels.toml"
    assert re.findall(r"\.entry (\w+)", ptx) == [entry], "the PTX has other entries"
    assert len(entry) > len("cutlass") and "cutlass" not in entry, "the entry's name is too short, or not neutral"
    assert set(kernel["reacts"]) <= set(kernel["architectures"]), "reacts where it is not assembled"
    essay = (KERNELS / f"{name}.cu").read_text().split("\n\n")[0]
    assert essay.startswith("//") and "What it shows" in essay, "the source opens with no essay"

    check_arguments(launch, ptx, entry)
    check_numbers(launch)


def check_fresh():
    root = asm.front_end()
    if not root:
        return f"the PTX was not made anew, for no nvcc {NVCC} is at hand (NAMESAKE_CUDA_ROOT)"
    banner = subprocess.run([root / "bin" / "nvcc", "--version"], capture_output=True, text=True, check=True).stdout
    if f"V{NVCC}" not in banner:
        return f"the PTX was not made anew, for nvcc in {root} is not {NVCC}"
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"NAMESAKE_CUDA_ROOT": str(root)}
        subprocess.run([KERNELS / "make-ptx.sh", folder], env=environment, check=True)
        for made in sorted(pathlib.Path(folder).iterdir()):
            assert made.read_text() == (KERNELS / "ptx" / made.name).read_text(), \
                f"ptx/{made.name} is not what its source gives; run kernels/make-ptx.sh"
    return "the PTX is what the sources give"


def main():
    kernels = tomllib.loads((KERNELS / "kernels.toml").read_text())["kernel"]
    names = {kernel["name"] for kernel in kernels}
    for folder, suffix in (KERNELS, ".cu"), (KERNELS / "ptx", ".ptx"):
        assert {file.stem for file in folder.glob("*" + suffix)} == names, f"kernels.toml and the {suffix} files differ"
    for kernel in kernels:
        try:
            check(kernel)
        except AssertionError as error:
            raise SystemExit(f"{kernel['name']}: {error}")
    print(f"{len(kernels)} kernels, launch files and PTX agree; {check_fresh()}")


if __name__ == "__main__":
    sys.exit(main())
