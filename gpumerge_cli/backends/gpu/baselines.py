"""Merges, sorts and sets of libraries: CuPy's sort of everything, and CCCL's merges, sorts and sets."""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial

import cupy
import numpy as np

from gpumerge_cli.backends.gpu.buffers import DeviceBuffer
from gpumerge_cli.backends.gpu.cccl import CcclAlgorithm, installed
from gpumerge_cli.backends.gpu.launching import copy, queue
from gpumerge_cli.backends.gpu.tree import Run, merge_runs
from gpumerge_cli.errors import DeviceError
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.kinds import KeyOrder, Order, RecordOrder

BaselineStep = Callable[[int], None]
"""Queues a part of the work on a stream, a pointer."""
_MERGE, _SET, _SORT = "baseline_cccl_merge.cu", "baseline_cccl_set.cu", "baseline_cccl_sort.cu"
_SETS = {
    "union": "set_union", "intersect": "set_intersection", "difference": "set_difference",
    "symmetric": "set_symmetric_difference",
}  # fmt: skip
"""Thrust's names of sets, in the order of their numbers in baseline_cccl_set.cu."""
_SORTS = {"cccl radix sort": "cccl_radix_sort", "cccl merge sort": "cccl_merge_sort"}
"""By name: the functions in baseline_cccl_sort.cu."""


class Library(ABC):
    """Work of a library on the current device, which can be run again and again."""

    @abstractmethod
    def run(self, stream: cupy.cuda.Stream) -> None:
        """Queue the work on `stream`, which is current. Raises DeviceError."""

    def finish(self) -> None:  # noqa: B027
        """Move the output of the last run to its destination, if it is elsewhere."""


class SortedByCupy(Library):
    """CuPy's sort of all keys into `out`. Keys that compare equal may change places."""

    def __init__(self, keys: cupy.ndarray, out: cupy.ndarray, *, descending: bool) -> None:
        self._keys, self._out, self._descending = keys, out, descending

    def run(self, stream: cupy.cuda.Stream) -> None:
        cupy.copyto(self._out, self._keys)
        self._out.sort()
        if self._descending:
            cupy.copyto(self._out, self._out[::-1].copy())


class _Cccl(Library):
    """Work of CCCL. The first run compiles it and takes memory. keys: all keys of the input, which stay as they are."""

    def __init__(self, keys: cupy.ndarray) -> None:
        self._keys = keys
        self._steps: list[BaselineStep] = []

    def run(self, stream: cupy.cuda.Stream) -> None:
        if not self._steps:
            if self._keys.dtype.kind == "f" and bool(cupy.isnan(self._keys).any()):
                raise DeviceError("there are NaNs among the keys, which CCCL's < cannot order")
            self._steps = self._planned()
        for step in self._steps:
            step(stream.ptr)

    @abstractmethod
    def _planned(self) -> list[BaselineStep]:
        """The steps of the work."""


class MergedKeys(_Cccl):
    """CCCL's merge of neighbouring runs of keys, level by level. runs: not empty. out: the address of the output."""

    def __init__(self, keys: cupy.ndarray, order: KeyOrder, runs: Sequence[Run], out: int) -> None:
        super().__init__(keys)
        self._order, self._runs, self._out = order, runs, out
        self._scratch = DeviceBuffer()

    def _planned(self) -> list[BaselineStep]:
        steps: list[BaselineStep] = []
        width = self._order.width

        scratch = self._scratch.reserve(self._keys.nbytes if len(self._runs) > 2 else 0).address
        for group, to in merge_runs(self._runs, width, self._out, scratch, fan_in=2):
            if len(group) > 1:
                steps.append(CcclAlgorithm(_MERGE, "cccl_merge", self._order, 0, (*group[0], *group[1], to, 0, 0, 0)))
            else:
                steps.append(partial(_copy, (group[0][0], to), group[0][1] * width))
        return steps


def _copy(ends: tuple[int, int], nbytes: int, stream: int) -> None:
    queue([(copy, nbytes, ends, False)], stream)


class SetOfKeys(_Cccl):
    """Thrust's multiset of two runs of keys. Waits for the number of items. name: the name of the set, as in _SETS."""

    def __init__(self, keys: cupy.ndarray, order: KeyOrder, runs: Sequence[Run], name: str, out: int) -> None:
        super().__init__(keys)
        self._order, self._runs, self._out = order, runs, out
        self._number = list(_SETS).index(name)
        self._kept = ctypes.c_int64()

    @property
    def kept(self) -> int:
        """The output items of the last run."""
        return self._kept.value

    def _planned(self) -> list[BaselineStep]:
        (a, m), (b, n) = self._runs
        arguments = (a, m, b, n, self._out, self._number, ctypes.addressof(self._kept))
        return [CcclAlgorithm(_SET, "cccl_set", self._order, 0, arguments)]


class SortedKeys(_Cccl):
    """CCCL's sort of keys. function: one of baseline_cccl_sort.cu. out: the address of the output."""

    def __init__(self, keys: cupy.ndarray, order: KeyOrder, function: str, out: int) -> None:
        super().__init__(keys)
        self._order, self._function, self._out = order, function, out

    def _planned(self) -> list[BaselineStep]:
        arguments = (self._keys.data.ptr, self._keys.size, self._out, 0, 0)
        return [CcclAlgorithm(_SORT, self._function, self._order, 0, arguments)]


