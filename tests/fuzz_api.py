"""Random calls of merge, sort, argsort and is_sorted, each held against NumPy.

python -m tests.fuzz_api --cases 5000 --seed 1 --backend cpu [--workers N] [-o FILE]
python -m tests.fuzz_api --seed 1 --only 1234

The seed and the number decide a case. Arrays have every dtype and byte order. They may be structured, with a key inside
of other fields, strided, reversed, unaligned, read-only, mapped files, or empty. Now and then they are not in order;
then a merge must still give the same items. Some calls are impossible, and must raise a UsageError of one line. On a
GPU half of the arrays are CuPy's, which tests.fuzz_device lays out in more ways. Cases run in processes of their own,
so a crash is reported as wrong.

With --writers, a thread moves the items of the arrays about while each call runs, and each call is repeated. The
results may then be anything, but no call crashes, and none writes beside its output.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.recfunctions import repack_fields
from numpy.typing import NDArray

import gpumerge_cli
from gpumerge_cli.backends.ladder import KERNELS
from gpumerge_cli.errors import UsageError
from gpumerge_cli.launch import ALGORITHMS
from gpumerge_cli.order.key_types import DTYPES
from tests.apart import conclude, each
from tests.fake_cupy import back, there
from tests.strategies import special_values

Random = np.random.Generator
Array = NDArray[Any]

NESTED = np.dtype([("id", "<i4"), ("x", ">f4"), ("name", "S3"), ("in", [("n", "u2"), ("raw", "V5")]), ("many", "3u1")])
ROWS: list[tuple[np.dtype[Any], tuple[str, ...]]] = [
    (NESTED, ("id", "x", "name", "in.n", "in.raw")),
    (np.dtype([("k", "<i8"), ("v", "<i4")]), ("k", "v")),
    (np.dtype([("k", ">u8")]), ("k",)),
    (np.dtype([("a", "i1"), ("k", "<f8")], align=True), ("a", "k")),
    (np.dtype([("a", "?"), ("in", [("k", ">M8[ms]")]), ("k", "m8[s]")]), ("a", "in.k", "k")),
    (np.dtype({"names": ["k", "v"], "formats": ["<f2", "<u2"], "offsets": [3, 8], "itemsize": 31}), ("k", "v")),
    (np.dtype([("k", "S100"), ("v", "V1")]), ("k", "v")),
]
"""Structured dtypes, and the fields that they can be in order by."""
PLAIN = (*DTYPES, "bool", "M8[s]", "m8[ns]")
BYTES = [np.dtype(name) for name in ("S1", "S5", "S16", "V3", "V8", "V100")]
KEYLESS = [np.dtype(name) for name in ("U3", "c8", "O", "f16")]
"""Dtypes that cannot be ordered."""

_KERNELS = ("auto", "auto", *KERNELS)
_ALGORITHMS = ("auto", "auto", *ALGORITHMS)
_ITEMS = "an array must hold the same items"
_REPEATS = 20
"""How often a call runs beside a writer."""
_GUARD, _FILL = 4096, 0xA5
"""The bytes on each side of an output beside a writer, and their value."""


@dataclass
class Call:
    """A call, and its right result. refused: the call must raise UsageError; None if it may."""

    function: str
    arrays: list[Any]
    options: dict[str, Any] = field(default_factory=dict)
    key: Any = None
    descending: bool = False
    ordered: bool = True
    refused: bool | None = False
    notes: list[str] = field(default_factory=list)

    def describe(self) -> str:
        """The whole call without its items."""
        arrays = ", ".join(f"{getattr(a, 'dtype', type(a))}{list(getattr(a, 'shape', []))}" for a in self.arrays)
        options = {name: _named(value) for name, value in self.options.items()}
        more = f" ({'; '.join(self.notes)})" if self.notes else ""
        return f"{self.function}({arrays}, {options}), {'in order' if self.ordered else 'in no order'}{more}"


def _named(value: Any) -> Any:
    if isinstance(value, list):
        return [_named(each_) for each_ in value]
    return f"{value.dtype}{list(value.shape)}" if isinstance(value, np.ndarray) else value


def keys_of(array: Array, key: str | None) -> Array:
    """The keys of an array: numbers, or bytes with all of their NULs."""
    for name in key.split(".") if key else ():
        array = array[name]
    if array.dtype.kind not in "SV":
        return array.astype(array.dtype.newbyteorder("="))
    width = array.dtype.itemsize
    return np.array([bytes(item).ljust(width, b"\0") + b"." for item in array], f"S{width + 1}")


def ranks_of(keys: Array, descending: bool) -> NDArray[np.int64]:
    """Each item's place among the distinct keys: NaN last and zeros equal, as NumPy has it."""
    ranks = np.unique(keys, return_inverse=True, **({"equal_nan": True} if keys.dtype.kind in "fmM" else {}))[1]
    ranks = ranks.astype(np.int64).reshape(-1)
    return -ranks if descending else ranks


