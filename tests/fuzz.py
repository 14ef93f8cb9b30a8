"""Random merges and sets on one backend, each held against a plain stable sort, or the plain rule of sets.

python3 -m tests.fuzz --cases 20000 --seed 1 --backend gpu --workers 8 -o fuzz.txt
python3 -m tests.fuzz --seed 1 --backend gpu --only 1234

The seed and the number decide a case. Cases of one order run one after the other, so that its kernels stay compiled.
Path is compiled for each launch shape, so it gets few shapes. A third of the cases are sets. In a quarter of the cases
the runs are not in order and not checked: then the output must hold the same items, or on a GPU as many items, and a
set must hold nothing but items of the runs. A quarter of the cases go through files, in chunks within a random budget
of memory, and the others through a workspace. Some of those through files count equal items. Cases run in processes of
their own, so a crash is reported as wrong.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.backends.base import KERNELS, Backend, LaunchPolicy, LaunchRequest, Unique
from gpumerge_cli.backends.select import select
from gpumerge_cli.backends.variants import named
from gpumerge_cli.engine.merge import merge_files
from gpumerge_cli.engine.request import BackendRequest, ItemRequest, MergeRequest
from gpumerge_cli.errors import DisorderError, UsageError
from gpumerge_cli.formats.record_options import RecordRequest
from gpumerge_cli.order import DTYPES, Lines, Order
from gpumerge_cli.order.equals import Equals, Margin
from tests import line_orders
from tests.apart import each
from tests.linekeys import key_of
from tests.oracles import first_keys, first_records, merged_keys, merged_records, number_of
from tests.reference import set_of
from tests.strategies import as_text, special_values

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
UNIQUES: tuple[Unique, ...] = (None, None, "first", "ahead")
SETS = tuple(equals for equals in Equals if equals.is_set)
COUNTS = ("ahead", "after", "apart")

_BLOCKS = (1, 2, 3, 16, 31, 32, 64, 96, 128, 256, 512, 1024)
_PATHS: tuple[dict[str, Any], ...] = ({}, {}, {"block_size": 32, "items_per_thread": 4, "transfer": "vector"})
_MOST_RUNS = 20
_SMALL, _LARGE = 18_000, 150_000
_LONG_LINE = 60
_SHOWN = 10
_BATCH = 500

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
    unique: Unique
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
        return isinstance(self.unique, Equals)

    @property
    def rule(self) -> str:
        """The name of the set, or of the way in which the merge treats equal items."""
        return self.unique.value if isinstance(self.unique, Equals) else f"unique {self.unique}"

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
    unique = UNIQUES[int(random.integers(len(UNIQUES)))]
    if random.random() < 1 / 3:
        equals = SETS[int(random.integers(len(SETS)))]
        unique, request = equals, LaunchRequest()
        policy = backend.resolve(request, order, count, equals)
    else:
        request, policy = _policy(random, order, backend, count)
    shape = str(random.choice(SHAPES))
    lengths = _lengths(random, policy, count, order)
    threads = int(random.choice([1, 1, 2, 3, 5]))
    case = Case(number, order, shape, policy, unique, threads, lengths, request)
    make = _record_runs if order.record else _line_runs if isinstance(order, Lines) else _key_runs
    runs: Runs = make(random, case)
    if random.random() < 0.25:
        case = replace(case, budget=int(2 ** random.uniform(0, 26)), unique="first" if unique == "ahead" else unique)
    if random.random() < 0.25:
        case = replace(case, disorder=str(random.choice(DISORDERS)), unique=unique if case.is_set else None)
        runs = [_disordered(random, case.disorder, run) for run in runs]  # type: ignore[assignment]
    distinct = isinstance(case.unique, Equals) and case.unique.is_distinct
    of_lines = isinstance(order, Lines)
    may_count = case.budget is not None and not case.disorder and not distinct
    if may_count and random.random() < (0.8 if of_lines else 0.3):
        count = str(random.choice(COUNTS)) if of_lines else "apart"
        case = replace(case, count=count, unique=case.unique if case.is_set else "first")
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
        variant = named(kernel)
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
    most //= 10 if isinstance(order, Lines) else 1
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
    items = _sorted_records([record.tobytes() for record in records], order)
    if case.shape not in ("disjoint", "disjoint the other way", "blocky"):
        items = [items[at] for at in random.permutation(total)]
    return [_sorted_records([items[at] for at in piece], order) for piece in _dealt(random, case)]


def _sorted_records(records: Sequence[bytes], order: Order) -> list[bytes]:
    return merged_records(records, *_place(order), descending=order.descending) if records else []


def _place(order: Order) -> tuple[int, np.dtype[Any] | int]:
    """The place and the type of a record's key, as the oracles take them."""
    return next(key[1:] for key in RECORD_KEYS if Order.records(*key, descending=order.descending) == order)


