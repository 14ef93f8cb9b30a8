"""Keys of arrays: the arrays' dtype, the order, and the dtype in which backends see the items.

Backends know numbers, bytes, and records of them. They see a bool as a uint8, and a date or a time span as an int64.
NaT is the smallest int64, but NumPy sorts it last (and first in descending order, as NaN). So NaTs in host memory are
left out of merges, and are put in their places afterwards. Text that is read as values is seen as its images.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.arrays.interchange import check_unmasked, has_nulls, is_cupy
from gpumerge_cli.arrays.key_parts import KeyPart, as_field_keys, key_images, words_of
from gpumerge_cli.arrays.options import in_native_order
from gpumerge_cli.backends.select import host
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.errors import UsageError
from gpumerge_cli.formats.record_options import Key, order_of
from gpumerge_cli.order.keys import KeyOrder
from gpumerge_cli.order.kinds import Order

Array = NDArray[Any]
_WAY_OUT = "use numbers, bool, datetime64, timedelta64 or S, which numpy.char.encode makes of strings"
_ENCODED = "encode them, numpy.char.encode(numpy.asarray(keys, str))"
_REGISTERED = 2  # a dtype of another library, such as bfloat16; its kind may be that of raw bytes
_IMAGES = np.dtype(np.uint64)
_TURNED = ":r"
_NAT = np.iinfo(np.int64).min


@dataclass(frozen=True)
class ArrayKeys:
    """The order of the items of arrays."""

    dtype: np.dtype[Any]
    """The arrays' dtype, in native byte order, except for records, which stay as they are; the widest one of texts."""
    items: np.dtype[Any]
    """The dtype of the same size in which backends see the items; that of images if there is a `text`."""
    order: Order
    """The order of `items`."""
    field: str | None
    """The name of a record's key; None if items are their own keys."""
    path: tuple[str, ...]
    """The names that lead to the field, one inside the other."""
    dated: bool
    """Whether keys may be NaT."""
    text: Order | None = None
    """The order of keys as lines, if their text is read as values: their images ascend in this order."""
    parts: tuple[KeyPart, ...] = ()
    """The keys of an item, the first one first, if they are a list or a GPU compares bytes: images ascend with them."""

    @classmethod
    def of(cls, arrays: Sequence[Any], key: Any, descending: bool, text: Any = None) -> ArrayKeys:
        """The keys of NumPy or CuPy arrays. Raises UsageError if they have no order, or different orders.

        key, text: see merge.
        """
        several = None if key is None or isinstance(key, str) else as_field_keys(key)
        field = key if isinstance(key, str) else None
        for array in arrays:
            check_unmasked(array)
            if array.ndim != 1:
                raise UsageError(f"an array has {array.ndim} dimensions", way_out="merge 1-D arrays")
        dtypes = [in_native_order(array.dtype) for array in arrays]
        dtype = dtypes[0]
        if text is not None and {other.kind for other in dtypes} in ({"S"}, {"U"}):  # texts of any lengths
            dtype = max(dtypes, key=lambda other: other.itemsize)
            dtypes = [dtype]
        if any(other != dtype for other in dtypes):
            names = ", ".join(sorted({str(other) for other in dtypes}))
            raise UsageError(f"arrays of different dtypes: {names}", way_out="convert them to one dtype")
        if several is not None:
            if text is not None:
                raise UsageError("text: only one key can be read as values", way_out="give the name of one field")
            return cls._of_parts(dtype, [_part(dtype, name, turned != descending) for name, turned in several])
        path = () if field is None else _path(dtype, field)
        items, leaf = _as_items(dtype, path)
        if text is not None:
            from gpumerge_cli.arrays.text_key import as_text_key  # only here: few calls need these modules

            order = as_text_key(text).order(descending=descending)
            if (field is not None and not path) or leaf.names or leaf.subdtype is not None:
                _order_of_records(items, field, descending)
            if leaf.kind not in "SUV" or leaf.names or leaf.isbuiltin == _REGISTERED:
                raise _not_text(leaf)
            return cls(dtype, _IMAGES, Order.of(_IMAGES), field, path, dated=False, text=order)
        if leaf.kind not in "biufmMSV" or leaf.isbuiltin == _REGISTERED:
            raise _not_keys(leaf, None if path else arrays)
        is_number = field is None and leaf.kind not in "SV"
        order = Order.of(items, descending=descending) if is_number else _order_of_records(items, field, descending)
        if order.is_rows and is_cupy(arrays[0]):
            return cls._of_parts(dtype, [KeyPart.of(dtype, path, descending=descending)])
        return cls(dtype, items, order, field, path, leaf.kind in "mM")

    @classmethod
    def _of_parts(cls, dtype: np.dtype[Any], parts: Sequence[KeyPart]) -> ArrayKeys:
        return cls(dtype, _IMAGES, Order.of(_IMAGES), None, (), dated=False, parts=tuple(parts))

    @property
    def wanted(self) -> ArrayKeys:
        """The keys that `rank_of` takes, if there are parts: an only one by itself, of several whole items."""
        alone = [part.alone for part in self.parts]
        return ArrayKeys._of_parts(alone[0].dtype, alone) if len(alone) == 1 else self

    def shown(self, array: Array) -> list[str]:
        """The keys of each item of a NumPy array, for a message."""
        paths = [part.path for part in self.parts] or [self.path]
        columns = [map(str, keys_in(array, path)) for path in paths]
        return [", ".join(each) for each in zip(*columns, strict=True)]

    @property
    def by_images(self) -> bool:
        """Whether images are compared in place of items."""
        return self.text is not None or bool(self.parts)

    def check_for_several_gpus(self) -> None:
        """Raise UsageError unless keys are numbers or bools."""
        if self.dated or self.parts:
            what = f"several GPUs sort only numbers, not arrays of {self.dtype}"
            raise UsageError(what, way_out="leave devices out, or give one array on one GPU")

    @property
    def device_order(self) -> Order:
        """The order of items on a GPU. Its kernels know NaT, which is last there, so no item is left out."""
        return KeyOrder("datetime", self.items.itemsize, self.order.descending) if self.dated else self.order

    def run(self, array: Array) -> Array:
        """A NumPy array as a backend takes it: contiguous, of dtype `items`. It is a view if possible."""
        return np.ascontiguousarray(array, self.dtype).view(self.items)

    def runs(self, arrays: Sequence[Array], threads: int) -> tuple[list[Array], ArrayKeys]:
        """(NumPy arrays as backends take them, the keys of these). Raises InputError for an invalid text.

        threads: of the host, for text.
        """
        if not self.by_images:
            return [self.run(array) for array in arrays], self
        return self.comparable(arrays, threads), ArrayKeys(_IMAGES, _IMAGES, self.order, None, (), dated=False)

    def comparable(self, arrays: Sequence[Array], threads: int, *others: Array) -> list[Array]:
        """For each NumPy array its keys, or their images, for NumPy to compare; then the same of `others`.

        others: keys without a field. They have the dtype of keys, or hold text if there is a `text`; with `parts` they
        are `wanted` ones. Errors: see runs.
        """
        if self.parts:
            words = [words_of(np, array, self.parts) for array in arrays]
            words += [words_of(np, array, self.wanted.parts) for array in others]
            return key_images(np, host(), words, threads)
        keys = [keys_in(array, self.path) for array in arrays]
        if self.text is None:
            return [*keys, *others]
        from gpumerge_cli.arrays.text_images import text_images

        return [*text_images(keys, self.text, threads, others)]

    def is_nat(self, run: Array) -> NDArray[np.bool_]:
        """A mask of the keys of a run that are NaT. The run has dtype `items`, and its keys are dated."""
        for name in self.path:
            run = run[name]
        return np.asarray(run == _NAT)

    def nats(self, run: Array) -> int:
        """The number of NaTs at the end of a run, or at its start if the order is descending."""
        ends = run if self.order.descending else run[::-1]
        if not self.dated or len(run) == 0 or not self.is_nat(ends[:1])[0]:
            return 0
        dates = ~self.is_nat(ends)
        return int(dates.argmax()) if dates.any() else len(run)

    def first_disorder_of_dates(self, run: Array) -> int | None:
        """The index of the first date or NaT of a run that goes before its predecessor. See is_nat."""
        for name in self.path:
            run = run[name]
        images = run.astype(np.int64).view(np.uint64) + np.uint64(2**63 - 1)  # NaT becomes the largest one
        here, ahead = images[1:], images[:-1]
        wrong = np.flatnonzero(here > ahead if self.order.descending else here < ahead)
        return int(wrong[0]) + 1 if len(wrong) else None

    def split(self, run: Array, nats: int) -> tuple[Array, Array]:
        """(the dates, the NaTs) of a run with so many NaTs in their place."""
        if self.order.descending:
            return run[nats:], run[:nats]
        return run[: len(run) - nats], run[len(run) - nats :]

    def turned(self, run: Array, ranked: Array) -> Array:
        """`ranked`, which a backend sorted as integers, with NaTs in their place. run: the unsorted items."""
        nats = int(np.count_nonzero(self.is_nat(run))) if self.dated else 0
        return np.roll(ranked, nats if self.order.descending else -nats) if nats else ranked