def item_ranks(items: Array, key: Any, descending: bool) -> NDArray[np.int64]:
    """Each item's place among the distinct items by a key, or by a list of keys, the first one first."""
    if not isinstance(key, list):
        return ranks_of(keys_of(items, key), descending)
    named = [(one.removesuffix(":r"), one.endswith(":r")) if isinstance(one, str) else (one[0], True) for one in key]
    ranks = [ranks_of(keys_of(items, name), turned != descending) for name, turned in named]
    return np.unique(np.stack(ranks, axis=1), axis=0, return_inverse=True)[1].astype(np.int64).reshape(-1)


def drawn(seed: int, number: int, backend: str, folder: Path) -> Call:
    """Case `number`; files that are mapped lie in the folder."""
    random = np.random.default_rng([seed, number])
    function = str(random.choice(["merge", "merge", "merge", "sort", "sort", "argsort", "is_sorted"]))
    dtype, key = _dtype(random)
    call = Call(function, [], key=key, descending=bool(random.random() < 0.4))
    count = 1 if function != "merge" else int(random.choice([1, 2, 2, 2, 3, int(random.integers(4, 21))]))
    total = int(2 ** random.uniform(0, 17 if random.random() < 0.05 else 12)) - 1
    call.ordered = bool(random.random() < {"merge": 0.75, "sort": 0.1, "argsort": 0.1, "is_sorted": 0.6}[function])
    for number_of_run in range(count):
        size = int(random.integers(0, total + 1)) if random.random() < 0.85 else int(random.integers(0, 3))
        items = _content(random, dtype, size)
        if call.ordered:
            items = items[np.argsort(item_ranks(items, key, call.descending), kind="stable")]
        call.arrays.append(_laid(random, items, folder / str(number_of_run), call.notes))
    call.options |= {"key": key} if key is not None or random.random() < 0.1 else {}
    call.options |= {"descending": call.descending} if call.descending or random.random() < 0.3 else {}
    if function != "is_sorted":
        _options(random, call, dtype, backend)
    if random.random() < 0.1:
        _spoil(random, call)
    return call


def _dtype(random: Random) -> tuple[np.dtype[Any], Any]:
    if random.random() < 0.6:
        dtype = np.dtype(PLAIN[int(random.integers(len(PLAIN)))])
        return (dtype.newbyteorder() if random.random() < 0.15 else dtype), None
    if random.random() < 0.3:
        return BYTES[int(random.integers(len(BYTES)))], None
    rows, keys = ROWS[int(random.integers(len(ROWS)))]
    if random.random() < 0.5:
        return rows, str(random.choice(keys))
    some = [str(name) for name in random.permutation(keys)[: int(random.integers(1, 4))]]
    return rows, [
        [name, f"{name}:r", (name, "descending")][0 if random.random() < 0.6 else int(random.integers(1, 3))]
        for name in some
    ]


