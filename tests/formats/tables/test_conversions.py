"""CSV and JSON Lines as tables: the values are those that json.loads and csv.reader find in the text."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import random
import threading
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.needs import library

np, pa, pq = library("numpy"), library("pyarrow"), library("pyarrow.parquet")

from gpumerge_cli.cli.app import invoke  # noqa: E402 - behind the check that pyarrow is there

WORDS = [
    "",
    "a",
    "b",
    'q"q',
    "a,b",
    "x\ny",
    "t\tt",
    "\\",
    "é€😀",
    "null",
    " b ",
    "1",
    "2024-02-29",
    "2024-02-29T00:00:00Z",
]
FIELDS = [*WORDS, "x\r\ny", "NA", "1.0", '""', "\r"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*words: str) -> None:
    assert invoke([*words, "-q"]) == 0


def table(name: str) -> Any:
    if name.endswith(".parquet"):
        found = pq.read_table(name)
        for group in range((file := pq.ParquetFile(name)).num_row_groups):
            check_sorted(file, group)
        return found
    with pa.OSFile(name) as file:
        return (pa.ipc.open_stream if name.endswith(".arrows") else pa.ipc.open_file)(file).read_all()


def check_sorted(file: Any, group: int) -> None:
    """The rows of a group are in the order that the file says."""
    about = file.metadata.row_group(group)
    names = [about.column(one.column_index).path_in_schema.split(".") for one in about.sorting_columns]
    rows = file.read_row_group(group).to_pylist()

    def keys(row: Any) -> list[Any]:
        found = []
        for path, one in zip(names, about.sorting_columns, strict=True):
            value = row
            for name in path:
                value = None if value is None else value[name]
            found.append((one, value))
        return found

    for first, second in pairwise(rows):
        for (one, low), (_, high) in zip(keys(first), keys(second), strict=True):
            if low is None or high is None:
                if (low is None) != (high is None):
                    assert one.nulls_first == (low is None)
                    break
                continue
            if isinstance(low, str):
                low, high = low.encode(), high.encode()
            if low != high:
                assert (low > high) == one.descending, (low, high)
                break


Draw = Callable[[], Any]


def drawn(rng: random.Random, depth: int) -> Draw:
    """A function that draws values of one type, some of them null."""
    some: list[Draw] = [
        lambda: rng.choice([0, -1, 5, 2**53, -(2**63), 2**63 - 1]),
        lambda: rng.choice([0.1, -0.0, 1e300, 5, -7, 1.5e-7, 2**53]),
        lambda: rng.choice([2**64 - 1, 0, 17]),
        lambda: rng.choice(WORDS),
        lambda: rng.random() < 0.5,
        lambda: None,
    ]
    if depth:
        item = drawn(rng, depth - 1)
        fields = {rng.choice(["x", "y", "z", "é", "a.b", ""]): drawn(rng, depth - 1) for _ in range(rng.randint(1, 3))}
        some += [
            lambda: [item() for _ in range(rng.randint(0, 3))],
            lambda: {"v": 1, **{name: of() for name, of in fields.items() if rng.random() < 0.8}},
        ]
    chosen = rng.choice(some)
    return lambda: None if rng.random() < 0.1 else chosen()


def filled(value: Any, type: Any) -> Any:
    """A value with the members that others have, as null."""
    if value is None:
        return None
    if pa.types.is_struct(type):
        assert set(value) <= {type.field(number).name for number in range(type.num_fields)}
        return {one.name: filled(value.get(one.name), one.type) for one in type}
    return [filled(one, type.value_type) for one in value] if pa.types.is_list(type) else value


def same(value: Any, other: Any) -> bool:
    """Whether values are equal, and booleans no numbers."""
    if isinstance(value, dict):
        return value.keys() == other.keys() and all(same(value[name], other[name]) for name in value)
    if isinstance(value, list):
        return len(value) == len(other) and all(map(same, value, other))
    return value == other and isinstance(value, bool) == isinstance(other, bool)


def check_json(name: str, lines: Sequence[bytes]) -> None:
    """A table has the values of lines."""
    found = table(name)
    values = [filled(json.loads(line), pa.struct(list(found.schema))) for line in lines]
    assert found.num_rows == len(values)
    for row, value in zip(found.to_pylist(), values, strict=True):
        assert same(row, value), (row, value)
    numbers = [one for one in found.schema if pa.types.is_temporal(one.type)]
    assert not numbers, "texts stay texts"


def write_json(rng: random.Random, names: Sequence[str]) -> None:
    members = {name: drawn(rng, 2) for name in rng.sample(["a", "b", "c", "d", 'q"', "é"], rng.randint(0, 4))}
    key = rng.choice([lambda: rng.randint(-5, 5), lambda: rng.choice(WORDS), lambda: rng.choice([1.5, 2, -3])])
    for name in names:
        rows = []
        for _ in range(rng.choice([0, 1, 30, 200])):
            row = {"id": key(), "k": {"n": rng.randint(0, 3)} if rng.random() < 0.8 else None}
            if rng.random() < 0.1:
                del row["id"]
            row |= {one: of() for one, of in members.items() if rng.random() < 0.9}
            rows.append(row)
        order = rng.choice([", ", ","]), rng.choice([": ", ":"])
        lines = [json.dumps(row, ensure_ascii=rng.random() < 0.5, separators=order) for row in rows]
        Path(name).write_text("".join(f"{line}{rng.choice(['', ' ', chr(13)])}\n" for line in lines), newline="")
    with Path(names[0]).open("a") as file:
        file.write('{"id":null}\n')


def random_command(rng: random.Random, names: Sequence[str], keys: str, options: Sequence[str]) -> list[str]:
    """A command that writes rows, but for its output, and with a sort its inputs sorted."""
    command = rng.choice(["merge", "merge", "sort", "sort", "union", "difference"])
    if command != "sort":
        for name in names:
            run("sort", *options, "--field", keys, name, "-o", name)
    words = [command, *options, "--field", keys, *names]
    if command == "merge":
        words += rng.choice([[], ["--unique"], ["--head", "17"], ["--tail", "5"]])
    if command == "sort":
        words += rng.choice([[], ["-S", "64K"], ["--unique"]])
    return words


@pytest.mark.parametrize("turn", range(6))
def test_json_lines(seed: int, turn: int) -> None:
    rng = random.Random(seed * 100 + turn)
    names = ["1.jsonl", "2.jsonl"][: rng.randint(1, 2)]
    write_json(rng, names)
    words = random_command(rng, names, rng.choice(["id", "id:r", "k.n", "k.n:r,id", "id,k.n"]), [])
    run(*words, "-o", "all.jsonl")
    suffix = rng.choice(["parquet", "arrow", "arrows", "feather"])
    size = rng.choice([[], ["--row-group-size", "10"], ["--row-group-size", "1M"]]) if suffix == "parquet" else []
    run(*words, *size, "-o", f"out.{suffix}")
    check_json(f"out.{suffix}", Path("all.jsonl").read_bytes().split(b"\n")[:-1])


def csv_text(rng: random.Random, rows: Sequence[Sequence[str]], separator: str, end: str) -> str:
    out = io.StringIO(newline="")
    has_returns = any("\r" in field for row in rows for field in row)  # the writer does not quote all of them
    quoting = csv.QUOTE_ALL if has_returns else rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    csv.writer(out, delimiter=separator, lineterminator=end, quoting=quoting).writerows(rows)
    return out.getvalue()


def check_csv(name: str, text: bytes, separator: str) -> None:
    header, *rows = csv.reader(io.StringIO(text.decode(), newline=""), delimiter=separator, strict=True)
    found = table(name)
    assert found.column_names == header
    assert all(pa.types.is_string(one) or one == pa.int64() for one in found.schema.types)
    values = [
        [str(value) for value in row] for row in zip(*(column.to_pylist() for column in found.columns), strict=True)
    ]
    assert values == [row or [""] for row in rows]


@pytest.mark.parametrize("turn", range(6))
def test_csv(seed: int, turn: int) -> None:
    rng = random.Random(seed * 100 + turn)
    names, separator, end = ["1.csv", "2.csv"][: rng.randint(1, 2)], rng.choice(",;\t|"), rng.choice(["\n", "\r\n"])
    words = rng.choice([FIELDS, WORDS, [word for word in WORDS if "\n" not in word], ["a", "b", "", "12"]])
    columns = ["id", *rng.sample(["b", "c d", 'q"', "é"], rng.randint(0, 3))]
    for name in names:
        rows = [[rng.choice(words) for _ in columns] for _ in range(rng.choice([0, 1, 30, 200]))]
        Path(name).write_text(csv_text(rng, [columns, *rows], separator, end), newline="")
    options = ["--csv", "-t", separator, *rng.choice([[], ["--nulls", "first"]])]
    keys = ",".join(rng.sample(columns, rng.randint(1, len(columns)))) + rng.choice(["", ":r"])
    words = random_command(rng, names, keys, options)
    if words[0] == "merge" and not {"--unique", "--head", "--tail"} & set(words):
        words += rng.choice([[], ["--count"], ["--source"], ["--count=after", "--source=from"]])
    run(*words, "-o", "all.csv")
    suffix = rng.choice(["parquet", "arrow", "arrows"])
    run(*words, "-o", f"out.{suffix}")
    check_csv(f"out.{suffix}", Path("all.csv").read_bytes(), separator)
    run(*words, "-o", "out.jsonl")
    assert [json.loads(line) for line in Path("out.jsonl").read_bytes().splitlines()] == table(
        f"out.{suffix}"
    ).to_pylist()


@pytest.mark.parametrize("options", [["--quotes", "backslash"], ["--quotes", "none"], ["-t", "::"]])
def test_dialects(options: list[str]) -> None:
    between = options[1] if options[0] == "-t" else ","
    rows = {"backslash": '1,"a\\"b"\n2,c\\,d\n', "none": '1,"a\n2,c"d\r\n', "::": "1::a,b\n2::c:d\n"}[options[1]]
    Path("a.csv").write_text(f"id{between}v\n{rows}", newline="")
    run("merge", "--csv", *options, "--field", "id", "a.csv", "-o", "o.parquet")
    expected = {"backslash": ['a"b', "c,d"], "none": ['"a', 'c"d'], "::": ["a,b", "c:d"]}[options[1]]
    assert table("o.parquet").to_pydict() == {"id": ["1", "2"], "v": expected}


def test_every_reader_finds_the_values() -> None:
    polars, duckdb = library("polars"), library("duckdb")
    rows = [{"i": n, "f": n / 3, "s": f"t{n}", "b": n % 2 == 0, "l": [n], "o": {"x": n, "y": None}} for n in range(50)]
    Path("a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run("merge", "--field", "i", "a.jsonl", "--row-group-size", "20", "-o", "o.parquet")
    assert pq.read_table("o.parquet").to_pylist() == rows
    assert polars.read_parquet("o.parquet").to_dicts() == rows
    found = duckdb.sql("select * from 'o.parquet'")
    assert [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()] == rows


@pytest.mark.parametrize("order", "<>")
def test_records(order: str) -> None:
    fields = [
        ("id", f"{order}i4"),
        ("f", f"{order}f8"),
        ("b", "?"),
        ("s", "S3"),
        ("u", f"{order}U2"),
        ("t", f"{order}M8[us]"),
    ]
    rows = [(n, n / 3, n % 2 == 0, b"a\0b", "é", np.datetime64(n, "us")) for n in range(100)]
    array = np.array(rows, fields)
    array["t"][7] = np.datetime64("NaT", "us")
    np.save("a.npy", array)
    array.tofile("a.bin")
    values = [
        {"id": n, "f": f, "b": b, "s": s, "u": u, "t": None if n == 7 else at.item()} for n, f, b, s, u, at in rows
    ]
    for words in (["a.npy"], ["--dtype", str(fields), "a.bin"]):
        run("merge", "--field", "id", *words, "-o", "o.parquet")
        assert table("o.parquet").to_pylist() == values
    array["s"][:3] = [b"a", b"", b"a\0"]  # NumPy's bytes do not end with zeros: these fill a field up
    np.save("a.npy", array)
    for out in ("o.parquet", "o.jsonl", "o.csv"):
        run("merge", "--field", "id", "a.npy", "-o", out)
    assert table("o.parquet").column("s").to_pylist()[:4] == [b"a", b"", b"a", b"a\0b"]
    assert [json.loads(line)["s"] for line in Path("o.jsonl").read_text().splitlines()[:3]] == ["a", "", "a"]
    assert [line.split(",")[3] for line in Path("o.csv").read_text().splitlines()[1:4]] == ["a", '""', "a"]
    np.save("v.npy", np.zeros(3, [("id", "i4"), ("v", "f4", 2)]))
    assert invoke(["merge", "--field", "id", "v.npy", "-o", "v.parquet"]) == 2
    assert not Path("v.parquet").exists()


def test_there_and_back(seed: int) -> None:
    """Values of these types come back from JSON Lines."""
    rng = random.Random(seed)

    def some(draw: Draw) -> list[Any]:
        return [draw() if at == 0 or rng.random() < 0.8 else None for at in range(100)]

    made = pa.table(
        {
            "id": pa.array(range(100), pa.int64()),
            "f": pa.array([0.5, *some(lambda: rng.random() * 10.0 ** rng.randint(-300, 300))[1:]], pa.float64()),
            "s": pa.array(some(lambda: rng.choice(WORDS)), pa.string()),
            "b": pa.array(some(lambda: rng.random() < 0.5), pa.bool_()),
            "l": pa.array(some(lambda: [rng.randint(-9, 9), None]), pa.list_(pa.int64())),
            "o": pa.array(some(lambda: {"x": rng.randint(0, 9), "y": [{"z": "w"}]})),
        }
    )
    pq.write_table(made, "a.parquet")
    run("merge", "--field", "id", "a.parquet", "-o", "b.jsonl")
    run("merge", "--field", "id", "b.jsonl", "-o", "c.parquet")
    back = table("c.parquet")
    assert back.schema.equals(made.schema)
    assert back.equals(made)


def test_nulls_without_a_type() -> None:
    """Arrow's reader miscounts them within lists."""
    rows = [{"id": 1, "a": [None] * 3, "b": [[None] * 2, None, []], "c": [{"x": None}] * 2}, {"id": 2, "a": None}]
    Path("a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run("merge", "--field", "id", "a.jsonl", "-o", "o.arrow")
    assert table("o.arrow").to_pylist() == [rows[0], {"id": 2, "a": None, "b": None, "c": None}]
    table("o.arrow").validate(full=True)


def test_json_lines_and_csv_become_each_other() -> None:
    Path("a.jsonl").write_text('{"id":1,"s":""}\n{"id":2,"s":"a,b","f":1.5}\n')
    run("merge", "--field", "id", "a.jsonl", "-o", "o.csv")
    assert Path("o.csv").read_text() == 'id,s,f\n1,"",\n2,"a,b",1.5\n'
    run("merge", "--csv", "--field", "id", "o.csv", "-o", "o.jsonl.gz")
    assert (
        gzip.decompress(Path("o.jsonl.gz").read_bytes())
        == b'{"id":"1","s":"","f":""}\n{"id":"2","s":"a,b","f":"1.5"}\n'
    )


def test_parts_pipes_and_compressed_inputs() -> None:
    lines = [b'{"id":%d}\n' % number for number in range(1000)]
    Path("a.jsonl.gz").write_bytes(gzip.compress(b"".join(lines[::2])))
    os.mkfifo("p.jsonl")
    feeder = threading.Thread(target=lambda: Path("p.jsonl").write_bytes(b"".join(lines[1::2])))
    feeder.start()
    run("merge", "--field", "id", "a.jsonl.gz", "p.jsonl", "--parts", "3", "-o", "o{part}.parquet")
    feeder.join()
    found = [value for part in range(3) for value in table(f"o{part}.parquet")["id"].to_pylist()]
    assert found == list(range(1000))


def test_options_of_tables() -> None:
    Path("a.csv").write_text("id,v\n" + "".join(f"{number:04},x\n" for number in range(1000)))
    options = ["--compression", "gzip", "--compression-level", "9", "--row-group-size", "300"]
    run("merge", "--csv", "--field", "id", "a.csv", *options, "-o", "o.parquet")
    about = pq.ParquetFile("o.parquet").metadata
    sizes = [about.row_group(number).num_rows for number in range(about.num_row_groups)]
    assert max(sizes) <= 300
    assert about.row_group(0).column(0).compression == "GZIP"
    assert about.row_group(0).sorting_columns[0].column_index == 0


@pytest.mark.parametrize(
    ("keys", "columns"),
    [("id", 1), ("id:n", 0), ("id,v", 2), ("id:r,v:V", 1), ("v:V", 0), ("v", 1)],
)
def test_what_is_stated_as_sorted(keys: str, columns: int) -> None:
    Path("a.csv").write_text("id,v\n10,a\n9,b\n")
    Path("a.jsonl").write_text('{"id":"10","v":"a"}\n{"id":"9","v":"b"}\n')
    for name in ("a.csv", "a.jsonl"):
        run("sort", *["--csv"] * (name == "a.csv"), "--field", keys, name, "-o", "o.parquet")
        assert table("o.parquet").num_rows == 2
        assert len(pq.ParquetFile("o.parquet").metadata.row_group(0).sorting_columns) == columns
    run("merge", "--no-check", "--csv", "--field", "id", "a.csv", "-o", "o.parquet")
    assert not pq.ParquetFile("o.parquet").metadata.row_group(0).sorting_columns


def test_without_rows() -> None:
    Path("a.csv").write_text("id,v\n")
    run("merge", "--csv", "--field", "id", "a.csv", "-o", "o.parquet")
    assert table("o.parquet").to_pydict() == {"id": [], "v": []}


JSON_FAULTS = [
    (['{"id":1,"a":5}', '{"id":2,"a":"x"}'], '2: a is a string, "x", but a number, 5, at 1.jsonl:1; give it one type'),
    (['{"id":1,"a":[1]}', "", '{"id":2,"a":["x"]}'], '3: a[] is a string, "x", but a number, 1, at 1.jsonl:1; give'),
    (['{"id":1,"o":{"a":{"x":1}}}', '{"id":2,"o":{"a":[]}}'], '2: o.a is an array, [], but an object, {"x":1}, at '),
    (['{"id":1,"a":9007199254740993}', '{"id":2,"a":0.5}'], "1: a is 9007199254740993, which no double holds, but 0.5"),
    (['{"id":1,"a":18446744073709551615}', '{"id":2,"a":-1}'], "1: a is 18446744073709551615, beyond int64, but -1"),
    (['{"id":1,"a":123456789012345678901}'], "1: a is 123456789012345678901, which needs more than 64 bits; write it"),
    (['{"id":1,"a":1,"a":2}'], "1: a stands twice in an object; keep one"),
    (['{"id":1,"a":"\\ud800"}'], '1: a is "\\ud800", half of a surrogate pair, which has no UTF-8; mend it'),
    (['{"id":1,"\\ud800":1}'], "1: the name '???' has no UTF-8; mend it"),
    (['{"id":1}', '{"id":2,"a":1e400}'], "2: it is no row of a table: Number too big to be stored in double; mend it"),
    (['{"id":1,"a":1}', f'{{"id":2,"a":{9 * 10**310}.5}}'], "2: it is no row of a table: Number too big to be stored"),
    ([f'{{"id":1,"a":[{{"b":-{9 * 10**310}.5}}]}}'], "1: it is no row of a table: Number too big to be stored"),
    (["{}"], ": its lines have no members, which would be columns; write JSON Lines"),
    (['{"id":1,"a":' + "[" * 90 + "]" * 90 + "}"], "more than 64 values deep; write JSON Lines"),
    (['{"id":1,"a":{}}'], "Parquet cannot hold these columns"),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "told"), JSON_FAULTS)