class _Pairs(_Cccl):
    """CCCL's work on records for which `_are_pairs`.

    CCCL has keys and payloads in separate arrays, so records are split before, and `finish` joins them. records,
    out: rows of 32-bit words, the key's words first.
    """

    def __init__(self, order: RecordOrder, records: cupy.ndarray, out: cupy.ndarray) -> None:
        assert order.key is not None
        self._order, self._payload = order.key, order.size - order.width
        self._out, self._words = out, order.width // 4
        self._parts = [cupy.ascontiguousarray(part) for part in self._apart(records)]
        self._made = [cupy.empty_like(part) for part in self._parts]
        super().__init__(self._parts[0].reshape(-1).view(order.key.dtype))

    def _apart(self, records: cupy.ndarray) -> tuple[cupy.ndarray, cupy.ndarray]:
        return records[:, : self._words], records[:, self._words :]

    def _addresses(self) -> list[int]:
        """The addresses of the keys, of the payloads, and of the output of each."""
        return [part.data.ptr for part in (*self._parts, *self._made)]

    def finish(self) -> None:
        for part, made in zip(self._apart(self._out), self._made, strict=True):
            part[...] = made


class MergedPairs(_Pairs):
    """CCCL's merge of two runs of pairs. counts: their lengths."""

    def __init__(self, order: RecordOrder, records: cupy.ndarray, out: cupy.ndarray, counts: Sequence[int]) -> None:
        super().__init__(order, records, out)
        self._counts = counts

    def _planned(self) -> list[BaselineStep]:
        keys, payloads, out, out_payloads = self._addresses()
        m, n = self._counts
        of_keys = (keys, m, keys + m * self._order.width, n, out)
        of_payloads = (payloads, payloads + m * self._payload, out_payloads)
        return [CcclAlgorithm(_MERGE, "cccl_merge", self._order, self._payload, (*of_keys, *of_payloads))]


class SortedPairs(_Pairs):
    """CCCL's sort of pairs. function: one of baseline_cccl_sort.cu."""

    def __init__(self, order: RecordOrder, records: cupy.ndarray, out: cupy.ndarray, function: str) -> None:
        super().__init__(order, records, out)
        self._function = function

    def _planned(self) -> list[BaselineStep]:
        keys, payloads, out, out_payloads = self._addresses()
        arguments = (keys, self._keys.size, out, payloads, out_payloads)
        return [CcclAlgorithm(_SORT, self._function, self._order, self._payload, arguments)]


def versions() -> dict[str, str]:
    """See ComparedBackend."""
    try:
        return {"CCCL": installed().version}
    except DeviceError as error:
        return {"CCCL": f"left out: {error}"}


def _cccl_is_there() -> bool:
    return "left out" not in versions()["CCCL"]


def merges(order: Order, runs: Sequence[Run], given: DeviceBuffer, out: DeviceBuffer) -> dict[str, Library]:
    """The libraries that merge `runs`, which are not empty and lie back to back in `given`, into `out`, by name.

    CCCL merges two runs, so more are merged by a tree of pairs. It is left out where it is not installed.
    """
    if not runs or not order.is_number:
        return {}
    counts = [count for _, count in runs]
    if isinstance(order, KeyOrder):
        keys = given.view(sum(counts), order.dtype)
        cccl = {"cccl tree" if len(runs) > 2 else "cccl": MergedKeys(keys, order, runs, out.address)}
        return {**_by_cupy(order, keys, out), **(cccl if _cccl_is_there() else {})}
    if isinstance(order, RecordOrder) and len(runs) == 2 and _are_pairs(order) and _cccl_is_there():
        return {"cccl": MergedPairs(order, *_rows(order, sum(counts), given, out), counts)}
    return {}


def sets(
    order: Order, runs: Sequence[Run], equals: Equals, given: DeviceBuffer, out: DeviceBuffer
) -> dict[str, SetOfKeys]:
    """The libraries that make the set `equals` of two runs, by name. See `merges`. Thrust has multisets alone."""
    if not isinstance(order, KeyOrder) or not order.is_number or len(runs) != 2 or equals.is_distinct:
        return {}
    if not _cccl_is_there():
        return {}
    name = equals.name_of_set
    if name not in _SETS:
        return {}
    keys = given.view(sum(count for _, count in runs), order.dtype)
    return {f"thrust {_SETS[name]}": SetOfKeys(keys, order, runs, name, out.address)}


def sorts(order: Order, count: int, given: DeviceBuffer, out: DeviceBuffer) -> dict[str, Library]:
    """The libraries that sort the `count` items in `given` into `out`, by name. See `merges`."""
    if not count or not order.is_number:
        return {}
    functions = _SORTS if _cccl_is_there() else {}
    if isinstance(order, KeyOrder):
        keys = given.view(count, order.dtype)
        cccl = {name: SortedKeys(keys, order, function, out.address) for name, function in functions.items()}
        return {**_by_cupy(order, keys, out), **cccl}
    if isinstance(order, RecordOrder) and _are_pairs(order):
        rows = _rows(order, count, given, out)
        return {name: SortedPairs(order, *rows, function) for name, function in functions.items()}
    return {}


def _by_cupy(order: KeyOrder, keys: cupy.ndarray, out: DeviceBuffer) -> dict[str, Library]:
    return {"cupy.sort": SortedByCupy(keys, out.view(keys.size, order.dtype), descending=order.descending)}


def _are_pairs(order: RecordOrder) -> bool:
    """True if records are a number and a payload behind it, 4 or 8 bytes each."""
    plain = order.key is not None and not order.offset and not order.swapped
    return plain and order.width in (4, 8) and order.size - order.width in (4, 8)


def _rows(order: RecordOrder, count: int, given: DeviceBuffer, out: DeviceBuffer) -> tuple[cupy.ndarray, cupy.ndarray]:
    """Records, and room for as many, as rows of 32-bit words."""
    shape = (count, order.size // 4)
    views = [memory.view(shape[0] * shape[1], np.dtype(np.uint32)).reshape(shape) for memory in (given, out)]
    return views[0], views[1]
