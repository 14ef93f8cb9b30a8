"""Random calls on CuPy arrays as they lie in a GPU's memory, each held against a stable sort of the keys' ranks.

Sets are held against the plain rule, by the counts of equal keys.

python -m tests.fuzz_device --cases 20000 --seed 1 --workers 12 [--backend gpu] [-o FILE]
python -m tests.fuzz_device --seed 1 --only 1234

The seed and the number decide a case. Arrays begin behind other items, or behind bytes that are no whole item. They are
strided or reversed. Keys interleave in blocks of all sizes, and floats have NaNs of both signs and all payloads, zeros
of both signs and subnormals. Most cases are small. Some have millions of items, so that every kernel has its turn, and
are judged on the GPU. With --backend cpu arrays are NumPy's, and smaller. tests.fuzz_api tries all other options.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

import gpumerge_cli
from gpumerge_cli.compare.set_oracle import _kept
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.key_types import DTYPES
from tests.apart import run_numbered
from tests.strategies import special_values

Random = np.random.Generator
Array = Any
NUMPY: Any = np

KEYS = (*DTYPES, "bool")
VALUES = [("uint8", ()), ("int16", ()), ("float32", ()), ("int64", ()), ("complex128", ()), ("uint8", (3,)),
          ("int32", (2, 2)), ("float64", (5,))]  # fmt: skip
"""Dtypes and shapes of rows. A dtype of keys meets two of them, in one direction, because each kind is compiled."""
WAYS = ("plain", "behind items", "strided", "reversed", "behind bytes")
_FEW_RUNS, _RUNS = (1, 2, 3, 16), (1, 2, 2, 2, 2, 2, 3, 4, 5, 8, 16, 17, 20)
EVERY_SET = [equals for equals in Equals if equals.is_set]
_SET_BITS = 17
_JUDGED_THERE = 1 << _SET_BITS
"""From so many items on, a case is made and judged where its arrays are."""
_BY_VALUES = {1: 24, 2: 26}
"""The binary logarithm of the items from which narrow integers are merged value by value, by their bytes."""
_MOST_BYTES = 1 << 29
_GUARD = 0x5A
_WIDEST = 8  # bytes of an integer


@dataclass
class Call:
    """A call, and what it should give: the places of the items in order among all runs, laid one behind the other.

    keys, rows: all of them, as rows of bytes. equals: the set, if the call makes one. room: the bytes around the
    output, and where it begins and ends in them.
    """

    function: str
    dtype: np.dtype[Any]
    descending: bool
    runs: list[Array] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    keys: Array = None
    images: Array = None
    rows: Array = None
    equals: Equals | None = None
    room: tuple[Array, int, int] | None = None
    may_be_refused: bool = False
    kinds: list[str] = field(default_factory=list)

    @property
    def takes_runs(self) -> bool:
        """Whether it takes any number of sorted runs."""
        return self.function == "merge" or self.equals is not None

    def describe(self) -> str:
        """The whole call without its items."""
        sizes = [len(run) for run in self.runs]
        return f"{self.function} of {self.dtype}{sizes[:20]}, {'; '.join(self.kinds)}"


def images_of(xp: Any, keys: Array, descending: bool) -> Array:
    """The ranks of keys as uint64: NaN last and zeros equal, as NumPy has it."""
    bits = keys.view(f"u{keys.itemsize}").astype(np.uint64)
    width = 8 * keys.itemsize
    full, sign = np.uint64((1 << width) - 1), np.uint64(1 << (width - 1))
    if keys.dtype.kind == "i":
        bits = bits ^ sign
    elif keys.dtype.kind == "f":
        magnitude = bits & (sign - np.uint64(1))
        infinity = np.uint64(int(np.array(np.inf, keys.dtype).view(f"u{keys.itemsize}")))
        bits = xp.where(bits >= sign, (magnitude ^ (sign - np.uint64(1))) + np.uint64(1), magnitude + sign)
        bits = xp.where(magnitude > infinity, full, bits)
    return bits ^ full if descending else bits


def drawn(xp: Any, seed: int, number: int) -> Call:
    """Case `number` with arrays of a module, CuPy or NumPy."""
    random = np.random.default_rng([seed, number])
    function = str(random.choice(["merge", "merge", "merge", "sort", "sort", "argsort", "is_sorted", "set", "set"]))
    at = int(random.integers(len(KEYS)))
    with_values = function in ("merge", "sort", "set") and random.random() < 0.35
    kind = VALUES[(at + 3 * int(random.integers(2))) % len(VALUES)] if with_values else None
    runs = int(random.choice(_FEW_RUNS if with_values else _RUNS)) if function in ("merge", "set") else 1
    bits = _size(random, xp is np)
    if function == "set":
        equals = EVERY_SET[(at + 4 * int(random.integers(2))) % len(EVERY_SET)]
        kind = kind and VALUES[at % len(VALUES)]
        return _drawn_set(random, xp, equals, at, kind, min(bits, _SET_BITS), runs)
    if bits >= 20 and random.random() < 0.25:  # value by value
        at, function, runs, kind = int(random.choice([KEYS.index(n) for n in _narrow()])), "merge", 2, None
        bits = _BY_VALUES[np.dtype(KEYS[at]).itemsize] + 0.1 * random.random() if xp is not np else bits
    dtype = np.dtype(KEYS[at])
    compiled_once = kind is not None or function == "argsort"
    call = Call(function, dtype, bool(at % 2 if compiled_once else random.integers(2)))
    row = np.dtype(kind[0]).itemsize * prod(kind[1]) if kind else 0
    total = min(int(2**bits) - 1, _MOST_BYTES // max(row, dtype.itemsize))
    call.kinds += [function, "up to 2^10" if bits < 10 else f"from 2^{int(bits)} items on"]
    _fill(random, xp if total >= _JUDGED_THERE else NUMPY, call, total, runs)
    call.runs = [_laid(random, xp, run, call, "keys") for run in call.runs]
    if kind:
        _add_values(random, xp, call, *kind)
    if function in ("merge", "sort") and random.random() < 0.5:
        _add_out(random, xp, call, total)
    if call.descending or random.random() < 0.3:
        call.options["descending"] = call.descending
    return call


def _drawn_set(
    random: Random, xp: Any, equals: Equals, at: int, kind: tuple[str, tuple[int, ...]] | None, bits: float, runs: int
) -> Call:
    """A set of runs. It meets few dtypes of keys and values, in one direction, because each kind is compiled."""
    call = Call(equals.name_of_set, np.dtype(KEYS[at]), bool(at % 2), equals=equals)
    call.kinds += [equals.name.lower().replace("_", " "), f"up to 2^{_SET_BITS}"]
    total = int(2**bits) - 1
    _fill(random, NUMPY, call, total, runs)
    call.runs = [_laid(random, xp, run, call, "keys") for run in call.runs]
    if kind:
        _add_values(random, xp, call, *kind)
    if random.random() < 0.3:
        _add_out(random, xp, call, total)
    call.options |= {"distinct": equals.is_distinct, "descending": call.descending}
    return call


def _narrow() -> list[str]:
    return [name for name in DTYPES if np.dtype(name).kind in "iu" and np.dtype(name).itemsize in _BY_VALUES]


def _size(random: Random, on_host: bool) -> float:
    """The binary logarithm of a number of items."""
    kind = random.random()
    if kind < 0.6:
        return random.uniform(0, 10)
    if kind < 0.94 or on_host:
        return random.uniform(8, 14) if random.random() < 0.98 else random.uniform(14, 18)
    return random.uniform(14, 19) if kind < 0.98 else random.uniform(20, 25)


def _fill(random: Random, xp: Any, call: Call, total: int, runs: int) -> None:
    """Draw the keys and cut them into runs."""
    keys = xp.asarray(_content(random, call, total))
    if call.takes_runs or (call.function == "is_sorted" and random.random() < 0.7):
        order = xp.argsort(images_of(xp, keys, call.descending), kind="stable")
        keys = keys.view(f"u{keys.itemsize}")[order].view(call.dtype)
    if call.function == "is_sorted" and total > 1 and random.random() < 0.5:
        at = int(random.integers(1, total))  # neighbours that may differ
        keys[at - 1 : at + 1] = keys[at - 1 : at + 1][::-1].copy()
    call.runs = _cut(random, xp, call, keys, runs) if call.takes_runs else [keys]
    # CuPy's concatenate would compile for each dtype.
    call.keys = xp.concatenate([run.view(np.uint8) for run in call.runs]).reshape(-1, keys.itemsize)
    call.images = images_of(xp, call.keys.view(call.dtype).reshape(-1), call.descending)


def _content(random: Random, call: Call, total: int) -> Array:
    """Any bits; special values; few values; one value; all of them by turns; or keys that are in order already."""
    dtype = call.dtype
    if dtype.kind == "b":
        return random.integers(0, 2, total, np.uint8).view(dtype)
    how = str(random.choice(["any bits", "special", "few", "equal", "mixed", "ascending"]))
    call.kinds.append(f"content: {how}")
    if how == "equal":
        return np.repeat(random.choice(special_values(dtype), 1), total)
    if how == "few":
        return random.integers(0, int(random.integers(1, 100)), total).astype(dtype)
    if how == "special":
        return random.choice(special_values(dtype), total)
    if how == "ascending":
        return (np.arange(total) * 100 // max(1, total)).astype(dtype)
    bits = np.frombuffer(random.bytes(total * dtype.itemsize), dtype).copy()
    if how == "mixed" and total:
        odd = random.integers(0, total, total // 8 + 1)
        bits[odd] = random.choice(special_values(dtype), len(odd))
        if dtype.kind == "f":  # NaNs of all payloads, and subnormals
            unsigned, mantissa = bits.view(f"u{dtype.itemsize}"), np.finfo(dtype).nmant
            high = np.array([-np.inf, np.inf, 0.0, -0.0], dtype).view(unsigned.dtype)
            rest = unsigned[odd] & unsigned.dtype.type((1 << mantissa) - 1)
            unsigned[odd] = np.where(random.random(len(odd)) < 0.5, unsigned[odd], rest | random.choice(high, len(odd)))
    return bits


def _cut(random: Random, xp: Any, call: Call, keys: Array, runs: int) -> list[Array]:
    """Deal keys that are in order out to runs: in blocks, each to any run, or nearly all to one of them."""
    total = len(keys)
    how = str(random.choice(["blocks", "blocks", "any", "nearly one"]))
    call.kinds.append(f"{'one' if runs == 1 else 'two' if runs == 2 else 'several'} of {how}")
    if how == "blocks":
        block = int(2 ** random.uniform(0, max(1, np.log2(total + 1))))
        owner = xp.arange(total) // block % runs
    elif how == "any":
        owner = xp.asarray(random.integers(0, runs, total))
    else:
        owner = xp.full(total, int(random.integers(runs)))
        owner[: runs * 3 : 3] = 0
    bits = keys.view(f"u{keys.itemsize}")
    return [bits[owner == number].view(keys.dtype) for number in range(runs)]


def _laid(random: Random, xp: Any, items: Array, call: Call, what: str) -> Array:
    """The same items in arrays of the module, in memory in some way."""
    dtype, items = items.dtype, xp.asarray(items)
    items = items.view(f"u{dtype.itemsize}") if dtype.itemsize <= _WIDEST else items  # CuPy compiles for each dtype
    return _placed(random, xp, items, call, what).view(dtype)


def _placed(random: Random, xp: Any, items: Array, call: Call, what: str) -> Array:
    way = str(random.choice(WAYS, p=(0.3, 0.3, 0.15, 0.15, 0.1)))
    call.kinds.append(f"{what}: {way}")
    if way == "behind items":
        ahead = int(random.integers(1, 20))
        room = xp.zeros((len(items) + ahead + 3, *items.shape[1:]), items.dtype)
        room[ahead : ahead + len(items)] = items
        return room[ahead : ahead + len(items)]
    if way == "strided":
        step = int(random.integers(2, 4))
        room = xp.zeros((step * len(items), *items.shape[1:]), items.dtype)
        room[::step] = items
        return room[::step]
    if way == "reversed":
        return items[::-1].copy()[::-1]
    if way == "behind bytes":
        ahead = int(random.integers(1, 16))
        room = xp.zeros(items.nbytes + ahead, np.uint8)
        room[ahead:] = items.reshape(-1).view(np.uint8)
        call.may_be_refused |= what == "keys" and ahead % items.itemsize != 0
        return room[ahead:].view(items.dtype).reshape(items.shape)
    return items


def _add_values(random: Random, xp: Any, call: Call, name: str, shape: tuple[int, ...]) -> None:
    """Rows of values: each has its number, as far as it has room for it, and any bytes behind that."""
    width, total = np.dtype(name).itemsize * prod(shape), len(call.keys)
    call.kinds.append(f"values of {width} bytes")
    call.rows = (xp if total >= _JUDGED_THERE else NUMPY).empty((total, width), np.uint8)
    numbers = np.arange(total, dtype=np.uint32).view(np.uint8).reshape(total, 4)
    call.rows[:] = int(random.integers(256))
    call.rows[:, : min(width, 4)] = _as(call.rows, numbers[:, : min(width, 4)])
    ends = np.cumsum([len(run) for run in call.runs])
    parts = []
    for run, end in zip(call.runs, ends.tolist(), strict=True):
        rows = xp.asarray(call.rows[end - len(run) : end]).copy().view(name).reshape(len(run), *shape)
        parts.append(_laid(random, xp, rows, call, "values"))
    call.options["values"] = parts if call.takes_runs else parts[0]


def _add_out(random: Random, xp: Any, call: Call, total: int) -> None:
    """An output inside of memory that must stay as it is."""
    ahead = int(random.integers(0, 20)) * call.dtype.itemsize
    if random.random() < 0.05 and call.rows is None:
        ahead += 1
        call.may_be_refused |= call.dtype.itemsize > 1
        call.kinds.append("out: behind bytes")
    room = xp.full(ahead + total * call.dtype.itemsize + 64, _GUARD, np.uint8)
    end = ahead + total * call.dtype.itemsize
    call.options["out"] = room[ahead:end].view(call.dtype)
    call.room = room, ahead, end
    call.kinds.append("out=")


def problem(xp: Any, call: Call) -> str:
    """The error of the call, or "" if it is right."""
    where = {"backend": "cpu"} if xp is np and call.function != "is_sorted" and call.equals is None else {}
    try:
        found = getattr(gpumerge_cli, call.function)(*call.runs, **call.options, **where)
    except UsageError as error:
        call.kinds.append("refused")
        plain = bool(str(error)) and "\n" not in str(error)
        return "" if call.may_be_refused and plain else f"refused: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if call.function == "is_sorted":
        right = bool((call.images[1:] >= call.images[:-1]).all())
        return "" if found is right else f"{found!r}, not {right}"
    own = np if len(call.keys) < _JUDGED_THERE else xp
    places = own.argsort(call.images, kind="stable") if call.equals is None else _places_of_set(call)
    if call.function == "argsort":
        return _differs(own, found, places.astype(np.int64), "places")
    if call.rows is not None:
        found, moved = found
        wrong = _differs(own, moved, call.rows[places], "values")
        if wrong:
            return wrong
    out = call.options.get("out")
    if out is not None and not (found is out if call.equals is None else _begins(found, out)):
        return "it does not return out"
    wrong = _differs(own, found, call.keys[places], "keys")
    if not wrong and call.room is not None:
        room, begin, end = call.room
        wrong = "" if bool((room[:begin] == _GUARD).all() & (room[end:] == _GUARD).all()) else "it writes around out"
    inputs = [_as(call.keys, run) for run in call.runs]
    ends = np.cumsum([len(run) for run in inputs]).tolist()
    for run, end in zip(inputs, ends, strict=True):
        wrong = wrong or _differs(own, run, call.keys[end - len(run) : end], "an input was changed")
    return wrong


def _places_of_set(call: Call) -> Array:
    """The places of the items that go out, in their order."""
    assert call.equals is not None
    ends = np.cumsum([len(run) for run in call.runs])[:-1]
    numbers = np.unique(call.images, return_inverse=True)[1]
    kept = np.concatenate(_kept(np.split(numbers, ends), call.equals))
    found = np.flatnonzero(kept)
    return found[np.argsort(numbers[found], kind="stable")]


def _begins(part: Array, array: Array) -> bool:
    """Whether a part of an array are its first items."""
    addresses = [each.ctypes.data if isinstance(each, np.ndarray) else each.data.ptr for each in (part, array)]
    return len(part) == 0 or addresses[0] == addresses[1]


def _as(like: Array, array: Array) -> Array:
    """The array on the side of another one."""
    if isinstance(like, np.ndarray):
        return array.get() if hasattr(array, "get") else array
    import cupy

    return cupy.asarray(array)


def _differs(xp: Any, found: Array, expected: Array, what: str) -> str:
    """What is wrong with an array that should have these bytes; "" if nothing is."""
    found = xp.ascontiguousarray(_as(expected, found)).reshape(-1).view(np.uint8)
    expected = xp.ascontiguousarray(expected).reshape(-1).view(np.uint8)
    if found.size != expected.size:
        return f"{what}: {found.size} bytes, not {expected.size}"
    if bool((found == expected).all()):
        return ""
    return f"{what}: byte {int((found != expected).argmax())} of {found.size} is the first that is wrong"


@lru_cache(maxsize=1)
def _stream() -> Any:
    """A stream beside the default one. CuPy keeps memory for each stream, so there is only one."""
    import cupy

    return cupy.cuda.Stream(non_blocking=True)


def case_of(seed: int, backend: str) -> Callable[[int, Callable[[str], None]], tuple[Sequence[str], str]]:
    """Runs a case (see apart.Case)."""

    def case(number: int, tell: Callable[[str], None]) -> tuple[Sequence[str], str]:
        if backend == "cpu":
            call = drawn(np, seed, number)
            tell(call.describe())
            wrong = problem(np, call)
            return call.kinds, wrong
        import cupy

        with _stream() if number % 3 == 0 else nullcontext():
            call = drawn(cupy, seed, number)
            tell(call.describe())
            wrong = problem(cupy, call)
            large = len(call.keys) >= _JUDGED_THERE
        try:
            cupy.cuda.runtime.deviceSynchronize()
        except Exception:
            os._exit(1)  # the device is lost to this process, and later cases are not to blame
        if large:
            del call.keys, call.images, call.rows
            call.runs, call.options, call.room = [], {}, None
            cupy.get_default_memory_pool().free_all_blocks()
        return call.kinds, wrong

    return case


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 1 if a case is wrong."""
    compared = "arrays of the {backend}, against a plain stable sort"
    return run_numbered("tests.fuzz_device", str(__doc__), case_of, ("gpu", "cpu"), compared, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