def _line_runs(random: np.random.Generator, case: Case) -> list[list[bytes]]:
    make = _LINES[int(random.integers(len(_LINES)))]
    distinct = {"equal": 1, "few": 4, "specials": 30}.get(case.shape, 400)
    pool = [make(random).replace(end_of(case.order), b"") for _ in range(distinct)]
    pool = _sorted_lines(pool, case.order)
    total = sum(case.lengths)
    index = random.integers(0, len(pool), total)
    if case.shape in ("disjoint", "disjoint the other way", "blocky"):
        index.sort()
    pieces = _dealt(random, case)
    return [_sorted_lines([pool[at] for at in index[piece]], case.order) for piece in pieces]


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


def _by(order: Order) -> Callable[[bytes], Any]:
    """The key function of lines. For simple orders it is written in the plainest way."""
    assert order.text is not None
    if not order.text.simple:
        return key_of(order)
    if not order.text.numeric:
        return bytes
    return number_of if order.text.stable else lambda line: (number_of(line), line)


def _sorted_lines(lines: Sequence[bytes], order: Order) -> list[bytes]:
    """Python's stable sort; its `reverse` leaves ties as they are."""
    assert order.text is not None
    by = _by(order)
    keys = {line: by(line) for line in set(lines)}
    return sorted(lines, key=lambda line: keys[line], reverse=order.text.simple and order.text.reverse)


def expected(case: Case, runs: Runs) -> bytes:
    """The bytes of the right output, and of its counts behind it if they lie apart."""
    if case.count:
        all_items = replace(case, count="", unique=case.unique if case.is_set else None)
        return _with_counts(case, expected(all_items, runs))
    if isinstance(case.unique, Equals):
        return _expected_set(case, runs, case.unique)
    if case.order.record:
        records = _sorted_records([record for run in runs for record in run], case.order)
        if case.unique and records:
            records = first_records(records, *_place(case.order))[case.unique == "ahead" :]
        return b"".join(records)
    if not isinstance(case.order, Lines):
        keys: NDArray[Any] = merged_keys(runs, descending=case.order.descending)  # type: ignore[arg-type]
        if case.unique:
            keys = first_keys(keys)[case.unique == "ahead" :]
        return keys.tobytes()
    lines = _sorted_lines([line for run in runs for line in run], case.order)
    if case.unique:
        same = _by(case.order)
        firsts = [line for at, line in enumerate(lines) if at == 0 or same(line) != same(lines[at - 1])]
        lines = firsts[case.unique == "ahead" :]
    return as_text(lines, end_of(case.order))


def _with_counts(case: Case, text: bytes) -> bytes:
    """The first of equal neighbours among sorted items, which are given as bytes, and their numbers."""
    order, end = case.order, b""
    if isinstance(order, Lines):
        end = end_of(order)
        items = text.split(end)[:-1]
    else:
        size = order.item_bytes
        items = [text[at : at + size] for at in range(0, len(text), size)]
    firsts, numbers = [], []
    for _, group in groupby(items, key_of(order)):
        first, *others = group
        firsts.append(first + end)
        numbers.append(1 + len(others))
    if case.count == "apart":
        return b"".join(firsts) + np.array(numbers, "<u8").tobytes()
    both = zip(firsts, numbers, strict=True)
    if case.count == "ahead":
        return b"".join(b"%7d " % number + line for line, number in both)
    return b"".join(line[:-1] + b"\t%d" % number + end for line, number in both)


