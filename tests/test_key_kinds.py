"""The kinds of keys of text lines as rows: their names, the words of a table, and the processors that know them."""

from __future__ import annotations

from array import array

import pytest

from gpumerge_cli.dataclass import replace
from gpumerge_cli.engine.margins import by_cpu
from gpumerge_cli.native.comparison import Comparison
from gpumerge_cli.order.key_kinds import KIND_OF, KINDS, LETTERS
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import KEY_WORDS, TABLE_HEAD, LineKey, LineOrder
from tests.jobs_of import merge_job


def test_no_two_kinds_share_a_name_or_a_letter() -> None:
    assert len(KIND_OF) == len(KINDS)
    assert len(set(LETTERS)) == len(LETTERS)


def words(*values: int) -> bytes:
    return array("q", values).tobytes()


def test_parameters_lie_behind_all_keys() -> None:
    keys = (LineKey("numeric", parameters=words(7, -8)), LineKey("month"), LineKey("version", parameters=b"\x09"))
    table = LineOrder(keys).table().tolist()
    behind = TABLE_HEAD + KEY_WORDS * len(keys)
    assert table[behind:] == [7, -8, 9]
    assert table[4] == len(table)
    places = [table[at + 6 : at + 8] for at in range(TABLE_HEAD, behind, KEY_WORDS)]
    assert places == [[behind, 2], [behind + 2, 0], [behind + 2, 1]]


def test_orders_with_other_parameters_are_others() -> None:
    assert LineOrder((LineKey("numeric"),)) != LineOrder((LineKey("numeric", parameters=words(1)),))


def test_kinds_that_need_no_parameters_pass_over_them() -> None:
    order = Order.lines(LineOrder((LineKey("numeric", parameters=words(1, 2, 3)), LineKey("month", 1)), stable=True))
    assert Comparison(order)(b"2 feb", b"10 jan") < 0 < Comparison(order)(b"2 feb", b"2 jan")


def test_the_cpu_orders_by_kinds_that_a_gpu_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    job = merge_job(("a.txt", "b.txt"), "out.txt")
    job = replace(job, items=replace(job.items, lines=LineOrder((LineKey("month"),))))
    assert by_cpu(job) == ""
    monkeypatch.setitem(KIND_OF, "month", replace(KIND_OF["month"], gpu=False))
    assert by_cpu(job) == "orders by such keys are made by the CPU alone"


def test_a_key_without_parameters_has_those_of_its_kind() -> None:
    table = LineOrder((LineKey("random"), LineKey("random", 1, parameters=b"\1" * 16))).table().tolist()
    assert table[-4:] == [0, 0, 0x0101010101010101, 0x0101010101010101]


def test_kinds_whose_beginnings_count_have_a_noun_and_stand_alone() -> None:
    alone = {kind.name for kind in KINDS if kind.alone and not kind.typed}
    assert alone == {kind.name for kind in KINDS if kind.begins is not None}
    assert {kind.noun for kind in KINDS if kind.begins is not None} == {"number", "month"}
