"""Random sorts that write their first or last items: files, options, and the plain result, a part of the whole sort."""

from __future__ import annotations

import gzip
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.dataclass import dataclass, replace

LINE_OPTIONS = (
    [], ["-n"], ["-r"], ["-nr"], ["-k2,2"], ["-k2,2n", "-k1,1r"], ["-s", "-k1,1n"], ["-f"], ["-t,", "-k2n"], ["-V"],
    ["-b"], ["-h"], ["-g"], ["-M", "-k2"], ["-d", "-i"], ["-s", "-k2,2"], ["-k1.2,1.3", "-s"],
)  # fmt: skip
"""Orders of GNU sort."""
OWN_OPTIONS = (
    ["-k2,2:length"],
    ["-k1,1:hex", "--invalid=last"],
    ["-t,", "-k1,1:size", "--invalid=first", "-s"],
    ["-R", f"--random-source={sys.executable}"],
)
NPY_TYPES = ("<i4", "<i8", "<f4", "<f8", "|u1", "<u2", ">i4", "<f2", "<M8[s]")
ROOMS = (1 << 9, 1 << 12, 1 << 16)


@dataclass(frozen=True)
class Sorted:
    """One sort: its words behind "sort", the names of its files, and how many of the first bytes are no items."""

    words: tuple[str, ...]
    names: tuple[str, ...]
    item: int
    """Bytes of an item; 0 for lines."""
    head: int = 0
    """Lines of a header, or bytes, that are ahead of the items."""
    gnu: bool = False
    """The words are those of GNU sort."""
    end: bytes = b"\n"


def drawn(rng: random.Random, folder: Path) -> Sorted:
    """A random sort, with its files."""
    found = rng.choice([_lines, _lines, _lines, _csv, _json, _numbers, _numbers, _records])(rng, folder)
    packed = any(name.endswith(".gz") for name in found.names)
    return replace(found, words=("--compressed", *found.words)) if packed else found


def _count(rng: random.Random) -> int:
    return rng.choice([0, 1, 2, 7, 60, 400, rng.randrange(3000)])


def _line(rng: random.Random, kinds: int) -> str:
    key = (
        str(rng.randrange(-kinds, kinds))
        if rng.random() < 0.9
        else rng.choice(["", " 7", "1e3", "2K", "feb", "Inf", "0.50"])
    )
    return f"{key}{rng.choice(', ')}{rng.choice(['a', 'B', '7', '12', 'jan', 'long ' * 9, ''])}{rng.randrange(kinds)}"


def _arranged(rng: random.Random, lines: list[str]) -> list[str]:
    return rng.choice([lines, lines, sorted(lines), sorted(lines, reverse=True)])


def _put(rng: random.Random, folder: Path, name: str, data: bytes) -> str:
    if rng.random() < 0.1:
        name, data = name + ".gz", gzip.compress(data, 1)
    (folder / name).write_bytes(data)
    return str(folder / name)


def _lines(rng: random.Random, folder: Path) -> Sorted:
    names, kinds = [], rng.choice([2, 40, 10**6])
    gnu = rng.random() < 0.8
    options = [*rng.choice(LINE_OPTIONS if gnu else OWN_OPTIONS)]
    end = "\n"
    if gnu and rng.random() < 0.1:
        options, end = [*options, "-z"], "\0"
    if rng.random() < 0.3:
        options.append(rng.choice(["-u", "-u", "--unique=last"]))
        gnu &= options[-1] == "-u"
    for number in range(rng.randint(1, 4)):
        lines = _arranged(rng, [_line(rng, kinds) for _ in range(_count(rng))])
        text = "".join(line + end for line in lines)
        text = text[:-1] if text and rng.random() < 0.3 else text
        names.append(_put(rng, folder, f"{number}.txt", text.encode()))
    gnu &= not any(name.endswith(".gz") for name in names)
    return Sorted(tuple(options), tuple(names), 0, gnu=gnu, end=end.encode())


def _csv(rng: random.Random, folder: Path) -> Sorted:
    names, kinds = [], rng.choice([3, 500])
    for number in range(rng.randint(1, 3)):
        rows = [f'{rng.randrange(kinds)},"x, {rng.randrange(kinds)}",{number}' for _ in range(_count(rng))]
        names.append(
            _put(rng, folder, f"{number}.csv", "".join(row + "\n" for row in ["id,text,file", *rows]).encode())
        )
    options = rng.choice(
        [["--field", "id:n"], ["--field", "text"], ["--field", "id:nr", "-s"], ["--field", "id:n", "-u"]]
    )
    return Sorted((*options, *rng.choice([[], ["--unique=last"] * ("-u" not in options)])), tuple(names), 0, head=1)


