"""Fixed-size records: what the user says of them, and the order of the key that lies in them.

Records are opaque: they are read and written as they are, whatever byte order their fields have.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpumerge_cli.errors import UsageError
from gpumerge_cli.order import Order

LARGEST = 2**31 - 1
"""Bytes of the largest record: what a NumPy dtype can be."""
_SHOWN = 60


@dataclass(frozen=True)
class RecordRequest:
    """What the user says of records, None where nothing is said.

    size: bytes of a record. offset, width: where its key starts and how many bytes it has. field: the key's name in a
    structured dtype, a field inside another behind a dot.
    """

    size: int | None = None
    offset: int | None = None
    width: int | None = None
    field: str | None = None

    @property
    def said(self) -> str:
        """The first option that says something, or ""."""
        given = (
            ("--record-size", self.size),
            ("--key-offset", self.offset),
            ("--key-size", self.width),
            ("--field", self.field),
        )
        return next((option for option, value in given if value is not None), "")


@dataclass(frozen=True)
class Key:
    """Which part of an item is its key: `field`, or what starts at byte `offset`.

    That is a number of `dtype`, or `width` bytes; both None: all bytes to the item's end.
    """

    field: str | None = None
    offset: int = 0
    width: int | None = None
    dtype: np.dtype[Any] | None = None


def parse_dtype(text: str) -> np.dtype[Any]:
    """The dtype that NumPy's spelling says: "int32", "u4,f8", "[('id', '<u4'), ('name', 'S10')]".

    Raises UsageError if it is neither one of keys nor a structured one.
    """
    listed = text.lstrip().startswith("[")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of spellings that NumPy will no longer know
        if not listed and "," not in text:
            Order.of(text)  # raises UsageError for what has no order
            return np.dtype(text)
        try:
            dtype = np.dtype(ast.literal_eval(text) if listed else text)
        except (TypeError, ValueError, SyntaxError, MemoryError, RecursionError):
            dtype = None
    if dtype is None or dtype.names is None:
        raise UsageError(
            f"--dtype {text!r} is no structured dtype",
            way_out="write for example u4,f8 or \"[('id','<u4'),('x','f8')]\"",
        )
    if dtype.hasobject or not 0 < dtype.itemsize <= LARGEST:
        raise UsageError(
            f"--dtype {text!r} is no dtype of records in a file", way_out="use fields of numbers and bytes"
        )
    return dtype


def record_format(dtype: str | None, request: RecordRequest) -> tuple[np.dtype[Any] | None, Key | None]:
    """(the dtype of a record, its key) as options say them; (None, None) if they say nothing of records.

    The first is None if it is for a header to say. dtype: as --dtype has it. Raises UsageError for options that do not
    fit together.
    """
    given = None if dtype is None else parse_dtype(dtype)
    if given is not None and given.names is not None:
        _refuse(request, ("size", "offset", "width"), "--dtype says where the fields of a record lie")
        key = Key(field=request.field)
        order_of(given, key)
        return given, key
    if not request.said:
        return None, None
    if request.field is not None:
        _refuse(request, ("size", "offset", "width"), "--field says where the key lies")
        if given is not None:
            raise UsageError(f"--field {request.field}: --dtype {dtype} has no fields", way_out="leave one of them out")
        return None, Key(field=request.field)
    if given is not None and request.width not in (None, given.itemsize):
        raise UsageError(
            f"--key-size {request.width}: a key of --dtype {dtype} has {given.itemsize} bytes", way_out="leave it out"
        )
    key = Key(None, request.offset or 0, request.width if given is None else None, given)
    if request.size is None:
        return None, key
    if not 0 < request.size <= LARGEST:
        raise UsageError(f"--record-size {request.size}: records have 1 to {LARGEST} bytes")
    items = np.dtype(f"V{request.size}")
    order_of(items, key)
    return items, key


def _refuse(request: RecordRequest, names: tuple[str, ...], why: str) -> None:
    options = {"size": "--record-size", "offset": "--key-offset", "width": "--key-size"}
    for name in names:
        if getattr(request, name) is not None:
            raise UsageError(f"{options[name]} {getattr(request, name)}: {why}", way_out="leave one of them out")


def order_of(items: np.dtype[Any], key: Key | None, *, descending: bool = False) -> Order:
    """The order of items of a dtype, by their key. key None: nothing is said of it.

    S and V items are bytes, by default their own key. Raises UsageError for items without an order, for a key that is
    not in them, and if structured items have no key.
    """
    if items.kind not in "SV" or items.subdtype is not None:
        if key is not None:
            what = f"--field {key.field}" if key.field is not None else "a key's place was given"
            raise UsageError(f"{what}: the items are {item_name(items)}, not records", way_out="leave it out")
        return Order.of(items, descending=descending)
    if items.itemsize == 0 or items.hasobject:
        raise UsageError(f"{item_name(items)} have no order here", way_out="use fields of numbers and bytes")
    place = key or Key()
    if place.field is not None:
        return _order_of_field(items, place.field, descending)
    if items.names is not None and key in (None, Key()):
        fields = ", ".join(items.names)
        raise UsageError("records need a key", way_out=f"name one of their fields as the key (--field): {fields}")
    kind: Any = place.dtype if place.dtype is not None else place.width
    if kind is None:
        kind = items.itemsize - place.offset
    return Order.records(items.itemsize, place.offset, kind, descending=descending)


def _order_of_field(items: np.dtype[Any], field: str, descending: bool) -> Order:
    inside, offset, rest = items, 0, field
    while inside is items or rest:
        fields: Mapping[str, Any] = inside.fields or {}
        name, _, behind = (rest, "", "") if rest in fields else rest.partition(".")
        if name not in fields:
            there = f"its fields are {', '.join(inside.names)}" if inside.names else "it has no fields"
            what = f"{item_name(items)} have no field {field!r}"
            raise UsageError(f"--field {field}: {what}", way_out=there)
        found, start = fields[name][:2]
        inside, offset, rest = found, offset + start, behind
    if inside.subdtype is not None:
        raise UsageError(
            f"--field {field}: the field is an array of {inside.shape}", way_out="name a field of one value"
        )
    if inside.names is not None:
        raise UsageError(
            f"--field {field}: the field has fields", way_out=f"name one, for example {field}.{inside.names[0]}"
        )
    try:
        return Order.records(items.itemsize, offset, inside, descending=descending)
    except UsageError:
        raise UsageError(
            f"--field {field}: a field of type {inside.str} has no order here",
            way_out="name a field of numbers or of bytes",
        ) from None


def item_name(dtype: np.dtype[Any]) -> str:
    """What messages call items of a dtype, byte order aside for those that are not records."""
    if dtype.kind not in "SV":
        return dtype.newbyteorder("=").name
    fields = ", ".join(f"{name} {dtype[name].str}" for name in dtype.names or ())
    fields = fields if len(fields) <= _SHOWN else f"{fields[:_SHOWN]}..."
    return f"records of {dtype.itemsize} bytes" + (f" ({fields})" if fields else "")
