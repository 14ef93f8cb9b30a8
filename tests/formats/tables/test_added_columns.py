"""Columns that tables get: the names of files, counts, and the places of compare, against Python."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.engine.job import Job, Operation, Resources
from gpumerge_cli.engine.run import plan_files, run
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.record_options import RecordRequest
from gpumerge_cli.order.equals import Equals, Margin
from tests.formats.tables.random_arrays import order_keys
from tests.formats.tables.random_tables import SUFFIXES, Drawn, read, texts
from tests.jobs_of import merge_job, sort_job

KEPT = {
    "union": lambda m, n: (range(m), range(m, n)),
    "intersect": lambda m, n: (range(min(m, n)), range(0)),
    "difference": lambda m, n: (range(n, m), range(0)),
    "symmetric": lambda m, n: (range(n, m), range(m, n)),
}
"""The equal rows of A and of B that go out, if A has m and B has n of them."""


def by(*fields: str) -> Items:
    return Items(records=RecordRequest(fields=fields))


def sorted_file(drawn: Drawn, rows: int, path: Path) -> str:
    """A file of random rows in order. They are written twice, since files may change values, and so their order."""
    unsorted = drawn.write(drawn.table(rows), path.with_name(f"{path.name}u"))
    return drawn.write(drawn.ordered(read(unsorted)), path)


def with_first(table: pa.Table, title: str, values: Sequence[str]) -> pa.Table:
    field = pa.field(title, pa.string(), nullable=False)
    return table.add_column(0, field, pa.array(values, pa.string()))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_sources_of_random_tables(suffix: str, tmp_path: Path, seed: int) -> None:
    """Of every type, with nulls and NaN, both ways; sorts in memory and beyond it."""
    rng = random.Random(seed)
    for case in range(3):
        drawn = Drawn(rng, suffix)
        counts = [rng.choice([0, 1, 40, 300]) for _ in range(rng.choice([1, 2, 4]))]
        names = [sorted_file(drawn, rows, tmp_path / f"{case}-{number}") for number, rows in enumerate(counts)]
        tables = [read(name) for name in names]
        whole = pa.concat_tables(
            with_first(table, "of", [name] * len(table)) for table, name in zip(tables, names, strict=True)
        )
        expected = drawn.ordered(whole.combine_chunks())
        out = str(tmp_path / f"{case}{suffix}")
        margin = Margin(title="of")
        run(merge_job(tuple(names), out, by(*drawn.fields), margin=margin, backend="cpu"))
        assert texts(read(out)) == texts(expected), drawn.fields
        assert read(out).schema.field(0).type in (pa.string(), pa.dictionary(pa.int32(), pa.string()))
        job = sort_job(
            tuple(names), out, by(*drawn.fields), Resources("cpu", always_spill=rng.random() < 0.7), margin=margin
        )
        run(job)
        assert texts(read(out)) == texts(expected), drawn.fields


TYPES: Sequence[pa.DataType] = (pa.int64(), pa.float64(), pa.string(), pa.decimal128(9, 2), pa.bool_())


class Two:
    """Two sorted files of rows with few keys, by columns of one or two types; rows have numbers of their own."""

    def __init__(self, rng: random.Random, folder: Path) -> None:
        self.types = rng.sample(TYPES, rng.choice([1, 1, 2]))
        self.reverse = [rng.random() < 0.5 for _ in self.types]
        self.fields = [f"k{at}" + ":r" * turned for at, turned in enumerate(self.reverse)]
        self.names, self.rows, first = [], [], 0
        for number in range(2):
            count = rng.choice([0, 7, 200])
            columns = [_drawn(rng, type, count) for type in self.types]
            columns.append(pa.array(range(first, first + count), pa.int64()))
            first += count
            table = pa.table(columns, [*(f"k{at}" for at in range(len(self.types))), "row"])
            keys = self._keys(table)
            table = table.take(pa.array(sorted(range(count), key=keys.__getitem__), pa.int64()))
            self.rows.append(list(zip(sorted(keys), table.column("row").to_pylist(), strict=True)))
            self.names.append(str(folder / f"{number}.parquet"))
            pq.write_table(table, self.names[-1], row_group_size=13)

    def _keys(self, table: pa.Table) -> list[Any]:
        columns = [
            order_keys(pa.concat_arrays(table.column(at).chunks or [pa.nulls(0, type)]), reverse=turned)
            for at, (type, turned) in enumerate(zip(self.types, self.reverse, strict=True))
        ]
        return [tuple(column[row] for column in columns) for row in range(table.num_rows)]

    def groups(self) -> Iterator[list[list[int]]]:
        """The rows of each file, for each key in turn."""
        for key, _ in groupby(sorted(key for rows in self.rows for key, _ in rows)):
            yield [[row for one, row in rows if one == key] for rows in self.rows]

    def words(self, *more: str) -> list[str]:
        return [*more, "--field", ",".join(self.fields), *self.names, "-q"]


def _drawn(rng: random.Random, type: pa.DataType, count: int) -> Any:
    values: dict[str, list[Any]] = {
        "int64": [-1, 0, 2**60],
        "double": [float("nan"), 0.0, -0.0, 1.5],
        "string": ["", "a\0b", "é", "\1"],
        "bool": [True, False],
    }
    some = values.get(str(type), [Decimal("1.25"), Decimal("-3")])
    return pa.array([rng.choice([*some, None]) for _ in range(count)], type)


@pytest.fixture
def two(tmp_path: Path, seed: int) -> Two:
    return Two(random.Random(seed), tmp_path)


def rows_of(path: Path, *columns: str) -> list[tuple[Any, ...]]:
    found = read(str(path))
    return list(zip(*(found.column(name).to_pylist() for name in columns), strict=True))


@pytest.mark.parametrize("command", KEPT)
def test_sets_with_sources_and_counts(command: str, two: Two, tmp_path: Path) -> None:
    expected, counted = [], []
    for a, b in two.groups():
        of_a, of_b = KEPT[command](len(a), len(b))
        lines = [(two.names[0], a[at]) for at in of_a] + [(two.names[1], b[at]) for at in of_b]
        expected += lines
        counted += [(*line, len(lines)) for line in lines[:1]]
    out = tmp_path / "o.parquet"
    assert invoke(two.words(command, "--source", "-o", str(out))) == 0
    assert rows_of(out, "source", "row") == expected
    assert invoke(two.words(command, "--source", "--count", "-o", str(out))) == 0
    assert rows_of(out, "source", "row", "count") == counted
    assert read(str(out)).schema.names == ["source", *read(two.names[0]).schema.names, "count"]
    assert invoke(two.words(command, "--source", "--parts", "3", "-o", str(tmp_path / "p{part}.parquet"))) == 0
    parts = [rows_of(tmp_path / f"p{number}.parquet", "source", "row") for number in range(3)]
    assert [one for part in parts for one in part] == expected


@pytest.mark.one_of_each
@pytest.mark.parametrize("hidden", [(), ("-1",), ("-2",), ("-3",), ("-1", "-3")])
@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".arrows"])
def test_compare(
    hidden: Sequence[str], suffix: str, two: Two, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    expected, totals = [], {"first": 0, "second": 0, "both": 0}
    for a, b in two.groups():
        met = min(len(a), len(b))
        cases = [("both", 0, row) for row in a[:met]]
        cases += [("first", 0, row) for row in a[met:]] + [("second", 1, row) for row in b[met:]]
        for place, of, row in cases:
            totals[place] += 1
            if {"first": "-1", "second": "-2", "both": "-3"}[place] not in hidden:
                expected.append((place, two.names[of], row))
    out = tmp_path / f"o{suffix}"
    assert invoke(two.words("compare", *hidden, "--total", "--source", "-o", str(out))) == 0
    assert rows_of(out, "found_in", "source", "row") == expected
    said = f"{totals['first']} rows are in the first file alone, {totals['second']} in the second alone"
    assert said in caplog.text
    caplog.clear()
    if len(hidden) < 2:
        assert invoke(two.words("compare", *hidden, "-o", str(out))) == 0
        assert rows_of(out, "found_in", "row") == [(place, row) for place, _, row in expected]
        assert str(read(str(out)).schema.field("found_in").type).endswith(("string", "ordered=0>"))
        assert not caplog.text


def test_one_column_of_compare_is_rows_alone(two: Two, tmp_path: Path) -> None:
    out = tmp_path / "o.parquet"
    assert invoke(two.words("compare", "-13", "-o", str(out))) == 0
    assert read(str(out)).schema.names == read(two.names[0]).schema.names


def test_compare_as_text(two: Two, tmp_path: Path) -> None:
    for suffix in ("csv", "jsonl"):
        assert invoke(two.words("compare", "-o", str(tmp_path / f"o.{suffix}"))) == 0
    assert invoke(two.words("compare", "-o", str(tmp_path / "o.parquet"))) == 0
    expected = [(place, str(row)) for place, row in rows_of(tmp_path / "o.parquet", "found_in", "row")]
    with (tmp_path / "o.csv").open(newline="") as file:
        assert [(row["found_in"], row["row"]) for row in csv.DictReader(file)] == expected
    lines = map(json.loads, (tmp_path / "o.jsonl").read_text().splitlines())
    assert [(line["found_in"], str(line["row"])) for line in lines] == expected


@pytest.mark.parametrize("cases", [1, pytest.param(10, marks=pytest.mark.thorough)])
def test_equal_rows_of_every_random_table(cases: int, tmp_path: Path, seed: int) -> None:
    """The numbers of compare agree with those of its sets."""
    rng = random.Random(seed)
    for case in range(cases):
        drawn = Drawn(rng, ".parquet")
        names = tuple(sorted_file(drawn, rng.choice([0, 30, 300]), tmp_path / f"{case}-{at}") for at in range(2))
        out, items = str(tmp_path / f"o{case}.parquet"), by(*drawn.fields)
        margin = Margin(columns=(b"\t\t", b"", b"\t"))
        run(merge_job(names, out, items, equals=Equals.UNION, margin=margin, backend="cpu"))
        found = rows_of(Path(out), "found_in", "row")
        for place, equals, of in (
            ("both", Equals.INTERSECT, names),
            ("first", Equals.DIFFERENCE, names),
            ("second", Equals.DIFFERENCE, names[::-1]),
        ):
            run(merge_job(of, str(tmp_path / "s.parquet"), items, equals=equals, backend="cpu"))
            rows = [row for (row,) in rows_of(tmp_path / "s.parquet", "row")]
            got = [row for one, row in found if one == place]
            assert got == rows or (place == "second" and len(got) == len(rows)), (case, place)


def test_columns_that_are_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = str(tmp_path / "a.parquet")
    pq.write_table(pa.table({"source": [1], "found_in": [2]}), name)
    for words, what in (
        (
            ["merge", "--source"],
            "--source: the rows have a column 'source' already; write --source=NAME",
        ),
        (["compare"], "compare: the rows have a column 'found_in' already; write one column alone, by -12, -13 or -23"),
        (
            ["compare", "--output-delimiter", ","],
            "--output-delimiter: one column of the output says which files",
        ),
        (["merge", "--source="], "--source= names no column; write --source alone, or --source=NAME"),
    ):
        assert invoke([*words, "--field", "source", name, name, "-o", str(tmp_path / "o.parquet")]) == 2
        assert what in capsys.readouterr().err
    assert not (tmp_path / "o.parquet").exists()


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
def test_names_that_are_not_utf8(suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever other characters they have."""
    plain, wrong = (tmp_path / f"{name}{suffix}" for name in ("a", "\N{GRINNING FACE}\udcff"))
    if suffix == ".parquet":
        pq.write_table(pa.table({"k": [1]}), str(plain))
    else:
        plain.write_text('{"k":1}\n')
    wrong.write_bytes(plain.read_bytes())
    for title, name, way_out in (
        ("--source", wrong, "rename it, or name a link to it"),
        ("--source=\udcff", plain, "write --source=NAME with another name"),
    ):
        words = ["merge", title, "--field", "k", str(name), str(name), "-o", str(tmp_path / f"o{suffix}")]
        assert invoke(words) == 2
        found = capsys.readouterr().err
        assert "is not UTF-8" in found
        assert f"; {way_out}" in found


