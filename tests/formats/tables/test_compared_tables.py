"""gpumerge diff of tables: random schemas against Python, and the cases that are decided one way or the other."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.formats.tables.same_values import same_values
from gpumerge_cli.formats.tables.taking import rows_at
from tests.formats.tables.random_arrays import order_keys
from tests.formats.tables.random_tables import SUFFIXES, Drawn, plain_values, read

Change = tuple[str, int]
"""A mark, and the row of the old table, or of the new one."""


def changes(a: Sequence[Any], b: Sequence[Any], old: Sequence[Any], new: Sequence[Any]) -> list[Change]:
    """The rows of a diff, one after the other. a, b: the keys in order. old, new: the compared values of each row."""
    found: list[Change] = []
    i = j = 0
    while i < len(a) or j < len(b):
        if j == len(b) or (i < len(a) and a[i] < b[j]):
            found.append(("-", i))
            i += 1
        elif i == len(a) or b[j] < a[i]:
            found.append(("+", j))
            j += 1
        else:
            if old[i] != new[j]:
                found += [("<", i), (">", j)]
            i, j = i + 1, j + 1
    return found


def comparable(value: Any) -> Any:
    """A value of which Python says that it equals another one where a diff does."""
    if isinstance(value, float):
        return "nan" if value != value else value + 0.0
    if isinstance(value, dict):
        return {name: comparable(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [comparable(one) for one in value]
    return value


def values_of(table: pa.Table, ignored: Sequence[str] = ()) -> list[list[Any]]:
    """The values of each row, as they compare."""
    names = [name for name in table.schema.names if name not in ignored]
    columns = [[comparable(value) for value in plain_values(table.column(name))] for name in names]
    return [list(row) for row in zip(*columns, strict=True)] if columns else [[]] * table.num_rows


def keys_of(drawn: Drawn, table: pa.Table) -> list[list[Any]]:
    made = [order_keys(key, reverse=turned) for key, turned in zip(drawn.key_arrays(table), drawn.reverse, strict=True)]
    return [list(row) for row in zip(*made, strict=True)]


def without_repeated_keys(drawn: Drawn, table: pa.Table) -> pa.Table:
    """The first row of each key of an ordered table."""
    keys = keys_of(drawn, table)
    return rows_at(table, np.array([at for at in range(len(keys)) if not at or keys[at] != keys[at - 1]], np.int64))


def with_other_types(rng: random.Random, table: pa.Table) -> pa.Table:
    """The same values, where types have wider or other forms for them."""
    others = {
        pa.int16(): pa.int64(),
        pa.int64(): pa.int64(),
        pa.string(): pa.large_string(),
        pa.float32(): pa.float64(),
    }
    for number, field in enumerate(table.schema):
        other = others.get(field.type)
        if other is not None and rng.random() < 0.5:
            table = table.set_column(number, field.with_type(other), table.column(number).cast(other))
    return table


def edited(rng: random.Random, drawn: Drawn, old: pa.Table, path: Path) -> pa.Table:
    """Some of the rows, some of which have other values outside of their keys, and a few other rows."""
    kept = rows_at(old, np.array([row for row in range(old.num_rows) if rng.random() < 0.8], np.int64))
    drawings = read(drawn.write(drawn.table(kept.num_rows), path))
    share = rng.choice([0.0, 0.05, 0.5])
    chosen = np.array(
        [number if rng.random() >= share else number + len(kept) for number in range(len(kept))], np.int64
    )
    columns = []
    for field in drawings.schema:
        column = kept.column(field.name)
        if field.name not in ("s", *(key.name for key in drawn.keys)):
            chunks = [*column.chunks, *drawings.column(field.name).cast(column.type).chunks]
            column = rows_at(pa.table({field.name: pa.chunked_array(chunks, column.type)}), chosen).column(0)
        columns.append(column)
    made = pa.Table.from_arrays(columns, schema=kept.schema)
    few = read(drawn.write(drawn.table(rng.choice([0, 0, 5])), path))
    return drawn.ordered(pa.concat_tables([made, few.cast(made.schema)]))


@pytest.mark.parametrize("cases", [4, pytest.param(300, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_random_tables_are_as_python_has_them(suffix: str, cases: int, tmp_path: Path, seed: int) -> None:
    for case in range(cases):
        rng = random.Random(f"{seed} {suffix} {case}")
        drawn = Drawn(rng, suffix)
        if any(str(field.type).startswith(("run_end", "dictionary<values=f")) for field in drawn.others):
            continue
        whole = drawn.table(rng.choice([0, 2, 30, 200]))
        old = drawn.ordered(read(drawn.write(whole, tmp_path / "0")))  # Parquet cuts dates off
        new = edited(rng, drawn, old, tmp_path / "1")
        multi = rng.random() < 0.6
        if not multi:
            old, new = without_repeated_keys(drawn, old), without_repeated_keys(drawn, new)
        new = with_other_types(rng, new)
        ignored = rng.choice([(), ("row",), (drawn.others[0].name,) if drawn.others else ("row",)])
        names = [drawn.write(table, tmp_path / side) for side, table in (("a", old), ("b", new))]
        old, new = map(read, names)
        expected = changes(
            keys_of(drawn, old), keys_of(drawn, new), values_of(old, ignored), values_of(new, ignored)
        )  # fmt: skip
        words = [word for field in drawn.fields for word in ("--field", field)]
        words += [*["--multi"] * multi, *(f"--ignore={name}" for name in ignored), "-S", rng.choice(["1M", "64M"])]
        words += ["--threads", rng.choice("12")]
        out = str(tmp_path / f"out{suffix}")
        told = (case, words)
        assert invoke(["diff", *words, *names, "-o", out]) == int(expected != []), told
        found = read(out)
        assert found.schema.names == ["change", *old.schema.names]
        sides = {"-": values_of(old), "+": values_of(new)}
        sides |= {"<": sides["-"], ">": sides["+"]}
        assert values_of(found) == [[mark, *sides[mark][row]] for mark, row in expected], told


def two(tmp_path: Path, old: pa.Table, new: pa.Table) -> list[str]:
    """The names of files with two tables."""
    names = [str(tmp_path / f"{name}.parquet") for name in ("old", "new")]
    for name, table in zip(names, (old, new), strict=True):
        pq.write_table(table, name, row_group_size=3)
    return names


OLD = pa.table(
    {
        "id": pa.array([1, 2, 4, 5, None], pa.int32()),
        "name": ["a", "b", "d", "", None],
        "at": pa.array([0, 1000, 2000, None, 5], pa.timestamp("ms")),
        "in": pa.array([{"x": 1, "y": [1]}, {"x": 2, "y": []}, None, {"x": None, "y": None}, None]),
    }
)
NEW = pa.table(
    {
        "id": pa.array([1, 2, 3, 5, None], pa.int64()),
        "name": pa.array(["a", "B", "c", None, None]).dictionary_encode(),
        "at": pa.array([0, 1000000, 2000000, None, 5000], pa.timestamp("us")),
        "in": pa.array([{"x": 9, "y": [1]}, {"x": 2, "y": []}, None, {"x": None, "y": None}, None]),
    }
)


def test_changed_columns_and_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = two(tmp_path, OLD, NEW)
    out, listed = tmp_path / "out.jsonl", tmp_path / "changes.csv"
    assert invoke(["diff", "--field", "id", "--changes", str(listed), *names, "-o", str(out)]) == 1
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(row["change"], row["id"]) for row in rows] == [
        ("<", 1), (">", 1), ("<", 2), (">", 2), ("+", 3), ("-", 4), ("<", 5), (">", 5),
    ]  # fmt: skip
    assert listed.read_text() == (
        'key,column,old,new\n1,in,"{""x"":1,""y"":[1]}","{""x"":9,""y"":[1]}"\n2,name,b,B\n5,name,"",\n'
    )
    assert invoke(["diff", "--field", "id", "--total", *names]) == 1
    assert capsys.readouterr().out == "added\t1\nremoved\t1\nchanged\t3\nunchanged\t1\n"
    assert invoke(["diff", "--field", "id", "--ignore", "name", "--ignore", "in.x", "--total", *names]) == 1
    assert capsys.readouterr().out == "added\t1\nremoved\t1\nchanged\t0\nunchanged\t4\n"
    assert invoke(["diff", "--field", "id", "--ignore", "2,4", "--total", names[0], names[0]]) == 0
    assert capsys.readouterr().out == "added\t0\nremoved\t0\nchanged\t0\nunchanged\t5\n"


def test_several_keys_in_changes(tmp_path: Path) -> None:
    old = pa.table({"a": ["x", "x, y"], "b": [1, 2], "v": [1.5, 2.5]})
    new = old.set_column(2, "v", pa.array([1.5, float("nan")]))
    names, listed = two(tmp_path, old, new), tmp_path / "changes.csv"
    words = ["--field", "a", "--field", "b", "--changes", str(listed)]
    assert invoke(["diff", *words, *names, "-o", str(tmp_path / "out.csv")]) == 1
    assert list(csv.reader(listed.read_text().splitlines()))[1:] == [['"x, y",2', "v", "2.5", "nan"]]
    assert (tmp_path / "out.csv").read_text() == 'change,a,b,v\n<,"x, y",2,2.5\n>,"x, y",2,nan\n'


def test_inputs_are_sorted_first(tmp_path: Path) -> None:
    names = two(tmp_path, OLD.take([4, 3, 0, 1, 2]), NEW.take([2, 1, 0, 4, 3]))
    out = tmp_path / "out.parquet"
    assert invoke(["diff", "--field", "id", "--sort-inputs", *names, "-o", str(out)]) == 1
    assert pq.read_table(out).column("change").to_pylist() == list("<><>+-<>")


def test_keys_that_are_read_otherwise_are_compared(tmp_path: Path) -> None:
    names = two(tmp_path, pa.table({"n": ["1", "02", "3"]}), pa.table({"n": ["1", "2", "3"]}))
    out = tmp_path / "out.csv"
    assert invoke(["diff", "--field", "n:n", *names, "-o", str(out)]) == 1
    assert out.read_text() == "change,n\n<,02\n>,2\n"
    assert invoke(["diff", "--field", "n:n", "--ignore", "n", *names, "-o", str(out)]) == 0


def test_a_column_has_the_name_already(tmp_path: Path) -> None:
    old = pa.table({"id": [1], "change": ["x"]})
    names = two(tmp_path, old, pa.table({"id": [1], "change": ["y"]}))
    assert invoke(["diff", "--field", "id", *names, "-o", str(tmp_path / "out.csv")]) == 1
    assert (tmp_path / "out.csv").read_text() == "change_2,id,change\n<,1,x\n>,1,y\n"


@pytest.mark.parametrize(
    ("new", "words", "message"),
    [
        (OLD.drop_columns(["at"]), [], "its columns are id int32, name string, in struct<x: int64, y: list<element: "),
        (OLD.set_column(1, "name", [[1] * 5]), [], "name int64 differs from name string; give all files"),
        (OLD, ["--ignore", "nam"], "--ignore nam: there is no such column; did you mean name?"),
        (OLD, ["--ignore", "5"], "--ignore 5: there is no such column; use id, name, at, in"),
        (OLD, ["--ignore", "in.z"], "--ignore in.z: in has no such field; did you mean in.y? use in.x, in.y"),
        (OLD, ["--ignore", "in.x.z"], "--ignore in.x.z: there is no such column; use id, name, at, in"),
        (OLD.take([0, 2, 1, 3, 4]), [], "new.parquet: row group 0, row 2: disorder: 2 comes after 4 by"),
        (OLD.take([0, 1, 1, 3, 4]), [], "new.parquet: row group 0, row 2: its key equals the key of the item before"),
        (OLD.take([0, 1, 2, 4, 4]), [], "new.parquet: row group 1, row 1: its key equals the key of the item before"),
    ],
)  # fmt: skip
def test_errors_are_one_line(
    new: pa.Table, words: Sequence[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names, out = two(tmp_path, OLD, new), tmp_path / "out.parquet"
    assert invoke(["diff", "--field", "id", *words, *names, "-o", str(out)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert not out.exists()


def test_columns_of_one_name_are_ignored_by_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tables = [pa.Table.from_arrays([pa.array([one]) for one in (1, 2, v)], names=["id", "v", "v"]) for v in (3, 4)]
    names, out = two(tmp_path, *tables), str(tmp_path / "out.csv")
    assert invoke(["diff", "--field", "id", "--ignore", "3", *names, "-o", out]) == 0
    assert invoke(["diff", "--field", "id", "--ignore", "2", *names, "-o", out]) == 1
    assert Path(out).read_text() == "change,id,v,v\n<,1,2,3\n>,1,2,4\n"
    assert invoke(["diff", "--field", "id", "--ignore", "v", *names, "-o", out]) == 2
    assert "--ignore v: 2 columns have the name 'v'; count columns from 1" in capsys.readouterr().err


def test_columns_may_lack_by_a_schema(tmp_path: Path) -> None:
    names, out = two(tmp_path, OLD, OLD.drop_columns(["at"])), str(tmp_path / "out.parquet")
    assert invoke(["diff", "--field", "id", "--schema", "intersect", *names, "-o", out]) == 0
    assert invoke(["diff", "--field", "id", "--schema", "union", *names, "-o", out]) == 1
    assert pq.read_table(out).column("id").to_pylist() == [1, 1, 2, 2, 4, 4, None, None]


@pytest.mark.parametrize(
    ("type", "a", "b", "same"),
    [
        (pa.float64(), [0.0, float("nan"), None, 1.0], [-0.0, float("nan"), None, None], [1, 1, 1, 0]),
        (pa.float16(), [0.0, float("nan"), None, 1.0], [-0.0, float("nan"), None, 2.0], [1, 1, 1, 0]),
        (pa.list_(pa.float32()), [[0.0], [], None, [1.0]], [[-0.0], None, None, [1.0, 2.0]], [1, 0, 1, 0]),
        (pa.list_view(pa.int8()), [[1], [], None], [[1], [2], None], [1, 0, 1]),
        (pa.list_(pa.int8(), 2), [[1, 2], [1, None], None], [[1, 2], [1, None], [3, 4]], [1, 1, 0]),
        (pa.map_(pa.string(), pa.int8()), [[("a", 1)], None], [[("a", 2)], []], [0, 0]),
        (pa.string_view(), ["a", None, ""], ["a", None, None], [1, 1, 0]),
        (pa.struct([("x", pa.null())]), [{"x": None}, None], [{"x": None}, {"x": None}], [1, 0]),
        (pa.month_day_nano_interval(), [(1, 2, 3), None], [(1, 2, 4), None], [0, 1]),
        (pa.decimal256(50, 2), [1, 2], [1, 3], [1, 0]),
    ],
)
def test_values_of_all_types(type: pa.DataType, a: Sequence[Any], b: Sequence[Any], same: Sequence[int]) -> None:
    for ahead in (0, 1):
        x, y = (pa.array([values[0]] * ahead + list(values), type)[ahead:] for values in (a, b))
        assert same_values(x, y).tolist() == list(map(bool, same))
