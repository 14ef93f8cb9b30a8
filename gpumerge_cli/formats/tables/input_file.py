"""An input as a file object that pyarrow reads."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from gpumerge_cli.formats.input import SeekableInput
from gpumerge_cli.formats.input_stream import InputStream

if TYPE_CHECKING:
    import pyarrow as pa


def opened(file: SeekableInput) -> pa.NativeFile:
    """The input for pyarrow, which reads a file into memory of its own."""
    import pyarrow as pa

    place = file.extent(0, file.size)
    if place is not None and place.memory is None and not place.start:
        with suppress(OSError):  # a system without such names
            return pa.OSFile(f"/proc/self/fd/{place.descriptor}", "rb")
    return pa.PythonFile(InputStream(file), mode="r")