def _content(random: Random, dtype: np.dtype[Any], size: int) -> Array:
    """Random bits, with NaNs of all payloads; or few distinct items; or the edges of the dtype."""
    kind = int(random.integers(3))
    if kind == 0 and dtype.kind in "iuf":
        return random.choice(special_values(dtype.newbyteorder("=")), size).astype(dtype)
    if kind == 0 and dtype.kind in "mM":
        return random.choice(np.array([np.iinfo("i8").min, -1, 0, 1, np.iinfo("i8").max]), size).astype(dtype)
    if dtype.kind == "b":
        return random.integers(0, 2, size).astype(dtype)
    items = np.frombuffer(random.bytes(size * dtype.itemsize), dtype).copy()
    if kind == 1 or dtype.kind in "SV":
        # Keys of few bits: of many bits none are equal.
        few = items.view(np.uint8).reshape(size, dtype.itemsize)
        few &= random.choice(np.array([0, 0, 1, 3, 0x81, 255], np.uint8), dtype.itemsize)
        for name in [name for name in dtype.names or () if dtype[name].kind == "b"]:
            items[name] = items[name].view(np.uint8) & 1
    return items


def _laid(random: Random, items: Array, path: Path, notes: list[str]) -> Array:
    """The same items, in memory in some other way."""
    how = str(random.choice(["plain", "plain", "every other", "reversed", "unaligned", "read-only", "mapped", "field"]))
    size, dtype = len(items), items.dtype
    laid: Array = items
    if how == "every other":
        laid = np.zeros(3 * size, dtype)[::3]
        laid[:] = items
    elif how == "reversed":
        laid = items[::-1].copy()[::-1]
    elif how == "unaligned":
        laid = np.zeros(size * dtype.itemsize + 1, np.uint8)[1:].view(dtype)
        laid[:] = items
    elif how == "read-only":
        laid = items.copy()
        laid.flags.writeable = False
    elif how == "mapped" and size:
        items.tofile(path)
        laid = np.memmap(path, dtype, "r")
    elif how == "field":
        laid = np.zeros(size, [("other", "u1"), ("it", dtype)])["it"]
        laid[:] = items
    notes += [how] * (how != "plain")
    return laid


def _options(random: Random, call: Call, dtype: np.dtype[Any], backend: str) -> None:
    total = sum(map(len, call.arrays))
    call.options["backend"] = backend
    if random.random() < 0.7:
        call.options["threads"] = int(random.choice([1, 1, 2, 3, 7]))
    if random.random() < 0.3 and call.function != "argsort":
        native = dtype if dtype.kind in "SV" else dtype.newbyteorder("=")
        call.options["out"] = np.empty(total, native)
        if random.random() < 0.3:
            call.options["out"] = np.zeros(total * native.itemsize + 1, np.uint8)[1:].view(native)  # unaligned
    kernel = str(random.choice(_KERNELS))
    call.options |= {"kernel": kernel} if kernel != "auto" or random.random() < 0.2 else {}
    if call.function != "argsort" and random.random() < 0.35:
        rows = _values(random, total)
        ends = np.cumsum([len(array) for array in call.arrays])
        call.options["values"] = rows if call.function == "sort" else np.split(rows, ends[:-1])
    if call.function != "merge":
        algorithm = str(random.choice(_ALGORITHMS))
        call.options |= {"algorithm": algorithm} if algorithm != "auto" else {}
    elif kernel in ("path", "vector"):
        # It is compiled for each launch shape.
        call.options |= {} if random.random() < 0.7 else {"block_size": 32, "items_per_thread": 4, "transfer": "vector"}
    else:
        for name, most in (("block_size", 1024), ("items_per_thread", 20), ("tile_size", 3000), ("fan_in", 16)):
            if random.random() < 0.2:
                call.options[name] = int(2 ** random.uniform(0, np.log2(most)))
        if random.random() < 0.1:
            call.options["tile_load"] = str(random.choice(["full", "exact"]))
    # No algorithm or kernel takes every shape, order and number of values.
    plain = {"key", "descending", "backend", "threads", "out"}
    call.refused = False if set(call.options) <= plain else None


