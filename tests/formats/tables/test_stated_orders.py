"""The orders that files state: taken as the key, compared with --field, and found to be wrong."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.needs import library

pa, pq = library("pyarrow"), library("pyarrow.parquet")

from gpumerge_cli.cli.app import invoke  # noqa: E402 - behind the check that pyarrow is there
from gpumerge_cli.formats.tables.parquet_table import ParquetTable  # noqa: E402
from tests.formats.tables.random_tables import Drawn, read, texts  # noqa: E402

OUT = "o.parquet"
Rows = Sequence[tuple[Any, ...]]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def put(name: str, rows: Rows, *sorting: tuple[Any, ...]) -> str:
    """A file with columns id and day. sorting: (column, descends, nulls first) of each of its sorting_columns."""
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], []]
    table = pa.table({"id": pa.array(columns[0], pa.int64()), "day.of": pa.array(columns[1], pa.string())})
    pq.write_table(table, name, row_group_size=3, sorting_columns=[pq.SortingColumn(*one) for one in sorting] or None)
    return name


def rows_of(name: str) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in pq.read_table(name).to_pylist()]


UP = [(number, f"{9 - number}") for number in range(8)]
DOWN = UP[::-1]


def error(words: str, capfd: pytest.CaptureFixture[str], code: int = 2) -> str:
    assert invoke([*words.split(), "-q"] if code == 2 else words.split()) == code
    return capfd.readouterr().err


@pytest.mark.parametrize(
    ("rows", "sorting"),
    [
        (UP, [(0, False, False)]),
        (DOWN, [(0, True, False)]),
        ([(None, "x"), *UP], [(0, False, True)]),
        ([(1, "a"), (1, "b"), (0, "a"), (0, None)], [(0, True, False), (1, False, False)]),
        (DOWN, [(1, False, False)]),
    ],
)
def test_the_stated_order_is_the_key(rows: Rows, sorting: Any, capfd: pytest.CaptureFixture[str]) -> None:
    names = [put("a.parquet", rows, *sorting), put("e.parquet", [], *sorting), put("b.parquet", rows, *sorting)]
    assert invoke(["merge", *names, "-o", OUT, "--report", "r.md"]) == 0
    assert rows_of(OUT) == [row for row in rows for _ in range(2)]
    assert pq.read_metadata(OUT).row_group(0).sorting_columns == tuple(pq.SortingColumn(*one) for one in sorting)
    assert ", as the files state" in Path("r.md").read_text()
    assert invoke(["union", *names, "-q", "-o", OUT]) == 0
    assert rows_of(OUT) == list(rows)
    assert invoke(["check", *names]) == 0
    assert invoke(["rank", "--at", "2", *names]) == 0
    assert invoke(["sort", "-q", *names, "-o", OUT]) == 2
    assert "rows need a key" in capfd.readouterr().err


def test_each_file_is_checked_by_its_own_order(capfd: pytest.CaptureFixture[str]) -> None:
    put("a.parquet", UP, (0,))
    put("b.parquet", DOWN, (0, True))
    put("c.parquet", DOWN, (0,))
    assert invoke(["check", "a.parquet", "b.parquet"]) == 0
    assert "row group 0, row 1: disorder: 6 comes after 7 by --field id; the file states this order wrongly" in error(
        "check a.parquet b.parquet c.parquet", capfd, 1
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("merge up.parquet down.parquet", "up.parquet: it states the order id, and down.parquet states id:r; name"),
        ("merge up.parquet none.parquet", "up.parquet: rows need a key; name one of their columns as the key"),
        ("merge -r up.parquet", "rows need a key"),
        ("merge --field id:r up.parquet", "id:r; the file states another order, and is in it: use --field id\n"),
        ("merge --field id down.parquet", "the file states another order, and is in it: use --field id:r\n"),
        ("merge --field day\\.of up.parquet", "the file states another order, and is in it: use --field id\n"),
        ("union --field id none.parquet down.parquet", "none.parquet: row group 0, row 1: disorder: 6 comes after 7 by "
         "--field id; the file is in another order: use --field id:r\n"),
        ("merge --field id none.parquet up.parquet", "disorder: 6 comes after 7 by --field id; sort it first\n"),
        ("merge --field id nulls.parquet", "states another order, and is in it: use --field id --nulls first\n"),
        ("merge --field id lies.parquet", "lies.parquet: row group 1, row 2: disorder: 0 comes after 4 by --field id; "
         "the file states this order wrongly: sort it first\n"),
        ("merge --field id,day\\.of lies.parquet", "disorder: 0, x comes after 4, 5 by --field id; sort it first\n"),
    ],
)  # fmt: skip
def test_messages(words: str, told: str, capfd: pytest.CaptureFixture[str]) -> None:
    put("up.parquet", UP, (0,))
    put("down.parquet", DOWN, (0, True))
    put("none.parquet", DOWN)
    put("nulls.parquet", [(None, "x"), *UP], (0, False, True))
    put("lies.parquet", [*UP[:5], (0, "x"), *UP[5:]], (0,))
    found = error(f"{words} -o {OUT}", capfd)
    assert told in found
    assert found.count("\n") == 1
    if "use --field" in found:
        option = found.rpartition(": use ")[2].split()
        names = [word for word in words.split() if word.endswith(".parquet")]
        assert invoke([words.split()[0], *option, *names, "-q", "-o", OUT]) == 0


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_the_order_proposed_is_that_of_the_rows(
    suffix: str, tmp_path: Path, seed: int, capfd: pytest.CaptureFixture[str]
) -> None:
    """A sorted file that is asked for in other directions: the way out merges it."""
    rng = random.Random(seed)
    for _ in range(4):
        drawn = Drawn(rng, suffix)
        kept = read(drawn.write(drawn.table(60), tmp_path / "u"))  # Parquet changes some values
        name = drawn.write(drawn.ordered(kept), tmp_path / "a")
        asked = [field.removesuffix(":r") + ":r" * (not field.endswith(":r")) for field in drawn.fields]
        words = ["merge", name, "-q", "-o", f"o{suffix}"]
        if invoke([*words, "--field", ",".join(asked)]) == 2:
            told = capfd.readouterr().err
            assert "; the file is in another order: use --field " in told
            assert invoke([*words, *told.rpartition(": use ")[2].split()]) == 0
            assert texts(read(f"o{suffix}")) == texts(read(name))


def test_heads_decode_the_first_rows_alone(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Any part of a merge that --head, --tail or --range names, and few rows of each file for it."""
    rng = random.Random(seed)
    names, everything = [], []
    for number in range(4):
        rows = sorted((rng.randrange(300), f"{number}-{row}") for row in range(rng.choice([0, 5, 400])))
        rows.sort(key=lambda row: row[0])
        names.append(put(f"{number}.parquet", rows))
        everything += rows
    everything.sort(key=lambda row: row[0])
    decoded = 0
    batches = ParquetTable.batches

    def counted(table: Any, columns: Any, group: int, rows: int) -> Any:
        nonlocal decoded
        for batch in batches(table, columns, group, rows):
            decoded += batch.num_rows if list(columns or ()) == ["id"] else 0
            yield batch

    monkeypatch.setattr(ParquetTable, "batches", counted)
    for words, start, stop in (
        ("merge --head 10", 0, 10), ("merge --tail 7", -7, None), ("merge --head 0", 0, 0),
        ("merge --head 5000", 0, None), ("merge --tail 5000", 0, None), ("rank --range 4:9", 4, 9),
    ):  # fmt: skip
        decoded = 0
        assert invoke([*words.split(), "--field", "id", *names, "-q", "-o", OUT]) == 0
        assert rows_of(OUT) == everything[start:stop]
        if "5000" not in words:
            assert decoded <= 4 * (10 + 3), words


