"""Every kernel once, on runs with ragged ends, through the GPU's workspace: a program for compute-sanitizer.

compute-sanitizer --tool memcheck python3 -m tests.kernels.exercise
compute-sanitizer --tool racecheck python3 -m tests.kernels.exercise

With an argument "0/4" only the first quarter of it, and so on, so that parts may run beside each other. With a folder
instead, processes that run beside each other share the work: each does what no other has begun. A second argument is
the beginning of the names of the work to do.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from gpumerge_cli.backends.base import Backend, CountingWorkspace, Workspace
from gpumerge_cli.backends.gpu import access as gpu
from gpumerge_cli.backends.ladder import KERNELS
from gpumerge_cli.launch import ALGORITHMS, FAN_INS, LaunchRequest, SortRequest
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.key_types import DTYPES
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import LineOrder
from tests.kernels.set_pairs import EVERY_SET
from tests.line_orders import LINE_ORDERS
from tests.linekeys import key_of
from tests.reference import ReferenceBackend
from tests.strategies import as_text, special_values

Work = list[tuple[str, Callable[[], int]]]
"""Names, and work that returns how many results were right, or raises AssertionError."""

MONTHS = (b"jan", b"DEC", b"Mar 3", b"")
DATES = "datetime64[s]"
_TINY = {"block_size": 2, "items_per_thread": 2}
_FEW = 150
"""Items of a recursive sort, which launches a kernel for each of them. A launch takes long under a sanitizer."""
_SORTS = [
    *(SortRequest(algorithm) for algorithm in ALGORITHMS if algorithm != "recursive"),
    *(SortRequest("bottom-up", LaunchRequest(kernel)) for kernel in KERNELS),
    *(SortRequest("merge", LaunchRequest(fan_in=fan_in, block_size=32, items_per_thread=4)) for fan_in in FAN_INS),
    SortRequest("merge", LaunchRequest(transfer="vector")),
]
_REQUESTS = [LaunchRequest(kernel, **shape) for kernel in KERNELS for shape in ({}, _TINY)]  # type: ignore[arg-type]
_REQUESTS += [LaunchRequest("tiled", tile_load="exact"), LaunchRequest("tiled", tile_load="exact", block_size=2)]
_REQUESTS += [LaunchRequest(transfer="vector"), LaunchRequest(fan_in=4), LaunchRequest(fan_in=4, transfer="vector")]
_REQUESTS.append(LaunchRequest(fan_in=4, block_size=4, items_per_thread=1))  # so many tiles that they are cut ahead
_RECORDS = ((100, 0, 10), (16, 8, np.dtype(">f4")), (5, 1, 3), (4097, 33, 20))
_RECORDS_OF_SETS = ((12, 2, 6), (16, 8, np.dtype("i8")), (4, 0, 2), (8, 4, np.dtype(">f4")))
_ROWS_OF_SETS = ((100, 0, 10), (33, 2, 20), (5, 1, 3))
_IN_SETS, _ROWS_IN_SETS = 12_000, 4_000
"""Items of sets: at least two tiles of a walk."""


class Items(NamedTuple):
    """Items of an order, lines without their ends, and the key that Python sorts them by."""

    order: Order
    items: list[bytes]
    key: Callable[[bytes], Any]

    def in_order(self, items: Sequence[bytes]) -> list[bytes]:
        return sorted(items, key=self.key)

    def text(self, items: Sequence[bytes]) -> bytes:
        return as_text(items, self.order.end)


def of_one_size(order: Order, rows: Any) -> Items:
    """Items that are rows of bytes. Their keys in NumPy's order are their ranks among all."""
    _, ranks = np.unique(order.image(order.keys(rows.reshape(-1))), return_inverse=True)
    items = [row.tobytes() for row in rows]
    return Items(order, items, dict(zip(items, ranks.reshape(-1).tolist(), strict=True)).__getitem__)


def keys_of(dtype: str, count: int) -> Items:
    """Half of the keys are special values of the dtype."""
    pool, random = special_values(np.dtype(dtype)), np.random.default_rng(1)
    keys = np.where(random.random(count) < 0.5, random.choice(pool, count), np.arange(count).astype(dtype))
    order = Order.of(dtype)
    return of_one_size(order, np.ascontiguousarray(keys).view(np.uint8).reshape(count, order.width))


