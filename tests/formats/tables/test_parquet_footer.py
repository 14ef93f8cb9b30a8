"""Parquet files that are composed of row groups: all readers find the same values, and damage is refused."""

from __future__ import annotations

import contextlib
import datetime as dt
import decimal
import io
import random
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")
import pyarrow.parquet as pq  # noqa: E402 - behind the check that it is there

from gpumerge_cli.errors import InputError  # noqa: E402
from gpumerge_cli.formats.tables import thrift  # noqa: E402
from gpumerge_cli.formats.tables.parquet_columns import stored_columns  # noqa: E402
from gpumerge_cli.formats.tables.parquet_facts import (  # noqa: E402
    MAGIC,
    ChunkField,
    ParquetFooter,
    RowGroup,
    SortingColumn,
    chunks_of,
    column_metadata,
)  # fmt: skip
from gpumerge_cli.formats.tables.parquet_footer import composed, split  # noqa: E402
from gpumerge_cli.formats.tables.parquet_groups import sorting_of, taken  # noqa: E402
from tests.formats.tables.random_parquet import encoded, table_of  # noqa: E402


def joined(
    template: ParquetFooter, groups: Sequence[RowGroup], sorting: Sequence[SortingColumn] | None = None
) -> bytes:
    """A file of these groups."""
    data, placed = bytearray(MAGIC), []
    for group in groups:
        placed.append((len(data), group.facts))
        data += group.data
        assert len(group.data) == group.facts.size
    return bytes(data) + composed(template, placed, len(data), sorting)


def read_duckdb(path: Path) -> Any:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        return connection.sql(f"select * from '{path}'").to_arrow_table()


def read_polars(path: Path) -> Any:
    return pytest.importorskip("polars").read_parquet(path).to_arrow()


def read_polars_lazily(path: Path) -> Any:
    return pytest.importorskip("polars").scan_parquet(path).collect(engine="streaming").to_arrow()


def read_pandas(path: Path) -> Any:
    pandas = pytest.importorskip("pandas")
    return pa.Table.from_pandas(pandas.read_parquet(path, dtype_backend="pyarrow"), preserve_index=False)


def read_fastparquet(path: Path) -> Any:
    fastparquet = pytest.importorskip("fastparquet")
    found = fastparquet.ParquetFile(io.BytesIO(path.read_bytes())).to_pandas()
    return pa.Table.from_pandas(found, preserve_index=False)


def plain(table: Any) -> list[dict[str, Any]]:
    """The rows of a table in a form that does not depend on who read it."""

    def simple(value: Any) -> Any:
        if isinstance(value, float) and value != value:
            return None  # as pandas has it
        if isinstance(value, decimal.Decimal | int | float) and not isinstance(value, bool):
            return float(value)
        if isinstance(value, dt.datetime):
            return value.timestamp() if value.tzinfo else value.replace(tzinfo=dt.UTC).timestamp()
        if isinstance(value, dt.date):
            return dt.datetime(value.year, value.month, value.day, tzinfo=dt.UTC).timestamp()
        if isinstance(value, str):
            return value.encode()
        if isinstance(value, list):
            return [simple(one) for one in value]
        if isinstance(value, dict):
            return {name: simple(one) for name, one in value.items()}
        return value

    return [simple(row) for row in table.to_pylist()]


READERS = {
    "pyarrow": pq.read_table,
    "duckdb": read_duckdb,
    "polars": read_polars,
    "polars streaming": read_polars_lazily,
    "pandas": read_pandas,
    "fastparquet": read_fastparquet,
}


def test_what_fastparquet_misreads_of_other_writers(tmp_path: Path) -> None:
    """Faults of its own, since files of pyarrow alone show them: 1,000 random files had no others."""
    fastparquet = pytest.importorskip("fastparquet")
    path = tmp_path / "a.parquet"
    texts = ["aaaaaa", "bbbbbb", "cccccc", "dddddd", "eeeeee"]
    pq.write_table(pa.table({"k": texts}), path, dictionary_pagesize_limit=20, write_batch_size=3)
    assert pq.read_table(path)["k"].to_pylist() == texts
    found = fastparquet.ParquetFile(io.BytesIO(path.read_bytes())).to_pandas()["k"].tolist()
    assert found[:3] == texts[:3]
    if found != texts:
        assert found[3:] == [None, None]
    pq.write_table(pa.table({"k": pa.nulls(5, pa.string())}), path, compression="none")
    with contextlib.suppress(TypeError):  # an integer is required
        assert fastparquet.ParquetFile(io.BytesIO(path.read_bytes())).to_pandas()["k"].isna().all()


