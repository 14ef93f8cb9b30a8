"""Oracles of the tests: NumPy's stable sort and Python's, with the order written in the plainest way."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from decimal import Decimal
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.formats.items import Items
from gpumerge_cli.order.kinds import Order


def merged_keys(runs: Sequence[NDArray[Any]], *, descending: bool = False) -> NDArray[Any]:
    """The stable merge of runs, NaN last (first when descending), -0.0 equal to 0.0."""
    items = np.concatenate(runs)
    # NumPy sorts NaN last and zeros as equal; a stable descending order is the stable ascending order of the ranks.
    _, ranks = np.unique(items, return_inverse=True, equal_nan=True)
    return items[np.argsort(-ranks if descending else ranks, kind="stable")]


def number_of(line: bytes) -> Decimal:
    """The value that GNU sort -n sees in a line, exactly."""
    text = line.lstrip(b" \t")
    negative, text = (1, text[1:]) if text[:1] == b"-" else (0, text)
    whole = text[: len(text) - len(text.lstrip(b"0123456789"))]
    rest = text[len(whole) :]
    fraction = b""
    if rest[:1] == b".":
        rest = rest[1:]
        fraction = rest[: len(rest) - len(rest.lstrip(b"0123456789"))]
    digits = (whole + fraction).decode() or "0"
    return Decimal((negative, tuple(map(int, digits)), -len(fraction)))  # arithmetic would round it


def sorted_lines(lines: Sequence[bytes], *, numeric: bool = False, descending: bool = False) -> list[bytes]:
    """Lines in the order of GNU sort in the C locale, with its last-resort comparison."""

    def compare(a: bytes, b: bytes) -> int:
        if numeric:
            difference = number_of(a).compare(number_of(b))
            if difference:
                return int(difference)
        return (a > b) - (a < b)

    return sorted(lines, key=functools.cmp_to_key(compare), reverse=descending)


def first_keys(items: NDArray[Any]) -> NDArray[Any]:
    """The first of every group of equal neighbours; NaN equals NaN, -0.0 equals 0.0."""
    kept: list[int] = []
    for at, item in enumerate(items):
        ahead = items[at - 1]
        if at == 0 or not (item == ahead or (item != item and ahead != ahead)):
            kept.append(at)
    return items[kept]


def first_lines(lines: Sequence[bytes], *, numeric: bool = False) -> list[bytes]:
    """The first of every group of equal neighbours, by the whole line or by its leading number alone."""
    return [next(group) for _, group in groupby(lines, key=number_of if numeric else None)]


def record_ranks(records: Sequence[bytes], offset: int, key: np.dtype[Any] | int) -> NDArray[Any]:
    """The rank of each record by its key, equal for equal keys: a number of a dtype (see merged_keys), or bytes."""
    keys: Any
    if isinstance(key, int):
        keys = [record[offset : offset + key] for record in records]
        rank = {value: number for number, value in enumerate(sorted(set(keys)))}
        return np.array([rank[value] for value in keys], np.int64)
    keys = np.frombuffer(b"".join(record[offset : offset + key.itemsize] for record in records), key)
    return np.unique(keys.astype(key.newbyteorder("=")), return_inverse=True, equal_nan=True)[1]


def merged_records(
    records: Sequence[bytes], offset: int, key: np.dtype[Any] | int, *, descending: bool = False
) -> list[bytes]:
    """Records in the stable order of their keys."""
    ranks = record_ranks(records, offset, key)
    return [records[i] for i in np.argsort(-ranks if descending else ranks, kind="stable")]


def first_records(records: Sequence[bytes], offset: int, key: np.dtype[Any] | int) -> list[bytes]:
    """The first of every group of neighbours with equal keys."""
    ranks = record_ranks(records, offset, key)
    return [record for i, record in enumerate(records) if i == 0 or ranks[i] != ranks[i - 1]]


def same_bits(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Whether two arrays hold the same bits. Payloads of NaNs and signs of zeros count."""
    return a.dtype == b.dtype and a.tobytes() == b.tobytes()


def items_of(*, numeric: bool = False, reverse: bool = False, stable: bool = False, **items: Any) -> Items:
    """Items by the simple orders of lines: numeric or bytewise."""
    text = Order.lines(numeric=numeric, descending=reverse, stable=stable).text
    return Items(lines=text if numeric else None, reverse=reverse, **items)
