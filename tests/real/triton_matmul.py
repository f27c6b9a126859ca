#!/usr/bin/env python3
"""An application that compiles one kernel by Triton, as far as machine code.

    triton_matmul.py TARGET FOLDER      the matmul of make_triton.py; writes FOLDER/matmul.ptx and FOLDER/matmul.cubin
"""

import pathlib
import sys

import make_triton
import triton

target, folder = int(sys.argv[1]), pathlib.Path(sys.argv[2])
kernel = make_triton.compile_kernel(*make_triton.KERNELS[0], target)
folder.mkdir(parents=True, exist_ok=True)
(folder / "matmul.ptx").write_text(kernel.asm["ptx"])
(folder / "matmul.cubin").write_bytes(kernel.asm["cubin"])
print("Triton", triton.__version__)
