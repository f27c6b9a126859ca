#!/usr/bin/env python3
"""An application of the driver alone, which assembles its PTX while the program starts: n-body, as Triton compiled it,
again and again.

    ab_driver_program.py [--seconds N]

It needs no CUDA but the driver. It knows nothing of builds: whoever wants two starts it by `namesake ab`. At the end it
prints a line of JSON with the launches, the time of each, and a checksum of what was computed.
"""

import argparse
import array
import ctypes
import hashlib
import json
import pathlib
import random
import time

SYMBOL = "triton_n_body_fp32_64x128"
PTX = pathlib.Path(__file__).resolve().parents[1] / f"kernels/triton/ptx/{SYMBOL}_sm80.ptx"
BODIES = 65536

driver = ctypes.CDLL("libcuda.so.1")


def call(name, *arguments):
    code = getattr(driver, name)(*arguments)
    if code != 0:
        raise SystemExit(f"ab_driver_program.py: {name} says {code}")


def memory(data):
    at = ctypes.c_uint64()
    call("cuMemAlloc_v2", ctypes.byref(at), ctypes.c_size_t(len(data)))
    call("cuMemcpyHtoD_v2", at, data, ctypes.c_size_t(len(data)))
    return at


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=4)
    options = parser.parse_args()
    context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)
    call("cuModuleLoadData", ctypes.byref(module), PTX.read_bytes() + b"\0")
    call("cuModuleGetFunction", ctypes.byref(function), module, SYMBOL.encode())
    numbers = random.Random(0)
    positions = memory(array.array("f", (numbers.random() for _ in range(4 * BODIES))).tobytes())
    pulls = memory(bytes(16 * BODIES))
    values = [positions, pulls, ctypes.c_int32(BODIES), ctypes.c_uint64(0), ctypes.c_uint64(0)]
    arguments = (ctypes.c_void_p * len(values))(*(ctypes.cast(ctypes.byref(each), ctypes.c_void_p) for each in values))

    launches, begin = 0, time.monotonic()
    while time.monotonic() < begin + options.seconds:
        call("cuLaunchKernel", function, BODIES // 64, 1, 1, 128, 1, 1, 1024, None, arguments, None)
        call("cuCtxSynchronize")
        launches += 1
    took = time.monotonic() - begin
    result = ctypes.create_string_buffer(16 * BODIES)
    call("cuMemcpyDtoH_v2", result, pulls, ctypes.c_size_t(len(result)))
    print(json.dumps({"launches": launches, "milliseconds_each": round(1e3 * took / launches, 4),
                      "checksum": hashlib.sha256(result.raw).hexdigest()[:16]}))


if __name__ == "__main__":
    main()
