"""Columns as Arrow has them, in host memory or on a GPU: texts by their offsets, and values some of which are null."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from gpumerge_cli.arrays.arrow_columns import ArrowColumn, device_column, host_column, offers_device_column
from gpumerge_cli.arrays.interchange import as_array, check_unmasked, is_cupy
from gpumerge_cli.arrays.options import check_backend, same_side, short_repr
from gpumerge_cli.arrays.plain_items import copied_to_gpu, on_host
from gpumerge_cli.backends.gpu import access as gpu
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.errors import InputError, UsageError

NullsPlace = Literal["first", "last"]
_WAY_OUT = "give texts, bytes, numbers, bools, dates or time spans"
_OFFSETS = "give offsets of int32 or int64, one more than there are texts"


@dataclass(frozen=True, eq=False)
class ColumnArray:
    """A column of texts, or of values some of which are null, as a key of calls on arrays.

    >>> import gpumerge_cli
    >>> names = gpumerge_cli.ColumnArray.of(["né", None, "name"], nulls="first")
    >>> gpumerge_cli.sort(names).tolist()
    [None, 'name', 'né']

    Texts compare by their bytes. All arrays lie in host memory, as NumPy has them, or on one GPU, as CuPy has them.
    Raises UsageError for arrays that do not fit each other.
    """

    values: Any
    """The values, 1-D, of a dtype of keys; with offsets the bytes of all texts, uint8."""
    offsets: Any = None
    """int32 or int64: text i lies in values[offsets[i]:offsets[i + 1]]. None if values are not texts."""
    valid: Any = None
    """bool, False for each null; None if there are no nulls."""
    nulls: NullsPlace | None = None
    """The place of nulls among keys, which a descending order does not turn round. None refuses nulls."""
    binary: bool = False
    """Whether texts are bytes in no encoding; else they are UTF-8."""

    def __post_init__(self) -> None:
        if self.nulls not in (None, "first", "last"):
            raise UsageError(f"nulls={short_repr(self.nulls)} is not a place", way_out='use "first" or "last"')
        arrays = [(name, getattr(self, name)) for name in ("values", "offsets", "valid")]
        found = {name: as_array(each) for name, each in arrays if each is not None}
        for name, array in found.items():
            check_unmasked(array)
            if array.ndim != 1:
                raise UsageError(f"{name} has {array.ndim} dimensions", way_out="give 1-D arrays")
            object.__setattr__(self, name, array)
        same_side(list(found.values()))
        values, offsets = found["values"], found.get("offsets")
        if offsets is None and (values.dtype.names or values.dtype.kind not in "biufmMSV"):
            raise UsageError(f"values of {values.dtype} are not a column", way_out=_WAY_OUT)
        if offsets is not None and (values.dtype != np.uint8 or offsets.dtype not in (np.int32, np.int64)):
            what = f"values of {values.dtype} and offsets of {offsets.dtype} are not texts"
            raise UsageError(what, way_out=f"give bytes as uint8; {_OFFSETS}")
        if offsets is not None and not len(offsets):
            raise UsageError("offsets is empty", way_out=_OFFSETS)
        valid = found.get("valid")
        if valid is not None and (valid.dtype != np.bool_ or len(valid) != len(self)):
            what = f"valid has {len(valid)} items of {valid.dtype} for a column of {len(self)}"
            raise UsageError(what, way_out="give a bool for each item, False for a null")

    @classmethod
    def of(cls, given: Any, nulls: NullsPlace | None = None) -> ColumnArray:
        """The column of an object, on its side.

        given: what offers Arrow's C interface for the memory of a GPU (`__arrow_c_device_array__`, or a Series of
        cuDF); an array or Series of pyarrow, polars or pandas, for which pyarrow is needed; a list of texts, bytes or
        numbers, and None; an array that `merge` takes. nulls: see ColumnArray.nulls. Raises UsageError for others.
        """
        if isinstance(given, ColumnArray):
            return cls(given.values, given.offsets, given.valid, nulls or given.nulls, given.binary)
        if isinstance(given, str | bytes):
            raise UsageError(f"{short_repr(given)} is one text", way_out="give a list, as [text]")
        with gpu.cupy_errors():
            found = device_column(given) if offers_device_column(given) else host_column(given)
        if found is not None:
            return cls(*found[:3], nulls, found.binary)
        plain = given if isinstance(given, list | tuple) else as_array(given)
        if isinstance(plain, np.ndarray) and plain.dtype.kind in "OTU":
            plain = plain.tolist()
        if isinstance(plain, list | tuple) and all(isinstance(one, str | bytes | None) for one in plain):
            return cls(*_of_texts(plain)[:3], nulls, any(isinstance(one, bytes) for one in plain))
        if isinstance(plain, list | tuple) and any(one is None for one in plain):
            return _of_numbers(plain, nulls)
        return cls(as_array(plain), nulls=nulls)

    def __len__(self) -> int:
        return len(self.values) if self.offsets is None else len(self.offsets) - 1

    @property
    def dtype(self) -> np.dtype[Any]:
        """That of the values; of texts, that of objects."""
        return np.dtype(object) if self.offsets is not None else self.values.dtype

    @property
    def on_device(self) -> bool:
        """Whether its arrays are CuPy's."""
        return is_cupy(self.values)

    def to_arrow(self) -> Any:
        """A copy as an array of pyarrow, in host memory. Texts have offsets of 64 bits.

        Raises UsageError if pyarrow is missing.
        """
        try:
            import pyarrow as pa
        except ImportError:
            what = "arrays of Arrow are made by pyarrow, which is not installed"
            raise UsageError(what, way_out="pip install 'gpumerge[tables]'") from None

        host = self.on_host()
        mask = None if host.valid is None else pa.py_buffer(np.packbits(host.valid, bitorder="little"))
        if host.offsets is None and host.values.dtype.kind in "SV":
            is_padded = host.values.dtype.kind == "S"  # its items end ahead of their zeros, as in NumPy
            return pa.array(host.tolist(), pa.binary(-1 if is_padded else host.values.dtype.itemsize))
        if host.offsets is None:
            return pa.array(host.values, mask=None if host.valid is None else ~host.valid)
        kind = pa.large_binary() if host.binary else pa.large_string()
        buffers = [mask, pa.py_buffer(host.offsets.astype(np.int64)), pa.py_buffer(np.ascontiguousarray(host.values))]
        return pa.Array.from_buffers(kind, len(host), buffers)

    def on_host(self) -> ColumnArray:
        """The column in host memory, itself if it lies there. Raises DeviceError for a GPU that fails."""
        if not self.on_device:
            return self
        with gpu.cupy_errors():
            values, offsets, valid = (
                None if each is None else on_host(each) for each in (self.values, self.offsets, self.valid)
            )
        return ColumnArray(values, offsets, valid, self.nulls, self.binary)

    def on_gpu(self, device: Any = None) -> ColumnArray:
        """The column on a GPU, by default the current one; itself if it lies on a GPU.

        device: the number of a GPU, or a device of CuPy. Raises DeviceError for an unavailable GPU or a lack of its
        memory.
        """
        if self.on_device:
            return self
        number = getattr(device, "id", device)
        if number is not None:
            check_backend("gpu", number)
        there = gpu.usable_device(number)
        with gpu.cupy_errors():
            values, offsets, valid = (
                None if each is None else copied_to_gpu(each, there) for each in (self.values, self.offsets, self.valid)
            )
        return ColumnArray(values, offsets, valid, self.nulls, self.binary)

    def tolist(self) -> list[Any]:
        """The items as objects of Python, None for nulls. Texts that are not UTF-8 have escapes for some bytes."""
        host = self.on_host()
        if host.offsets is None:
            found = [bytes(one) for one in host.values] if host.values.dtype.kind == "V" else host.values.tolist()
        else:
            data, ends = host.values.tobytes(), host.offsets.tolist()
            found = [data[low:high] for low, high in pairwise(ends)]
            found = found if host.binary else [one.decode("utf-8", "surrogateescape") for one in found]
        if host.valid is None:
            return found
        return [one if is_valid else None for one, is_valid in zip(found, host.valid.tolist(), strict=True)]


