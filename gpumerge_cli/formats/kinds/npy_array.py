"""NumPy's .npy files of one dimension."""

from __future__ import annotations

import io
import threading
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from gpumerge_cli.errors import InputError, OutputError, UsageError
from gpumerge_cli.formats.format import Format, Layout, register_format
from gpumerge_cli.order.key_types import of_dtype

if TYPE_CHECKING:
    from gpumerge_cli.formats.fixed_source import FixedSource
    from gpumerge_cli.formats.input import SeekableInput
    from gpumerge_cli.formats.output_items import OutputItems
    from gpumerge_cli.formats.tables.item_rows import ItemRows
    from gpumerge_cli.order.key_types import Dtype

_no_warnings = threading.Lock()
"""Threads share Python's setting for warnings, so one thread at a time may change it."""


class Npy(Format):
    """Items of the dtype in the header."""

    name = "npy"
    holds = "typed"
    suffixes: Mapping[str, str] = {".npy": ""}
    begins = rb"\x93NUMPY"
    about = "NumPy, 1-D"
    gives_rows = True

    def rows_of(self, items: OutputItems) -> ItemRows | None:
        """See Format. Fields are columns."""
        from gpumerge_cli.formats.tables.item_rows import record_rows

        return record_rows(items)

    def open(self, file: SeekableInput, layout: Layout, progress: Callable[[float], None]) -> FixedSource:
        """See Format."""
        from gpumerge_cli.formats.record_options import item_name, order_of

        source = _open_array(file)
        assert source.dtype is not None
        if layout.dtype is not None and not _same_items(source.dtype, layout.dtype):
            raise InputError(
                f"the array holds {item_name(source.dtype)}, the options say {item_name(layout.dtype)}",
                where=file.name,
                way_out="leave these options out, since the header has the type",
            )
        try:
            order_of(source.dtype, layout.key)
        except UsageError as error:
            given = layout.key is not None or source.dtype.kind in "SV"
            what = error.what if given else f"items of type {source.dtype} cannot be ordered"
            raise InputError(what, where=file.name, way_out=error.way_out) from None
        return source

    def header(self, dtype: Dtype, count: int) -> bytes:
        """See Format. Raises OutputError for records whose fields it cannot hold."""
        import numpy as np
        from numpy.lib import format as npy

        head = io.BytesIO()
        fields = {"descr": npy.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": (count,)}
        try:
            npy.write_array_header_1_0(head, fields)
        except ValueError:
            what = "the names of the records' fields do not fit into a header of .npy"
            raise OutputError(what, way_out="write raw records, or give fields other names") from None
        return head.getvalue()


def _same_items(found: Dtype, expected: Dtype) -> bool:
    if expected.kind == "V" and expected.names is None:
        return found.kind in "SV" and found.itemsize == expected.itemsize
    if expected.names is not None or found.kind in "SV":
        return found == expected
    return found.newbyteorder("=") == expected.newbyteorder("=")


def _open_array(file: SeekableInput) -> FixedSource:
    """A 1-D .npy file. Raises InputError for any other array, and for a length that the file does not have."""
    from tokenize import TokenError  # which NumPy's reader raises

    from numpy.lib import format as npy

    from gpumerge_cli.formats.fixed_source import FixedSource
    from gpumerge_cli.formats.record_options import item_name

    head = io.BytesIO(file.read(0, 1 << 16))
    try:
        version = npy.read_magic(head)
        if version == (3, 0):
            raise InputError(
                "its fields have names that are not Latin-1 (version 3.0 of the format), which is not read",
                where=file.name,
                way_out="rename the fields and save it again",
            )
        read_header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}.get(version)
        if read_header is None:
            raise ValueError(f"version {version[0]}.{version[1]} of the format is not supported")
        with _no_warnings, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python warns of the header's syntax, NumPy of its age
            shape, fortran, dtype = read_header(head)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError, TokenError) as error:
        # Messages about damaged headers speak of NumPy's parser. Messages about other files help.
        is_readable = isinstance(error, ValueError) and str(error) and "<ast" not in str(error)
        reason = str(error).splitlines()[0] if is_readable else "damaged header"
        raise InputError(
            f"not a readable .npy file ({reason})", where=file.name, way_out="use --format raw --dtype ... if it is raw"
        ) from None
    if dtype.hasobject:
        raise InputError("the array holds pickled objects", where=file.name, way_out="save it as numbers")
    if len(shape) != 1:
        order = ", Fortran order" if fortran else ""
        raise InputError(f"the array has {len(shape)} dimensions{order}", where=file.name, way_out="save it as 1-D")
    if shape[0] < 0:
        raise InputError(
            f"its header says {shape[0]} items", where=file.name, way_out="the header is damaged; save it again"
        )
    header = head.tell()
    size, there = shape[0] * dtype.itemsize, file.size - header
    if there != size:
        raise InputError(
            f"the header says {shape[0]} items, {item_name(dtype)}, {size} bytes, but {there} bytes follow it",
            where=file.name,
            way_out="the file is truncated" if there < size else "the file has grown; save it again",
        )
    return FixedSource(file, of_dtype(dtype), header, size)


register_format(Npy())
