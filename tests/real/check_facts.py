#!/usr/bin/env python3
"""Known facts about the name effect on real input: PTX that Triton and CUTLASS make.

    check_facts.py FOLDER [CUTLASS_INCLUDE]      makes the PTX in FOLDER, and assembles it

What the machine lacks (the wheel triton, CUTLASS's headers, nvcc, an assembler) is said; without any input it ends with 77.
"""

import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "kernels"))
import assembler as asm  # noqa: E402

SKIPPED = 77


def make(*command):
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode == SKIPPED:
        print(run.stdout.strip())
    elif run.returncode != 0:
        raise SystemExit(f"{command[0]} failed:\n{run.stderr}")
    return run.returncode == 0


def entry_of(ptx):
    return re.search(r"\.entry (\w+)", ptx).group(1)


def pair(assembler, ptx, architecture, *options):
    entry = entry_of(ptx)
    return [assembler.assemble(text, architecture, *options) for text in (ptx, asm.treated(ptx, entry))]


def check_triton(folder, assembler):
    matmul, attention, saxpy = ((folder / f"triton_{name}_sm80.ptx").read_text() for name in ("matmul", "attention", "saxpy"))
    natural, treated = pair(assembler, matmul, "sm_90")
    print(f"ptxas {assembler.version}: Triton's matmul for sm_90: {natural.registers} -> {treated.registers} registers")
    assert (natural.registers, treated.registers) == (163, 128), "Triton's matmul should go from 163 to 128 registers"
    natural, treated = pair(assembler, attention, "sm_90")
    assert natural.code != treated.code, "Triton's attention should react"
    natural, treated = pair(assembler, saxpy, "sm_90")
    assert natural.code == treated.code, "Triton's saxpy should not react"
    for ptx in matmul, attention, saxpy:
        natural, treated = pair(assembler, ptx, "sm_90", "-O2")
        assert natural.code == treated.code, "nothing should react at -O2"
    natural, treated = pair(assembler, (folder / "triton_matmul_sm90.ptx").read_text(), "sm_90a")
    assert natural.code == treated.code, "Triton's wgmma matmul should not react"


def check_cutlass(folder, assembler):
    """CUTLASS's own names are treated: a neutral name of equal length is the other side. Of these two only Hopper's reacts."""
    for number, architecture, reacts in ("80", "sm_80", False), ("90", "sm_90a", True):
        ptx = (folder / f"cutlass_gemm_sm{number}.ptx").read_text()
        entry = entry_of(ptx)
        assert "cutlass" in entry
        named = assembler.assemble(ptx, architecture)
        neutral = assembler.assemble(ptx.replace("cutlass", "balsams"), architecture)
        print(f"ptxas {assembler.version}: CUTLASS's GEMM for {architecture}: {neutral.registers} -> {named.registers} registers, "
              + ("same code" if named.code == neutral.code else "other code"))
        assert named.status == neutral.status == 0, named.messages + neutral.messages
        assert (named.code != neutral.code) == reacts, f"CUTLASS's GEMM for {architecture}: reacts should be {reacts}"


def main(folder, include=None):
    folder = pathlib.Path(folder)
    assemblers = asm.at_hand()
    if not assemblers:
        print("skipped: no assembler is at hand; run ./quickstart, or set NAMESAKE_PTXAS_LIST=PATH:PATH:…")
        return SKIPPED
    root = asm.front_end()
    if root:
        os.environ["NAMESAKE_CUDA_ROOT"] = str(root)
    if include:
        os.environ["NAMESAKE_CUTLASS_INCLUDE"] = include
    triton = make(sys.executable, HERE / "make_triton.py", folder)
    cutlass = make(HERE / "make_cutlass.sh", folder)
    for assembler in assemblers:
        if asm.number(assembler.release) < (12, 8):  # Triton writes PTX 8.7
            continue
        if triton:
            check_triton(folder, assembler)
        if cutlass:
            check_cutlass(folder, assembler)
    return 0 if triton or cutlass else SKIPPED


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