def keys_in(array: Any, path: Sequence[str]) -> Any:
    """The keys of a NumPy or CuPy array, as it has them, but raw bytes as S. It is a view if possible.

    path: see ArrayKeys.
    """
    for name in path:
        array = array[name]
    # Bytes without a meaning of their own compare as text does.
    return np.ascontiguousarray(array).view(f"S{array.dtype.itemsize}") if array.dtype.kind == "V" else array


def _not_text(dtype: np.dtype[Any]) -> UsageError:
    """The error for keys of this dtype, which hold no text."""
    way_out = "convert them, numpy.asarray(keys, str)" if dtype.kind in "OT" else "leave text out"
    return UsageError(f"text: keys of {dtype} are not text (S or U)", way_out=way_out)


def _not_keys(dtype: np.dtype[Any], arrays: Sequence[Any] | None) -> UsageError:
    """The error for a dtype that has no order. arrays: those of the dtype; None if it is that of a field in them."""
    error = UsageError(f"{str(dtype)!r} is not a dtype of keys", way_out=_WAY_OUT)
    if arrays is None:
        return error
    types = {type(item) for array in arrays for item in array.tolist()} if dtype.kind == "O" else set()
    if dtype.kind == "U" or types == {str}:
        return UsageError("arrays of strings cannot be keys", way_out=_ENCODED)
    if dtype.kind == "T":  # NumPy does not cast these to str
        nulls = sum(not isinstance(item, str) for array in arrays for item in array.tolist())
        if nulls:
            return has_nulls("an array of StringDType", nulls)
        return UsageError(
            "arrays of StringDType cannot be keys", way_out="encode them, numpy.char.encode(keys.tolist())"
        )
    if types == {bytes}:
        return UsageError("objects of bytes cannot be keys", way_out='convert them, numpy.asarray(keys, "S")')
    if types and types <= {int, float, bool}:
        return _numbers_as_objects(arrays)
    if types:
        names = ", ".join(sorted(each.__name__ for each in types))
        return UsageError(f"an array of objects ({names}) cannot be keys", way_out=_WAY_OUT)
    return error


