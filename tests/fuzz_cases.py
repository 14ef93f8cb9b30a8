"""Cases of tests.fuzz: random orders, launches and runs. The seed and the number decide a case."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.backends.base import Backend
from gpumerge_cli.backends.ladder import NAMES as KERNELS
from gpumerge_cli.backends.variants.lookup import variant_named
from gpumerge_cli.errors import UsageError
from gpumerge_cli.launch import LaunchPolicy, LaunchRequest
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.key_types import DTYPES
from gpumerge_cli.order.kinds import Order, TextOrder
from tests import line_orders
from tests.linekeys import key_of
from tests.oracles import merged_keys, merged_records, number_of
from tests.strategies import special_values

KEY_ORDERS = [Order.of(dtype, descending=down) for dtype in DTYPES for down in (False, True)]
LINE_ORDERS = [Order.lines(order) for order in line_orders.LINE_ORDERS]
RECORD_KEYS: list[tuple[int, int, np.dtype[Any] | int]] = [
    (4, 0, np.dtype("i2")),
    (8, 0, np.dtype("i4")),
    (8, 3, np.dtype(">u4")),
    (12, 0, np.dtype("i8")),
    (16, 8, np.dtype("f8")),
    (16, 1, 5),
    (100, 0, 10),
    (7, 2, np.dtype(">f4")),
]
"""Size, place of the key and the key: those of 4, 8, 12 and 16 bytes move whole on a GPU, the others as rows."""
RECORD_ORDERS = [Order.records(*key, descending=down) for key in RECORD_KEYS for down in (False, True)]
ORDERS = KEY_ORDERS + LINE_ORDERS + RECORD_ORDERS
SHAPES = ("uniform", "few", "equal", "specials", "disjoint", "disjoint the other way", "blocky")
DISORDERS = ("shuffled", "reversed", "nearly in order")
KEPT = (Equals.ALL, Equals.ALL, Equals.FIRST, Equals.FIRST_CONTINUED)
SETS = tuple(equals for equals in Equals if equals.is_set)
COUNTS = ("ahead", "after", "apart")

_BLOCKS = (1, 2, 3, 16, 31, 32, 64, 96, 128, 256, 512, 1024)
_PATHS: tuple[dict[str, Any], ...] = ({}, {}, {"block_size": 32, "items_per_thread": 4, "transfer": "vector"})
_MOST_RUNS = 20
_SMALL, _LARGE = 18_000, 150_000
_LONG_LINE = 60

Runs = list[NDArray[Any]] | list[list[bytes]]


@dataclass(frozen=True)
class Case:
    """One merge: its items, its launch, and the lengths of its runs.

    disorder: how the runs are out of order, or "". budget: the bytes of memory for a merge of files; None for a merge
    in a workspace. count: the place of the numbers of equal items (see Margin), or "".
    """

    number: int
    order: Order
    shape: str
    policy: LaunchPolicy
    equals: Equals
    threads: int
    lengths: tuple[int, ...]
    request: LaunchRequest
    disorder: str = ""
    budget: int | None = None
    count: str = ""

    def describe(self) -> str:
        """The whole case, in one line."""
        way = "in memory" if self.budget is None else f"files within {self.budget}"
        return (
            f"case {self.number}: {self.order.describe()}, {self.shape}, {self.policy.describe()}, "
            f"{self.rule}, {self.threads} threads, lengths {list(self.lengths)}, "
            f"{self.disorder or 'in order'}, {self.counted}, {way}"
        )

    @property
    def is_set(self) -> bool:
        """Whether it is a set of the runs, and no merge."""
        return self.equals.is_set

    @property
    def rule(self) -> str:
        """The name of the rule for equal items."""
        return self.equals.name.lower().replace("_", " ")

    @property
    def counted(self) -> str:
        """Whether equal items are counted."""
        return f"counts {self.count}" if self.count else "no counts"

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds that the case counts for."""
        return (
            self.order.describe(),
            self.shape,
            self.policy.rung,
            self.rule,
            self.disorder or "in order",
            self.counted,
            "in memory" if self.budget is None else "files",
            f"{'1 run' if len(self.lengths) == 1 else '2 runs' if len(self.lengths) == 2 else 'more runs'}",
        )