@pytest.mark.parametrize(
    ("rows", "sorting"),
    [(UP, [(0, False, False)]), (DOWN, [(0, True, False)]), ([(None, "x"), *UP], [(0, False, True), (1, True, True)])],
)
def test_joins_take_the_order_that_both_state(rows: Rows, sorting: Any) -> None:
    put("a.parquet", rows, *sorting)
    put("b.parquet", rows[::2], *sorting)
    put("e.parquet", [])
    option = ",".join(("id", "day.of")[column] + ":r" * turned for column, turned, _ in sorting)
    nulls = ["--nulls", "first"] if sorting[0][2] else []
    for kind in ("inner", "outer", "anti"):
        for others in ("b.parquet", "e.parquet"):
            words = ["join", "-q", "--type", kind, "a.parquet", others, "--output"]
            assert invoke([*words, OUT, "--report", "r.md"]) == 0
            assert ", as the files state" in Path("r.md").read_text()
            assert invoke([*words, "o2.parquet", "--field", option, *nulls]) == 0
            assert Path(OUT).read_bytes() == Path("o2.parquet").read_bytes()


def test_joins_without_one_stated_order(capfd: pytest.CaptureFixture[str]) -> None:
    put("a.parquet", UP, (0,))
    put("b.parquet", DOWN, (0, True))
    put("n.parquet", UP)
    pq.write_table(pa.table({"key": [1]}), "k.parquet")
    pq.write_table(pa.table({"key": pa.array([], pa.int64())}), "e.parquet")
    told = "a.parquet: it states the order id, and b.parquet states id:r; name the key of all files with --field"
    assert told in error("join a.parquet b.parquet", capfd)
    assert "rows need a key; name one of their columns as the key" in error("join a.parquet n.parquet", capfd)
    told = "e.parquet has no column id, by which a.parquet states its order; name the key of both files with --field"
    assert told in error("join a.parquet e.parquet", capfd)
    assert "--nulls first: the files state id with nulls last" in error("join --nulls first a.parquet a.parquet", capfd)
    assert "-o chooses columns of a join whose key is named" in error("join -o 1.1 a.parquet a.parquet", capfd)
    assert "rows need a key" in error("join -r a.parquet a.parquet", capfd)
