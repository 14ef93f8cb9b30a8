"""Items of one size, keys or records, one after the other: raw binary files and .npy files."""

from __future__ import annotations

import io
import os
import threading
import warnings
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.lib import format as npy

from gpumerge_cli.errors import InputError, OutputError
from gpumerge_cli.extents import Extent
from gpumerge_cli.formats.base import Bytes
from gpumerge_cli.formats.compressed import inner_name
from gpumerge_cli.formats.input import InputFile
from gpumerge_cli.formats.records import item_name

_no_warnings = threading.Lock()
"""What is done about warnings is one setting for all threads."""


class FixedSource:
    """Items of one dtype, from byte `header` of a file on. Keys are shown in native byte order, records as they are."""

    def __init__(self, file: InputFile, dtype: np.dtype[Any], header: int, size: int) -> None:
        self.name = file.name
        self.size = size
        self.dtype: np.dtype[Any] | None = dtype
        self._file = file
        self._header = header
        self._width = dtype.itemsize
        self._native = foreign_keys(dtype)

    @property
    def extent(self) -> Extent | None:
        return self._file.extent(self._header, self.size, 0 if self._native is None else self._width)

    def read_into(self, start: int, out: Bytes) -> None:
        self._file.read_into(self._header + start, out)
        if self._native is not None:
            out.view(self._native).byteswap(inplace=True)

    def item_start(self, position: int) -> int:
        return min(self.size, -(-position // self._width) * self._width)

    def item_at(self, start: int) -> bytes:
        item = self._file.read_exactly(self._header + start, self._width)
        return item if self._native is None else item[::-1]

    def beginning_at(self, start: int, most: int) -> bytes:
        return self.item_at(start)[:most]

    def item_before(self, start: int) -> bytes:
        return self.item_at(start - self._width)

    def item_end(self, start: int) -> int:
        return start + self._width

    def place(self, start: int) -> str:
        return f"{self.name}@{start // self._width}"

    def count(self) -> int:
        return self.size // self._width

    def check_unchanged(self) -> None:
        self._file.check_unchanged()

    def close(self) -> None:
        self._file.close()


def open_raw(file: InputFile, dtype: np.dtype[Any]) -> FixedSource:
    """A raw file of `dtype`. Raises InputError if its size is no multiple of the item."""
    over = file.size % dtype.itemsize
    if over:
        of, option = (dtype.name, "--dtype") if dtype.kind != "V" else ("a record", "the record's size")
        raise InputError(
            f"{file.size} bytes are no multiple of {dtype.itemsize}, the size of {of}: {over} left over",
            where=file.name,
            way_out=f"check {option}, or whether the file is whole",
        )
    return FixedSource(file, dtype, 0, file.size)


def open_npy(file: InputFile) -> FixedSource:
    """A 1-D .npy file. Raises InputError for any other array, and for a length that the file does not have."""
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
            raise ValueError(f"version {version[0]}.{version[1]} of the format is not known here")
        with _no_warnings, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of Python about the header's syntax, of NumPy about its age
            shape, fortran, dtype = read_header(head)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError, TokenError) as error:
        # What NumPy's parser says of a damaged header is its own affair; what it says of other files is of use.
        told = isinstance(error, ValueError) and str(error) and "<ast" not in str(error)
        reason = str(error).splitlines()[0] if told else "damaged header"
        raise InputError(
            f"not a readable .npy file ({reason})", where=file.name, way_out="say --format raw --dtype ... if it is raw"
        ) from None
    if dtype.hasobject:
        raise InputError("the array holds pickled objects", where=file.name, way_out="save it as numbers")
    if len(shape) != 1:
        order = ", Fortran order" if fortran else ""
        raise InputError(f"the array has {len(shape)} dimensions{order}", where=file.name, way_out="save it as 1-D")
    header = head.tell()
    size, there = shape[0] * dtype.itemsize, file.size - header
    if there != size:
        raise InputError(
            f"the header says {shape[0]} items, {item_name(dtype)}, {size} bytes, but {there} bytes follow it",
            where=file.name,
            way_out="the file is truncated" if there < size else "the file has been added to; save it again",
        )
    return FixedSource(file, dtype, header, size)


def foreign_keys(dtype: np.dtype[Any]) -> np.dtype[Any] | None:
    """The native dtype of keys that are in foreign byte order; None for other keys, and for records."""
    return None if dtype.isnative or dtype.kind in "SV" else dtype.newbyteorder("=")


def npy_header(dtype: np.dtype[Any], count: int) -> bytes:
    """The header of a 1-D, C-order .npy file. Raises OutputError for records whose fields it cannot say."""
    head = io.BytesIO()
    said = {"descr": npy.dtype_to_descr(dtype), "fortran_order": False, "shape": (count,)}
    try:
        npy.write_array_header_1_0(head, said)
    except ValueError:
        what = "the names of the records' fields do not fit into a header of .npy"
        raise OutputError(what, way_out="write raw records, or give fields other names") from None
    return head.getvalue()


def suffix_of(name: str) -> str:
    """The last suffix of a file's name, that of a compression aside, in lower case, with its dot."""
    return os.path.splitext(inner_name(name))[1].lower()