def _values(random: Random, size: int) -> Any:
    shape = (size, 2) if random.random() < 0.2 else (size,)
    kind = int(random.integers(5))
    if kind == 0:
        return np.array([object() for _ in range(size)], object)
    dtype = [np.dtype("u1"), np.dtype("f8"), np.dtype("U2"), NESTED][kind - 1]
    many = np.zeros(shape, dtype) if kind > 2 else random.integers(0, 256, shape).astype(dtype)
    return many[::-1] if random.random() < 0.3 else many


def _spoil(random: Random, call: Call) -> None:
    """Make the call one that must be refused."""
    size = sum(len(array) for array in call.arrays)
    ways: dict[str, Callable[[], Any]] = {
        "two dimensions": lambda: call.arrays.append(np.zeros((2, 2))),
        "no dimension": lambda: call.arrays.append(np.array(1)),
        "a range": lambda: call.arrays.append(range(2)),
        "no order": lambda: call.arrays.append(np.zeros(2, KEYLESS[int(random.integers(len(KEYLESS)))])),
        "masked": lambda: call.arrays.append(np.ma.masked_array([1, 2, 3], [0, 1, 0])),
        "no such field": lambda: call.options.update(key="none"),
        "key is no name": lambda: call.options.update(key=3),
        "another dtype": lambda: call.arrays.append(np.zeros(2, [("other", "i4")])),
        "no array": lambda: call.arrays.clear(),
        "backend": lambda: call.options.update(backend="abacus"),
        "kernel": lambda: call.options.update(kernel="fast"),
        "threads": lambda: call.options.update(threads=[0, -1, 2.5, "2"][int(random.integers(4))]),
        "short out": lambda: call.options.update(out=np.zeros(size + 1, call.arrays[0].dtype)),
        "read-only out": lambda: call.options.update(out=_read_only(np.zeros(size, call.arrays[0].dtype))),
        "strided out": lambda: call.options.update(out=np.zeros(2 * size + 4, call.arrays[0].dtype)[::2][: size + 2]),
        "out shared": lambda: call.options.update(out=call.arrays[0]),
        "few values": lambda: call.options.update(values=np.zeros(size + 1)),
        "few arrays of values": lambda: call.options.update(values=[np.zeros(size)] * (len(call.arrays) + 1)),
    }
    common = ["two dimensions", "no dimension", "a range", "no order", "masked", "no such field", "key is no name"]
    of = {
        "is_sorted": common,
        "argsort": [*common, "backend", "kernel", "threads"],
        "sort": [*common, "backend", "kernel", "threads", "short out", "read-only out", "strided out", "few values"],
        "merge": [*common, "another dtype", "no array", "backend", "kernel", "threads", "short out", "read-only out",
                  "strided out", "out shared", "few arrays of values"],
    }  # fmt: skip
    way = str(random.choice(of[call.function]))
    if way == "out shared" and (len(call.arrays) > 1 or size == 0):
        way = "short out"
    if way in ("two dimensions", "no dimension", "a range", "no order", "masked") and call.function != "merge":
        call.arrays.clear()
    ways[way]()
    call.refused = True
    call.notes.append(f"to be refused: {way}")


def _read_only(array: Array) -> Array:
    array.flags.writeable = False
    return array


def problem(call: Call, on_device: bool = False) -> str:
    """The error of the call, or "" if it is right. on_device: with CuPy arrays."""
    before = [_packed(array) for array in call.arrays]
    arrays, options = call.arrays, dict(call.options)
    if on_device:
        import cupy

        def moved(array: Any) -> Any:
            return there(cupy, array)

        arrays = [moved(array) for array in arrays]
        options |= {name: _moved(options[name], moved) for name in ("out", "values") if name in options}
    try:
        found = getattr(gpumerge_cli, call.function)(*arrays, **options)
    except UsageError as error:
        if call.refused is False:
            return f"refused: {error}"
        return "" if "\n" not in str(error) and str(error) else f"the refusal is no line: {error!r}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if call.refused:
        return "it is not refused"
    if on_device:
        found = tuple(map(back, found)) if isinstance(found, tuple) else back(found)
    elif "out" in options and (found[0] if isinstance(found, tuple) else found) is not options["out"]:
        return "it does not return out"
    if before != [_packed(array) for array in call.arrays]:
        return "an input was changed"
    return _wrong(call, found)


