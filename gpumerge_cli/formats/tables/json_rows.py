"""Rows of a table from lines of JSON, whose members are the columns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute
import pyarrow.json

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.formats.json_lines import json_key
from gpumerge_cli.formats.json_members import LinesOfItems
from gpumerge_cli.formats.json_paths import path_of
from gpumerge_cli.formats.tables.facts import SortedColumn
from gpumerge_cli.formats.tables.json_schema import SchemaOfLines
from gpumerge_cli.formats.tables.text_rows import TextRows
from gpumerge_cli.order.equals import COUNT_TITLE
from gpumerge_cli.order.rules import LineKey, LineOrder

if TYPE_CHECKING:
    from gpumerge_cli.formats.output_items import OutputItems

_MOST_ROWS = 1 << 16
"""Arrow reads no more than 100,000 lines at once."""
_SHOWN = 60


class JsonRows(TextRows):
    """See TextRows. Raises InputError for lines that are not objects, or whose values have no one type.

    shown: writes the items. There may be no columns.
    """

    def __init__(self, items: OutputItems, shown: LinesOfItems) -> None:
        super().__init__(items)
        self._shown = shown
        ahead, behind = ([json.loads(name) for name in names] for names in (self._shown.ahead, self._shown.behind))
        lines = SchemaOfLines(self.texts, self.place).schema(items.sources)
        self.schema = pa.schema([*map(_added, ahead), *lines, *map(_added, behind)])
        # Arrow gives nulls without a type a wrong length within lists.
        read = pa.schema([pa.field(field.name, _with_bools(field.type)) for field in self.schema])
        self._parse = pyarrow.json.ParseOptions(
            explicit_schema=read, newlines_in_values=False, unexpected_field_behavior="error"
        )
        self.sorted_by = sorted_columns((items.order.text or LineOrder()).requested.keys, self.schema)

    def input_text(self, data: Bytes) -> Bytes:
        """See TextRows."""
        return LinesOfItems(self._shown.keys)(bytes(data))

    def parsed(self, text: Bytes) -> pa.Table:
        """See TextRows."""
        if bytes(text).count(b"\n") <= _MOST_ROWS:
            return self._read(text)
        lines = bytes(text).splitlines(keepends=True)
        some = range(0, len(lines), _MOST_ROWS)
        return pa.concat_tables([self._read(b"".join(lines[at : at + _MOST_ROWS])) for at in some])

    def _read(self, text: Bytes) -> pa.Table:
        read = pyarrow.json.ReadOptions(use_threads=False, block_size=len(text) + 1)
        found = pyarrow.json.read_json(pa.BufferReader(pa.py_buffer(text)), read, self._parse)
        columns = [_with_nulls(found.column(field.name), field.type) for field in self.schema]
        if any(_is_infinite(chunk) for column in columns for chunk in column.chunks):  # of many digits without exponent
            raise pa.ArrowInvalid("Number too big to be stored in double")
        return pa.Table.from_arrays(columns, schema=self.schema)

    def fault(self, text: Bytes) -> tuple[int, str, str] | None:
        """See TextRows."""
        try:
            self.parsed(text)
        except pa.ArrowException:
            pass
        else:
            return None
        for number, line in enumerate(bytes(text).split(b"\n")[:-1]):
            try:
                self.parsed(line + b"\n")
            except pa.ArrowException as error:
                what = str(error).splitlines()[0].removeprefix("JSON parse error: ").removesuffix(" in row 0")
                return number, f"it is no row of a table: {what.rstrip('.')}", "mend it, or write JSON Lines"
        return None


def _added(name: str) -> pa.Field:
    """The column of a member that the output adds."""
    return pa.field(name, pa.int64() if name == COUNT_TITLE else pa.string())


def _with_bools(type: pa.DataType) -> pa.DataType:
    """The type with bools in place of nulls that have no type."""
    if pa.types.is_null(type):
        return pa.bool_()
    if pa.types.is_list(type):
        return pa.list_(_with_bools(type.value_type))
    return pa.struct([(one.name, _with_bools(one.type)) for one in type]) if pa.types.is_struct(type) else type


def _with_nulls(array: Any, type: pa.DataType) -> Any:
    """The values of an Array or ChunkedArray with nulls of no type where `type` has them."""
    if array.type == type:
        return array
    if isinstance(array, pa.ChunkedArray):
        return pa.chunked_array([_with_nulls(chunk, type) for chunk in array.chunks], type)
    if pa.types.is_null(type):
        return pa.nulls(len(array))
    if pa.types.is_list(type):
        values = _with_nulls(array.values, type.value_type)
        return pa.ListArray.from_arrays(array.offsets, values, type, mask=array.is_null())
    fields = [_with_nulls(array.field(number), one.type) for number, one in enumerate(type)]
    return pa.StructArray.from_arrays(fields, fields=list(type), mask=array.is_null())


def _is_infinite(array: Any) -> bool:
    """Whether one of the numbers in an Array, or in its lists and structs, is infinite."""
    if pa.types.is_floating(array.type):
        return bool(pyarrow.compute.any(pyarrow.compute.is_inf(array)).as_py())
    if pa.types.is_list(array.type):
        return _is_infinite(array.flatten())
    return pa.types.is_struct(array.type) and any(map(_is_infinite, array.flatten()))


def sorted_columns(keys: Sequence[LineKey], schema: pa.Schema) -> tuple[SortedColumn, ...]:
    """The columns among the first keys that compare as those of tables do."""
    found: list[SortedColumn] = []
    for key in keys:
        path, read = path_of(key.name), json_key(key)
        if read.reads != "values" or read.null_texts or not _is_column(path, schema):
            break
        found.append(SortedColumn(path, key.reverse, nulls_first=key.nulls == "first"))
    return tuple(found)


def _is_column(path: tuple[str, ...], schema: pa.Schema) -> bool:
    """Whether a path goes through structs to a value that has an order."""
    found: pa.DataType = pa.struct(list(schema))
    for name in path:
        if not pa.types.is_struct(found) or found.get_field_index(name) < 0:
            return False
        found = found.field(found.get_field_index(name)).type
    return not pa.types.is_nested(found)
