"""Random tables, the files that hold them, and their order as Python says it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gpumerge_cli.formats.tables.taking import rows_at
from tests.formats.tables.random_arrays import TYPES, drawn_array, order_keys

SUFFIXES = (".parquet", ".arrow", ".arrows")
NESTED = (
    pa.list_(pa.int32()),
    pa.struct([("x", pa.int16()), ("y", pa.string())]),
    pa.map_(pa.string(), pa.float64()),
    pa.list_(pa.struct([("z", pa.list_(pa.string()))])),
)
_OF_ARROW_ALONE = (pa.binary_view(), pa.string_view(), pa.decimal64(15, -3))


class Drawn:
    """A random schema, and the keys by which its rows compare. suffix: of the files."""

    def __init__(self, rng: random.Random, suffix: str) -> None:
        self.suffix = suffix
        self._rng = rng
        types = [type for type in TYPES if is_held(type, suffix)]
        self.keys = [pa.field(f"k{number}", rng.choice(types)) for number in range(rng.choice([1, 1, 2, 3]))]
        self.others = [pa.field(f"o{number}", rng.choice([*types, *NESTED])) for number in range(rng.randrange(4))]
        self.reverse = [rng.random() < 0.3 for _ in self.keys]
        self.nulls = rng.choice([0.0, 0.0, 0.3])
        self.inner = rng.random() < 0.2 and str(self.keys[0].type)[:4] not in ("null", "dict")
        """Whether the first key is a field of a struct."""
        has_nanoseconds = any("ns" in str(field.type) for field in [*self.keys, *self.others])
        self.version = "2.6" if has_nanoseconds else rng.choice(["1.0", "2.4", "2.6"])
        """Of Parquet. Older ones have other types for some values."""
        self._row = 0

    @property
    def fields(self) -> tuple[str, ...]:
        """The keys as --field has them."""
        names = [("s.k0" if self.inner and not number else key.name) for number, key in enumerate(self.keys)]
        return tuple(name + ":r" * turned for name, turned in zip(names, self.reverse, strict=True))

    def table(self, rows: int) -> pa.Table:
        """Random rows, each with a number of its own."""
        fields = [*self.keys, *self.others]
        arrays = [_drawn(self._rng, field.type, rows, self.nulls) for field in fields]
        fields.append(pa.field("row", pa.int64()))
        arrays.append(pa.array(range(self._row, self._row + rows), pa.int64()))
        self._row += rows
        if self.inner:
            arrays[0] = pa.StructArray.from_arrays([arrays[0]], ["k0"])
            fields[0] = pa.field("s", arrays[0].type)
        order = list(range(len(fields)))
        random.Random(len(fields)).shuffle(order)
        return pa.Table.from_arrays([arrays[at] for at in order], schema=pa.schema([fields[at] for at in order]))

    def ordered(self, table: pa.Table) -> pa.Table:
        """The rows in their order."""
        pairs = zip(self.key_arrays(table), self.reverse, strict=True)
        keys = [order_keys(array, reverse=turned) for array, turned in pairs]
        order = sorted(range(table.num_rows), key=lambda row: [key[row] for key in keys])
        return rows_at(table, np.array(order, np.int64))

    def key_arrays(self, table: pa.Table) -> list[Any]:
        """The values of the keys."""
        found = []
        for number, key in enumerate(self.keys):
            column = table.column("s") if self.inner and not number else table.column(key.name)
            array = pa.concat_arrays(column.chunks) if column.num_chunks else pa.nulls(0, column.type)
            found.append(array.field(0) if self.inner and not number else array)
        return found

    def write(self, table: pa.Table, path: Path) -> str:
        """Write a file, in groups of a random size."""
        rng, path = self._rng, path.with_suffix(self.suffix)
        size = rng.choice([1, 3, 10, 100, 1000])
        if self.suffix == ".parquet":
            pq.write_table(
                table,
                path,
                row_group_size=size,
                version=self.version,
                data_page_version=rng.choice(["1.0", "2.0"]),
                compression=rng.choice(["none", "snappy", "zstd"]),
                use_dictionary=rng.random() < 0.5,
                write_statistics=rng.random() < 0.7,
                data_page_size=rng.choice([100, 1 << 20]),
            )
            return str(path)
        make = pa.ipc.new_file if self.suffix == ".arrow" else pa.ipc.new_stream
        options = pa.ipc.IpcWriteOptions(compression=rng.choice([None, "lz4", "zstd"]), unify_dictionaries=True)
        with make(str(path), table.schema, options=options) as out:
            out.write_table(table, max_chunksize=size)
        return str(path)


def read(path: str) -> pa.Table:
    """All rows of a file."""
    if path.endswith(".parquet"):
        return pq.read_table(path)
    reader = pa.ipc.open_file(path) if path.endswith(".arrow") else pa.ipc.open_stream(path)
    return reader.read_all()


def texts(table: pa.Table) -> Sequence[str]:
    """The rows as texts, in which NaN and the signs of zeros are seen, too."""
    columns = [plain_values(column) for column in table.columns]
    return [repr(row) for row in zip(*columns, strict=True)]


def plain_values(column: Any) -> list[Any]:
    """The values of a column or an array, see texts."""
    return [_plain(item) for item in column]


def _plain(item: Any) -> Any:
    """A value, which Python may not have as a time."""
    if pa.types.is_dictionary(item.type):
        return _plain(item.value) if item.is_valid else None
    if pa.types.is_struct(item.type):
        return {name: _plain(item[name]) for name in item} if item.is_valid else None
    return str(item.value) if pa.types.is_temporal(item.type) else item.as_py()


def is_held(type: pa.DataType, suffix: str) -> bool:
    """Whether files of a suffix hold a type."""
    if suffix != ".parquet":
        return True
    if pa.types.is_timestamp(type) and type.unit == "s":  # milliseconds in Parquet, which may overflow
        return False
    return not pa.types.is_run_end_encoded(type) and type not in _OF_ARROW_ALONE


def _drawn(rng: random.Random, type: Any, rows: int, nulls: float) -> pa.Array:
    if type not in NESTED:
        return drawn_array(rng, type, rows, nulls=nulls)
    return pa.array([None if rng.random() < nulls else _nested(rng, type) for _ in range(rows)], type)


def _nested(rng: random.Random, type: Any) -> Any:
    if pa.types.is_struct(type):
        return {field.name: _nested(rng, field.type) for field in type}
    if pa.types.is_map(type):
        return [(str(key), rng.random()) for key in range(rng.randrange(3))]
    if pa.types.is_list(type):
        return [_nested(rng, type.value_type) for _ in range(rng.randrange(4))]
    return rng.choice(["", "pear", None]) if pa.types.is_string(type) else rng.choice([None, rng.randrange(99)])
