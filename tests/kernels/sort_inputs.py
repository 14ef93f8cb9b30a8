"""Inputs that are hard for sorts: sorted, reversed, all equal, few values, a sawtooth that meets in shared memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from kernel_pairs import special_floats

from gpumerge_cli.order.kinds import Order

Keys = np.ndarray[Any, Any]


def number_inputs(count: int, seed: int) -> Iterator[tuple[str, Keys]]:
    """Named arrays of `count` small integers (0 to 120), to be turned into keys of any dtype."""
    random = np.random.default_rng(seed)
    ramp = np.arange(count) * 120 // max(1, count)
    yield "random", random.integers(0, 121, count)
    yield "sorted", ramp
    yield "reversed", ramp[::-1].copy()
    yield "all_equal", np.full(count, 7)
    yield "few_values", random.integers(0, 3, count) * 50
    yield "sawtooth", np.arange(count) % 32 * 3  # what a merge takes in turn lies a bank apart from its neighbour's
    yield "one_out_of_place", np.r_[ramp[1:], ramp[:1]]


def key_inputs(order: Order, count: int, seed: int) -> Iterator[tuple[str, Keys]]:
    """The arrays of numbers as keys of the order, and arrays with the special values of the dtype."""
    low = -60 if order.kind != "uint" else 0
    for name, numbers in number_inputs(count, seed):
        yield name, (numbers + low).astype(order.dtype)
    random = np.random.default_rng(seed + 1)
    yield "any_bits", random.integers(0, 256, count * order.width, dtype=np.uint8).view(order.dtype)
    if order.kind == "float":
        yield "special_floats", random.choice(special_floats(order), count)


def record_inputs(order: Order, count: int, seed: int) -> Iterator[tuple[str, Keys]]:
    """Named arrays of `count` records, rows of uint8, whose keys tie, or differ in their last bytes alone."""
    random = np.random.default_rng(seed)
    records = random.integers(0, 256, (count, order.record), dtype=np.uint8)
    yield "random", records.copy()
    key = records[:, order.offset : order.offset + order.width]
    key[:, : -2 if order.width > 2 else 0] = 0x80
    key &= 0x81
    yield "ties", records
    yield "sorted", stable_records(order, records)
    yield "reversed", stable_records(order, records)[::-1].copy()


def stable(order: Order, keys: Keys) -> Keys:
    """The result of a stable sort by key image."""
    return keys[np.argsort(order.image(keys), kind="stable")]


def stable_records(order: Order, records: Keys) -> Keys:
    """The result of a stable sort by the images of the records' keys."""
    return records[np.argsort(order.image(order.keys(records.reshape(-1))), kind="stable")]
