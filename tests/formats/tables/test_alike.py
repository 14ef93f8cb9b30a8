"""Tables of several writers, whose columns differ in their form alone, are merged as those of the first file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.needs import library

pa, pq = library("pyarrow"), library("pyarrow.parquet")

from gpumerge_cli.cli.app import invoke  # noqa: E402 - behind the check that pyarrow is there
from gpumerge_cli.formats.tables import parquet_writer  # noqa: E402
from gpumerge_cli.formats.tables.common_types import common_type  # noqa: E402

TEXTS = [
    pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.uint32(), pa.large_string()),
]  # fmt: skip
BYTES = [pa.binary(), pa.large_binary(), pa.binary_view(), pa.dictionary(pa.int16(), pa.binary())]
SUFFIXES = (".parquet", ".arrow", ".arrows")
ROWS = 300


def write(path: Path, table: Any) -> str:
    if path.suffix == ".parquet":
        pq.write_table(table, path, compression="zstd")
    else:
        make = pa.ipc.new_stream if path.suffix == ".arrows" else pa.ipc.new_file
        with make(path, table.schema) as writer:
            writer.write_table(table)
    return str(path)


def read(path: Path) -> Any:
    if path.suffix == ".parquet":
        return pq.read_table(path)
    return (pa.ipc.open_stream if path.suffix == ".arrows" else pa.ipc.open_file)(path).read_all()


def as_type(values: Any, type: Any) -> Any:
    if not pa.types.is_dictionary(type):
        return pa.array(values, type)
    encoded = pa.array(values, type.value_type).dictionary_encode()
    return pa.DictionaryArray.from_arrays(encoded.indices.cast(type.index_type), encoded.dictionary)


@pytest.mark.one_of_each
@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("types", [TEXTS, BYTES])
def test_texts_of_all_forms(types: Any, suffix: str, tmp_path: Path) -> None:
    """Each form, as the first file, takes the rows of all others, by the column itself and by another one."""
    values = [f"{number // 2:04d}" if number % 7 else None for number in range(ROWS)]
    values = sorted(values, key=lambda text: (text is None, text))
    few = [None if text is None else "xyz"[int(text) % 3] for text in values]
    names = []
    for number, type in enumerate(types):
        is_bytes = types is BYTES
        some = slice(number * 40, number * 40 + 100)
        columns = {
            "row": pa.array(range(100)),
            "text": as_type([one.encode() if one and is_bytes else one for one in values[some]], type),
            "few": as_type([one.encode() if one and is_bytes else one for one in few[some]], type),
        }
        names.append(write(tmp_path / f"{number}{suffix}", pa.table(columns)))
    first = [read(Path(name)) for name in names]
    for turn in range(len(names)):
        turned, out = names[turn:] + names[:turn], tmp_path / f"out{suffix}"
        for words in (["merge", "--field", "text"], ["sort", "--field", "row:r"]):
            assert invoke([*words, *turned, "-q", "-o", str(out)]) == 0
            found = read(out)
            for name in ("text", "few"):
                expected, kind = first[turn].schema.field(name).type, found.schema.field(name).type
                assert kind == expected or pa.types.is_dictionary(expected)
                assert getattr(kind, "value_type", kind) == getattr(expected, "value_type", expected)
            rows = [tuple(row.values()) for table in first[turn:] + first[:turn] for row in table.to_pylist()]
            key = (lambda row: (row[1] is None, row[1])) if "text" in words else (lambda row: -row[0])
            assert [tuple(row.values()) for row in found.to_pylist()] == sorted(rows, key=key)


def test_files_of_several_programs(tmp_path: Path) -> None:
    polars, duckdb, pandas = library("polars"), library("duckdb"), library("pandas")
    rows = {"id": [1, 4, 9], "text": ["a", "b", None], "many": [["x"], None, []]}
    names = [str(tmp_path / f"{number}.parquet") for number in range(4)]
    table = pa.table(rows)
    pq.write_table(table, names[0])
    polars.DataFrame(rows).write_parquet(names[1])
    duckdb.from_arrow(table).write_parquet(names[2])
    pandas.DataFrame(rows).to_parquet(names[3], index=False)
    out = tmp_path / "out.parquet"
    for turn in range(4):
        assert invoke(["merge", "--field", "id", *names[turn:], *names[:turn], "-q", "-o", str(out)]) == 0
        assert pq.read_table(out).to_pylist() == [row for row in table.to_pylist() for _ in range(4)]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("turned", [False, True])
def test_uuids_and_json_are_bytes_and_texts(turned: bool, suffix: str, tmp_path: Path) -> None:
    """Some programs name them, others do not; groups are copied either way."""
    ids = [bytes([number]) * 16 for number in range(8)]
    named = {
        "id": pa.ExtensionArray.from_storage(pa.uuid(), pa.array(ids[::2], pa.binary(16))),
        "text": pa.ExtensionArray.from_storage(pa.json_(), pa.array(["1", None, "[]", "{}"])),
    }
    bare = {"id": pa.array(ids[1::2], pa.binary(16)), "text": pa.array(["1", None, "[]", "{}"], pa.large_string())}
    pair = (bare, named) if turned else (named, bare)
    names = [write(tmp_path / f"{number}{suffix}", pa.table(one)) for number, one in enumerate(pair)]
    out = tmp_path / f"out{suffix}"
    for command in ("merge", "sort"):
        assert invoke([command, "--field", "id", *names, "-q", "-o", str(out)]) == 0
        found = read(out)
        assert found.schema.types == read(Path(names[0])).schema.types
        column = found["id"].combine_chunks()
        assert (column if turned else column.storage).to_pylist() == ids
        assert found["text"].to_pylist()[::2] == found["text"].to_pylist()[1::2] == ["1", None, "[]", "{}"]


@pytest.mark.parametrize("turned", [False, True])
def test_a_column_may_have_nulls_if_one_may(turned: bool, tmp_path: Path) -> None:
    id, text = pa.field("id", pa.int64()), pa.field("text", pa.string())
    tables = [
        pa.table({"id": [1, 3], "text": ["a", None]}, pa.schema([id.with_nullable(False), text])),
        pa.table({"id": [2, None], "text": ["b", "c"]}, pa.schema([id, text.with_nullable(False)])),
    ]
    pairs = enumerate(tables[::-1] if turned else tables)
    names = [write(tmp_path / f"{number}.parquet", table) for number, table in pairs]
    out = tmp_path / "out.parquet"
    assert invoke(["merge", "--field", "id", *names, "-q", "-o", str(out)]) == 0
    found = pq.read_table(out)
    assert found.column("id").to_pylist() == [1, 2, 3, None]
    assert found.column("text").to_pylist() == ["a", "b", None, "c"]
    assert [field.nullable for field in found.schema] == [True, True]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_keys_in_another_order_than_the_columns(suffix: str, tmp_path: Path) -> None:
    columns = {"a": [3, 2, 1], "b": [1, 2, 3]}
    tables = [pa.table({**columns, "s": pa.array(["x"] * 3, type)}) for type in (pa.string(), pa.large_string())]
    names = [write(tmp_path / f"{number}{suffix}", table) for number, table in enumerate(tables)]
    out = tmp_path / f"out{suffix}"
    assert invoke(["merge", "-q", "--field", "b", "--field", "a", *names, "-o", str(out)]) == 0
    assert read(out).column("b").to_pylist() == [1, 1, 2, 2, 3, 3]


def test_groups_of_other_forms_are_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(parquet_writer, "_LEAST_COPIED", 1)
    names = []
    for number, type in enumerate((pa.string(), pa.large_string())):
        table = pa.table({"id": range(10 * number, 10 * number + 10), "text": pa.array(["a"] * 10, type)})
        names.append(write(tmp_path / f"{number}.parquet", table))
    out = tmp_path / "out.parquet"
    assert invoke(["merge", "--field", "id", *names, "-q", "-o", str(out)]) == 0
    assert pq.read_metadata(out).num_row_groups == 2
    assert pq.read_table(out).schema.field("text").type == pa.string()
    assert invoke(["info", "--json", "--field", "id", *names]) == 0
    assert capsys.readouterr().out.count('"apart": true') == 2


@pytest.mark.parametrize(
    ("first", "other", "common"),
    [
        (pa.int32(), pa.int64(), None),
        (pa.string(), pa.binary(), None),
        (pa.timestamp("us"), pa.timestamp("ns"), pa.timestamp("ns")),
        (pa.dictionary(pa.int8(), pa.string(), ordered=True), pa.string(), None),
        (pa.dictionary(pa.int8(), pa.string()), pa.string(), pa.dictionary(pa.int32(), pa.string())),
        (pa.dictionary(pa.int8(), pa.int64()), pa.int64(), pa.dictionary(pa.int32(), pa.int64())),
        (pa.list_(pa.string()), pa.large_list(pa.large_string()), pa.list_(pa.string())),
        (pa.struct([("a", pa.string())]), pa.struct([("b", pa.string())]), None),
        (pa.uuid(), pa.binary(16), pa.uuid()),
        (pa.binary(16), pa.uuid(), pa.binary(16)),
        (pa.json_(), pa.large_string(), pa.json_()),
        (pa.uuid(), pa.binary(8), None),
        (
            pa.struct([pa.field("a", pa.string(), nullable=False)]),
            pa.struct([("a", pa.string_view())]),
            pa.struct([("a", pa.string())]),
        ),
    ],
)
def test_common_types(first: Any, other: Any, common: Any) -> None:
    assert common_type(first, other) == common


def test_other_columns_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = write(tmp_path / "a.parquet", pa.table({"id": [1], "at": pa.array([1], pa.timestamp("us"))}))
    b = write(tmp_path / "b.parquet", pa.table({"id": [1], "at": pa.array([1], pa.timestamp("us", "UTC"))}))
    assert invoke(["merge", "--field", "id", a, b, "-o", str(tmp_path / "out.parquet")]) == 2
    assert capsys.readouterr().err == (
        f"gpumerge: {b}: its columns are id int64, at timestamp[us, tz=UTC], the columns of {a} are id int64, at "
        "timestamp[us]: at timestamp[us, tz=UTC] differs from at timestamp[us]; give all files the same columns: write "
        f"{b} again with at as timestamp[us]\n"
    )
