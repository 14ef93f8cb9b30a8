"""Outputs of rows whose inputs hold text, as CSV and JSON Lines: tables, or text of another format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.base import STDIO
from gpumerge_cli.formats.compressed import suffix_of
from gpumerge_cli.formats.format import FORMATS, Format, Layout, Purpose

if TYPE_CHECKING:
    from gpumerge_cli.formats.base import Sink
    from gpumerge_cli.formats.items_of_text import ItemsOfText
    from gpumerge_cli.formats.tables.settings import TableSettings
    from gpumerge_cli.formats.tables.table import TableWriter
    from gpumerge_cli.formats.tables.text_rows import TextRows


@dataclass(frozen=True)
class Converted:
    """The way from items of text to an output of rows."""

    rows: TextRows
    settings: TableSettings
    memory: int
    """Bytes that the job may take."""

    def sink(self, output: Any, writer: TableWriter, line_end: int | None) -> Sink:
        """The sink of an opened output. writer: makes the file. line_end: see Sink."""
        from gpumerge_cli.formats.tables.settings import USUAL_GROUP, group_bytes
        from gpumerge_cli.formats.tables.sink import TextRowSink

        asked = self.settings.group or USUAL_GROUP
        group = replace(asked, nbytes=group_bytes(self.memory, asked.nbytes))
        return TextRowSink(output, self.rows, writer, group, line_end=line_end)


def is_converted(name: str, layout: Layout) -> bool:
    """Whether the items of inputs become rows of the output `name`. layout: of the first input."""
    return layout.format.holds == "lines" and layout.format.takes_rows and _other_format(name, layout) is not None


def converted(name: str, layout: Layout, items: ItemsOfText, purpose: Purpose) -> Converted | None:
    """The way from the items of inputs to the output `name`; None if it has their format.

    layout: of the first input. Reads the items. Raises InputError for items that are no rows.
    """
    if not is_converted(name, layout):
        return None
    from importlib.util import find_spec

    other = _other_format(name, layout)
    if find_spec("pyarrow") is None and other is not None:
        what = f"an output of {other.word} needs pyarrow, which is not installed"
        raise InputError(what, where=name, way_out="pip install 'gpumerge[tables]'")
    rows = layout.format.text_rows(items)
    if rows is None:
        return None
    sorted_by = rows.sorted_by if purpose.is_ordered else ()
    return Converted(rows, replace(purpose.output, sorted_by=sorted_by), purpose.memory)


def _other_format(name: str, layout: Layout) -> Format | None:
    """The format of rows that the suffix of an output names, if it is another one than that of the inputs."""
    if name == STDIO:
        return None
    suffix = suffix_of(name)
    found = next((one for one in FORMATS.values() if suffix in one.suffixes or suffix in one.tables), None)
    return found if found is not None and found.takes_rows and found is not layout.format else None