def _json(rng: random.Random, folder: Path) -> Sorted:
    names, kinds = [], rng.choice([3, 500])
    for number in range(rng.randint(1, 3)):
        rows = [f'{{"id": {rng.randrange(kinds)}, "t": "{rng.randrange(kinds)}"}}' for _ in range(_count(rng))]
        names.append(_put(rng, folder, f"{number}.jsonl", "".join(row + "\n" for row in rows).encode()))
    return Sorted(rng.choice([("--field", "id"), ("--field", "t", "-r"), ("--field", "id", "-u")]), tuple(names), 0)


def _numbers(rng: random.Random, folder: Path) -> Sorted:
    dtype = np.dtype(rng.choice(NPY_TYPES))
    names, kinds = [], rng.choice([2, 200, 10**6])
    for number in range(rng.randint(1, 3)):
        values = np.array([rng.randrange(kinds) for _ in range(_count(rng))], np.int64)
        array = (values % 250 if dtype.itemsize == 1 else values % 60000 if dtype.itemsize == 2 else values).astype(
            dtype
        )
        if dtype.kind == "f" and len(array):
            array[:: rng.randint(1, 90)] *= rng.choice([-1, 0, np.nan])
        array = rng.choice([array, np.sort(array), np.sort(array)[::-1]])
        np.save(folder / f"{number}.npy", array)
        names.append(str(folder / f"{number}.npy"))
    return Sorted(
        tuple(rng.choice([[], ["-r"], ["-u"], ["--unique=last", "-r"]])), tuple(names), dtype.itemsize, head=128
    )


def _records(rng: random.Random, folder: Path) -> Sorted:
    size, names = rng.choice([3, 12, 40]), []
    for number in range(rng.randint(1, 3)):
        data = bytes(
            rng.choice(b"abc" if at % size < 9 else bytes(range(256))) for at in range(size * min(400, _count(rng)))
        )
        names.append(_put(rng, folder, f"{number}.rec", data))
    words = ["--record-size", str(size), "--key-size", str(rng.choice([1, 2, size])), "--format", "records"]
    return Sorted((*words[:4], *rng.choice([[], ["-r"], ["-u"], ["--unique=last"]])), tuple(names), size)


def items_of(data: bytes, one: Sorted) -> list[bytes]:
    """The items of an output, with its header as the first of them if it has one."""
    if one.item:
        return [data[: one.head], *(data[at : at + one.item] for at in range(one.head, len(data), one.item))][
            not one.head :
        ]
    return data.split(one.end)[:-1]


def check(rng: random.Random, folder: Path, shrink: Callable[[int], None]) -> None:
    """Compare a random sort's first or last items with the same part of the whole sort. shrink: sets the least room."""
    one = drawn(rng, folder)
    out, ahead = folder / "out", int(bool(one.head))
    out = out.with_suffix(Path(one.names[0].removesuffix(".gz")).suffix)
    shrink(rng.choice(ROOMS))
    assert invoke(["sort", *one.words, *one.names, "-o", str(out)]) == 0, one
    whole = items_of(out.read_bytes(), one)
    header, items = whole[:ahead], whole[ahead:]
    if one.gnu:
        found = subprocess.run(
            ["sort", *one.words, *one.names], env={**os.environ, "LC_ALL": "C"}, stdout=subprocess.PIPE, check=True
        )
        assert found.stdout.split(one.end)[:-1] == items, one
    count = rng.choice([0, 1, 2, 10, 100, len(items) // 2, max(0, len(items) - 1), len(items), 10**7])
    option, expected = rng.choice([("--head", items[:count]), ("--tail", items[max(0, len(items) - count) :])])
    words = ["--threads", str(rng.choice([1, 2, 4])), *rng.choice([[], [], ["-S", "1M"], ["-S", "0b"]])]
    assert invoke(["sort", *one.words, *words, option, str(count), *one.names, "-o", str(out)]) == 0, (one, words)
    found_items = items_of(out.read_bytes(), one)
    if one.item and ahead:  # the header of .npy says how many follow
        assert np.load(out).tobytes() == b"".join(expected), (one, words, option, count)
    else:
        assert found_items == header + expected, (one, words, option, count)
