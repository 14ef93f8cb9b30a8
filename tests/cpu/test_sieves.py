"""The library's sieves, fed by pieces of any size, against comparisons of each item with the bound."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import LineOrder
from tests.cpu.rows_library import OrderSpec, Spec, loaded
from tests.line_cases import INEXACT, cases, lines
from tests.linekeys import item_key, key_of

EXAMPLES = int(os.environ.get("GPUMERGE_TEST_EXAMPLES", "30"))
PADDING = 64
KEYS = ("|u1", "|i1", "<u2", "<i2", "<f2", "<u4", "<i4", "<f4", "<u8", "<i8", "<f8", "<M8[s]")


class Found(ctypes.Structure):
    """Sieved of entries.h."""

    _fields_ = [(name, ctypes.c_int64) for name in ("taken", "items", "made", "full", "fault")]


@pytest.fixture(scope="module")
def library() -> Any:
    library = loaded()
    library.gm_sieve_open.restype = ctypes.c_void_p
    return library


def sifted(
    library: Any, spec: Any, items: bytes, bound: bytes | None, room: int, *, last: bool, equals: bool
) -> tuple[bytes, int]:
    """The bytes that stay and the number of all items, where so many bytes find room at a time."""
    sieve = ctypes.c_void_p(library.gm_sieve_open(ctypes.byref(spec), ctypes.c_int64(last)))
    if bound is not None:
        library.gm_sieve_bound(sieve, bound, ctypes.c_int64(len(bound)), ctypes.c_int64(equals))
    found, made, count, at = Found(), b"", 0, 0
    aligned = np.frombuffer(items + bytes(PADDING), np.uint8).copy()
    out = np.empty(room + 16, np.uint8)
    while True:
        out[:] = 0xA5
        place = ctypes.c_void_p(aligned.ctypes.data + at)
        library.gm_sieve_pass(
            sieve, place, ctypes.c_int64(len(items) - at), ctypes.c_void_p(out.ctypes.data), ctypes.c_int64(room),
            ctypes.byref(found),
        )  # fmt: skip
        assert found.made <= room
        assert (out[room:] == 0xA5).all()
        made += out[: found.made].tobytes()
        count, at = count + found.items, at + found.taken
        if not found.full:
            break
        assert found.taken or room < len(items), "some item has found room"
        if not found.taken:
            room = 2 * room + 1
            out = np.empty(room + 16, np.uint8)
    library.gm_sieve_close(sieve)
    assert at == len(items)
    return made, count


def staying(
    items: Sequence[bytes], bound: bytes | None, key: Callable[[bytes], Any], *, last: bool, equals: bool
) -> list[bytes]:
    """The items that stay, by comparisons of their keys."""
    if bound is None:
        return list(items)
    limit = key(bound)
    found = []
    for item in items:
        mine = key(item)
        beyond = mine < limit if last else limit < mine
        same = not mine < limit and not limit < mine
        if not beyond and not (same and equals):
            found.append(item)
    return found


@settings(max_examples=4 * EXAMPLES, deadline=None)
@given(st.data())
def test_lines_that_stay_do_not_go_beyond_the_bound(library: Any, data: st.DataObject) -> None:
    text: LineOrder = data.draw(cases()).order
    order, end = Order.lines(text), bytes([text.terminator])
    items = data.draw(lines(text, 40))
    if any(key.compare == "general" for key in text.keys):
        items = [line for line in items if not INEXACT.search(line)]
    bound = data.draw(st.sampled_from([None, *items, *items]))
    last, equals = data.draw(st.booleans()), data.draw(st.booleans())
    room = data.draw(st.sampled_from([1, 30, 1000, 100_000]))
    spec = Spec(order)
    whole = b"".join(line + end for line in items)
    made, count = sifted(library, spec.spec, whole, bound, room, last=last, equals=equals)
    expected = staying(items, bound, lambda line: item_key(order, line), last=last, equals=equals)
    assert made == b"".join(line + end for line in expected)
    assert count == len(items)


@pytest.mark.one_of_each
@pytest.mark.parametrize("dtype", KEYS)
@pytest.mark.parametrize("descending", [False, True])
def test_keys_that_stay_do_not_go_beyond_the_bound(
    library: Any, rng: np.random.Generator, dtype: str, descending: bool
) -> None:
    order = Order.of(np.dtype(dtype), descending=descending)
    key = key_of(order)
    spec = OrderSpec(kind=order.layout().kind, width=order.width, descending=descending)
    for size in (0, 1, 512, 513, 1100):
        for kinds in (2, 100):
            keys = rng.integers(0, kinds, size).astype(np.dtype(dtype))
            if keys.dtype.kind == "f" and size:
                keys[:: int(rng.integers(1, 50))] = rng.choice([np.nan, -0.0, -3.0, np.inf])
            items = [key.tobytes() for key in keys]
            bound = items[int(rng.integers(size))] if size and rng.random() < 0.9 else None
            for last in (False, True):
                for equals in (False, True):
                    room = int(rng.choice([keys.itemsize, 100 * keys.itemsize, keys.nbytes + 1]))
                    made, count = sifted(library, spec, keys.tobytes(), bound, room, last=last, equals=equals)
                    expected = staying(items, bound, key, last=last, equals=equals)
                    assert made == b"".join(expected)
                    assert count == size


def test_records_that_stay_do_not_go_beyond_the_bound(library: Any, rng: np.random.Generator) -> None:
    for record, offset, key in ((3, 0, 3), (12, 1, 2), (20, 2, 15), (16, 8, "<i8"), (24, 4, "<f8")):
        for descending in (False, True):
            width = np.dtype(key) if isinstance(key, str) else key
            order = Order.records(record, offset, width, descending=descending)
            key_of_item = key_of(order)
            data = rng.integers(0, 3, (400, record)).astype(np.uint8)
            items = [row.tobytes() for row in data]
            for last in (False, True):
                for equals in (False, True):
                    bound = items[int(rng.integers(len(items)))]
                    room = int(rng.choice([record, 1000, data.nbytes]))
                    made, count = sifted(
                        library, Spec(order).spec, data.tobytes(), bound, room, last=last, equals=equals
                    )
                    expected = staying(items, bound, key_of_item, last=last, equals=equals)
                    assert made == b"".join(expected)
                    assert count == len(items)
