"""The launches of sorts, simulated on a Python model of memory."""

from __future__ import annotations

from math import prod
from types import SimpleNamespace
from typing import Any

import pytest

from tests import needs

pytest.importorskip("cupy", reason=needs.reason("cupy"), exc_type=ImportError)

from gpumerge_cli.backends.gpu.launching import copy, zeros
from gpumerge_cli.backends.gpu.policy import item_bytes
from gpumerge_cli.backends.gpu.sort_policy import (
    RANKS,
    counting_bytes,
    digit_shape,
    for_ranks,
    of_fan_in,
    resolve_sort,
    tile_shape,
    tile_shared_bytes,
)
from gpumerge_cli.backends.gpu.sorting import Sort
from gpumerge_cli.backends.gpu.tree import Run, fan_ins, passes
from gpumerge_cli.backends.limits import DeviceLimits
from gpumerge_cli.errors import UsageError
from gpumerge_cli.launch import ALGORITHMS, LaunchPolicy, LaunchRequest, SortPolicy, SortRequest
from gpumerge_cli.order.key_types import DTYPES
from gpumerge_cli.order.kinds import KeyOrder, Order, TextOrder

IN, OUT, SCRATCH = 10_000, 20_000, 30_000
SMALL = DeviceLimits(max_threads=1024, shared_memory=64 * 1024, multiprocessors=40)
HOPPER = DeviceLimits(max_threads=1024, shared_memory=227 * 1024, multiprocessors=132, capability=90)
ORDERS = [
    *(Order.of(name) for name in DTYPES),
    Order.lines(),
    Order.records(100, 0, 10),
    *(Order.records(size, 0, 4) for size in (4, 5, 8, 12, 16)),
]


class Model:
    """A memory of items, and kernels that work on it. An item is a pair of a key and a number, and has one address."""

    order, limits = Order.of("uint8"), SMALL

    def __init__(self) -> None:
        self.memory: dict[int, tuple[int, int]] = {}
        self.launches = 0
        self.digits_of = 0

    def read(self, at: int, count: int) -> list[tuple[int, int]]:
        return [self.memory[at + place] for place in range(count)]

    def write(self, at: int, items: list[tuple[int, int]]) -> None:
        self.memory.update({at + place: item for place, item in enumerate(items)})

    def sort(self, policy: SortPolicy, items: Run) -> None:
        overwrite = items[0] == SCRATCH
        places = iter([0] if overwrite else [SCRATCH, 0])  # a sort by digits takes more
        self.taken: list[int] = []

        def take(nbytes: int) -> Any:
            self.taken.append(nbytes)
            return SimpleNamespace(ptr=next(places, 0))

        sort = Sort(self, policy)  # type: ignore[arg-type]
        for do, size, words, dependent in sort.steps(items, OUT, take, overwrite=overwrite):
            if do is copy:
                self.write(words[1], self.read(words[0], size))
            elif do is not zeros:
                do(size, 0, words, dependent)

    def ready(self, name: str, threads: int, macros: Any, shared: int = 0, *, file: str = "") -> Any:
        launch = getattr(self, name)

        def queue(blocks: int, stream: int, given: Any, dependent: bool) -> None:
            launch(dict(macros), *given)

        return queue

    def sort_tile(self, macros: Any, items: int, total: int, tile: int, out: int, *text: int) -> None:
        self.launches += 1
        for first in range(0, total, tile):
            found = self.read(items + first, min(tile, total - first))
            self.write(out + first, sorted(found, key=lambda item: item[0]))

    def merge_path(self, macros: Any, items: int, length: int, total: int, out: int, *rest: int) -> None:
        self.launches += 1
        fan_in = macros.get("RUNS", 2)
        assert macros["BATCHED"]
        assert abs(items - out) >= total
        for first in range(0, total, length):
            keys = [key for key, _ in self.read(items + first, min(length, total - first))]
            assert keys == sorted(keys)
        for first in range(0, total, fan_in * length):
            group = self.read(items + first, min(fan_in * length, total - first))
            self.write(out + first, sorted(group, key=lambda item: item[0]))

    merge_basic = merge_alone = merge_path

    def count_digits(self, macros: Any, items: int, *rest: int) -> None:
        self.digits_of = items

    def sort_radix(self, macros: Any, items: int, out: int, scratch: int, total: int, *rest: int) -> None:
        """As all passes do it: from one buffer to the other, the last one to `out`."""
        self.launches += 1
        found = sorted(self.read(items, total), key=lambda item: item[0])
        if items != scratch:
            self.write(scratch, [(-1, -1)] * total)
        self.write(out, found)


