"""The host's work of calls on CuPy arrays: what it launches and takes, and whether it waits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import gpumerge_cli

CALLS = [
    "merge", "merge(out=)", "merge(values=)", "merge(values=, out=)", "sort", "sort(out=)", "sort(values=)",
    "sort(values=, out=)", "argsort", "is_sorted",
]  # fmt: skip


def calls(count: int) -> dict[str, tuple[Callable[[], Any], int, int]]:
    """By name: a call, and the launches and allocations that it may make, for so many keys of four bytes."""
    import cupy

    keys = cupy.arange(count, dtype=np.int32)[::-1].copy()
    run, values = (cupy.arange(count, dtype=np.int32) for _ in range(2))
    out, both = cupy.empty(count, np.int32), cupy.empty(2 * count, np.int32)
    return {
        "merge": (lambda: gpumerge_cli.merge(run, run), 1, 1),
        "merge(out=)": (lambda: gpumerge_cli.merge(run, run, out=both), 1, 0),
        "merge(values=)": (lambda: gpumerge_cli.merge(run, run, values=[values, values]), 1, 2),
        "merge(values=, out=)": (lambda: gpumerge_cli.merge(run, run, values=[values, values], out=both), 1, 1),
        "sort": (lambda: gpumerge_cli.sort(keys), 1, 1),
        "sort(out=)": (lambda: gpumerge_cli.sort(keys, out=out), 1, 0),
        "sort(values=)": (lambda: gpumerge_cli.sort(keys, values=values), 1, 2),
        "sort(values=, out=)": (lambda: gpumerge_cli.sort(keys, values=values, out=out), 1, 1),
        "argsort": (lambda: gpumerge_cli.argsort(keys), 1, 1),
        "is_sorted": (lambda: gpumerge_cli.is_sorted(run), 1, 0),
    }


class Counted:
    """The host's work of a call. fills: of memory, with zeros."""

    def __init__(self) -> None:
        self.launches = self.allocations = self.fills = 0


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counted]:
    import cupy

    from gpumerge_cli.backends.gpu import launching, module

    found = Counted()

    class Hook(cupy.cuda.MemoryHook):  # type: ignore[misc]
        name = "counts"

        def malloc_preprocess(self, **arguments: Any) -> None:
            found.allocations += 1

    launch = launching.Launch.__call__

    def launched(self: Any, *arguments: Any, **options: Any) -> None:
        found.launches += 1
        launch(self, *arguments, **options)

    fill = cupy.cuda.runtime.memsetAsync

    def filled(*arguments: Any) -> None:
        found.fills += 1
        fill(*arguments)

    def refused(*arguments: Any, **options: Any) -> None:
        raise AssertionError("a call compares addresses, copies, or launches in another way")

    with monkeypatch.context() as patch:
        patch.setattr(launching.Launch, "__call__", launched)
        patch.setattr(module.Kernels, "_launch", refused)
        patch.setattr(cupy.cuda.runtime, "memsetAsync", filled)
        for name in ("memcpy", "memcpyAsync", "memset"):
            patch.setattr(cupy.cuda.runtime, name, refused)
        for name in ("shares_memory", "may_share_memory", "concatenate", "copyto", "empty"):
            patch.setattr(cupy, name, refused)
        with Hook():
            yield found


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