def records_of(record: tuple[int, int, Any], count: int) -> Items:
    """Records of a size, with a key at an offset, of bytes 0 and 1."""
    rows = np.random.default_rng(1).integers(0, 2, (count, record[0]), np.uint8)
    return of_one_size(Order.records(*record), rows)


def lines_of(text: LineOrder, count: int) -> Items:
    numbers = np.random.default_rng(1).integers(0, 999, count).tolist()
    order = Order.lines(text)
    return Items(order, [b"%d,%dK,%s" % (x % 7, x, MONTHS[x % 4]) * (1 + x % 2) for x in numbers], key_of(order))


def uploaded(backend: Backend, order: Order, texts: Sequence[bytes]) -> Workspace:
    """A workspace with runs in it."""
    workspace = backend.workspace(order, 1 << 16)
    workspace.staging(sum(map(len, texts)))[:] = np.frombuffer(b"".join(texts), np.uint8)
    workspace.upload(list(map(len, texts)))
    return workspace


def _merges(backend: Backend, given: Items, ends: Sequence[int], requests: Sequence[LaunchRequest]) -> int:
    """Merges of runs that end at some of the items, and the first of equal items. Returns how many were right."""
    order = given.order
    runs = [given.in_order(given.items[start:end]) for start, end in pairwise((0, *ends))]
    merged = given.in_order([item for run in runs for item in run])
    workspace = uploaded(backend, order, list(map(given.text, runs)))
    assert workspace.disorder() is None
    for request in requests:
        workspace.poison()
        workspace.merge(backend.resolve(request, order))
        assert workspace.download().tobytes() == given.text(merged), (order, request)
    workspace.merge(backend.resolve(LaunchRequest(), order), Equals.FIRST)
    first = [next(group) for _, group in groupby(merged, given.key)]
    assert workspace.download().tobytes() == given.text(first), order
    workspace.close()
    return len(requests) + 1


def sorts(backend: Backend, given: Items, requests: Sequence[SortRequest]) -> int:
    """Sorts. Returns how many were right."""
    order = given.order
    workspace = uploaded(backend, order, [given.text(given.items)])
    wanted = given.text(given.in_order(given.items))
    for request in requests:
        workspace.poison()
        workspace.sort(backend.resolve_sort(request, order, 1 << 10))
        assert workspace.download().tobytes() == wanted, (order, request)
    workspace.close()
    return len(requests)


def _sorts(backend: Backend, given: Items) -> int:
    """Sorts by all algorithms."""
    by_digits = given.order.prefix_decides and not given.order.text
    chosen = [request for request in _SORTS if request.algorithm != "radix" or by_digits]
    few = given._replace(items=given.items[:_FEW])
    return sorts(backend, given, chosen) + sorts(backend, few, [SortRequest("recursive")])


def _lines(backend: Backend, text: LineOrder) -> int:
    given = lines_of(text, 907)
    if text.simple:
        return _merges(backend, given, (900, 907), _REQUESTS) + _sorts(backend, given)
    return _merges(backend, given, (900, 907), _REQUESTS[:1]) + sorts(backend, given, _SORTS[:1])


