"""Functions that read words and vectors give the same results as the functions that read bytes."""

from __future__ import annotations

import csv
import ctypes
import fcntl
import io
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpumerge_cli.order.key_kinds import KIND_OF
from gpumerge_cli.order.rules import LineKey, LineOrder
from tests import needs
from tests.line_cases import cases, lines

HERE = Path(__file__).parent
KERNELS = HERE.parents[1] / "kernels"
PADDING = 64
# With vectors of all sizes that compilers may use, with those that every x86-64 has, and without.
FORMS = {"bytes": ["-DTEXT_PADDING=0"], "best": ["-DTEXT_PADDING=64", "-march=native"], "words": ["-DTEXT_PADDING=64"]}


@pytest.fixture(scope="module")
def forms(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The functions in each form. All processes of a test run share what the first one compiles."""
    compiler = needs.program("g++")
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "bodies"
    folder.mkdir(exist_ok=True)

    def built(name: str) -> Any:
        command = [compiler, "-std=c++20", "-O1", "-w", "-fPIC", "-shared", f"-I{KERNELS}", f"-I{KERNELS / 'cpu'}"]
        out, part = folder / f"{name}.so", folder / f"{name}.part"
        with open(folder / f"{name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not out.exists():
                subprocess.run([*command, *FORMS[name], str(HERE / "text_bodies.cpp"), "-o", str(part)], check=True)
                part.replace(out)
        library = ctypes.CDLL(str(out))
        library.prefix.restype = library.number.restype = ctypes.c_uint64
        return library

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(FORMS, pool.map(built, FORMS), strict=True))


class Place:
    """A text at an offset from an aligned address. The bytes around it do not occur in it."""

    def __init__(self, text: bytes, offset: int, fill: int) -> None:
        self._room = np.full(len(text) + offset + PADDING + 64, fill, np.uint8)
        skipped = -self._room.ctypes.data % 64 + offset
        self._room[skipped : skipped + len(text)] = np.frombuffer(text, np.uint8)
        self.given = (ctypes.c_void_p(self._room.ctypes.data + skipped), ctypes.c_int64(len(text)))


def told(library: Any, table: Any, keys: int, x: Place, y: Place) -> list[Any]:
    """The results of the functions in one form."""
    order = table.ctypes.data_as(ctypes.c_void_p)
    bounds, looks = (ctypes.c_int64 * (2 * keys))(), (ctypes.c_int64 * 4)()
    library.key_bounds(order, *x.given, bounds)
    library.looks(order, *x.given, *y.given, looks)
    return [list(bounds), list(looks), library.number(*x.given), library.prefix(order, *x.given)]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_fast_bodies_equal_slow_ones(forms: dict[str, Any], data: st.DataObject) -> None:
    order = data.draw(cases()).order
    drawn = data.draw(lines(order, 12))
    # Longer than what is looked at in one go, with ends at each place in it.
    drawn += [b" ".join(drawn), b",".join(drawn)]
    agree(forms, order, [line.replace(bytes([order.terminator]), b"") for line in drawn], data)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_fast_bodies_equal_slow_ones_where_fields_are_quoted(forms: dict[str, Any], data: st.DataObject) -> None:
    """Keys are whole fields or begin within one, as those of CSV's records do that compare as they stand."""
    keys = [
        LineKey(compare, field, data.draw(st.integers(0, 2)), field, skip_start=data.draw(st.booleans()))
        for field in data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=3))
        for compare in data.draw(st.lists(st.sampled_from(list(KIND_OF)), min_size=1, max_size=1))
    ]
    order = LineOrder(tuple(keys), b",", quoted=True)
    fields = st.lists(st.text(' "a,1.-9', max_size=data.draw(st.sampled_from([3, 30]))), min_size=1, max_size=6)
    drawn = []
    for record in data.draw(st.lists(fields, min_size=2, max_size=8)):
        out = io.StringIO()
        quoting = data.draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]))
        csv.writer(out, lineterminator=data.draw(st.sampled_from(["", "\r"])), quoting=quoting).writerow(record)
        drawn.append(out.getvalue().encode())
    agree(forms, order, drawn, data)


def agree(forms: dict[str, Any], order: LineOrder, drawn: list[bytes], data: st.DataObject) -> None:
    table = np.array(order.table())
    fill = data.draw(st.sampled_from([0, 1, ord("0"), ord("9"), ord(" "), ord(","), ord("."), ord('"'), 255]))
    offset = data.draw(st.integers(0, 63))
    for x, y in zip(drawn, [*drawn[1:], drawn[0]], strict=True):
        offset = (offset + 11) % 64
        places = Place(x, offset, fill), Place(y, (offset + 7) % 64, fill)
        slow, *fast = (told(library, table, len(order.keys), *places) for library in forms.values())
        for found in fast:
            assert found == slow, (x, y)
