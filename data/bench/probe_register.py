#!/usr/bin/env python3
"""Says whether CUDA can register mapped files, so that a GPU writes into them directly.

usage: python3 data/bench/probe_register.py [FOLDER ...]; by default the current folder and /dev/shm.
"""

from __future__ import annotations

import argparse
import mmap
import os
import tempfile
import time

import cupy
import numpy as np

SIZE = 1 << 28


def probe(folder: str) -> str:
    """Register a shared mapping of a file that has its blocks, and time a copy into it."""
    runtime = cupy.cuda.runtime
    with tempfile.TemporaryFile(dir=folder) as file:
        os.posix_fallocate(file.fileno(), 0, SIZE)
        with mmap.mmap(file.fileno(), SIZE, mmap.MAP_SHARED) as mapped:
            memory = np.frombuffer(mapped, np.uint8)
            source = cupy.full(SIZE, 7, cupy.uint8)
            cupy.cuda.Device().synchronize()
            began = time.perf_counter()
            try:
                runtime.hostRegister(memory.ctypes.data, SIZE, 0)
            except runtime.CUDARuntimeError as error:
                return f"no: {error}"
            registered = time.perf_counter()
            runtime.memcpy(memory.ctypes.data, source.data.ptr, SIZE, runtime.memcpyDeviceToHost)
            copied = time.perf_counter()
            runtime.hostUnregister(memory.ctypes.data)
            ended = time.perf_counter()
            right = bool((memory == 7).all())
            del memory
    return (
        f"yes, {'right' if right else 'WRONG'}: registered in {registered - began:.3f} s, {SIZE >> 20} MiB copied at "
        f"{SIZE / (copied - registered) / 1e9:.1f} GB/s, unregistered in {ended - copied:.3f} s"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", default=[".", "/dev/shm"])
    for place in parser.parse_args().folders:
        print(f"{place}: {probe(place)}")