def problem_beside_writer(call: Call) -> str:
    """The error of the call while a thread writes to its arrays, or "". Crashes end the process."""
    arrays = [array for array in map(_writable, call.arrays) if array is not None]
    sources = [array.copy() for array in arrays]
    options, room = dict(call.options), np.zeros(0, np.uint8)
    if not call.refused and "out" in options:
        dtype, nbytes, shift = options["out"].dtype, options["out"].nbytes, options["out"].ctypes.data % 8
        room = np.full(nbytes + 2 * _GUARD + 8, _FILL, np.uint8)
        begin = _GUARD + (shift - room.ctypes.data) % 8
        options["out"] = room[begin : begin + nbytes].view(dtype)
    stop = threading.Event()

    def write() -> None:
        random = np.random.default_rng(len(call.arrays))
        while not stop.is_set():
            for array, source in zip(arrays, sources, strict=True):
                count = min(200, len(array))
                array[random.integers(0, len(array), count)] = source[random.integers(0, len(array), count)]

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    try:
        for _ in range(_REPEATS):
            try:
                getattr(gpumerge_cli, call.function)(*call.arrays, **options)
            except UsageError as error:
                if call.refused is False:
                    return f"refused: {error}"
            except Exception as error:
                return f"{type(error).__name__}: {error}"
            if len(room) and ((room[:begin] != _FILL).any() or (room[begin + nbytes :] != _FILL).any()):
                return "it writes beside its output"
    finally:
        stop.set()
        writer.join()
    return ""


def _writable(array: Any) -> Array | None:
    """The array, or its file mapped once more, to write to; None if there is nothing to write to."""
    if not isinstance(array, np.ndarray) or array.ndim != 1 or not len(array) or array.dtype.hasobject:
        return None
    if isinstance(array, np.memmap) and array.filename is not None:
        return np.memmap(array.filename, array.dtype, "r+")
    return array if array.flags.writeable and not isinstance(array, np.ma.MaskedArray) else None


def _moved(given: Any, where: Callable[[Any], Any]) -> Any:
    return [where(each_) for each_ in given] if isinstance(given, list) else where(given)


def _wrong(call: Call, found: Any) -> str:
    native = call.arrays[0].dtype
    native = native if native.kind in "SV" else native.newbyteorder("=")
    both = np.empty(sum(map(len, call.arrays)), native)  # np.concatenate would change byte orders within
    ends = np.cumsum([len(array) for array in call.arrays])
    for array, end in zip(call.arrays, ends, strict=True):
        both[end - len(array) : end] = array
    ranks = item_ranks(both, call.key, call.descending)
    if call.function == "is_sorted":
        right = bool((ranks[1:] >= ranks[:-1]).all())
        return "" if type(found) is bool and found == right else f"{found!r}, not {right}"
    places = np.argsort(ranks, kind="stable")
    if call.function == "argsort":
        right = isinstance(found, np.ndarray) and found.dtype == np.int64 and np.array_equal(found, places)
        return "" if right else "the places are others"
    values = None
    if isinstance(found, tuple):
        found, values = found
    if values is None and "values" in call.options:
        return "there are no values"
    if not isinstance(found, np.ndarray) or found.dtype != native or found.shape != both.shape:
        return f"{type(found).__name__} of {getattr(found, 'dtype', None)}{getattr(found, 'shape', None)}"
    if call.function == "merge" and not call.ordered and call.options.get("backend") == "gpu":
        return ""  # whose threads' shares may overlap then: of its type and length is all that is promised
    if call.function == "merge" and not call.ordered:
        return "" if _alike(np.sort(_raw(found)), np.sort(_raw(both))) else f"{_ITEMS}, in whatever order"
    if not _alike(_raw(found), _raw(both[places])):
        at = int(np.flatnonzero(_raw(found) != _raw(both[places]))[0])
        return f"item {at} of {len(both)} is {found[at]!r}, not {both[places][at]!r}"
    given = call.options.get("values")
    given = _joined(given) if isinstance(given, list) else given
    if values is not None and not (values.dtype == given.dtype and _alike(values, given[places])):
        return "the values are in another order"
    return ""