def sets(backend: Backend, given: Items, turn: int) -> int:
    """Two of the sets, of one, two and three runs, and counts, against the reference. Returns how many were right."""
    order, count, right = given.order, len(given.items), 0
    parts = (given.items[: count // 2], given.items[count // 2 : -90], given.items[-90:])
    texts = [given.text(given.in_order(part)) for part in parts]
    for equals in EVERY_SET[turn % 4 :: 4]:
        for number in (1, 2, 3):
            found = []
            for one in (backend, ReferenceBackend()):
                workspace = uploaded(one, order, texts[:number])
                workspace.poison()
                workspace.merge(one.resolve(LaunchRequest(), order, number, equals), equals)
                found.append((workspace.download().tobytes(), workspace.dropped))
                if not equals.is_distinct:
                    counting = cast(CountingWorkspace, workspace)
                    counting.merge(one.resolve(LaunchRequest(), order, number, equals), equals, counted=True)
                    found[-1] += (counting.download().tobytes(), counting.equals().tobytes())
                workspace.close()
            assert found[0] == found[1], (order, equals, number)
            right += 1
    return right


def sets_work(backend: Backend) -> Work:
    """Sets of everything that a GPU makes sets of."""
    given = {
        **{f"lines {number}": (partial(lines_of, text), _ROWS_IN_SETS) for number, text in enumerate(LINE_ORDERS[::3])},
        **{f"records of {record[0]}": (partial(records_of, record), _ROWS_IN_SETS) for record in _ROWS_OF_SETS},
        **{f"keys {dtype}": (partial(keys_of, dtype), _IN_SETS) for dtype in (*DTYPES, DATES)},
        **{f"records of {record[0]}": (partial(records_of, record), _IN_SETS) for record in _RECORDS_OF_SETS},
    }
    return [
        (f"sets of {name}", lambda make=make, count=count, turn=turn: sets(backend, make(count), turn))
        for turn, (name, (make, count)) in enumerate(given.items())
    ]


def _values(dtype: str) -> int:
    """Values that go with keys, of both sizes. Returns how many sorts were right."""
    import cupy

    from gpumerge_cli import argsort, sort

    order = Order.of(dtype)
    keys = np.frombuffer(b"".join(keys_of(dtype, 6600).items), dtype)
    ranks = np.argsort(order.image(keys), kind="stable")
    given = cupy.asarray(keys)
    assert np.array_equal(argsort(given, algorithm="radix").get(), ranks), order
    for kind in (np.uint32, np.uint64):
        _, values = sort(given, values=cupy.arange(len(keys), dtype=kind), algorithm="radix")
        assert np.array_equal(values.get(), ranks), (order, kind)
    return 3


def _all_work(backend: Backend) -> Work:
    """All work. The longest of it comes first."""
    from tests.kernels.exercise_calls import call_work  # CuPy's

    def merged(make: Callable[[int], Items], ends: Sequence[int]) -> int:
        return _merges(backend, make(ends[-1]), ends, _REQUESTS)

    given = {
        **{f"keys {dtype}": (partial(keys_of, dtype), (4099, 4100, 6600)) for dtype in (DATES, *DTYPES[::-1])},
        **{f"records of {record[0]}": (partial(records_of, record), (700, 701, 1001)) for record in _RECORDS[::-1]},
    }
    return [
        *((f"{name}, merged", partial(merged, make, ends)) for name, (make, ends) in given.items()),
        *(
            (f"{name}, sorted", lambda make=make, ends=ends: _sorts(backend, make(ends[-1])))
            for name, (make, ends) in given.items()
        ),
        *((f"lines {number}", partial(_lines, backend, text)) for number, text in enumerate(LINE_ORDERS)),
        *sets_work(backend),
        *call_work(),
        *((f"keys {dtype}, with values", partial(_values, dtype)) for dtype in DTYPES),
    ]


def shared_out(count: int, share: str) -> Iterator[int]:
    """The numbers below `count` that are this process's. share: "PART/PARTS", or a folder to take them in."""
    part, slash, parts = share.partition("/")
    if slash and part.isdecimal() and parts.isdecimal():
        yield from range(int(part), count, int(parts))
        return
    for number in range(count):
        try:
            (Path(share) / str(number)).touch(exist_ok=False)
        except FileExistsError:
            continue
        yield number


def main(all_work: Callable[[Backend], Work] = _all_work) -> None:
    """Raise AssertionError at the first wrong output; print how many launches were right."""
    share, begins = (*sys.argv[1:], *("0/1", "")[len(sys.argv) - 1 :])
    work = [one for one in all_work(gpu.create()) if one[0].startswith(begins)]
    print(f"pieces of work: {len(work)}", flush=True)
    right = 0
    for number in shared_out(len(work), share):
        name, one = work[number]
        begun = time.monotonic()
        found = one()
        print(f"{name}: {found} right, in {time.monotonic() - begun:.1f} s", flush=True)
        right += found
    print(f"{right} merges, sorts, sets and checks right")


if __name__ == "__main__":
    main()
