#!/usr/bin/env python3
"""Times merges of int32 on the GPU that follow each other: called from Python, and CCCL's called from C++.

usage: python data/bench/compare_calls.py

A row of calls counts until the device is done with the last one. It prints a Markdown table of microseconds a call: the
median of seven rows of 200 calls. It needs nvcc and CCCL.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median

from measured_on import measured_on

_CALLS, _TURNS = 200, 7


def each(row: Callable[[], object]) -> float:
    """Microseconds for each of the _CALLS calls of `row`."""
    import cupy

    row()
    found = []
    for _ in range(_TURNS):
        cupy.cuda.Device().synchronize()
        start = time.perf_counter()
        row()
        cupy.cuda.Device().synchronize()
        found.append((time.perf_counter() - start) / _CALLS)
    return median(found) * 1e6


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    import cupy

    import gpumerge_cli
    from gpumerge_cli.backends.gpu.cccl import CcclAlgorithm
    from gpumerge_cli.order.kinds import KeyOrder

    order, stream = KeyOrder("int", 4), cupy.cuda.get_current_stream().ptr
    print(f"{measured_on()}\n")
    print("| items | merge(a, b) | merge(a, b, out=out) | CCCL from C++ | CCCL over merge(out=) |")
    print("|---|---|---|---|---|")
    for power in range(10, 29, 2):
        half = 1 << (power - 1)
        a, b = (cupy.sort(cupy.random.randint(-(1 << 31), 1 << 31, half).astype(cupy.int32)) for _ in range(2))
        out, again = cupy.empty(2 * half, cupy.int32), cupy.empty(2 * half, cupy.int32)
        pointers = (a.data.ptr, half, b.data.ptr, half, again.data.ptr)
        by_cccl = CcclAlgorithm("baseline_cccl_merge.cu", "cccl_merges", order, 0, (_CALLS, *pointers))

        def ours(a: cupy.ndarray = a, b: cupy.ndarray = b) -> None:
            for _ in range(_CALLS):
                gpumerge_cli.merge(a, b)

        def ours_out(a: cupy.ndarray = a, b: cupy.ndarray = b, out: cupy.ndarray = out) -> None:
            for _ in range(_CALLS):
                gpumerge_cli.merge(a, b, out=out)

        def theirs(by_cccl: CcclAlgorithm = by_cccl) -> None:
            by_cccl(stream)

        new, into, cccl = each(ours), each(ours_out), each(theirs)
        right = "" if bool((out == again).all()) else ", WRONG"
        print(f"| 2^{power} | {new:.1f} | {into:.1f} | {cccl:.1f} | {cccl / into:.2f}{right} |", flush=True)


if __name__ == "__main__":
    main()
