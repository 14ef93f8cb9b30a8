"""The kernels as older devices run them, without bulk copies: a program for compute-sanitizer.

compute-sanitizer --tool memcheck python3 -m tests.kernels.exercise_older
compute-sanitizer --tool racecheck python3 -m tests.kernels.exercise_older

The device is taken for one of compute capability 7.5, with its 64 KiB of shared memory for a block. Keys, records and
lines are merged, 2, 4, 8 and 16 runs a pass, sorted, and combined in sets. Calls from Python are those of
tests.kernels.exercise, and so are the arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from gpumerge_cli.backends.base import Backend
from gpumerge_cli.backends.gpu import device, module
from gpumerge_cli.launch import FAN_INS, LaunchRequest, SortRequest
from gpumerge_cli.order.kinds import Order
from tests.kernels import exercise
from tests.kernels.exercise import Items, Work, keys_of, records_of, sets_work, sorts, uploaded
from tests.linekeys import key_of

_KEYS = ("uint8", "int16", "int32", "float32", "int64", "float64")
_RECORDS = ((8, 0, np.dtype("int32")), (12, 0, np.dtype("int64")), (16, 8, np.dtype("float64")), (100, 3, 10))
_LINES = (Order.lines(), Order.lines(numeric=True))
_COUNT = 20_003
"""Items in all: several tiles, and with the small shape so many that they are cut ahead."""
_SMALL = {"block_size": 32, "items_per_thread": 4}


def _lines(order: Order, count: int) -> Items:
    numbers = np.random.default_rng(3).integers(0, 9999, count).tolist()
    return Items(order, [b"%d word %d" % (x, x % 7) for x in numbers], key_of(order))


def _exercise(on: Backend, make: Callable[[int], Items]) -> int:
    """Merge and sort items. Returns how many results were right."""
    given = make(_COUNT)
    order, right = given.order, 0
    for fan_in in FAN_INS:
        runs = [given.in_order(given.items[number::fan_in]) for number in range(fan_in)]
        merged = given.text(given.in_order([item for run in runs for item in run]))
        workspace = uploaded(on, order, list(map(given.text, runs)))
        assert workspace.disorder() is None
        for shape in ({}, _SMALL):
            policy = on.resolve(LaunchRequest("path", fan_in=fan_in, **shape), order, fan_in)  # type: ignore[arg-type]
            assert policy.transfer == "vector"
            workspace.poison()
            workspace.merge(policy)
            assert workspace.download().tobytes() == merged, (order, policy)
            right += 1
        workspace.close()
    requests = [SortRequest("merge"), SortRequest("merge", LaunchRequest(**_SMALL))]  # type: ignore[arg-type]
    if order.prefix_decides and not order.text:
        requests.append(SortRequest("radix"))
    for request in requests:
        sort = on.resolve_sort(request, order, 1 << 20)
        assert sort.algorithm == "radix" or sort.launch.transfer == "vector"
    return right + sorts(on, given, requests)


def all_work(on: Backend) -> Work:
    """All work. The longest of it comes first."""
    from tests.kernels.exercise_calls import call_work  # CuPy's

    given = {
        **{f"keys {dtype}": partial(keys_of, dtype) for dtype in _KEYS},
        **{f"records of {record[0]}": partial(records_of, record) for record in _RECORDS},
        **{f"lines {number}": partial(_lines, order) for number, order in enumerate(_LINES)},
    }
    return [
        *((name, partial(_exercise, on, make)) for name, make in given.items()),
        *sets_work(on),
        *call_work(),
    ]


def main() -> None:
    """See tests.kernels.exercise.main. Nothing is compiled ahead: it would be for the older device, and run nowhere."""
    module.begin_compiling = lambda *unit: None
    found = device.limits
    device.limits = lambda of: replace(found(of), capability=75, shared_memory=64 << 10)
    exercise.main(all_work)


if __name__ == "__main__":
    main()