def drawn(seed: int, number: int, backend: Backend) -> tuple[Case, Runs]:
    """Case `number` and its sorted runs."""
    random = np.random.default_rng([seed, number])
    order = ORDERS[number % len(ORDERS)]
    count = int(random.choice([1, 2, 2, 2, 2, 3, int(random.integers(4, _MOST_RUNS + 1))]))
    equals = KEPT[int(random.integers(len(KEPT)))]
    if random.random() < 1 / 3:
        equals = SETS[int(random.integers(len(SETS)))]
        request = LaunchRequest()
        policy = backend.resolve(request, order, count, equals)
    else:
        request, policy = _policy(random, order, backend, count)
    shape = str(random.choice(SHAPES))
    lengths = _lengths(random, policy, count, order)
    threads = int(random.choice([1, 1, 2, 3, 5]))
    case = Case(number, order, shape, policy, equals, threads, lengths, request)
    make = _record_runs if order.record else _line_runs if isinstance(order, TextOrder) else _key_runs
    runs: Runs = make(random, case)
    if random.random() < 0.25:
        of_files = Equals.FIRST if equals is Equals.FIRST_CONTINUED else equals
        case = replace(case, budget=int(2 ** random.uniform(0, 26)), equals=of_files)
    if random.random() < 0.25:
        case = replace(case, disorder=str(random.choice(DISORDERS)), equals=equals if case.is_set else Equals.ALL)
        runs = [_disordered(random, case.disorder, run) for run in runs]  # type: ignore[assignment]
    distinct = case.equals.is_distinct
    of_lines = isinstance(order, TextOrder)
    may_count = case.budget is not None and not case.disorder and not distinct
    if may_count and random.random() < (0.8 if of_lines else 0.3):
        count = str(random.choice(COUNTS)) if of_lines else "apart"
        case = replace(case, count=count, equals=case.equals if case.is_set else Equals.FIRST)
    return case, runs


def _disordered(random: np.random.Generator, disorder: str, run: Any) -> Any:
    at = np.arange(len(run))
    if disorder == "shuffled":
        random.shuffle(at)
    elif disorder == "reversed":
        at = at[::-1]
    elif len(run):
        for a, b in random.integers(0, len(run), (3, 2)):
            at[a], at[b] = at[b], at[a]
    return [run[place] for place in at] if isinstance(run, list) else run[at]


def _policy(
    random: np.random.Generator, order: Order, backend: Backend, runs: int
) -> tuple[LaunchRequest, LaunchPolicy]:
    """A kernel with random launch options that the backend accepts, and the launch that the backend makes of them."""
    while True:
        kernel = KERNELS[int(random.integers(len(KERNELS)))]
        request = LaunchRequest(kernel)
        variant = variant_named(kernel)
        if variant.fans_in:
            request = replace(request, **_PATHS[int(random.integers(len(_PATHS)))])
        else:
            wishes: dict[str, Any] = {"block_size": int(random.choice(_BLOCKS))}
            wishes["items_per_thread"] = int(random.integers(1, 20))
            if variant.tile:
                wishes |= {"tile_size": int(random.integers(1, 3000)), "blocks": int(random.integers(1, 200))}
            if variant.loads:
                wishes["tile_load"] = str(random.choice(variant.loads))
            # tile_load is kept, since both ways are to be met alike.
            kept = {name: value for name, value in wishes.items() if name == "tile_load" or random.random() < 0.5}
            request = replace(request, **kept)
        try:
            return request, backend.resolve(request, order, runs)
        except UsageError:
            continue


