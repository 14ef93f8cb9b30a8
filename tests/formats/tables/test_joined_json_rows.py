"""gpumerge join of JSON Lines to a table: random objects against plain Python, and the columns and types of B."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.order.joins import JOIN_TYPES, ONLY_B, PAIRS
from tests.formats.test_joined_json_lines import pairs_of
from tests.needs import library

pa, pq = library("pyarrow"), library("pyarrow.parquet")

Rows = Sequence[dict[str, Any]]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def put(name: str, rows: Rows) -> str:
    Path(name).write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return name


def joined(a: Rows, b: Rows, *options: str) -> Any:
    assert invoke(["join", "-q", *options, put("a.jsonl", a), put("b.jsonl", b), "--output", "o.parquet"]) == 0
    return pq.read_table("o.parquet")


def drawn(draw: random.Random, name: str, others: Sequence[str], values: Sequence[Any]) -> list[dict[str, Any]]:
    """Objects in the order of the member `name`, which may be null or missing."""
    found = []
    for _ in range(draw.choice([0, 1, 3, 40])):
        row = {other: draw.randrange(100) for other in others if draw.random() < 0.6}
        if draw.random() < 0.9:
            row[name] = draw.choice([None, *values])
        found.append(dict(draw.sample(sorted(row.items()), len(row))))
    return sorted(found, key=lambda row: _key(row, name))


def _key(row: dict[str, Any], name: str) -> Any:
    value = row.get(name)
    return value is None, "" if value is None else value


def expected(a: Rows, b: Rows, names: tuple[str, str], shows: int) -> tuple[list[str], list[dict[str, Any]]]:
    """(the names of the columns, the rows)."""
    of_a, of_b = (list(dict.fromkeys(name for row in rows for name in row)) for rows in (a, b))
    has_b = bool(shows & (PAIRS | ONLY_B))
    if shows == ONLY_B:
        of_a = []
    columns, renamed = list(of_a), {}
    clashing = {*of_a, names[0]} if shows & ONLY_B else set(of_a)
    taken = clashing | {name for name in of_b if name != names[1]}
    for name in of_b if has_b else []:
        own = name
        if name == names[1]:
            own = names[0]
            if not shows & ONLY_B:
                continue
        elif name in clashing:
            while own in taken:
                own += "_2"
            taken.add(own)
        renamed[name] = own
        columns += [own] * (own not in columns)
    keys = [[(_key(row, name), row) for row in rows] for rows, name in zip((a, b), names, strict=True)]
    rows = []
    for x, y in pairs_of(*keys, shows):
        values = {renamed[name]: value for name, value in (y or {}).items() if name in renamed}
        rows.append({name: {**values, **(x or {})}.get(name) for name in columns})
    return columns, rows


@pytest.mark.parametrize("kind", JOIN_TYPES)
def test_random_objects(kind: str, seed: int) -> None:
    draw = random.Random(seed)
    for case in range(8):
        names = draw.choice([("id", "id"), ("id", "person")])
        values = draw.choice([range(9), [1, 1.5, 2, 2.5, 7], ["", "a", "ab", "é"]])
        a = drawn(draw, names[0], draw.sample(["x", "y", "id_2", "x_2"], 2), values)
        b = drawn(draw, names[1], draw.sample(["x", "z", "x_2", *({"id", "person"} - {names[1]})], 3), values)
        columns, rows = expected(a, b, names, JOIN_TYPES[kind])
        words = ["-1", names[0], "-2", names[1], "--type", kind]
        if not columns:
            assert invoke(["join", "-q", *words, put("a.jsonl", a), put("b.jsonl", b), "--output", "o.parquet"]) == 2
            continue
        found = joined(a, b, *words)
        assert found.schema.names == columns, case
        assert found.to_pylist() == rows, (case, names)


def test_a_key_has_a_type_for_both_files() -> None:
    a, b = [{"id": 1, "s": {"t": [1]}}, {"id": 2}], [{"id": 1.5, "s": "x"}, {"id": 2, "s": None}]
    found = joined(a, b, "--type", "outer", "--field", "id")
    assert [(field.name, str(field.type)) for field in found.schema] == [
        ("id", "double"), ("s", "struct<t: list<element: int64>>"), ("s_2", "string"),
    ]  # fmt: skip
    assert found.column("id").to_pylist() == [1.0, 1.5, 2.0]
    assert found.column("s_2").to_pylist() == [None, "x", None]
    assert joined(a, b, "--type", "left", "--field", "id").schema.field("id").type == pa.int64()


def test_numbers_that_no_type_holds(capfd: pytest.CaptureFixture[str]) -> None:
    put("a.jsonl", [{"id": 2**53 + 1}])
    put("b.jsonl", [{"key": 1.5}, {"key": 2**60}])
    words = ["join", "-1", "id", "-2", "key", "--type", "right", "a.jsonl", "b.jsonl", "--output", "o.parquet"]
    assert invoke(words) == 2
    told = "a.jsonl:1: id is 9007199254740993, which no double holds, but 1.5, at b.jsonl:1; write these numbers"
    assert told in capfd.readouterr().err
    assert not Path("o.parquet").exists()


@pytest.mark.parametrize(
    ("kind", "keys", "stated"),
    [
        ("inner", "id,s.t:r", [("id", False), ("s.t", True)]),
        ("left", "id,x", [("id", False), ("x", False)]),
        ("right", "id,x", [("id", False), ("x", False)]),
        ("right", "id,s.t:r", [("id", False)]),
        ("outer", "id,x", [("id", False)]),
        ("anti", "x,id", [("x", False), ("id", False)]),
    ],
)
def test_the_order_that_the_output_states(kind: str, keys: str, stated: list[tuple[str, bool]]) -> None:
    a, b = ([{"id": number, "x": number, "s": {"t": 1}} for number in numbers] for numbers in ((1, 2), (2, 3)))
    joined(a, b, "--type", kind, "--field", keys)
    found = pq.ParquetFile("o.parquet")
    names = found.metadata.row_group(0).sorting_columns
    assert [(found.schema.column(one.column_index).path, one.descending) for one in names] == stated


def test_a_key_inside_an_object_stays_there() -> None:
    a, b = [{"u": {"id": 1}}, {"u": {"id": 2}}], [{"id": 2, "n": "x"}, {"id": 3, "n": "y"}]
    found = joined(a, b, "-1", "u.id", "-2", "id", "--type", "outer")
    assert found.to_pylist() == [
        {"u": {"id": 1}, "id": None, "n": None}, {"u": {"id": 2}, "id": 2, "n": "x"}, {"u": None, "id": 3, "n": "y"},
    ]  # fmt: skip
    assert joined(a, b, "-1", "u.id", "-2", "id").to_pylist() == [{"u": {"id": 2}, "n": "x"}]


@pytest.mark.parametrize("suffix", [".arrow", ".feather", ".arrows", ".csv", ".csv.gz"])
def test_other_outputs(suffix: str, capfd: pytest.CaptureFixture[str]) -> None:
    put("a.jsonl", [{"t": 1, "p": 10}, {"t": 5, "p": 50}])
    put("b.jsonl", [{"t": 3, "q": "x"}])
    out = f"o{suffix}"
    assert invoke(["join", "-q", "--type", "asof", "--field", "t", "a.jsonl", "b.jsonl", "--output", out]) == 0
    assert invoke(["merge", "-q", "--field", "t", out, "-o", "all.csv"]) == 0
    assert Path("all.csv").read_text() == "t,p,q\n1,10,\n5,50,x\n"
    assert capfd.readouterr().err == ""


def test_lines_that_are_no_objects(capfd: pytest.CaptureFixture[str]) -> None:
    put("a.jsonl", [{"id": 1}])
    Path("b.jsonl").write_text('{"id":1,"x":1}\n{"id":2,"x":"y"}\n')
    words = ["join", "--field", "id", "a.jsonl", "b.jsonl", "--output", "o.parquet"]
    assert invoke(words) == 2
    assert 'b.jsonl:2: x is a string, "y", but a number, 1, at b.jsonl:1; give it one type' in capfd.readouterr().err
    Path("b.jsonl").write_text('{"id":1}\n[1]\n')
    assert invoke(words) == 2
    assert "b.jsonl:2: the line is [1], and not an object" in capfd.readouterr().err
    assert not Path("o.parquet").exists()
