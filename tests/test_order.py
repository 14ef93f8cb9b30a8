"""The order of keys against NumPy's and against exact arithmetic."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.key_types import DTYPES
from gpumerge_cli.order.kinds import Order
from tests.linekeys import item_key, key_of
from tests.oracles import number_of, record_ranks, sorted_lines
from tests.strategies import Records, record_runs, special_values

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", [*DTYPES, "bool", "datetime64[s]", "timedelta64[25us]"])
def test_images_order_as_numpy_does(dtype: str, descending: bool) -> None:
    values = special_values(np.dtype(dtype))
    order = Order.of(dtype, descending=descending)
    image = order.image(values).astype(object)
    assert [item_key(order, values[i : i + 1].tobytes()) for i in range(len(values))] == image.tolist()
    _, ranks = np.unique(values, return_inverse=True, equal_nan=True)
    ranks = -ranks if descending else ranks
    assert np.array_equal(image[:, None] < image[None, :], ranks[:, None] < ranks[None, :])
    assert np.array_equal(image[:, None] == image[None, :], ranks[:, None] == ranks[None, :])


@pytest.mark.parametrize("dtype", ["complex64", "S3", "object", "float128", "datetime64[x]", "no such", "01", "0:"])
def test_dtypes_without_an_order(dtype: str) -> None:
    with pytest.raises(UsageError, match="use one of int8"):
        Order.of(dtype)


def test_every_dtype_the_tool_promises() -> None:
    kinds = {"int": (8, 16, 32, 64), "uint": (8, 16, 32, 64), "float": (16, 32, 64)}
    assert set(DTYPES) == {f"{kind}{bits}" for kind, widths in kinds.items() for bits in widths}


@given(st.lists(st.from_regex(rb"[ \t]{0,2}[-+]?[0-9]{0,20}\.?[0-9]{0,20}[ .x]?", fullmatch=True), max_size=8))
def test_numeric_keys_equal_exact_arithmetic(lines: list[bytes]) -> None:
    for descending in (False, True):
        order = Order.lines(numeric=True, descending=descending)
        assert sorted(lines, key=key_of(order)) == sorted_lines(lines, numeric=True, descending=descending)


@pytest.mark.parametrize(
    ("line", "value"),
    [(b"12", "12"), (b" \t-.5x", "-0.5"), (b"+3", "0"), (b"1e5", "1"), (b"-", "0"), (b"007.10", "7.1"), (b"", "0")],
)
def test_the_number_that_a_line_begins_with(line: bytes, value: str) -> None:
    order = Order.lines(numeric=True)
    assert number_of(line) == number_of(value.encode())
    assert item_key(order, line)[0] == item_key(order, value.encode())[0]


@given(case=record_runs(sizes=(1, 3, 8, 12, 300)))
def test_keys_and_images_of_records_agree(case: Records) -> None:
    order, records = case.order, case.all
    keys = [item_key(order, record) for record in records]
    images = order.image(order.keys(np.frombuffer(b"".join(records), np.uint8)))
    ranks = record_ranks(records, case.offset, case.key) * (-1 if case.descending else 1)
    assert len(images) == len(records)
    some = range(0, len(records), 1 + len(records) // 12)
    for x, y in product(some, repeat=2):
        assert (keys[x] < keys[y]) == bool(images[x] < images[y]) == bool(ranks[x] < ranks[y])


@pytest.mark.parametrize(
    ("size", "offset", "key"), [(4, 1, np.dtype("i4")), (4, 0, 5), (4, 4, 1), (4, 0, 0), (4, -1, 2), (0, 0, 1)]
)
def test_keys_lie_within_their_records(size: int, offset: int, key: np.dtype | int) -> None:
    with pytest.raises(UsageError, match=f"at byte {offset} is not within a record of {size} bytes"):
        Order.records(size, offset, key)


@pytest.mark.parametrize("dtype", ["U2", "c8"])
def test_keys_of_records_without_an_order(dtype: str) -> None:
    with pytest.raises(UsageError, match="is not a dtype of keys"):
        Order.records(100, 0, np.dtype(dtype))


@pytest.mark.parametrize(
    ("order", "said"),
    [
        (Order.records(100, 0, 10), "records of 100 bytes, key bytes 0 to 9"),
        (
            Order.records(9, 1, np.dtype("<f8"), descending=True),
            "records of 9 bytes, key float64 at byte 1, descending",
        ),
        (Order.records(12, 4, np.dtype(">i8")), "records of 12 bytes, key big-endian int64 at byte 4"),
    ],
)
def test_what_orders_of_records_are_called(order: Order, said: str) -> None:
    assert order.describe() == said


def test_types_without_a_suffix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", np.array([False, True]))
    Path("b.bin").write_bytes(b"\0\1\1")
    assert invoke(["merge", "-q", "--backend=cpu", "--dtype=bool", "b.bin", "a.npy", "-o", "c.bin"]) == 0
    assert invoke(["sort", "-r", "a.npy", "-o", "d.npy"]) == 0
    assert invoke(["check", "d.npy"]) == 1
    assert Path("c.bin").read_bytes() == b"\0\0\1\1\1"
    assert np.load("d.npy").tolist() == [True, False]


def test_a_type_without_a_row_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", np.array([1j, 2]))
    assert invoke(["merge", "a.npy", "-o", "b.npy"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("gpumerge: a.npy: items of type complex128 cannot be ordered; use one of int8, ")
    assert told.count("\n") == 1
