"""ptxas, seen from outside: PTX in, and out of it registers, spills and the bytes of the code.

Written for the tests of the bundled kernels, and apart from the product, so that each can be held against the other.
"""

import dataclasses
import os
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile

# The newest PTX that each release of CUDA reads.
NEWEST_PTX = {"11.8": "7.8", "12.8": "8.7", "12.9": "8.8", "13.0": "9.0", "13.1": "9.1", "13.2": "9.2", "13.3": "9.3"}


def number(version):
    return tuple(int(part) for part in version.split("."))


@dataclasses.dataclass
class Result:
    status: int  # negative: ended by that signal
    messages: str
    registers: int = 0
    stack: int = 0
    spill_stores: int = 0
    code: bytes = b""


class Assembler:
    def __init__(self, path):
        self.path = path
        banner = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
        self.version = re.search(r"V(\d+\.\d+\.\d+)", banner).group(1)
        self.release = self.version.rsplit(".", 1)[0]

    def newest_ptx(self):
        known = max((r for r in NEWEST_PTX if number(r) <= number(self.release)), key=number)
        return NEWEST_PTX[known]

    def assemble(self, ptx, architecture, *options, randomise=False):
        """Address-space randomisation is off unless asked for, so that a build that is a lottery repeats its draw."""
        with tempfile.TemporaryDirectory() as folder:
            source, cubin = pathlib.Path(folder, "in.ptx"), pathlib.Path(folder, "out.cubin")
            source.write_text(lowered(ptx, self.newest_ptx()))
            command = [self.path, "-v", f"-arch={architecture}", *options, "in.ptx", "-o", "out.cubin"]
            if not randomise:
                command = ["setarch", "-R"] + command
            run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
            result = Result(run.returncode, run.stdout + run.stderr)
            if run.returncode != 0:
                return result
            result.registers = int(re.search(r"Used (\d+) registers", result.messages).group(1))
            frame = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores", result.messages)
            result.stack, result.spill_stores = int(frame.group(1)), int(frame.group(2))
            result.code = code_of(cubin.read_bytes())
            return result


def code_of(cubin):
    """All .text sections of a cubin, in their order."""
    table, = struct.unpack_from("<Q", cubin, 0x28)
    count, names = struct.unpack_from("<HH", cubin, 0x3C)
    sections = [struct.unpack_from("<IIQQQQ", cubin, table + 64 * i) for i in range(count)]
    code = b""
    for name, _, _, _, offset, size in sections:
        at = sections[names][4] + name
        if cubin[at:cubin.index(b"\0", at)].startswith(b".text."):
            code += cubin[offset:offset + size]
    return code


def lowered(ptx, newest):
    version = re.search(r"^\.version (\S+)", ptx, re.M).group(1)
    return ptx if number(version) <= number(newest) else ptx.replace(f".version {version}", f".version {newest}", 1)


def renamed(ptx, entry, word):
    """The same module, the entry's first letters replaced by the word: all names keep their lengths."""
    assert len(entry) > len(word), f"{entry} is too short to hold {word}"
    return re.sub(rf"\b{entry}\b", word + entry[len(word):], ptx)


def treated(ptx, entry):
    return renamed(ptx, entry, "cutlass")


def neutral(ptx, entry):
    return renamed(ptx, entry, "balsams")


def with_pragma(ptx, entry):
    """Treated by the official spelling, which CUDA 13.3 and newer know."""
    head = re.search(rf"\.entry {entry}\b.*?^{{", ptx, re.M | re.S)
    ptx = ptx[:head.end()] + '\n.pragma "mma_throughput";' + ptx[head.end():]
    return re.sub(r"^\.version \S+", ".version 9.3", ptx, count=1, flags=re.M)


def at_hand():
    """The assemblers that NAMESAKE_PTXAS_LIST names (paths, separated by colons), or all in the project's toolchains."""
    paths = [path for path in os.environ.get("NAMESAKE_PTXAS_LIST", "").split(":") if path]
    if not paths:
        paths = sorted(map(str, pathlib.Path(os.environ.get("NAMESAKE_TOOLCHAINS", "/nowhere")).rglob("bin/ptxas")))
    found = {}
    for path in paths:
        if not shutil.which(path):
            raise SystemExit(f"no assembler at {path}: NAMESAKE_PTXAS_LIST names it")
        assembler = Assembler(path)
        found.setdefault(assembler.version, assembler)
    return sorted(found.values(), key=lambda assembler: number(assembler.version))


def front_end():
    """The folder with bin/nvcc that NAMESAKE_CUDA_ROOT names, or one in the project's toolchains that is complete."""
    roots = [pathlib.Path(os.environ["NAMESAKE_CUDA_ROOT"])] if os.environ.get("NAMESAKE_CUDA_ROOT") else [
        nvcc.parents[1] for nvcc in pathlib.Path(os.environ.get("NAMESAKE_TOOLCHAINS", "/nowhere")).rglob("bin/nvcc")]
    complete = [root for root in roots if (root / "include" / "cuda_runtime.h").exists()]
    return sorted(complete)[0] if complete else None
