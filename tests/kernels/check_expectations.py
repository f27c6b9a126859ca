#!/usr/bin/env python3
"""Holds what kernels.toml says of the bundled kernels against the real assemblers, and prints what it saw.

    NAMESAKE_PTXAS_LIST=PATH:PATH:… check_expectations.py [KERNEL…]

Without the list, the assemblers in the project's toolchains (NAMESAKE_TOOLCHAINS) are taken.

A treated kernel is one renamed to hold `cutlass`, all names keeping their lengths. For each kernel, architecture and
assembler: the natural code does not depend on the name as such (two neutral names, one code); treated code differs
where it should and only there; spills, crashes and lotteries are where they should be and nowhere else; the pragma,
where there is one, gives the treated code; and at -O2 nothing is left of any of it.
"""

import concurrent.futures
import os
import pathlib
import sys
import tomllib

import assembler as asm

DRAWS = 16  # of a build that is a lottery; two codes of even chance both show, but for one case in 30,000
KERNELS = pathlib.Path(__file__).resolve().parents[2] / "kernels"
SKIPPED = 77


def check(kernel, assembler, architecture):
    """A line of the table, and what is not as expected."""
    entry, wrong = kernel["entry"], []
    ptx = (KERNELS / "ptx" / f"{kernel['name']}.ptx").read_text()

    def expect(truth, what):
        if not truth:
            wrong.append(f"{kernel['name']}, {architecture}, ptxas {assembler.version}: {what}")

    def build(text, *options):
        return assembler.assemble(text, architecture, *options)

    natural, treated = build(ptx), build(asm.treated(ptx, entry))
    expect(natural.status == 0, f"does not assemble: {natural.messages.strip()[:300]}")
    expect(build(asm.neutral(ptx, entry)).code == natural.code, "two neutral names give two codes")

    if kernel.get("treated_crashes"):
        expect(treated.status < 0, "the treated assembler should crash, and does not")
        return line(kernel, assembler, architecture, natural, "crash"), wrong
    expect(treated.status == 0, f"does not assemble when treated: {treated.messages.strip()[:300]}")

    span = kernel.get("lottery")
    lottery = bool(span) and asm.number(span["from"]) <= asm.number(assembler.release) <= asm.number(span["to"])
    draws = {assembler.assemble(ptx, architecture, randomise=True).code for _ in range(DRAWS if lottery else 3)}
    expect(lottery == (len(draws) > 1), f"{len(draws)} codes in {DRAWS if lottery else 3} runs")

    if not lottery:
        expect((treated.code != natural.code) == (architecture in kernel["reacts"]),
               "reacts" if treated.code != natural.code else "does not react")
    if kernel.get("treated_spills"):
        expect(natural.spill_stores == 0, f"spills {natural.spill_stores} bytes untreated")
        expect(treated.spill_stores > 0, "does not spill when treated")

    low = [build(text, "-O2").code for text in (ptx, asm.treated(ptx, entry))]
    expect(low[0] == low[1], "reacts at -O2")
    if asm.number(assembler.release) >= (13, 3):
        # The pragma is text more to read, so memory lies elsewhere: one draw of a lottery says nothing.
        expect(lottery or build(asm.with_pragma(ptx, entry)).code == treated.code, "the pragma gives another code")

    return line(kernel, assembler, architecture, natural, treated, f"lottery, {len(draws)} codes" if lottery else ""), wrong


def line(kernel, assembler, architecture, natural, treated, remark=""):
    def figures(result):
        return f"{result.registers:>5}{result.spill_stores:>7}{len(result.code):>7}"

    after = treated if isinstance(treated, str) else figures(treated)
    if not isinstance(treated, str) and treated.code == natural.code:
        after = "same"
    return f"{kernel['name']:<16}{architecture:<9}{assembler.version:<9}{figures(natural)}   {after:<20}{remark}".rstrip()


def main(names):
    assemblers = asm.at_hand()
    if not assemblers:
        print("skipped: no assembler is at hand; run ./quickstart, or set NAMESAKE_PTXAS_LIST=PATH:PATH:…")
        return SKIPPED
    kernels = tomllib.loads((KERNELS / "kernels.toml").read_text())["kernel"]
    unknown = set(names) - {kernel["name"] for kernel in kernels}
    if unknown:
        raise SystemExit(f"no such kernel: {', '.join(sorted(unknown))}")

    print(f"{'kernel':<16}{'':<9}{'ptxas':<9}{'untreated':<19}   treated")
    print(f"{'':<34}{'regs':>5}{'spill':>7}{'code':>7}   {'regs':>5}{'spill':>7}{'code':>7}")
    cases = [(kernel, assembler, architecture) for kernel in kernels if not names or kernel["name"] in names
             for architecture in kernel["architectures"] for assembler in assemblers
             if architecture != "sm_100a" or asm.number(assembler.release) >= (12, 8)]
    wrong = []
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for text, complaints in pool.map(lambda case: check(*case), cases):
            print(text, flush=True)
            wrong += complaints
    print("\n".join(["", *wrong, f"{len(wrong)} expectations failed"]) if wrong else "\nall as expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
