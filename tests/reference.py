"""The reference backend: concatenate and sort stably. It is slow and obvious.

The tests compare other backends with it, and derive wrong backends from it.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.backends.base import ChunkSizes, DeviceInfo, Disorder, PieceSizes
from gpumerge_cli.backends.variants.lookup import requested_variant
from gpumerge_cli.buffers import Bytes
from gpumerge_cli.launch import LaunchPolicy, LaunchRequest, SortPolicy, SortRequest, check_recursion
from gpumerge_cli.measure import Span
from gpumerge_cli.native.calls import ChunkWork
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.kinds import Order, TextOrder
from tests.linekeys import item_key, key_of

_Item = TypeVar("_Item")


class ReferenceBackend:
    """NumPy's stable sort for keys and records, Python's for lines; launch shapes mean nothing to it."""

    name = "reference"
    remote = False

    def info(self) -> DeviceInfo:
        return DeviceInfo("reference", f"NumPy {np.__version__} on {platform.machine()}")

    def resolve(self, request: LaunchRequest, order: Order, runs: int = 2, equals: Equals = Equals.ALL) -> LaunchPolicy:
        return LaunchPolicy(requested_variant(request).name, 1, 1, why="the reference sorts; kernels do not differ")

    def resolve_sort(self, request: SortRequest, order: Order, nbytes: int) -> SortPolicy:
        algorithm = "merge" if request.algorithm == "auto" else request.algorithm
        if algorithm == "recursive" and not isinstance(order, TextOrder):
            check_recursion(nbytes // order.item_bytes)
        return SortPolicy(
            algorithm, self.resolve(request.launch, order), why="the library sorts; algorithms do not differ"
        )

    def sort_array(self, items: Any, order: Order, policy: SortPolicy, out: Any, *, threads: int = 1) -> None:
        out[...] = items[self.sort_ranks(items, order, policy)]

    def sort_ranks(self, items: Any, order: Order, policy: SortPolicy, *, threads: int = 1) -> Any:
        return np.argsort(order.image(items), kind="stable").astype(np.int64, copy=False)

    def chunk_sizes(self, order: Order, runs: int, item_bytes: float) -> ChunkSizes:
        # NumPy's stable sort takes images, ranks and a copy; a line becomes a Python object and its key another.
        each = 400 if isinstance(order, TextOrder) else 24 + 2 * order.width * (order.record > 0)
        return ChunkSizes(64 << 20, 64 << 20, 1, 4 + each / item_bytes)

    def piece_sizes(self, order: Order, item_bytes: float) -> PieceSizes:
        return PieceSizes(1, 64 << 20)

    def prepare(
        self,
        order: Order,
        policy: LaunchPolicy | SortPolicy,
        items: int,
        *,
        check: bool = False,
        equals: Equals = Equals.ALL,
    ) -> None:
        return None

    def chunk_workers(self, work: ChunkWork, *_: Any) -> None:
        return None

    def whole_sort(self, order: Order, nbytes: int, item_bytes: float, part: int, threads: int) -> int | None:
        return None

    def workspace(self, order: Order, capacity: int, *, threads: int = 1) -> ReferenceWorkspace:
        return ReferenceWorkspace(order, capacity)

    def versions(self) -> dict[str, str]:
        return {}

    def copy_ceiling(self, nbytes: int, *, threads: int = 1) -> float:
        source, target = np.ones(nbytes, np.uint8), np.zeros(nbytes, np.uint8)
        found = []
        for _ in range(3):
            start = time.perf_counter()
            np.copyto(target, source)
            found.append(time.perf_counter() - start)
        return min(found)

    def merge_arrays(
        self, runs: Sequence[Any], order: Order, policy: LaunchPolicy, out: Any, *, threads: int = 1
    ) -> None:
        items = np.concatenate([*runs, np.empty(0, out.dtype)])
        out[...] = items[np.argsort(order.image(items), kind="stable")]

    def first_disorder(self, run: Any, order: Order) -> int | None:
        return _first_fall(order.image(run))


def _first_fall(image: NDArray[Any], strict: bool = False) -> int | None:
    falls = np.flatnonzero((image[1:] <= image[:-1]) if strict else (image[1:] < image[:-1]))
    return int(falls[0]) + 1 if falls.size else None


def _item_dtype(order: Order) -> np.dtype[Any]:
    """The dtype in which items are moved."""
    return np.dtype(f"V{order.record}") if order.record else order.unsigned


def _image_of(items: NDArray[Any], order: Order) -> NDArray[Any]:
    return order.image(order.keys(items.view(np.uint8)))


def _first_of_equals(items: NDArray[Any], order: Order, equals: Equals) -> NDArray[Any]:
    image = _image_of(items, order)
    first = np.ones(len(items), bool)
    first[1:] = image[1:] != image[:-1]
    first[:1] = equals is not Equals.FIRST_CONTINUED
    return items[first]


def _unique_lines(lines: list[bytes], order: Order, equals: Equals) -> list[bytes]:
    groups = [next(group) for _, group in groupby(lines, key=key_of(order))]
    return groups[1:] if equals is Equals.FIRST_CONTINUED else groups


def set_of(runs: Sequence[Sequence[_Item]], key: Callable[[_Item], Any], equals: Equals) -> list[_Item]:
    """The items of a set of sorted runs, group by group."""
    found: list[_Item] = []
    each = [{of: list(group) for of, group in groupby(run, key)} for run in runs]
    for of in sorted({of for groups in each for of in groups}):
        parts = [groups.get(of, []) for groups in each]
        for part, (low, high) in zip(parts, equals.kept([len(part) for part in parts]), strict=True):
            found += part[low:high]
    return found


class ReferenceWorkspace:
    """One chunk at a time, as Workspace says."""

    remote = False

    def __init__(self, order: Order, capacity: int) -> None:
        self.spans: list[Span] = []
        self.counts: list[int] = []
        self.dropped = 0
        self.merged_bytes = 0
        self._order = order
        self._end = b"" if order.text is None else bytes([order.text.terminator])
        self._staging = np.empty(capacity, np.uint8)
        self._runs: list[Bytes] = []
        self._out = np.empty(0, np.uint8)
        self._numbers = np.empty(0, np.int64)

    def staging(self, nbytes: int) -> Bytes:
        self._staging = np.empty(nbytes, np.uint8)
        return self._staging

    def part(self, position: int, nbytes: int) -> Bytes:
        return self._staging[position : position + nbytes]

    def send(self, position: int, nbytes: int) -> None:
        pass  # it is there

    def adopt(self, lengths: Sequence[int]) -> None:
        self.upload(lengths)

    def receive(self, position: int, nbytes: int) -> Bytes:
        return self._out[position : position + nbytes]

    def upload(self, lengths: Sequence[int]) -> None:
        ends = np.cumsum([0, *lengths])
        self._runs = [self._staging[start:stop] for start, stop in pairwise(ends)]
        if isinstance(self._order, TextOrder):
            self.counts = [len(self._lines(run)) for run in self._runs]
        else:
            self.counts = [len(run) // self._order.item_bytes for run in self._runs]

    def disorder(self, *, strict: bool = False) -> Disorder | None:
        start = time.perf_counter()
        found = next(filter(None, (self._disorder_in(number, strict) for number in range(len(self._runs)))), None)
        self._span("check", start)
        return found

    def _disorder_in(self, number: int, strict: bool) -> Disorder | None:
        run = self._runs[number]
        if not isinstance(self._order, TextOrder):
            index = _first_fall(_image_of(run, self._order), strict)
            return None if index is None else Disorder(number, index * self._order.item_bytes)
        offset = 0
        last: Any = None
        for line in self._lines(run):
            key = item_key(self._order, line)
            if last is not None and (key < last or (strict and key == last)):
                return Disorder(number, offset)
            last = key
            offset += len(line) + 1
        return None

    def _lines(self, run: Bytes) -> list[bytes]:
        return run.tobytes().split(self._end)[:-1]

    def merge(self, policy: LaunchPolicy, equals: Equals = Equals.ALL, *, counted: bool = False) -> None:
        start = time.perf_counter()
        if equals.is_set:
            runs = [self._items(run) for run in self._runs]
            found = set_of(runs, self._key, equals)
            self._out = np.frombuffer(b"".join(item + self._end for item in found), np.uint8)
            self.dropped = sum(self.counts) - len(found)
        elif isinstance(self._order, TextOrder):
            lines = [line for run in self._runs for line in self._lines(run)]
            lines.sort(key=key_of(self._order))
            kept = lines if equals.keeps_all else _unique_lines(lines, self._order, equals)
            self._out = np.frombuffer(b"".join(line + self._end for line in kept), np.uint8)
            self.dropped = len(lines) - len(kept)
        else:
            # The runs lie back to back, so they are concatenated already.
            there = self._staging[: sum(map(len, self._runs))].view(_item_dtype(self._order))
            items = there[np.argsort(_image_of(there, self._order), kind="stable")]
            first = items if equals.keeps_all else _first_of_equals(items, self._order, equals)
            self._out = first.view(np.uint8)
            self.dropped = len(items) - len(first)
        if counted:
            self._count_equals()
        self.merged_bytes = len(self._out)
        self._span("kernel", start)

    def _count_equals(self) -> None:
        groups = [list(group) for _, group in groupby(self._items(self._out), self._key)]
        self._numbers = np.array(list(map(len, groups)), np.int64)
        self._out = np.frombuffer(b"".join(group[0] + self._end for group in groups), np.uint8)
        self.dropped = sum(self.counts) - len(groups)

    def equals(self) -> Bytes:
        return self._numbers.view(np.uint8)

    def _items(self, run: Bytes) -> list[bytes]:
        if isinstance(self._order, TextOrder):
            return self._lines(run)
        size = self._order.item_bytes
        return [run[at : at + size].tobytes() for at in range(0, len(run), size)]

    def _key(self, item: bytes) -> Any:
        if isinstance(self._order, TextOrder):
            return item_key(self._order, item)
        return _image_of(np.frombuffer(item, np.uint8), self._order)[0]

    def sort(self, policy: SortPolicy, equals: Equals = Equals.ALL, *, by_parts: bool = False) -> None:
        if policy.algorithm == "recursive":
            check_recursion(sum(self.counts))
        # A merge here sorts all that there is.
        self.merge(policy.launch, equals)

    def download(self) -> Bytes:
        return self._out

    def outputs(self) -> Iterable[Bytes]:
        return [self.download()]

    def copy(self) -> None:
        self._out = self._staging.copy()

    def poison(self) -> None:
        self._out = np.full(self._staging.size, 0xA5, np.uint8)

    def baselines(self) -> Mapping[str, Callable[[], None]]:
        return {}

    def sort_baselines(self) -> Mapping[str, Callable[[], None]]:
        return {}

    def set_baselines(self, equals: Equals) -> Mapping[str, Callable[[], None]]:
        return {}

    def time(self, work: Callable[[], None]) -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    def synchronize(self) -> None:
        pass

    def close(self) -> None:
        self._runs = []

    def _span(self, name: str, start: float) -> None:
        self.spans.append(Span(name, time.perf_counter() - start, self._staging.size))
