#!/usr/bin/env python3
"""Times what a call from Python takes the host: merges and sorts of CuPy arrays, of a kind that was called before.

usage: python data/bench/measure_calls.py

It prints a Markdown table of microseconds: the least of five means of 200 calls.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from measured_on import measured_on

_CALLS, _TURNS = 200, 5


def host_time(call: Callable[[], object]) -> float:
    """Microseconds of the host for a call, without what the device does."""
    import cupy

    call()
    least = float("inf")
    for _ in range(_TURNS):
        cupy.cuda.Device().synchronize()
        start = time.perf_counter()
        for _ in range(_CALLS):
            call()
        least = min(least, (time.perf_counter() - start) / _CALLS)
    return least * 1e6


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    import cupy

    import gpumerge_cli

    merges = ("merge", "merge(out=)", "merge(values=)")
    names = (*merges, "sort", "sort(out=)", "sort(values=)", "argsort", "is_sorted", "cupy.sort")
    print(f"{measured_on()}\n")
    print("| items | " + " | ".join(names) + " |")
    print("|---" * (len(names) + 1) + "|")
    for power in (10, 14, 20):
        half = 1 << (power - 1)
        a, b = (cupy.sort(cupy.random.randint(0, 1 << 30, half).astype(cupy.int32)) for _ in range(2))
        values, out = cupy.arange(half, dtype=cupy.int32), cupy.empty(2 * half, cupy.int32)
        keys = cupy.random.randint(0, 1 << 30, 2 * half).astype(cupy.int32)
        calls: tuple[Callable[[], object], ...] = (
            lambda a=a, b=b: gpumerge_cli.merge(a, b),  # type: ignore[misc]
            lambda a=a, b=b, out=out: gpumerge_cli.merge(a, b, out=out),  # type: ignore[misc]
            lambda a=a, b=b, v=values: gpumerge_cli.merge(a, b, values=[v, v]),  # type: ignore[misc]
            lambda keys=keys: gpumerge_cli.sort(keys),  # type: ignore[misc]
            lambda keys=keys, out=out: gpumerge_cli.sort(keys, out=out),  # type: ignore[misc]
            lambda keys=keys: gpumerge_cli.sort(keys, values=keys),  # type: ignore[misc]
            lambda keys=keys: gpumerge_cli.argsort(keys),  # type: ignore[misc]
            lambda a=a: gpumerge_cli.is_sorted(a),  # type: ignore[misc]
            lambda keys=keys: cupy.sort(keys),  # type: ignore[misc]
        )
        print(f"| 2^{power} | " + " | ".join(f"{host_time(call):.1f}" for call in calls) + " |", flush=True)


if __name__ == "__main__":
    main()