def _joined(arrays: Sequence[Array]) -> Array:
    joined = np.empty((sum(map(len, arrays)), *arrays[0].shape[1:]), arrays[0].dtype)
    ends = np.cumsum([len(array) for array in arrays])
    for array, end in zip(arrays, ends, strict=True):
        joined[end - len(array) : end] = array
    return joined


def _packed(array: Any) -> bytes:
    """The bytes of the items, without padding, because copies may lose it."""
    return repack_fields(np.asarray(array), recurse=True).tobytes()


def _raw(array: Array) -> Array:
    """The items as bytes, with the payloads of NaNs."""
    packed = np.frombuffer(_packed(array), np.uint8)
    raw = packed.reshape(len(array), -1) if len(array) else packed.reshape(0, 1)
    raw = np.concatenate([raw, np.ones((len(array), 1), np.uint8)], axis=1)
    return raw.view(f"S{raw.shape[1]}").reshape(-1)


def _alike(a: Array, b: Array) -> bool:
    return bool(np.array_equal(a, b)) if a.dtype.names is None else a.tobytes() == b.tobytes()


def fits_device(call: Call) -> bool:
    """Whether CuPy has arrays for a call: none of foreign byte order but in records, and none of objects or strings."""
    values = call.options.get("values", [])
    every = [*call.arrays, *(values if isinstance(values, list) else [values])]
    every += [call.options["out"]] if "out" in call.options else []
    known = [
        isinstance(each_, np.ndarray)
        and (each_.dtype.names is not None or (each_.dtype.kind in "iufbmMSV" and each_.dtype.isnative))
        for each_ in every
    ]
    return all(known) and not call.refused


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 1 if a case is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--backend", choices=("auto", "cpu", "gpu"), default="cpu")
    parser.add_argument("--workers", type=int, default=1, help="processes at a time")
    parser.add_argument("--only", type=int, metavar="N", help="case N alone")
    parser.add_argument("--writers", action="store_true", help="while a thread writes to the arrays")
    parser.add_argument("-o", metavar="FILE")
    wish = parser.parse_args(arguments)

    def case(number: int, tell: Callable[[str], None]) -> tuple[Sequence[str], str]:
        with tempfile.TemporaryDirectory() as folder:
            call = drawn(wish.seed, number, wish.backend, Path(folder))
            kinds = [call.function, f"{call.function}, {'in order' if call.ordered else 'in no order'}"]
            kinds += [note for note in call.notes if note.startswith("to be")] + [*call.options]
            on_device = wish.backend == "gpu" and fits_device(call) and number % 2 == 1
            tell(call.describe())
            if wish.writers:
                return [*kinds, "beside a writer"], problem_beside_writer(call)
            return [*kinds, *["CuPy"] * on_device], problem(call, on_device)

    numbers = range(wish.cases) if wish.only is None else [wish.only]
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    begun = time.monotonic()
    for ended in each(case, numbers, workers=wish.workers, batch=500):
        counts.update(set(ended.kinds))
        if ended.wrong:
            again = f"python -m tests.fuzz_api --seed {wish.seed} --backend {wish.backend} --only {ended.number}"
            again += " --writers" * wish.writers
            wrong.append(f"{ended.wrong}\n  again: {again}")
            print(wrong[-1], file=sys.stderr, flush=True)
    report = [f"seed {wish.seed}, {len(numbers)} calls on {wish.backend}, against NumPy {np.__version__}"]
    verdict = f"{len(numbers) - len(wrong)} of {len(numbers)} right, in {time.monotonic() - begun:.0f} s"
    return conclude(report, counts, wrong, verdict, wish.o)


if __name__ == "__main__":
    raise SystemExit(main())