def _numbers_as_objects(arrays: Sequence[Any]) -> UsageError:
    """The error for arrays of objects that are all numbers of Python. NumPy makes them of the largest integers, too."""
    if any(np.asarray(array.tolist()).dtype.kind == "O" for array in arrays):
        return UsageError("integers of more than 64 bits cannot be keys", way_out="use those from -2**63 to 2**64 - 1")
    return UsageError("arrays of objects cannot be keys", way_out="convert them, numpy.asarray(keys.tolist())")


def _path(dtype: np.dtype[Any], field: str) -> tuple[str, ...]:
    """The names that lead to a field, "a.b" for b inside a; () if there is no such field, and then `order_of` fails."""
    path: tuple[str, ...] = ()
    rest = field
    while rest:
        names = dtype.names or ()
        name, _, behind = (rest, "", "") if rest in names else rest.partition(".")
        if name not in names:
            return ()
        path, rest, dtype = (*path, name), behind, dtype[name]
    return path


def _part(dtype: np.dtype[Any], name: str, descending: bool) -> KeyPart:
    """The part that a name in a list says, "a:r" for a field a that descends. Raises UsageError for an unknown one."""
    if not _path(dtype, name) and name.endswith(_TURNED) and _path(dtype, name.removesuffix(_TURNED)):
        name, descending = name.removesuffix(_TURNED), not descending
    path = _path(dtype, name)
    items, leaf = _as_items(dtype, path)
    if path and (leaf.kind not in "biufmMSV" or leaf.isbuiltin == _REGISTERED):
        raise _not_keys(leaf, None)
    _order_of_records(items, name, descending)
    return KeyPart.of(dtype, path, descending=descending)


def _order_of_records(items: np.dtype[Any], field: str | None, descending: bool) -> Order:
    try:
        return order_of(items, None if field is None else Key(field=field), descending=descending)
    except UsageError as error:  # its words are those of the command line
        message = error.what.replace("--field ", "key=")
        raise UsageError(message, way_out=error.way_out.replace("(--field)", "(key=)")) from None


def _as_items(dtype: np.dtype[Any], path: tuple[str, ...]) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """(the dtype with its key as backends see it, the key's own dtype)."""
    if path:
        inside, leaf = _as_items(dtype[path[0]], path[1:])
        if inside == dtype[path[0]]:
            return dtype, leaf
        names, fields = list(dtype.names or ()), dict(dtype.fields or {})
        formats = [inside if name == path[0] else dtype[name] for name in names]
        offsets = [fields[name][1] for name in names]
        parts: Any = {"names": names, "formats": formats, "offsets": offsets, "itemsize": dtype.itemsize}
        return np.dtype(parts), leaf
    if dtype.kind == "b":
        return np.dtype(np.uint8), dtype
    return (np.dtype(f"{dtype.str[0]}i8") if dtype.kind in "mM" else dtype), dtype