def _lengths(random: np.random.Generator, policy: LaunchPolicy, count: int, order: Order) -> tuple[int, ...]:
    """Lengths: none, one, a few, about a tile or a block's share, or any length. Short ones are more likely."""
    most = _LARGE if random.random() < 0.01 else _SMALL
    most //= 10 if isinstance(order, TextOrder) else 1
    edges = [max(1, policy.tile_size), max(1, policy.block_size * policy.items_per_thread), 32, 256]
    room = max(2, most // count)
    found = []
    for _ in range(count):
        kind = int(random.integers(6))
        if kind < 2:
            length = kind
        elif kind == 2:
            length = int(random.integers(0, 13))
        elif kind == 3:
            length = int(random.choice(edges)) * int(random.integers(1, 4)) + int(random.integers(-1, 2))
        else:
            length = int(2 ** random.uniform(0, np.log2(room)))
        found.append(min(length, room))
    return tuple(found)


def _key_runs(random: np.random.Generator, case: Case) -> list[NDArray[Any]]:
    dtype = case.order.dtype

    def bits(size: int) -> NDArray[Any]:
        # A conversion of random values would never give a NaN with a payload, or a subnormal.
        return random.integers(0, 256, (size, dtype.itemsize), np.uint8).view(dtype).reshape(-1)

    total = sum(case.lengths)
    if case.shape == "uniform":
        keys = bits(total)
    elif case.shape == "specials":
        keys = random.choice(special_values(dtype), total)
    elif case.shape == "few":
        keys = random.choice(np.concatenate([bits(int(random.integers(1, 6))), special_values(dtype)[:2]]), total)
    elif case.shape == "equal":
        # All NaNs are equal, and both zeros: which of them is where shows stability.
        kinds = [bits(1)]
        if dtype.kind == "f":
            kinds += [np.array([0.0, -0.0], dtype), special_values(dtype)[-4:]]
        keys = random.choice(kinds[int(random.integers(len(kinds)))], total)
    else:
        keys = merged_keys([bits(total)], descending=case.order.descending)
    pieces = _dealt(random, case)
    return [merged_keys([keys[piece]], descending=case.order.descending) for piece in pieces]


def _dealt(random: np.random.Generator, case: Case) -> list[NDArray[np.int64]]:
    """The items of each run: one stretch of all sorted items, or many stretches in turn."""
    total = sum(case.lengths)
    owners = np.repeat(np.arange(len(case.lengths)), case.lengths)
    if case.shape == "disjoint the other way":
        owners = owners[::-1]
    elif case.shape == "blocky" and total:
        # Every run's share is cut into stretches, and the stretches of all runs are shuffled.
        edges = np.unique(
            np.concatenate([[0], random.integers(0, total, max(1, total // 50)), np.cumsum(case.lengths)])
        )
        stretches = [owners[a:b] for a, b in pairwise(edges)]
        owners = np.concatenate([stretches[at] for at in random.permutation(len(stretches))] or [owners])
    return [np.flatnonzero(owners == run) for run in range(len(case.lengths))]


def _record_runs(random: np.random.Generator, case: Case) -> list[list[bytes]]:
    order, total = case.order, sum(case.lengths)
    records = random.integers(0, 256, (total, order.record), np.uint8)
    key = records[:, order.offset : order.offset + order.width]
    pool = random.integers(0, 256, ({"equal": 1, "few": 4, "specials": 30}.get(case.shape, 400), order.width), np.uint8)
    if case.shape == "specials":
        pool &= 0x81  # so that many differ in few bits
    if case.shape != "uniform":
        key[:] = pool[random.integers(0, len(pool), total)]
    items = sorted_records([record.tobytes() for record in records], order)
    if case.shape not in ("disjoint", "disjoint the other way", "blocky"):
        items = [items[at] for at in random.permutation(total)]
    return [sorted_records([items[at] for at in piece], order) for piece in _dealt(random, case)]


def sorted_records(records: Sequence[bytes], order: Order) -> list[bytes]:
    """Records in order, stably."""
    return merged_records(records, *place_of(order), descending=order.descending) if records else []


def place_of(order: Order) -> tuple[int, np.dtype[Any] | int]:
    """The place and the type of a record's key, as the oracles take them."""
    return next(key[1:] for key in RECORD_KEYS if Order.records(*key, descending=order.descending) == order)


def _line_runs(random: np.random.Generator, case: Case) -> list[list[bytes]]:
    make = _LINES[int(random.integers(len(_LINES)))]
    distinct = {"equal": 1, "few": 4, "specials": 30}.get(case.shape, 400)
    pool = [make(random).replace(end_of(case.order), b"") for _ in range(distinct)]
    pool = sorted_lines(pool, case.order)
    total = sum(case.lengths)
    index = random.integers(0, len(pool), total)
    if case.shape in ("disjoint", "disjoint the other way", "blocky"):
        index.sort()
    pieces = _dealt(random, case)
    return [sorted_lines([pool[at] for at in index[piece]], case.order) for piece in pieces]


def _binary(random: np.random.Generator) -> bytes:
    return random.bytes(int(random.integers(0, 20)))


def _letters(random: np.random.Generator) -> bytes:
    return bytes(random.choice(list(b"ab"), int(random.integers(0, _LONG_LINE))).astype(np.uint8))


def _prefixed(random: np.random.Generator) -> bytes:
    # Longer than the prefix that is compared first.
    return b"common prefix " * int(random.integers(1, 4)) + b"%d" % random.integers(0, 50)


def _numbers(random: np.random.Generator) -> bytes:
    text = b" " * int(random.integers(0, 2)) + b"-" * int(random.integers(0, 2)) + b"0" * int(random.integers(0, 3))
    text += b"%d" % random.integers(0, 10 ** int(random.integers(1, 18)))
    if random.random() < 0.3:
        text += b".%d" % random.integers(0, 1000)
    return text + [b"", b"", b"a", b" x", b"-"][int(random.integers(5))]


def _fields(random: np.random.Generator) -> bytes:
    names = [b"", b"a", b"B", b"v1.10.tar.gz", b"v1.9", b"v1.09", b"jan", b"Feb 1", b"MAR", b"1e3", b"-inf", b"~1.0~"]
    numbers = [_numbers(random) + [b"", b"K", b"M", b"e-2"][int(random.integers(4))] for _ in range(2)]
    between = [b",", b",", b" ", b" \t"][int(random.integers(4))]
    return between.join([names[int(random.integers(len(names)))], *numbers, names[int(random.integers(len(names)))]])


_LINES: tuple[Callable[[np.random.Generator], bytes], ...] = (
    _binary,
    _letters,
    _prefixed,
    _numbers,
    _numbers,
    _fields,
    _fields,
)


def end_of(order: Order) -> bytes:
    """The terminator of lines."""
    assert order.text is not None
    return bytes([order.text.terminator])


def key_by(order: Order) -> Callable[[bytes], Any]:
    """The key function of lines. For simple orders it is written in the plainest way."""
    assert order.text is not None
    if not order.text.simple:
        return key_of(order)
    if not order.text.numeric:
        return bytes
    return number_of if order.text.stable else lambda line: (number_of(line), line)


def sorted_lines(lines: Sequence[bytes], order: Order) -> list[bytes]:
    """Python's stable sort; its `reverse` leaves ties as they are."""
    assert order.text is not None
    by = key_by(order)
    keys = {line: by(line) for line in set(lines)}
    return sorted(lines, key=lambda line: keys[line], reverse=order.text.simple and order.text.reverse)
