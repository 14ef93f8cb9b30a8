"""A program that runs one kernel of its caller's on a GPU, on cases from a file.

Its words are SOURCE KERNEL STAGED DEVICE, then the names of the cases, of the outputs and of the fault, as
gpumerge_cli/learn/processes.py has them. Memory around each array keeps a small mistake from another array, and shows
what was written outside of C.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path
from typing import BinaryIO

ERRORS = "errors.txt"
"""The file beside SOURCE that gets the errors of NVRTC."""
OPTIONS = ("-std=c++17",)
_HEADER = "<11i"
_NAMES = 3 * 32
_GUARD = 1 << 16
_UNWRITTEN = 0xA5


def run_loose_kernel(words: list[str]) -> int:
    """Run the program; returns the exit status."""
    source, kernel, staged, device, cases, outputs, fault = words
    import cupy

    number = 0
    try:
        with cupy.cuda.Device(int(device)), open(cases, "rb") as packed, open(outputs, "wb") as out:
            text = Path(source).read_text("utf-8")
            try:
                function = cupy.RawModule(code=text, options=OPTIONS).get_function(kernel)
            except cupy.cuda.compiler.CompileException as error:
                Path(source).with_name(ERRORS).write_text(str(error), "utf-8")
                raise
            while header := packed.read(struct.calcsize(_HEADER)):
                written = _run(function, struct.unpack(_HEADER, header), packed, out, staged == "1")
                if written:
                    Path(fault).write_text(f"{number} device 0 0 {written}\n", "utf-8")
                    return 3
                number += 1
    except Exception as error:  # CuPy's and the driver's errors share no base
        reason = str(error).strip().splitlines() or [type(error).__name__]
        Path(fault).write_text(f"{number} device 0 0 {reason[0]}\n", "utf-8")
        return 3
    return 0


def _run(function: object, sizes: tuple[int, ...], packed: BinaryIO, out: BinaryIO, staged: bool) -> str:
    """Run one case, and write its output. Returns what is wrong with the memory around it, or ""."""
    import cupy
    import numpy as np

    m, n, count, tile, blocks, threads, shared, item_a, item_b, item_c, _ = sizes
    packed.read(_NAMES)
    arrays = []
    for size in (m * item_a, n * item_b, count * item_c):
        filled = np.full(size + 2 * _GUARD, _UNWRITTEN, np.uint8)
        arrays.append(filled)
    arrays[0][_GUARD : _GUARD + m * item_a] = np.frombuffer(packed.read(m * item_a), np.uint8)
    arrays[1][_GUARD : _GUARD + n * item_b] = np.frombuffer(packed.read(n * item_b), np.uint8)
    a, b, c = map(cupy.asarray, arrays)
    at = [np.uint64(one.data.ptr + _GUARD) for one in (a, b, c)]
    arguments = [at[0], np.int32(m), at[1], np.int32(n), at[2], *([np.int32(tile)] if staged else [])]
    function((blocks,), (threads,), tuple(arguments), shared_mem=shared)  # type: ignore[operator]
    found = cupy.asnumpy(c)
    out.write(found[_GUARD : _GUARD + count * item_c].tobytes())
    out.flush()
    around = np.concatenate([found[:_GUARD], found[_GUARD + count * item_c :]])
    return "" if (around == _UNWRITTEN).all() else "something is written outside of C"


if __name__ == "__main__":
    sys.exit(run_loose_kernel(sys.argv[1:]))
