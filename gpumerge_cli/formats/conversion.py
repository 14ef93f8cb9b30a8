"""Outputs of rows whose inputs have another format: tables, or rows as text."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.errors import InputError, UsageError
from gpumerge_cli.formats.base import STDIO
from gpumerge_cli.formats.compressed import suffix_of
from gpumerge_cli.formats.format import Format, Layout, Purpose
from gpumerge_cli.formats.kinds.lookup import all_formats

if TYPE_CHECKING:
    from gpumerge_cli.formats.base import Sink
    from gpumerge_cli.formats.output_items import OutputItems
    from gpumerge_cli.formats.tables.item_rows import ItemRows
    from gpumerge_cli.formats.tables.settings import TableSettings
    from gpumerge_cli.formats.tables.table import TableWriter


@dataclass(frozen=True)
class Converted:
    """The way from items to an output of rows."""

    rows: ItemRows
    settings: TableSettings
    memory: int
    """Bytes that the job may take."""

    def sink(self, output: Any, writer: TableWriter, line_end: int | None) -> Sink:
        """The sink of an opened output. writer: makes the file. line_end: see Sink."""
        from gpumerge_cli.formats.tables.group_sizes import USUAL_GROUP, bytes_of_group
        from gpumerge_cli.formats.tables.sink import ConvertedSink

        asked = self.settings.group
        rows = (asked or USUAL_GROUP).rows or sys.maxsize
        nbytes = bytes_of_group(len(self.rows.schema), self.memory, asked)
        return ConvertedSink(output, self.rows, writer, rows, nbytes, line_end=line_end)


def converted(name: str, layout: Layout, items: OutputItems, purpose: Purpose) -> Converted | None:
    """The way from the items of inputs to the output `name`; None if it has their format.

    layout: of the first input. Reads the items. Raises InputError for items that are no rows, UsageError for a cluster.
    """
    other = _other_format(name, layout) if layout.format.gives_rows else None
    if other is None:
        return None
    if layout.purpose.by_ranges:
        what = f"a cluster makes no {other.word} of {layout.format.word}"
        raise UsageError(what, where=name, way_out="leave --cluster out, or write the format of the inputs")
    try:
        rows = layout.format.rows_of(items)
    except ModuleNotFoundError as error:
        if error.name != "pyarrow":
            raise
        what = f"an output of {other.word} needs pyarrow, which is not installed"
        raise InputError(what, where=name, way_out="pip install 'gpumerge[tables]'") from None
    if rows is None:
        return None
    sorted_by = rows.sorted_by if purpose.is_ordered else ()
    return Converted(rows, replace(purpose.output, sorted_by=sorted_by), purpose.memory)


def _other_format(name: str, layout: Layout) -> Format | None:
    """The format of rows that the suffix of an output names, if it is another one than that of the inputs."""
    if name == STDIO:
        return None
    suffix = suffix_of(name)
    if layout.format.holds != "lines" and suffix in layout.format.suffixes:
        return None
    found = next((one for one in all_formats() if suffix in one.suffixes or suffix in one.tables), None)
    return found if found is not None and found.takes_rows and found is not layout.format else None
