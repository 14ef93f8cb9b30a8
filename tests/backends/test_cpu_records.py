"""The CPU backend's rows of records: every fast path equals its plain counterpart."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gpumerge_cli.backends.cpu import records
from gpumerge_cli.backends.cpu.rows import PADDING, RecordRows, rows_of
from gpumerge_cli.backends.cpu.team import Team
from gpumerge_cli.order import Order
from tests.strategies import Records, record_runs


def indexed(case: Records, skew: int = 0) -> tuple[RecordRows, np.ndarray, int]:
    """(rows, room, count) of all records, which start `skew` bytes behind an aligned address."""
    data = b"".join(case.all)
    room = np.frombuffer(b"\xaa" * skew + data + b"\xff" * PADDING, np.uint8)[skew:]
    rows = rows_of(case.order)
    assert isinstance(rows, RecordRows)
    assert rows.index(room, [0, len(data)], Team(1)) == [0, len(case.all)]
    return rows, room, len(case.all)


@given(case=record_runs(), skew=st.integers(0, 7))
def test_prefixes_are_images_as_far_as_they_reach(case: Records, skew: int) -> None:
    rows, room, count = indexed(case, skew)
    order = case.order
    images = order.image(order.keys(room[: count * case.size]))
    if order.kind == "bytes":
        width = order.prefix_bytes
        head = np.ascontiguousarray(images).view(np.uint8).reshape(count, order.width)[:, :width]
        expected = [int.from_bytes(image.tobytes(), "big") for image in head]
    else:
        expected = images.tolist()
    assert rows.prefixes[:count].tolist() == expected


@given(case=record_runs(most_runs=1))
def test_rows_with_equal_prefixes_compare_by_the_rest(case: Records) -> None:
    rows, _, count = indexed(case)
    _, data, places, flags = rows.context()
    keys = [case.order.key(record) for record in case.all]
    for y in range(0, count, 1 + count // 12):
        for x in range(0, count, 1 + count // 12):
            if rows.prefixes[y] == rows.prefixes[x]:
                assert records.row_before(data, places, y, x, flags) == (keys[y] < keys[x])
            else:
                assert (rows.prefixes[y] < rows.prefixes[x]) == (keys[y] < keys[x])


@given(
    size=st.one_of(st.integers(1, 40), st.sampled_from([100, 255, 4097])),
    count=st.integers(0, 30),
    skews=st.tuples(st.integers(0, 7), st.integers(0, 7)),
    seed=st.integers(0, 2**32 - 1),
)
def test_gathered_records_lie_side_by_side_and_nothing_else_is_written(
    size: int, count: int, skews: tuple[int, int], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    there = rng.integers(0, 256, skews[0] + 50 * size, np.uint8)[skews[0] :]
    numbers = rng.integers(0, 50, count)
    out = np.full(skews[1] + count * size + 16, 0xA5, np.uint8)
    middle = count // 2
    for first, last in ((middle, count), (0, middle)):
        place = out.ctypes.data + skews[1]
        records.gather_records(there.ctypes.data, size, numbers, first, last, place)
    expected = there.reshape(50, size)[numbers].reshape(-1)
    assert (out[: skews[1]] == 0xA5).all()
    assert np.array_equal(out[skews[1] : skews[1] + count * size], expected)
    assert (out[skews[1] + count * size :] == 0xA5).all()


def test_keys_of_eight_bytes_never_tie_beyond_their_prefix() -> None:
    for order in (Order.records(9, 1, 8), Order.records(8, 0, np.dtype(">f8"), descending=True)):
        rows = rows_of(order)
        rows.index(np.zeros(18 + PADDING, np.uint8), [0, 2 * order.record], Team(1))
        _, data, places, flags = rows.context()
        assert not records.row_before(data, places, 0, 1, flags)
        assert not records.row_before(data, places, 1, 0, flags)