@pytest.mark.parametrize("reader", READERS)
def test_all_readers_find_the_values(reader: str, seed: int, tmp_path: Path) -> None:
    is_fastparquet = reader == "fastparquet"
    # Its code may crash, which ends all tests, so its files are the same each time.
    rng = random.Random(1 if is_fastparquet else seed)
    tables, groups = [], []
    for number in range(6):
        table = table_of(rng, rng.choice([1, 10, 500]), nested=not is_fastparquet)
        if is_fastparquet:  # it reads decimals as floats that differ in the last bit
            table = table.drop_columns(["cost"])
        tables.append(table)
        settings = {
            "compression": rng.choice(
                ["zstd", "snappy", "gzip", "gzip" if is_fastparquet else "none"]
            ),  # a fault of its own
            "data_page_size": rng.choice([64, 1 << 20]),
            "write_page_index": number != 3,
            "use_dictionary": is_fastparquet or rng.random() < 0.7,  # it expects that all groups have one, or none
            "row_group_size": rng.choice([100, 1 << 20]),
        }
        groups += split(encoded(table, **settings))[1]
    template, _ = split(encoded(tables[0].slice(0, 0)))
    path = tmp_path / "joined.parquet"
    path.write_bytes(joined(template, groups, [SortingColumn(0, False, True)]))
    assert plain(READERS[reader](path)) == plain(pa.concat_tables(tables))


def test_what_a_footer_says(tmp_path: Path) -> None:
    table = pa.table({"id": pa.array(range(1000)), "name": [f"{number:05d}" for number in range(1000)]})
    table = table.replace_schema_metadata({"mine": "kept", "org.apache.spark.sql.parquet.row.metadata": "{}"})
    template, _ = split(encoded(table.slice(0, 0)))
    groups = [group for at in (0, 400) for group in split(encoded(table.slice(at, 400 if not at else 600)))[1]]
    sorting = [SortingColumn(0, True, True), SortingColumn(1, False, False)]
    path = tmp_path / "joined.parquet"
    path.write_bytes(joined(template, groups, sorting))
    file = pq.ParquetFile(path)
    metadata = file.metadata
    assert (metadata.num_rows, metadata.num_row_groups, metadata.format_version) == (1000, 2, "2.6")
    assert metadata.created_by == pq.read_metadata(io.BytesIO(encoded(table))).created_by
    assert file.schema_arrow.equals(table.schema, check_metadata=True)
    for number in (0, 1):
        group = metadata.row_group(number)
        assert group.sorting_columns == (pq.SortingColumn(0, True, True), pq.SortingColumn(1, False, False))
        column = group.column(1)
        assert column.has_column_index
        assert column.has_offset_index
        assert column.statistics.min == f"{400 * number:05d}"
        assert group.total_byte_size == sum(group.column(each).total_uncompressed_size for each in (0, 1))
    assert file.read_row_group(1).equals(table.slice(400))


def test_page_indexes_are_moved(tmp_path: Path) -> None:
    """Readers that skip pages by their index find the rows."""
    table = pa.table({"id": pa.array(range(40_000)), "other": pa.array(range(40_000, 0, -1))})
    pages = {"data_page_size": 1000, "row_group_size": 15_000, "use_dictionary": False, "max_rows_per_page": 500}
    file = encoded(table, **pages)
    template, groups = split(file)
    path = tmp_path / "joined.parquet"
    path.write_bytes(joined(template, groups[1:]))
    for facts in (group.facts for group in split(path.read_bytes())[1]):
        assert all(facts.offset_indexes)
        assert all(facts.column_indexes)
    for number, group in enumerate(footer_of_file(path).groups):
        # Each page begins where its index says: with the header of a data page.
        data = path.read_bytes()
        for chunk in chunks_of(thrift.read(group)):
            at, size = (chunk[id].value for id in (ChunkField.offset_index_offset, ChunkField.offset_index_length))
            pages_of = thrift.read(data[at : at + size])[1].value.values
            assert len(pages_of) > 10, number
            for page in pages_of:
                header = data[page[1].value :][:100]
                assert thrift.read(header[: thrift.struct_length(header)])[1].value == 0


def footer_of_file(path: Path) -> ParquetFooter:
    data = path.read_bytes()
    return split(data)[0]


def test_groups_of_a_file_are_taken_where_they_lie(tmp_path: Path) -> None:
    """Groups can be left out and change places; the result is the same however they are joined."""
    table = pa.table({"id": pa.array(range(100)), "name": [str(number) for number in range(100)]})
    file = encoded(table, row_group_size=10, sorting_columns=[pq.SortingColumn(1, True, False)])
    footer, groups = split(file)
    assert [sorting_of(group) for group in footer.groups] == [(SortingColumn(1, True, False),)] * 10
    order = [7, 2, 9, 2]
    read = pq.ParquetFile(io.BytesIO(joined(footer, [groups[number] for number in order])))
    assert read.read().equals(pa.concat_tables([table.slice(10 * number, 10) for number in order]))
    assert read.metadata.row_group(0).sorting_columns == (pq.SortingColumn(1, True, False),)
    once = joined(footer, groups)
    again = joined(*split(once))
    assert once == again
    assert pq.ParquetFile(io.BytesIO(joined(footer, groups, []))).metadata.row_group(0).sorting_columns == ()