@pytest.mark.one_in(2)
@pytest.mark.parametrize("threads", ["1", "3"])
def test_many_groups(threads: str, tmp_path: Path) -> None:
    """Pieces are gathered by several threads, and numbers stay with their rows."""
    for number in range(2):
        keys = [key for key in range(number, 200_000) if key % (number + 2)]
        pq.write_table(
            pa.table({"k": keys, "text": [str(key) for key in keys]}),
            tmp_path / f"{number}.parquet",
            row_group_size=30_000,
        )
    names = [str(tmp_path / f"{number}.parquet") for number in range(2)]
    out = str(tmp_path / "o.parquet")
    options = ["--threads", threads, "--row-group-size", "10000", "-S", "8M"]
    assert invoke(["compare", "--field", "k", *names, *options, "-o", out]) == 0
    found = read(out)
    assert [set(read(name).column("k").to_pylist()) for name in names] == [
        {key for place, key in rows_of(Path(out), "found_in", "k") if place in ("both", one)}
        for one in ("first", "second")
    ]
    assert found.column("text").to_pylist() == [str(key) for key in found.column("k").to_pylist()]


def test_places_of_ranks_and_plans_are_rows(two: Two, capsys: pytest.CaptureFixture[str]) -> None:
    """The parts of rank --split are rows of the files, and hold all of them."""
    assert invoke(two.words("rank", "--split", "3")) == 0
    parts = json.loads(capsys.readouterr().out)["parts"]
    counts = list(map(len, two.rows))
    merged = [(key, of, row) for of, rows in enumerate(two.rows) for key, row in rows]
    order = [row for _, _, row in sorted(merged, key=lambda one: one[0])]
    at = [0, 0]
    for part in parts:
        assert set(part) == {"rank", "items", "item_ranges"}
        assert [low for low, _ in part["item_ranges"]] == at
        at = [high for _, high in part["item_ranges"]]
        cut = {
            row for rows, (low, high) in zip(two.rows, part["item_ranges"], strict=True) for _, row in rows[low:high]
        }
        assert cut == set(order[part["rank"] : part["rank"] + part["items"]])
    assert at == counts
    plan = plan_files(Job(tuple(two.names), by(*two.fields), Operation("merge"))).as_dict()
    assert plan["items"] == sum(counts) == sum(chunk["items"] for chunk in plan["chunks"])
    assert all(set(chunk) == {"rank", "items", "item_ranges"} for chunk in plan["chunks"])
    if sum(counts):
        assert invoke(two.words("rank", "--at", "0", "--json")) == 0
        (answer,) = json.loads(capsys.readouterr().out)["ranks"]
        assert answer["offsets"] == [None, None]