def _of_numbers(listed: Sequence[Any], nulls: NullsPlace | None) -> ColumnArray:
    """The column of numbers and None."""
    valid = np.array([one is not None for one in listed], np.bool_)
    found = as_array([one for one in listed if one is not None])
    if found.ndim != 1 or found.dtype.kind not in "biufmM":
        raise UsageError(f"a list of {found.dtype} and None is not a column", way_out=_WAY_OUT)
    values = np.zeros(len(listed), found.dtype)
    values[valid] = found
    return ColumnArray(values, None, valid, nulls)


def as_column(given: Any) -> Any:
    """A ColumnArray itself; the column of an object that offers one on a GPU, an array if that holds it; else None."""
    if isinstance(given, ColumnArray):
        return given
    if not offers_device_column(given):
        return None
    found = ColumnArray.of(given)
    return found.values if found.offsets is None and found.valid is None else found


def check_starts(starts: Any, nbytes: int, number: int) -> None:
    """Raises InputError if texts do not lie one behind the other in so many bytes.

    starts: int64, of the array with this number. Waits for a GPU.
    """
    wrong = (starts[1:] < starts[:-1]).any() | (starts[0] < 0) | (starts[-1] > nbytes)
    if bool(wrong):
        raise InputError(
            f"offsets descend, or lead out of the {nbytes} bytes of texts",
            where=f"array {number}",
            way_out="give offsets as Arrow has them",
        )


def _of_texts(texts: Sequence[str | bytes | None] | Iterable[Any]) -> ArrowColumn:
    try:
        listed = [one.encode("utf-8", "surrogateescape") if isinstance(one, str) else one for one in texts]
    except UnicodeEncodeError as error:
        raise UsageError(f"{short_repr(error.object)} is not text: {error.reason}", way_out="give bytes") from None
    data = b"".join(one or b"" for one in listed)
    ends = np.cumsum([0, *(len(one or b"") for one in listed)], dtype=np.int64)
    valid = np.array([one is not None for one in listed], np.bool_)
    return ArrowColumn(np.frombuffer(data, np.uint8), ends, None if valid.all() else valid, False)