def _expected_set(case: Case, runs: Runs, equals: Equals) -> bytes:
    if case.order.record or isinstance(case.order, Lines):
        end = b"" if case.order.record else end_of(case.order)
        items: list[list[bytes]] = runs  # type: ignore[assignment]
        return b"".join(item + end for item in set_of(items, key_of(case.order), equals))
    size = case.order.item_bytes
    numbered = []
    for run in map(np.asarray, runs):
        keys, images = run.tobytes(), case.order.image(run).tolist()
        numbered.append([(image, keys[at * size : (at + 1) * size]) for at, image in enumerate(images)])
    return b"".join(key for _, key in set_of(numbered, itemgetter(0), equals))


def _data(case: Case, runs: Runs) -> list[bytes]:
    """The runs as bytes of files."""
    end = end_of(case.order) if isinstance(case.order, Lines) else b""
    return [as_text(run, end) if isinstance(run, list) else run.tobytes() for run in runs]


def _text(case: Case, runs: Runs) -> bytes:
    return b"".join(_data(case, runs))


def _items(case: Case, data: bytes) -> list[bytes]:
    """The items of a file, sorted in some fixed order, to compare them with other items."""
    if isinstance(case.order, Lines):
        return sorted(data.split(end_of(case.order)))
    size = case.order.item_bytes
    return sorted(data[at : at + size] for at in range(0, len(data), size))


def merged(case: Case, runs: Runs, backend: Backend) -> bytes:
    """The backend's output, into memory that held something else. Raises AssertionError for a false disorder."""
    data = _data(case, runs)
    total = sum(map(len, data))
    workspace = backend.workspace(case.order, max(1, total), threads=case.threads)
    try:
        workspace.staging(total)[:] = np.frombuffer(b"".join(data), np.uint8)
        workspace.upload(list(map(len, data)))
        if not case.disorder:
            assert workspace.disorder() is None, "sorted runs are said to be out of order"
        workspace.poison()
        workspace.merge(case.policy, case.unique)
        return workspace.download().tobytes()
    finally:
        workspace.close()


def merged_files(case: Case, runs: Runs, backend: Backend) -> bytes:
    """The output file of a merge of files within the case's budget; checked if the runs are in order."""
    order = case.order
    with tempfile.TemporaryDirectory() as folder:
        names = [os.path.join(folder, str(number)) for number in range(len(runs))]
        for name, data in zip(names, _data(case, runs), strict=True):
            with open(name, "wb") as file:
                file.write(data)
        if isinstance(order, Lines):
            items = ItemRequest("text", lines=order.text)
        elif order.record:
            offset, key = _place(order)
            if isinstance(key, int):
                items = ItemRequest("raw", reverse=order.descending, records=RecordRequest(order.record, offset, key))
            else:
                ahead, behind = offset, order.record - offset - key.itemsize
                fields = [f"V{ahead}"] * bool(ahead) + [key.str] + [f"V{behind}"] * bool(behind)
                records = RecordRequest(fields=(f"f{int(ahead > 0)}",))
                items = ItemRequest("raw", ",".join(fields), reverse=order.descending, records=records)
        else:
            items = ItemRequest("raw", order.dtype.name, reverse=order.descending)
        output = os.path.join(folder, "out")
        counts = os.path.join(folder, "counts") if case.count == "apart" else None
        merge_files(
            MergeRequest(
                tuple(names),
                output,
                items,
                BackendRequest(backend.name, threads=case.threads, launch=case.request),  # type: ignore[arg-type]
                check=not case.disorder,
                equals=case.unique if isinstance(case.unique, Equals) else Equals.of(case.unique is not None),
                memory=case.budget,
                margin=Margin(case.count, file=counts) if case.count else None,  # type: ignore[arg-type]
            )
        )
        found = b""
        for name in (output, *([counts] if counts else [])):
            with open(name, "rb") as file:
                found += file.read()
        return found


