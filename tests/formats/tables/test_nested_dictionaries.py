"""Dictionaries inside structs, lists and maps: several row groups are read, and every output holds them."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.needs import library

pa = library("pyarrow")

import pyarrow.parquet as pq  # noqa: E402 - behind the check that pyarrow is there

from gpumerge_cli.cli.app import invoke  # noqa: E402
from gpumerge_cli.formats.tables.arrow_writers import arrow_writer  # noqa: E402
from gpumerge_cli.formats.tables.nested_dictionaries import (  # noqa: E402
    can_change,
    changed,
    has_dictionary_inside,
    indices_of,
    with_indices,
)
from gpumerge_cli.formats.tables.settings import TableSettings  # noqa: E402
from tests.formats.tables.random_tables import read  # noqa: E402
from tests.formats.tables.test_uneven_rows import MEASURED  # noqa: E402

CODES = pa.dictionary(pa.int32(), pa.string())
TYPES = {
    "struct": pa.struct([("d", CODES), ("n", pa.int8())]),
    "list": pa.list_(CODES),
    "large list": pa.large_list(CODES),
    "map": pa.map_(pa.string(), CODES),
    "deep": pa.list_(pa.struct([("d", CODES), ("l", pa.list_(CODES))])),
}
OUTPUTS = (".parquet", ".arrow", ".arrows", ".jsonl")


def text(rng: random.Random, group: int) -> str | None:
    return rng.choice([None, *(f"{group}{letter}" * rng.choice([1, 9]) for letter in "abcd")])


def drawn(rng: random.Random, kind: str, group: int) -> Any:
    """A value of a column of such a kind, whose texts are those of a row group."""
    if rng.random() < 0.2:
        return None
    texts = [text(rng, group) for _ in range(rng.randrange(4))]
    if kind == "struct":
        return {"d": text(rng, group), "n": rng.randrange(9)}
    if kind == "map":
        return [(f"k{number}", one) for number, one in enumerate(texts)]
    return [{"d": one, "l": texts} for one in texts] if kind == "deep" else texts


def column(type: Any, values: list[Any]) -> Any:
    """The values with dictionaries inside, which Arrow makes of no Python objects."""

    def plain(type: Any) -> Any:
        if pa.types.is_struct(type):
            return pa.struct([(one.name, plain(one.type)) for one in type])
        if pa.types.is_map(type):
            return pa.map_(type.key_type, plain(type.item_type))
        if pa.types.is_dictionary(type):
            return type.value_type
        if pa.types.is_nested(type):
            return (pa.large_list if pa.types.is_large_list(type) else pa.list_)(plain(type.value_type))
        return type

    return coded(pa.array(values, plain(type)), type)


def coded(array: Any, type: Any) -> Any:
    if pa.types.is_dictionary(type):
        encoded = array.dictionary_encode()
        return pa.DictionaryArray.from_arrays(encoded.indices.cast(type.index_type), encoded.dictionary)
    if pa.types.is_struct(type):
        fields = [coded(array.field(number), one.type) for number, one in enumerate(type)]
        return pa.StructArray.from_arrays(fields, fields=list(type), mask=array.is_null())
    if pa.types.is_map(type):
        made = pa.MapArray.from_arrays(array.offsets, array.keys, coded(array.items, type.item_type))
        return pa.Array.from_buffers(type, len(array), array.buffers()[:2], children=[made.values])
    if pa.types.is_nested(type):
        inner = coded(array.values, type.value_type)
        return pa.Array.from_buffers(type, len(array), array.buffers()[:2], children=[inner])
    return array


def written(path: Path, rng: random.Random, kind: str, first: int, suffix: str) -> list[dict[str, Any]]:
    """Writes a file of three groups, whose dictionaries differ, with sorted ids; returns its rows."""
    schema = pa.schema([("id", pa.int64()), ("c", TYPES[kind])])
    tables = []
    for group in range(3):
        ids = range(first + 100 * group, first + 100 * group + 2 * rng.randrange(1, 30), 2)
        values = column(TYPES[kind], [drawn(rng, kind, group + first) for _ in ids])
        tables.append(pa.table([pa.array(ids), values], schema=schema))
    if suffix == ".parquet":
        with pq.ParquetWriter(path, schema) as made:
            for table in tables:
                made.write_table(table)
    else:
        with pa.ipc.new_stream(path, schema) as made:
            for table in tables:
                made.write_table(table)
    return [row for table in tables for row in table.to_pylist()]


@pytest.mark.parametrize("command", ["merge -q --field id", "sort --field id"])
@pytest.mark.parametrize("kind", TYPES)
def test_files_of_several_groups(kind: str, command: str, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    suffix = rng.choice([".parquet", ".parquet", ".arrows"])
    names = [tmp_path / f"{number}{suffix}" for number in range(2)]
    rows = [row for first, name in enumerate(names) for row in written(name, rng, kind, first, suffix)]
    expected = sorted(rows, key=lambda row: row["id"])
    for output in OUTPUTS:
        out = tmp_path / f"out{output}"
        size = rng.choice([[], ["--row-group-size", "7"]]) if output != ".jsonl" else []
        assert invoke([*command.split(), *size, "-S", "1M", *map(str, names), "-o", str(out)]) == 0
        if output == ".jsonl":
            assert len(out.read_text().splitlines()) == len(rows)
            continue
        found = read(str(out))
        found.validate(full=True)
        assert found.to_pylist() == expected
        assert found.schema.field("c").type == TYPES[kind]


def test_a_key_inside_a_struct(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    names = [tmp_path / f"{number}.parquet" for number in range(2)]
    rows = [row for first, name in enumerate(names) for row in written(name, rng, "struct", first, ".parquet")]
    out = str(tmp_path / "out.parquet")
    assert invoke(["sort", "--field", "c.d", *map(str, names), "-o", out]) == 0

    def key(row: dict[str, Any]) -> tuple[bool, str]:
        found = row["c"] and row["c"]["d"]
        return found is None, found or ""

    assert pq.read_table(out).to_pylist() == sorted(rows, key=key)


def test_batches_of_an_arrow_file_are_read_in_any_order(tmp_path: Path, seed: int) -> None:
    """pyarrow reads all dictionaries of a file ahead of any batch."""
    name, out = tmp_path / "a.parquet", tmp_path / "out.arrow"
    rows = written(name, random.Random(seed), "deep", 0, ".parquet")
    assert invoke(["merge", "-q", "--field", "id", "--row-group-size", "5", str(name), "-o", str(out)]) == 0
    with pa.ipc.open_file(str(out)) as opened:
        numbers = range(opened.num_record_batches)
        batches = {number: opened.get_batch(number).to_pylist() for number in reversed(numbers)}
    assert [row for number in numbers for row in batches[number]] == rows


def test_nulls_in_a_dictionary_inside_a_struct(tmp_path: Path) -> None:
    """Arrow unifies no dictionaries that hold a null."""
    names = []
    for number in range(2):
        values = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int16()), pa.array([f"{number}", None]))
        table = pa.table({"id": [number, number + 2], "c": pa.StructArray.from_arrays([values], ["d"])})
        names.append(str(tmp_path / f"{number}.arrow"))
        with pa.ipc.new_file(names[-1], table.schema) as made:
            made.write_table(table)
    for output in OUTPUTS[:3]:
        out = str(tmp_path / f"out{output}")
        assert invoke(["merge", "-q", "--field", "id", *names, "-o", out]) == 0
        assert read(out).column("c").to_pylist() == [{"d": "0"}, {"d": "1"}, {"d": None}, {"d": None}]


@pytest.mark.parametrize("kind", ["struct", "fixed list"])
def test_nulls_in_a_dictionary_inside_go_to_parquet(kind: str, tmp_path: Path) -> None:
    """pyarrow writes no dictionary that holds a null."""
    codes = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 0], pa.int8()), pa.array(["a", None, "b"]))
    column = (
        pa.StructArray.from_arrays([codes], ["d"]) if kind == "struct" else pa.FixedSizeListArray.from_arrays(codes, 1)
    )
    table = pa.table({"id": range(4), "c": column})
    name, out = str(tmp_path / "a.arrow"), str(tmp_path / "out.parquet")
    with pa.ipc.new_file(name, table.schema) as made:
        made.write_table(table)
    assert invoke(["merge", "-q", "--field", "id", name, "-o", out]) == 0
    assert pq.read_table(out).to_pylist() == table.to_pylist()


@pytest.mark.parametrize("command", ["merge -q", "sort"])
def test_indices_become_wider(command: str, tmp_path: Path) -> None:
    """Groups whose dictionaries have more values in all than 8 bits count."""
    name = tmp_path / "a.parquet"
    parts = [pa.array([f"{group}_{number}" for number in range(100)]).dictionary_encode() for group in range(3)]
    codes = [pa.DictionaryArray.from_arrays(part.indices.cast(pa.int8()), part.dictionary) for part in parts]
    tables = [
        pa.table({"id": range(100 * group, 100 * group + 100), "c": pa.StructArray.from_arrays([part], ["d"])})
        for group, part in enumerate(codes)
    ]
    with pq.ParquetWriter(name, tables[0].schema) as made:
        for table in tables:
            made.write_table(table)
    for output in OUTPUTS[:3]:
        out = str(tmp_path / f"out{output}")
        assert invoke([*command.split(), "--field", "id", str(name), "-o", out]) == 0
        found = read(out)
        assert found.to_pylist() == [row for table in tables for row in table.to_pylist()]
        assert found.schema.field("c").type.field(0).type == CODES


@pytest.mark.parametrize("command", ["merge -q", "sort"])
def test_memory_is_bounded(command: str, tmp_path: Path) -> None:
    """Each batch that Arrow reads has a copy of the dictionaries inside structs: 5 MB for 64 KB of rows."""
    type = pa.struct([("d", CODES), ("n", pa.int32())])
    schema = pa.schema([("id", pa.int64()), ("c", type)])
    texts = pa.array([f"{number:05}" * 100 for number in range(10_000)])
    codes = [pa.DictionaryArray.from_arrays(pa.array(range(10_000), pa.int32()), texts) for _ in range(2)]
    with pq.ParquetWriter(tmp_path / "a.parquet", schema, dictionary_pagesize_limit=1 << 24) as made:
        for group, part in enumerate(codes):
            column = pa.StructArray.from_arrays([part, part.indices], fields=list(type))
            made.write_table(pa.table([pa.array(range(group, 20_000, 2)), column], schema=schema))
    words = [*command.split(), "--field", "id", "-S", "32M", "a.parquet", "-o", "o.parquet"]
    if command != "sort":
        words[-3:-2] = ["b.parquet", "c.parquet"]
        for name, group in (("b", 0), ("c", 1)):
            pq.write_table(pq.ParquetFile(tmp_path / "a.parquet").read_row_group(group), tmp_path / f"{name}.parquet")
    done = subprocess.run([sys.executable, "-c", MEASURED, *words], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) < 100 << 20
    assert pq.ParquetFile(tmp_path / "o.parquet").metadata.num_rows == 20_000
    assert pq.read_table(tmp_path / "o.parquet", columns=["id"])["id"].to_pylist() == [*range(20_000)]


def _turned(_: Any, array: Any) -> Any:
    """The same values by a dictionary in the other order."""
    last = len(array.dictionary) - 1
    indices = pa.array(
        [None if one is None else last - one for one in array.indices.to_pylist()], array.type.index_type
    )
    return pa.DictionaryArray.from_arrays(indices, array.dictionary.take(pa.array(range(last, -1, -1))))


CHANGED: dict[str, Callable[[Any], Any]] = {
    "struct": lambda codes: pa.StructArray.from_arrays([codes], ["d"], mask=pa.array([False, True] * 3)),
    "list": lambda codes: pa.ListArray.from_arrays([0, 1, None, 4, 6], codes),
    "large list": lambda codes: pa.LargeListArray.from_arrays([0, 1, None, 4, 6], codes),
    "fixed list": lambda codes: pa.FixedSizeListArray.from_arrays(codes, 2, mask=pa.array([False, True, False])),
    "map": lambda codes: pa.MapArray.from_arrays([0, 1, None, 4, 6], pa.array([*"uvwxyz"]).dictionary_encode(), codes),
    "view": lambda codes: pa.ListViewArray.from_arrays([3, 0, 1], [2, 1, 3], codes),
}


@pytest.mark.parametrize("kind", CHANGED)
def test_changed_keeps_the_values(kind: str) -> None:
    array = CHANGED[kind](pa.array(["a", "b", None, "a", "c", "d"]).dictionary_encode())
    assert has_dictionary_inside(array.type)
    assert can_change(array.type)
    for part in (array, array[1:], array[1:3], array[:0]):
        made = changed(part, _turned)
        made.validate(full=True)
        assert made.type == part.type
        assert made.to_pylist() == part.to_pylist()
        plain = indices_of(part)
        plain.validate(full=True)
        assert plain.type == with_indices(part.type)
        assert not has_dictionary_inside(plain.type)
        assert len(plain) == len(part)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("kind", CHANGED)
def test_all_kinds_are_written(kind: str, *, stream: bool) -> None:
    parts = [CHANGED[kind](pa.array([f"{group}a", "b", None, f"{group}a", "c", "d"]).dictionary_encode())
             for group in range(3)]  # fmt: skip
    tables = [pa.table({"c": part}) for part in parts]
    writer = arrow_writer(tables[0].schema, TableSettings(), stream=stream)
    data = writer.head
    for table in tables:
        data += writer.appended(writer.encoded(table), len(data))
    data += writer.end(len(data))
    found = (pa.ipc.open_stream if stream else pa.ipc.open_file)(data).read_all()
    found.validate(full=True)
    assert found.schema == tables[0].schema
    assert found["c"].to_pylist() == [row for part in parts for row in part.to_pylist()]