def test_json_that_is_no_table(lines: list[str], told: str, capfd: pytest.CaptureFixture[str]) -> None:
    Path("1.jsonl").write_text("".join(f"{line}\n" for line in lines))
    assert invoke(["merge", "--field", "id", "1.jsonl", "-o", "o.parquet"]) == 2
    found = capfd.readouterr().err
    assert found.count("\n") == 1
    assert told.replace("???", "\ufffd" * 3) in found, found
    assert not Path("o.parquet").exists()


CSV_FAULTS = [
    (b"id,v\n1,a\n2,b,c\n", "a.csv:3: it has 3 fields, '2,b,c', and the header has 2; mend the record"),
    (b"id,v\n1,a\n2\n", "a.csv:3: it has 1 field, '2', and the header has 2; mend the record"),
    (b"id,v\n\n1,a\n", "a.csv:2: it has 1 field, '', and the header has 2; mend the record"),
    (b"id,v\n1,a\n2,\xff\n", "a.csv:3: the field '\ufffd' is not UTF-8; convert the files"),
    (b"id,v,v\n1,a,b\n", "a.csv:1: two columns are called 'v'; give each its own name"),
    (b"id,\xff\n1,a\n", "a.csv:1: the name of column 2 is not UTF-8; convert the file"),
]