def problem(case: Case, runs: Runs, backend: Backend) -> str:
    """The error in the backend's output, or "" if it is right."""
    try:
        found = merged(case, runs, backend) if case.budget is None else merged_files(case, runs, backend)
    except Exception as error:  # whatever it is, it is this case's
        if isinstance(error, DisorderError) and case.disorder and backend.name == "gpu":
            return ""  # lines taken twice or not at all did not make up the output
        return f"{type(error).__name__}: {error}"
    if case.disorder and case.is_set:
        whole = _text(case, runs)
        strange = set(_items(case, found)) - set(_items(case, whole))
        return "the output holds other items" if strange or len(found) > len(whole) else ""
    if case.disorder and backend.name == "gpu":  # whose threads' shares may overlap then
        return "" if len(found) == len(_text(case, runs)) else "the output has another size"
    if case.disorder:
        return "" if _items(case, found) == _items(case, _text(case, runs)) else "the output holds other items"
    right = expected(case, runs)
    if found == right:
        return ""
    at = next((at for at, (a, b) in enumerate(zip(found, right, strict=False)) if a != b), min(len(found), len(right)))
    return f"wrong from byte {at} on: {len(found)} bytes, {len(right)} expected"


def run(
    backend: Backend, seed: int, numbers: Sequence[int], told: Callable[[str], None] = print
) -> tuple[Counter[str], int]:
    """Run these cases here, and print failures. Returns the number of cases of each kind, and of those that failed."""
    counts: Counter[str] = Counter()
    failures = 0
    for number in sorted(numbers, key=_by_order):
        case, runs = drawn(seed, number, backend)
        counts.update(case.kinds)
        wrong = problem(case, runs, backend)
        if wrong:
            failures += 1
            _tell(f"{case.describe()}: {wrong}", backend.name, seed, number, failures, told)
    return counts, failures


def _by_order(number: int) -> tuple[int, int]:
    return number % len(ORDERS), number


def _tell(wrong: str, backend: str, seed: int, number: int, failures: int, told: Callable[[str], None]) -> None:
    if failures <= _SHOWN:
        told(wrong)
        told(f"  again: python3 -m tests.fuzz --seed {seed} --backend {backend} --only {number}")


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 1 if a case failed."""
    parser = argparse.ArgumentParser(
        prog="python3 -m tests.fuzz", description="Random merges and sets, held against plain ones."
    )
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=None, help="random if not said")
    parser.add_argument("--backend", choices=("gpu", "cpu"), default="cpu")
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1, help="processes at a time")
    parser.add_argument("--only", type=int, metavar="N", help="run case N alone, and show it")
    parser.add_argument("-o", "--output", metavar="FILE", help="write what is printed to a file too")
    wish = parser.parse_args(arguments)
    seed = int.from_bytes(np.random.default_rng().bytes(4)) if wish.seed is None else wish.seed
    lines: list[str] = []

    def tell(line: str) -> None:
        lines.append(line)
        print(line, flush=True)

    @lru_cache(maxsize=1)
    def backend() -> Backend:  # never in this process: a GPU that is in use here can be used by no fork
        return select(wish.backend, wish.device, ORDERS[0], None).backend

    def case(number: int, say: Callable[[str], None]) -> tuple[Sequence[str], str]:
        if number < 0:
            return (backend().info().name,), ""
        drawn_case, runs = drawn(seed, number, backend())
        say(drawn_case.describe())
        return drawn_case.kinds, problem(drawn_case, runs, backend())

    numbers = range(wish.cases) if wish.only is None else [wish.only]
    (asked,) = each(case, [-1])
    tell(f"seed {seed}, {len(numbers)} cases on {wish.backend}: {asked.wrong or asked.kinds[0]}")
    begun = time.monotonic()
    counts: Counter[str] = Counter()
    failures = 0
    for ended in each(case, sorted(numbers, key=_by_order), workers=wish.workers, batch=_BATCH):
        counts.update(ended.kinds)
        if ended.wrong:
            failures += 1
            _tell(ended.wrong, wish.backend, seed, ended.number, failures, tell)
    for kind, count in sorted(counts.items()):
        tell(f"  {count:6} {kind}")
    tell(f"{len(numbers) - failures} of {len(numbers)} right, in {time.monotonic() - begun:.0f} s")
    if wish.output:
        with open(wish.output, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
