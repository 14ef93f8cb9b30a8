"""Rows of typed columns with nulls: a format of them is merged, sorted and checked like all others."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from gpumerge_cli.cli.app import invoke as run_command
from gpumerge_cli.engine.job import Job, Operation, Resources
from gpumerge_cli.engine.run import run
from gpumerge_cli.errors import DisorderError, InputError, OutputError, UsageError
from gpumerge_cli.formats.format import FORMATS, Column, register_format
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.kinds.lookup import format_named
from gpumerge_cli.formats.record_options import RecordRequest
from gpumerge_cli.formats.tables.settings import GroupSize
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.rows import escaped, unescaped
from tests.formats.groups import Groups, GroupsTable, rows_of, written
from tests.jobs_of import merge_job, sort_job

COLUMNS = pa.schema([("price", pa.float64()), ("name", pa.binary()), ("count", pa.int64())])
Row = tuple[Any, ...]


@pytest.fixture(autouse=True)
def groups() -> Iterator[None]:
    register_format(Groups())
    yield
    del FORMATS["groups"]


def by(*fields: str, **more: Any) -> Items:
    return Items(records=RecordRequest(fields=fields), **more)


def drawn(rng: random.Random, count: int) -> list[Row]:
    names = (b"", b"\0", b"a\0b", b"\1", b"\2", b"pear\n", b"apple", None)
    return [
        (
            rng.choice([None, -0.0, 0.0, 1.5, -2.5, math.inf, rng.random()]),
            rng.choice(names),
            rng.choice([None, -(1 << 63), (1 << 63) - 1, rng.randrange(-5, 5)]),
        )
        for _ in range(count)
    ]


def ordered_by(rows: Sequence[Row], column: int, turned: bool = False) -> list[Row]:
    """Rows by a column, nulls last."""
    values = sorted((row for row in rows if row[column] is not None), key=lambda row: row[column], reverse=turned)
    return values + [row for row in rows if row[column] is None]


def put(path: Path, rows: Sequence[Row], at_once: int = 7) -> str:
    path.write_bytes(written(table_of(rows), at_once))
    return str(path)


def table_of(rows: Sequence[Row]) -> pa.Table:
    return pa.table(list(zip(*rows, strict=True)) or [[], [], []], COLUMNS)


def same(found: Sequence[Row], expected: Sequence[Row]) -> bool:
    """Whether rows are the same ones, the signs of zeros included."""
    return list(map(repr, found)) == list(map(repr, expected))


@pytest.mark.parametrize("column", range(3))
@pytest.mark.parametrize("turned", [False, True])
def test_rows_are_sorted_and_merged_by_a_column(column: int, turned: bool, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    rows = drawn(rng, 200)
    field = COLUMNS[column].name + ":r" * turned
    name, out = put(tmp_path / "a.grp", rows), str(tmp_path / "out.grp")
    run(sort_job((name,), out, by(field), Resources("cpu")))
    ordered = ordered_by(rows, column, turned)
    assert same(rows_of(out), ordered)
    other = ordered_by(drawn(rng, 90), column, turned)
    run(merge_job((out, put(tmp_path / "b.grp", other)), str(tmp_path / "both.grp"), by(field), backend="cpu"))
    expected = ordered_by([*ordered, *other], column, turned)
    assert same(rows_of(str(tmp_path / "both.grp")), expected)


def test_a_sort_beyond_memory_and_parts(tmp_path: Path, seed: int) -> None:
    rows = drawn(random.Random(seed), 3000)
    name = put(tmp_path / "a.grp", rows, 100)
    on = Resources("cpu", always_spill=True)
    run(sort_job((name,), str(tmp_path / "out{part}.grp"), by("count", "name:r"), on, parts=3))
    found = [row for number in range(3) for row in rows_of(str(tmp_path / f"out{number}.grp"))]
    assert same(found, ordered_by(ordered_by(rows, 1, turned=True), 2))


def test_a_large_output_has_many_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpumerge_cli.formats.tables.group_sizes.USUAL_GROUP", GroupSize(10, 1 << 20))
    name, out = put(tmp_path / "a.grp", [(float(x), b"%d" % x, x) for x in range(95)]), str(tmp_path / "out.grp")
    run(merge_job((name,), out, by("count"), backend="cpu"))
    assert len(rows_of(out)) == 95
    from gpumerge_cli.formats.input import SeekableInput

    assert [rows for _, _, rows in GroupsTable(SeekableInput(out)).spots] == [10] * 9 + [5]


def test_empty_files_and_all_nulls(tmp_path: Path) -> None:
    names = put(tmp_path / "a.grp", []), put(tmp_path / "b.grp", [(None, None, None)] * 3)
    out = str(tmp_path / "out.grp")
    run(merge_job(names, out, by("price"), backend="cpu"))
    assert rows_of(out) == [(None, None, None)] * 3
    run(merge_job(names[:1], out, by("price"), backend="cpu"))
    assert rows_of(out) == []


def test_sets_go_by_the_key(tmp_path: Path) -> None:
    a = put(tmp_path / "a.grp", [(1.0, b"a", 1), (2.0, b"a", 2), (None, b"a", 3)])
    b = put(tmp_path / "b.grp", [(2.0, b"b", 4), (3.0, b"b", 5), (None, b"b", 6)])
    out = str(tmp_path / "out.grp")
    run(merge_job((a, b), out, by("price"), backend="cpu", equals=Equals.INTERSECT))
    assert rows_of(out) == [(2.0, b"a", 2), (None, b"a", 3)]


def test_a_check_tells_values(tmp_path: Path) -> None:
    good = put(tmp_path / "a.grp", [(-1.0, b"x", 2), (2.5, None, 1), (None, b"", 0)])
    assert run(Job((good,), by("price"), Operation("check"))).items == 3
    bad = put(tmp_path / "b.grp", [(1.0, b"a", 1), (None, b"a", 2), (2.5, b"a", 3)])
    with pytest.raises(DisorderError) as caught:
        run(Job((bad,), by("price"), Operation("check"), resources=Resources("cpu")))
    assert (
        str(caught.value)
        == f"{bad}: row group 0, row 2: disorder: 2.5 comes after null by --field price; sort it first"
    )
    with pytest.raises(
        DisorderError, match=r": row group 0, row 1: disorder: a, 2 comes after a, 1 by --field count:r; sort it first"
    ):
        run(merge_job((bad,), str(tmp_path / "out.grp"), by("name", "count:r"), backend="cpu"))
    assert not (tmp_path / "out.grp").exists()


def test_the_command_line_takes_a_new_format(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    name, out = put(tmp_path / "a.grp", [(2.0, b"a", 1), (1.0, b"b", 2)]), str(tmp_path / "out.grp")
    assert run_command(["sort", "--field", "price", name, "-o", out]) == 0
    assert rows_of(out) == [(1.0, b"b", 2), (2.0, b"a", 1)]
    assert run_command(["rank", "--field", "price", "--of", "1.5", out]) == 0
    assert "1" in capfd.readouterr().out
    assert run_command(["check", "--field", "price:r", out]) == 1
    assert "2 comes after 1" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("items", "output", "told"),
    [
        (Items(), "o.grp", "rows need a key; name one of their columns as the key"),
        (by("prise"), "o.grp", "no column 'prise'; did you mean price"),
        (by("price,price"), "o.grp", "price is named twice"),
        (Items(records=RecordRequest(width=4)), "o.grp", "its columns have their own types and places"),
        (by("price"), "o.txt", "rows cannot be written as .txt; name it .grp"),
        (by("price"), "o.dat", "its suffix does not name a format of rows; name it .grp, or use --format groups"),
        (by("price"), "o.grp.gz", "an output of rows is not compressed as a whole"),
        (by("price", header_lines=1), "o.grp", "not lines"),
    ],
)
def test_what_does_not_go_with_rows(items: Items, output: str, told: str, tmp_path: Path) -> None:
    name = put(tmp_path / "a.grp", [(1.0, b"a", 1)])
    with pytest.raises((UsageError, InputError, OutputError)) as caught:
        run(merge_job((name,), str(tmp_path / output), items, backend="cpu"))
    assert told in str(caught.value)
    assert not (tmp_path / output).exists()


def test_other_files_beside_rows(tmp_path: Path) -> None:
    name, out = put(tmp_path / "a.grp", [(1.0, b"a", 1)]), str(tmp_path / "o.grp")
    (tmp_path / "b.grp").write_bytes(written(table_of([(1.0, b"", 1)]).select([0])))
    with pytest.raises(
        InputError, match=r"its columns are price double, the columns of .* are price double, name binary"
    ):
        run(merge_job((name, str(tmp_path / "b.grp")), out, by("price"), backend="cpu"))
    (tmp_path / "c.grp").write_bytes(b"GRPS")
    with pytest.raises(InputError, match="it has no footer"):
        run(merge_job((name, str(tmp_path / "c.grp")), out, by("price"), backend="cpu"))
    columns = tuple(Column(field.name, str(field.type)) for field in COLUMNS)
    assert format_named("groups").columns(name, by("price")) == columns


def test_escapes_keep_the_order_of_bytes() -> None:
    texts = sorted(bytes(text) for number in range(4) for text in product((0, 1, 2, 3, 4, 5, 255), repeat=number))
    assert [unescaped(escaped(text)) for text in texts] == texts
    assert sorted(texts, key=escaped) == texts
