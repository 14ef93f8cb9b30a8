"""The host's work of calls on CuPy arrays: what it launches and takes, and whether it waits.

python -m tests.host_work prints what the driver is asked for by each call, as a Markdown table.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pytest

import gpumerge_cli
from tests import driver_calls, fake_driver

CALLS = [
    "merge", "merge(out=)", "merge(values=)", "merge(values=, out=)", "sort", "sort(out=)", "sort(values=)",
    "sort(values=, out=)", "argsort", "is_sorted",
]  # fmt: skip
MANY_CALLS = ["merge of many runs", "merge of many runs(out=)"]
WAITING_CALLS = ["union", "union of three", "intersect(values=)", "sort(counts=)", "rank", "rank_of", "join"]
_MANY = 20


class Call(NamedTuple):
    """A call of a known kind, and what it may ask for. fills: of memory, with zeros. waits: for the device."""

    call: Callable[[], Any]
    launches: int
    allocations: int
    fills: int = 0
    waits: int = 0


def calls(count: int) -> dict[str, Call]:
    """By name: calls on so many keys of four bytes."""
    import cupy

    keys = cupy.arange(count, dtype=np.int32)[::-1].copy()
    run, values = (cupy.arange(count, dtype=np.int32) for _ in range(2))
    out, both = cupy.empty(count, np.int32), cupy.empty(2 * count, np.int32)
    return {
        "merge": Call(lambda: gpumerge_cli.merge(run, run), 1, 1),
        "merge(out=)": Call(lambda: gpumerge_cli.merge(run, run, out=both), 1, 0),
        "merge(values=)": Call(lambda: gpumerge_cli.merge(run, run, values=[values, values]), 1, 2),
        "merge(values=, out=)": Call(lambda: gpumerge_cli.merge(run, run, values=[values, values], out=both), 1, 1),
        "sort": Call(lambda: gpumerge_cli.sort(keys), 1, 1),
        "sort(out=)": Call(lambda: gpumerge_cli.sort(keys, out=out), 1, 0),
        "sort(values=)": Call(lambda: gpumerge_cli.sort(keys, values=values), 1, 2),
        "sort(values=, out=)": Call(lambda: gpumerge_cli.sort(keys, values=values, out=out), 1, 1),
        "argsort": Call(lambda: gpumerge_cli.argsort(keys), 1, 1),
        "is_sorted": Call(lambda: gpumerge_cli.is_sorted(run), 1, 0, waits=1),
    }


def calls_of_many(count: int) -> dict[str, Call]:
    """By name: merges of more runs than a pass takes, so short that they are joined and sorted by their four digits."""
    import cupy

    runs = [cupy.arange(count, dtype=np.int32) for _ in range(_MANY)]
    out = cupy.empty(_MANY * count, np.int32)
    return {
        "merge of many runs": Call(lambda: gpumerge_cli.merge(*runs), 1 + 1 + 4, 3, fills=1),
        "merge of many runs(out=)": Call(lambda: gpumerge_cli.merge(*runs, out=out), 1 + 1 + 4, 2, fills=1),
    }


def waiting_calls(count: int) -> dict[str, Call]:
    """By name: calls whose results have a length that only the device knows, or that are CuPy's functions.

    The launches of CuPy's functions are bounds, as CuPy may change them: no call has one for each item or for each
    group of equals. Allocations are not counted.
    """
    import cupy

    a, b = cupy.arange(count, dtype=np.int32), cupy.arange(count // 2, count + count // 2, dtype=np.int32)
    return {
        "union": Call(lambda: gpumerge_cli.union(a, b), 2, 0, fills=1, waits=1),
        "union of three": Call(lambda: gpumerge_cli.union(a, b, a), 4, 0, fills=2, waits=2),
        "intersect(values=)": Call(lambda: gpumerge_cli.intersect(a, b, values=[a, b]), 2, 0, fills=1, waits=1),
        "sort(counts=)": Call(lambda: gpumerge_cli.sort(a, counts=True), 20, 0, fills=4, waits=1),
        "rank": Call(lambda: gpumerge_cli.rank([a, b], count), 100, 0, fills=40),
        "rank_of": Call(lambda: gpumerge_cli.rank_of([a, b], a), 9, 0, fills=4),
        "join": Call(lambda: gpumerge_cli.join(a, b), 24, 0, fills=8, waits=1),
    }


class Counted:
    """The host's work of a call. fills: of memory, with zeros."""

    def __init__(self) -> None:
        self.launches = self.allocations = self.fills = 0


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counted]:
    import cupy

    from gpumerge_cli.backends.gpu import driver

    found = Counted()

    class Hook(cupy.cuda.MemoryHook):  # type: ignore[misc]
        name = "counts"

        def malloc_preprocess(self, **arguments: Any) -> None:
            found.allocations += 1

    functions = driver.driver_table()

    def counting(name: str, what: str, prototype: Any) -> Any:
        """The driver's function, which counts its calls by the library."""
        plain = prototype(getattr(functions, name))

        def call(*arguments: Any) -> int:
            setattr(found, what, getattr(found, what) + 1)
            return plain(*arguments)  # type: ignore[no-any-return]

        return prototype(call)

    counters = {
        "launch": counting("launch", "launches", fake_driver.LAUNCH),
        "launch_dependent": counting("launch_dependent", "launches", fake_driver.LAUNCH_EX),
        "fill": counting("fill", "fills", fake_driver.FILL),
    }
    usual = {name: getattr(functions, name) for name in counters}

    def refused(*arguments: Any, **options: Any) -> None:
        raise AssertionError("a call compares addresses, copies, or launches in another way")

    with monkeypatch.context() as patch:
        for name in ("memcpy", "memcpyAsync", "memset"):
            patch.setattr(cupy.cuda.runtime, name, refused)
        for name in ("shares_memory", "may_share_memory", "concatenate", "copyto", "empty"):
            patch.setattr(cupy, name, refused)
        for name, counter in counters.items():
            setattr(functions, name, ctypes.cast(counter, ctypes.c_void_p))
        try:
            with Hook():
                yield found
        finally:
            for name, function in usual.items():
                setattr(functions, name, function)


@contextmanager
def held(stream: Any, seconds: float = 20.0) -> Iterator[None]:
    """The stream is busy while the body runs, but for at most so many seconds: a wait for it shows in stream.done."""
    released = threading.Event()
    stream.launch_host_func(lambda _: released.wait(seconds), None)
    try:
        yield
    finally:
        released.set()
        stream.synchronize()


def main() -> None:
    """Print what the driver is asked for by each call of a known kind."""
    print("| call | items | launches | waits | copies and fills |\n|---|---|---|---|---|")
    for count in (4000, 1 << 20):
        for name, one in {**calls(count), **calls_of_many(count // _MANY), **waiting_calls(count)}.items():
            one.call()
            with driver_calls.asked() as asked:
                kept = one.call()
            del kept
            counts = (driver_calls.launches(asked), driver_calls.waits(asked), driver_calls.copies(asked))
            print(f"| {name} | {count:,} | {' | '.join(map(str, counts))} |")


if __name__ == "__main__":
    main()