def test_an_empty_file() -> None:
    template, groups = split(encoded(pa.table({"id": pa.array([], pa.int64())})))
    assert not groups
    made = joined(template, [])
    assert pq.read_table(io.BytesIO(made)).schema == pa.schema({"id": pa.int64()})


def test_bloom_filters_are_copied() -> None:
    table = pa.table({"id": pa.array(range(1000)), "name": [str(number) for number in range(1000)]})
    try:
        file = encoded(table, bloom_filter_options={"id": {"ndv": 1000, "fpp": 0.1}})
    except TypeError:
        pytest.skip("this pyarrow writes no Bloom filters")
    template, groups = split(file)
    data = joined(template, [*groups, *groups])
    for group in split(data)[0].groups:
        columns = chunks_of(thrift.read(group))
        described = column_metadata(columns[0])
        at, size = described[14].value, described[15].value
        header = thrift.struct_length(data[at : at + 64])
        assert header + thrift.read(data[at : at + header])[1].value == size
    bloom = column_metadata(chunks_of(thrift.read(split(file)[0].groups[0]))[0])
    original = file[bloom[14].value :][: bloom[15].value]
    assert data[at : at + size] == original


def test_codecs() -> None:
    table = pa.table({"a": [1], "b": [2]})
    footer, _ = split(encoded(table, compression={"a": "zstd", "b": "none"}))
    assert [one.codec for one in stored_columns(footer)] == ["zstd", "none"]


def test_extremes_without_a_stated_order_are_left_out() -> None:
    """A file without column orders is an old one; its minima of texts may have been made by signed bytes."""
    footer, _ = split(file := encoded(pa.table({"a": ["x", "y"]})))
    old = ParquetFooter(
        footer.name, footer.size, footer.version, footer.schema, footer.rows, footer.groups, (), footer.created_by, None
    )
    group = taken(lambda start, size: file[start : start + size], old, 0)
    column = pq.ParquetFile(io.BytesIO(joined(footer, [group]))).metadata.row_group(0).column(0)
    assert not column.statistics.has_min_max
    assert column.statistics.null_count == 0
    assert not column.has_column_index
    assert column.has_offset_index


def refused(data: bytes) -> str:
    with pytest.raises(InputError) as caught:
        split(data, "a.parquet")
    return str(caught.value)


def test_files_that_are_refused(tmp_path: Path) -> None:
    file = encoded(pa.table({"a": [1, 2]}))
    assert refused(b"") == "a.parquet: it has no footer of Parquet at its end; copy it again"
    assert refused(file[:-1]) == "a.parquet: it has no footer of Parquet at its end; copy it again"
    assert "is encrypted" in refused(file[:-4] + b"PARE")
    assert "bytes long" in refused(file[:-8] + struct.pack("<I", 1 << 31) + MAGIC)
    assert "its footer is damaged" in refused(file[:-8] + struct.pack("<I", 5) + MAGIC)


def mutated(rng: random.Random, file: bytes) -> bytes:
    """The file with some bytes of its footer and page index changed, taken out or put in."""
    (length,) = struct.unpack("<I", file[-8:-4])
    data = bytearray(file)
    for _ in range(rng.randrange(1, 5)):
        at = rng.randrange(len(file) - length - (100 if rng.random() < 0.3 else 8), len(data))
        how = rng.randrange(4)
        if how == 0:
            data[at] = rng.randrange(256)
        elif how == 1:
            data[at] ^= 1 << rng.randrange(8)
        elif how == 2:
            del data[at : at + rng.randrange(1, 4)]
        else:
            data[at:at] = rng.randbytes(rng.randrange(1, 4))
        if not data[-8:]:
            break
    if rng.random() < 0.8:  # the right length, so that the footer itself is read
        data[-8:] = struct.pack("<I", length) + MAGIC
    return bytes(data)


def try_mutations(seed: int, count: int) -> None:
    rng = random.Random(seed)
    files = [
        encoded(table_of(rng, 30), row_group_size=10, sorting_columns=[pq.SortingColumn(0)]),
        encoded(pa.table({"a": [1, 2]}).replace_schema_metadata({"a": "b"}), compression="zstd"),
    ]
    refusals = 0
    for _ in range(count):
        data = mutated(rng, rng.choice(files))
        try:
            footer, groups = split(data, "a.parquet")
            joined(footer, groups)
        except InputError:
            refusals += 1
    assert refusals > count / 4


def test_damaged_footers_are_refused(seed: int) -> None:
    try_mutations(seed, 300)


@pytest.mark.thorough
def test_many_damaged_footers_are_refused(seed: int) -> None:
    try_mutations(seed, 20_000)
