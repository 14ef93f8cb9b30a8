"""Sources as the library reads them, and the errors of those that fail."""

from __future__ import annotations

import os
from array import array
from collections.abc import Sequence
from typing import Any

from gpumerge_cli.buffers import address_of, memory_at
from gpumerge_cli.errors import InputError, input_error
from gpumerge_cli.native.calls import Readable
from gpumerge_cli.native.library import library


class Sources:
    """An array of the library's SourceSpec. It keeps the memory alive that it points to.

    tables: for each source the place of the key in an item, as SourceSpec has it; none if items compare as a whole.
    """

    def __init__(self, sources: Sequence[Readable], tables: Sequence[array[int]] = ()) -> None:
        lib = library()
        self.sources = sources
        self.specs = (lib.SourceSpec * max(1, len(sources)))()
        self._caught: dict[int, BaseException] = {}  # by numbers of sources: the library has threads of its own
        self._kept: list[Any] = [dict(lib.SourceSpec._fields_)["read"](self._read)]
        for spec, table in zip(self.specs, tables, strict=False):
            spec.key = address_of(table)
            self._kept.append(table)
        for number, (source, spec) in enumerate(zip(sources, self.specs, strict=False)):
            spec.size, spec.held, extent = source.size, source.size, source.extent
            spec.descriptor = -1
            if extent is None:
                spec.read, spec.context = self._kept[0], number
                continue
            spec.descriptor, spec.start, spec.held, spec.swap = (
                extent.descriptor, extent.start, extent.held, extent.swap,
            )  # fmt: skip
            if extent.memory is not None:
                spec.memory = address_of(extent.memory)
                self._kept.append(extent.memory)

    def _read(self, number: int, position: int, address: int, nbytes: int) -> int:
        try:
            self.sources[number].read_into(position, memory_at(address, nbytes))
        except BaseException as error:  # `check_status` raises it
            self._caught[number] = error
            return -1
        return nbytes

    def check_status(self, status: int, failure: Any) -> None:
        """Raises the source's own error if reading failed, and MemoryError if the library had no memory."""
        lib = library()
        if status == lib.DONE:
            return
        if status == lib.CALLBACK_FAILED:
            # If an exception like KeyboardInterrupt comes before `_read` can catch it, ctypes prints it.
            lost = InputError("reading it was interrupted", where=self.sources[failure.input].name)
            raise self._caught.pop(failure.input, lost)
        if status in (lib.READ_FAILED, lib.INPUT_SHRANK):
            source = self.sources[failure.input]
            source.read_into(failure.position, bytearray(min(1, source.size - failure.position)))
            raise input_error(OSError(failure.error, os.strerror(failure.error)), source.name)
        raise MemoryError