@pytest.mark.parametrize(("data", "told"), CSV_FAULTS)
def test_csv_that_is_no_table(data: bytes, told: str, capfd: pytest.CaptureFixture[str]) -> None:
    Path("a.csv").write_bytes(data)
    assert invoke(["merge", "--csv", "--field", "id", "a.csv", "-o", "o.parquet"]) == 2
    found = capfd.readouterr().err
    assert told in found, found
    assert not Path("o.parquet").exists()


def test_csv_without_a_header(capfd: pytest.CaptureFixture[str]) -> None:
    Path("a.csv").write_bytes(b"1,a\n")
    assert invoke(["merge", "--csv", "-k", "1,1", "a.csv", "-o", "o.parquet"]) == 2
    assert "a.csv: it has no header that names the columns of a table; name the columns" in capfd.readouterr().err


def test_members_that_json_lines_get_are_columns() -> None:
    Path("a.jsonl").write_text('{"k":1,"a":"x"}\n{"k":2,"a":"y"}\n')
    Path("b.jsonl").write_text('{"k":2,"a":"y"}\n{"k":3,"b":1.5}\n')
    run("merge", "--field", "k", "--count=after", "--source", "a.jsonl", "b.jsonl", "-o", "out.parquet")
    rows = [("a.jsonl", 1, "x", None, 1), ("a.jsonl", 2, "y", None, 2), ("b.jsonl", 3, None, 1.5, 1)]
    names = ["source", "k", "a", "b", "count"]
    assert table("out.parquet").to_pylist() == [dict(zip(names, row, strict=True)) for row in rows]
    assert table("out.parquet").schema.field("count").type == pa.int64()
    run("compare", "--field", "k", "a.jsonl", "b.jsonl", "-o", "out.arrow")
    assert table("out.arrow").column("found_in").to_pylist() == ["first", "both", "second"]
