"""Rows of a table from the text of items, as of CSV and JSON Lines."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from gpumerge_cli.buffers import Bytes, uncleared
from gpumerge_cli.errors import GpumergeError, InputError
from gpumerge_cli.formats.base import Source
from gpumerge_cli.formats.tables.item_rows import ItemRows

if TYPE_CHECKING:
    from gpumerge_cli.formats.output_items import OutputItems

_BLOCK = 1 << 20
_ERRORS = (pa.ArrowException, ValueError, OverflowError)


class TextRows(ItemRows):
    """The way from items to rows. items: those of the inputs."""

    def __init__(self, items: OutputItems) -> None:
        self._items = items

    def rows(self, data: Bytes) -> pa.Table:
        """See ItemRows."""
        return self.rows_of_text(self.text(data)) if len(data) else self.schema.empty_table()

    def rows_of_text(self, text: Bytes) -> pa.Table:
        """The rows of a text that is not empty. Raises InputError for a value that its column cannot hold."""
        try:
            return self.parsed(text)
        except GpumergeError:
            raise
        except _ERRORS as error:
            raise self._found(str(error)) from None

    def text(self, data: Bytes) -> Bytes:
        """The text of whole items, as files have it."""
        shown = self._items.shown
        return data if shown is None else shown(bytes(data))

    def input_text(self, data: Bytes) -> Bytes:
        """The text of whole items of the inputs, which have nothing yet that the output adds."""
        return self.text(data)

    @abstractmethod
    def parsed(self, text: Bytes) -> pa.Table:
        """The rows of a text that is not empty. Raises errors of Arrow, ValueError."""

    @abstractmethod
    def fault(self, text: Bytes) -> tuple[int, str, str] | None:
        """(number, what is wrong, the way out) of the first item in a text of an input that is no row; None if none is.

        The number counts from 0.
        """

    def texts(self, source: Source) -> Iterator[tuple[int, Bytes]]:
        """(position, text of whole items) of an input."""
        for position, data in self.blocks(source):
            yield position, self.input_text(data)

    def blocks(self, source: Source) -> Iterator[tuple[int, Bytes]]:
        """(position, bytes of whole items) of a source."""
        start = 0
        while start < source.size:
            stop = source.item_start(min(source.size, start + _BLOCK))
            data = uncleared(stop - start)
            source.read_into(start, data)
            yield start, data
            start = stop

    def place(self, source: Source, position: int, number: int) -> str:
        """The place of item `number` from a position on."""
        for _ in range(number):
            position = source.item_end(position)
        return source.location(position)

    def _found(self, otherwise: str) -> InputError:
        """The error for the first item of the inputs that is no row. otherwise: what is wrong if none is found."""
        for source in () if self._items.is_joined else self._items.sources:
            for position, text in self.texts(source):
                if (fault := self.fault(text)) is not None:
                    number, what, way_out = fault
                    return InputError(what, where=self.place(source, position, number), way_out=way_out)
        what = otherwise.splitlines()[0]
        return InputError(what, where=self._items.sources[0].name, way_out="write the format of the inputs")


def names_of_columns(names: list[bytes], where: str) -> list[str]:
    """The names of columns as texts. Raises InputError if one is not UTF-8, or stands twice."""
    found: list[str] = []
    for name in names:
        try:
            text = name.decode()
        except UnicodeDecodeError:
            what = f"the name of column {len(found) + 1} is not UTF-8"
            raise InputError(what, where=where, way_out="convert the file, for example with iconv -t UTF-8") from None
        if text in found:
            what = f"two columns are called {text!r}"
            raise InputError(what, where=where, way_out="give each its own name, since tables find columns by names")
        found.append(text)
    return found
