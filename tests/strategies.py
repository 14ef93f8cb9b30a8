"""Hypothesis strategies: runs of keys and of lines that reach the edges of dtypes and launch shapes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from gpumerge_cli.errors import InputError
from gpumerge_cli.formats import registry  # noqa: F401  (it registers the formats)
from gpumerge_cli.formats.beginnings import refuse_binary
from gpumerge_cli.order.key_types import DTYPES
from gpumerge_cli.order.kinds import Order
from tests.oracles import merged_keys, merged_records, sorted_lines

LENGTHS = st.one_of(
    st.integers(0, 12), st.sampled_from([31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 257]), st.integers(0, 600)
)


def special_values(dtype: np.dtype[Any]) -> NDArray[Any]:
    """The dtype's edges: NaT, extremes, zeros and NaNs of both signs, subnormals, infinities, payloads."""
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "mM":
        return special_values(np.dtype(np.int64)).view(dtype)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return np.array([info.min, info.min + 1, 0, 1, info.max - 1, info.max], dtype)
    tiny = np.finfo(dtype).smallest_subnormal
    values = np.array([-np.inf, -1, -tiny, -0.0, 0.0, tiny, 2 * tiny, 1, np.inf, np.nan, -np.nan], dtype)
    payload = values[-2:].copy()
    payload.view(f"u{dtype.itemsize}")[:] ^= 1
    return np.concatenate([values, payload])


@st.composite
def key_runs(draw: st.DrawFn, dtypes: tuple[str, ...] = DTYPES, most_runs: int = 2) -> tuple[list[NDArray[Any]], bool]:
    """(sorted runs of one dtype, descending)."""
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    descending = draw(st.booleans())
    count = draw(st.integers(1, most_runs)) if most_runs > 2 else 2
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    specials = special_values(dtype)
    shape = draw(st.sampled_from(["specials", "few", "uniform", "disjoint", "disjoint the other way", "one side"]))
    runs = []
    for number in range(count):
        length = draw(LENGTHS)
        if shape == "one side" and number:
            length = min(length, 1)
        if shape == "specials":
            run = rng.choice(specials, length)
        elif shape == "few":
            run = rng.integers(0, 4, length).astype(dtype)
        elif shape == "uniform":
            run = rng.integers(0, 256, (length, dtype.itemsize), np.uint8).view(dtype).reshape(-1)
        else:
            step = number if shape == "disjoint" else count - number
            run = rng.integers(20 * step, 20 * step + 19, length).astype(dtype)
        runs.append(merged_keys([run], descending=descending))
    return runs, descending


_NUMBERS = st.from_regex(rb"[ \t]{0,2}-?0{0,3}[0-9]{0,4}(\.[0-9]{0,4})?[ a-]?", fullmatch=True)
_LONG_NUMBERS = st.from_regex(rb"-?[1-3]{14,20}(\.[0-9]{0,20})?", fullmatch=True)


def _as_first(line: bytes) -> bytes:
    """The line with an x ahead of it where a file that begins with it would not be read as the same text.

    Hypothesis knows the bytes by which other formats begin: they are constants of the program.
    """
    try:
        refuse_binary("lines.txt", line + b"\n", plain=False)
    except InputError:
        return b"x" + line
    return b"x" + line if line.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"\0\0\xfe\xff")) else line


_LINES = st.one_of(
    st.binary(max_size=12).map(lambda line: _as_first(line.replace(b"\n", b"\0"))),
    st.from_regex(rb"[ab]{0,20}", fullmatch=True),
    st.from_regex(rb"common prefix[ab]?", fullmatch=True),
    _NUMBERS,
    _LONG_NUMBERS,
)


@st.composite
def line_runs(draw: st.DrawFn, most_runs: int = 2) -> tuple[list[list[bytes]], bool, bool]:
    """(sorted runs of lines, numeric, descending)."""
    numeric, descending = draw(st.booleans()), draw(st.booleans())
    count = draw(st.integers(1, most_runs))
    pool = draw(st.lists(_LINES, min_size=1, max_size=12))
    runs = [draw(st.lists(st.sampled_from(pool), max_size=60)) for _ in range(count)]
    return [sorted_lines(run, numeric=numeric, descending=descending) for run in runs], numeric, descending


def as_text(lines: list[bytes], end: bytes = b"\n") -> bytes:
    """Lines as in a file, each with its terminator."""
    return end.join([*lines, b""])


RECORD_SIZES = (1, 2, 3, 7, 8, 12, 16, 100, 4097)


@dataclass(frozen=True)
class Records:
    """Sorted runs of records of `size` bytes, whose key is at `offset`: of a dtype, or so many bytes."""

    runs: list[list[bytes]]
    size: int
    offset: int
    key: np.dtype[Any] | int
    descending: bool

    @property
    def order(self) -> Order:
        return Order.records(self.size, self.offset, self.key, descending=self.descending)

    @property
    def all(self) -> list[bytes]:
        return [record for run in self.runs for record in run]

    @property
    def merged(self) -> list[bytes]:
        return merged_records(self.all, self.offset, self.key, descending=self.descending)


@st.composite
def record_runs(draw: st.DrawFn, most_runs: int = 3, sizes: tuple[int, ...] = RECORD_SIZES) -> Records:
    """Records with keys anywhere in them. The keys often tie, and often differ only behind their first 8 bytes.

    The other bytes differ from record to record, as far as there is room, so that tests see the order of ties.
    """
    size = draw(st.sampled_from(sizes))
    fitting = [np.dtype(name) for name in DTYPES if np.dtype(name).itemsize <= size]
    key: Any = draw(st.one_of(st.integers(1, min(20, size)), st.sampled_from(fitting)))
    if not isinstance(key, int) and draw(st.booleans()):
        key = key.newbyteorder()
    width = key if isinstance(key, int) else key.itemsize
    offset = draw(st.integers(0, size - width))
    descending = draw(st.booleans())
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = draw(st.sampled_from(["few", "any", "specials", "equal prefixes"]))
    runs = []
    for _ in range(draw(st.integers(1, most_runs))):
        count = draw(LENGTHS if size < 1000 else st.integers(0, 12))
        records = rng.integers(0, 256, (count, size), np.uint8)
        keys = records[:, offset : offset + width]
        if shape == "few":
            keys[:] = rng.integers(0, 3, (count, width), np.uint8) * 100
            keys[:, 1:] = 0
        elif shape == "equal prefixes":
            keys[:, :-1] = 0
            keys[:, -1] &= 0x83
        elif shape == "specials" and not isinstance(key, int):
            chosen = rng.choice(special_values(key.newbyteorder("=")), count).astype(key)
            keys[:] = chosen.view(np.uint8).reshape(count, width)
        runs.append(merged_records([record.tobytes() for record in records], offset, key, descending=descending))
    return Records(runs, size, offset, key, descending)