def policies() -> list[SortPolicy]:
    path = LaunchPolicy("path", 4, 2, 8, fan_in=4)
    found = [SortPolicy("merge", path, 3), SortPolicy("merge", LaunchPolicy("path", 4, 2, 8), 5)]
    found += [SortPolicy("bottom-up", LaunchPolicy("basic", 4, 2)), SortPolicy("iterative", path)]
    found += [SortPolicy("radix", path, 5, passes) for passes in (1, 2, 3)]
    return [*found, SortPolicy("recursive", path)]


@pytest.mark.parametrize("policy", policies(), ids=SortPolicy.describe)
@pytest.mark.parametrize("where", [IN, OUT, SCRATCH])
def test_is_stable_wherever_the_items_are(policy: SortPolicy, where: int) -> None:
    for count in (*range(1, 20), 33, 100):
        model = Model()
        items = [((number * 7) % 5, number) for number in range(count)]
        model.write(where, items)
        model.sort(policy, (where, count))
        assert model.read(OUT, count) == sorted(items), count
        if where == IN:
            assert model.read(IN, count) == items, count
            several = policy.algorithm == "radix" or count > policy.tile
            assert model.taken[:several] == [-(-count // 16) * 16] * several, count
            if not several:
                assert SCRATCH not in model.memory, count


@pytest.mark.parametrize("passes", [1, 4])
@pytest.mark.parametrize("where", [IN, OUT, SCRATCH])
def test_digits_start_where_their_passes_can_end_in_the_output(passes: int, where: int) -> None:
    """All passes may be needed. The last one writes to the output, and the first one not over its own items."""
    model = Model()
    model.write(where, [(number % 3, number) for number in range(20)])
    policy = SortPolicy("radix", LaunchPolicy("path", 4, 2), 5, passes)
    model.sort(policy, (where, 20))
    assert model.digits_of == (IN if where == IN else OUT if passes % 2 == 0 else SCRATCH)


def test_one_launch_a_pass() -> None:
    model = Model()
    model.write(IN, [(0, number) for number in range(1000)])
    policy = SortPolicy("merge", LaunchPolicy("path", 4, 2, 8, fan_in=8), 10)
    model.sort(policy, (IN, 1000))
    assert model.launches == 1 + 3


@pytest.mark.parametrize("most", [2, 4, 8, 16])
def test_passes_merge_no_more_runs_than_they_need(most: int) -> None:
    for runs in (1, 2, 3, 4, 5, 8, 9, 16, 17, 63, 64, 65, 1000, 46_000):
        found = fan_ins(runs, most)
        assert len(found) == passes(runs, most)
        assert prod(found) >= runs
        assert set(found) <= {2, 4, 8, 16}
        assert all(fan_in == 2 for fan_in in found) or prod(found) // 2 < runs


@pytest.mark.parametrize("order", ORDERS, ids=Order.describe)
@pytest.mark.parametrize("limits", [SMALL, HOPPER], ids=["small", "hopper"])
def test_defaults_fit_every_device(order: Order, limits: DeviceLimits) -> None:
    for algorithm in ("auto", *ALGORITHMS):
        if algorithm == "radix" and (isinstance(order, TextOrder) or order.width > 8):
            continue
        policy = resolve_sort(SortRequest(algorithm), order, limits, 1 << 10)
        assert policy.why
        if policy.algorithm not in ("merge", "bottom-up"):
            continue
        shape = tile_shape(policy.tile, order, limits)
        assert policy.tile <= shape.room
        assert shape.resident * tile_shared_bytes(shape, order) <= limits.shared_memory
        assert policy.launch.kernel == "path"
        # The runs that the first pass merges together fill its blocks.
        group = policy.launch.fan_in * policy.tile
        assert group > 0.8 * -(-group // policy.launch.tile_size) * policy.launch.tile_size, item_bytes(order)
        for fan_in in (2, 4):
            if fan_in <= policy.launch.fan_in:
                smaller = of_fan_in(policy.launch, fan_in)
                assert smaller.tile_size >= policy.launch.tile_size
    ranks = for_ranks(resolve_sort(SortRequest("merge"), KeyOrder("int", 4), limits, 1), limits, 1)
    assert ranks.tile <= tile_shape(ranks.tile, RANKS, limits).room


def test_auto() -> None:
    def algorithm(order: Order, launch: LaunchRequest = LaunchRequest(), nbytes: int = 1 << 30) -> str:  # noqa: B008
        return resolve_sort(SortRequest("auto", launch), order, HOPPER, nbytes).algorithm

    for order in (
        KeyOrder("int", 4),
        KeyOrder("float", 2),
        KeyOrder("uint", 8),
        Order.records(4, 0, 4),
        Order.records(100, 0, 8),
    ):
        assert algorithm(order) == algorithm(order, nbytes=0) == "radix"
        assert algorithm(order, nbytes=1000) == "merge"
    assert algorithm(Order.lines()) == algorithm(Order.records(100, 0, 10)) == "merge"
    assert algorithm(KeyOrder("int", 4), LaunchRequest("path")) == "merge"
    assert algorithm(KeyOrder("int", 4), LaunchRequest("tiled")) == "bottom-up"


@pytest.mark.parametrize("order", ORDERS, ids=Order.describe)
@pytest.mark.parametrize("limits", [SMALL, HOPPER], ids=["small", "hopper"])
def test_digits_fit_every_device(order: Order, limits: DeviceLimits) -> None:
    for wide in (False, True):
        shape = digit_shape(order, limits)
        assert shape.block_size % 32 == 0
        assert shape.resident * shape.shared_bytes(order, wide=wide) <= limits.shared_memory
        assert counting_bytes(order.prefix_bytes) <= limits.shared_memory


@pytest.mark.parametrize(
    ("request_", "order", "nbytes", "said"),
    [
        (SortRequest("recursive"), KeyOrder("int", 4), 1 << 20, r"262144 items .*; at most 65536 items are allowed"),
        (SortRequest("iterative"), KeyOrder("int", 1), 1 << 27, r"--algorithm iterative: a single thread"),
        (SortRequest("radix"), Order.lines(), 8, r"--algorithm radix: lines, .* have keys that do not fit in 8 bytes"),
        (SortRequest("radix"), Order.records(20, 0, 10), 8, r"--algorithm radix: records"),
        (
            SortRequest("radix", LaunchRequest("path")),
            KeyOrder("int", 4),
            8,
            r"--kernel: --algorithm radix does not use it",
        ),
        (
            SortRequest("bottom-up", LaunchRequest(fan_in=4)),
            KeyOrder("int", 4),
            8,
            r"--fan-in 4: --algorithm bottom-up",
        ),
    ],
)
def test_refusals_name_the_way_out(request_: SortRequest, order: Order, nbytes: int, said: str) -> None:
    with pytest.raises(UsageError, match=said) as refusal:
        resolve_sort(request_, order, HOPPER, nbytes)
    assert "use" in str(refusal.value) or "use" in str(refusal.value.way_out)
