"""Records with several fields in their key, drawn at random, and Python's own order of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from gpumerge_cli.formats.record_options import Key, order_of
from gpumerge_cli.order.key_types import DTYPES
from gpumerge_cli.order.kinds import Order
from tests.linekeys import Reversed
from tests.strategies import LENGTHS, special_values


@dataclass(frozen=True)
class FieldCase:
    """Records of a structured dtype, their runs unsorted. fields: as --field has them, "b,a:r"."""

    items: list[NDArray[Any]]
    fields: tuple[str, ...]

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.items[0].dtype

    @property
    def order(self) -> Order:
        return order_of(self.dtype, Key(fields=self.fields))

    @property
    def runs(self) -> list[NDArray[Any]]:
        """The runs, each in order."""
        return [in_order([run], self.fields) for run in self.items]

    @property
    def merged(self) -> NDArray[Any]:
        return in_order(self.items, self.fields)


def python_key(record: Any, fields: Sequence[str]) -> tuple[Any, ...]:
    """The record's fields as a tuple that Python compares. NaN is the last number, -0.0 is 0.0."""
    parts = []
    for word in ",".join(fields).split(","):
        name = word.removesuffix(":r")
        value = record[name].tobytes() if record[name].dtype.kind in "SV" else record[name].item()
        if isinstance(value, bytes):
            value = value.ljust(record.dtype[name].itemsize, b"\0")
        if isinstance(value, float):
            value = (math.isnan(value), 0.0 if math.isnan(value) else value)
        parts.append(Reversed(value) if word.endswith(":r") else value)
    return tuple(parts)


def in_order(runs: Sequence[NDArray[Any]], fields: Sequence[str]) -> NDArray[Any]:
    """The stable sort of all records."""
    items = joined(runs)
    ranks = sorted(range(len(items)), key=lambda number: python_key(items[number], fields))
    return items.view(f"V{items.itemsize}")[np.array(ranks, np.int64)].view(items.dtype)


def joined(runs: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Runs one behind the other, with the bytes between their fields and in their byte order, unlike np.concatenate."""
    return np.concatenate([run.view(f"V{run.itemsize}") for run in runs]).view(runs[0].dtype)


@st.composite
def field_cases(draw: st.DrawFn, most_runs: int = 3) -> FieldCase:
    """Keys of 2 to 4 fields, which lie anywhere, in any order; their values often tie."""
    kinds = st.one_of(st.sampled_from(DTYPES), st.sampled_from(["S1", "S3", "S9", "V2", "S20"]))
    formats: list[Any] = [np.dtype(kind) for kind in draw(st.lists(kinds, min_size=2, max_size=5))]
    formats = [dtype.newbyteorder() if draw(st.booleans()) else dtype for dtype in formats]
    offsets, at = [], 0
    for dtype in formats:
        at += draw(st.integers(0, 3))
        offsets.append(at)
        at += dtype.itemsize
    names = [f"f{number}" for number in range(len(formats))]
    size: Any = {"names": names, "formats": formats, "offsets": offsets, "itemsize": at + draw(st.integers(0, 3))}
    dtype = np.dtype(size)
    chosen = draw(st.permutations(names))[: draw(st.integers(2, 4))]
    words = [name + draw(st.sampled_from(["", ":r"])) for name in chosen]
    fields = (",".join(words),) if draw(st.booleans()) else tuple(words)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = draw(st.sampled_from(["few", "any", "specials"]))
    runs = []
    for _ in range(draw(st.integers(1, most_runs))):
        count = draw(LENGTHS)
        run = np.frombuffer(rng.bytes(count * dtype.itemsize), dtype).copy()
        for name in names if shape != "any" else ():
            run[name] = _values(rng, dtype[name], count, shape)
        runs.append(run)
    return FieldCase(runs, fields)


def _values(rng: np.random.Generator, dtype: np.dtype[Any], count: int, shape: str) -> NDArray[Any]:
    if dtype.kind in "SV":
        made = rng.integers(0, 2, (count, dtype.itemsize), np.uint8)
        made[:, : dtype.itemsize // 2] = 0
        return made.view(dtype).reshape(count)
    if shape == "specials":
        return rng.choice(special_values(dtype.newbyteorder("=")), count).astype(dtype)
    return rng.integers(0, 3, count).astype(dtype)
