"""Options of fixed-size records, and the order of records by their key.

Records are opaque: they are read and written as they are, whatever byte order their fields have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.key_types import DTYPES, ItemType, of_dtype
from gpumerge_cli.order.kinds import FieldsOrder, Order, RecordOrder
from gpumerge_cli.suggestions import did_you_mean, did_you_mean_column
from gpumerge_cli.units import quoted_value

if TYPE_CHECKING:
    import numpy as np

    from gpumerge_cli.order.key_types import Dtype

LARGEST = 2**31 - 1
"""The bytes of the largest record. NumPy has no larger dtype."""
_SHOWN = 60


@dataclass(frozen=True)
class RecordRequest:
    """The options of records; None and () for options that were not given."""

    size: int | None = None
    """The bytes of a record."""
    offset: int | None = None
    """The key's first byte in a record."""
    width: int | None = None
    """The bytes of the key."""
    fields: tuple[str, ...] = ()
    """See Key."""
    option: str = "--field"
    """The option that names the fields."""

    @property
    def first_option(self) -> str:
        """The first option that was given, or ""."""
        given = (
            ("--record-size", self.size),
            ("--key-offset", self.offset),
            ("--key-size", self.width),
            (self.option, self.fields or None),
        )
        return next((option for option, value in given if value is not None), "")


@dataclass(frozen=True)
class Key:
    """The part of an item that is its key: `field`, or `fields`, or the bytes from `offset` on."""

    field: str | None = None
    """The name of a field of a structured dtype; a dot stands between a field and one inside it."""
    offset: int = 0
    """The key's first byte in the item."""
    width: int | None = None
    """The bytes of the key. If it and `dtype` are None, the key goes to the item's end."""
    dtype: Dtype | None = None
    """The dtype of a key that is a number."""
    fields: tuple[str, ...] = ()
    """Texts as --field has them: each is one or several names between commas, with ":r" behind a name for the reverse
    order."""
    option: str = "--field"
    """The option that names the fields."""

    @property
    def named(self) -> str:
        """The fields as a command line has them, "" if none is named."""
        return self.field or ",".join(self.fields)


def parse_dtype(text: str) -> Dtype:
    """The dtype of NumPy's spelling: "int32", "u4,f8", "[('id', '<u4'), ('name', 'S10')]".

    Raises UsageError if it is neither one of keys nor a structured one.
    """
    plain = ItemType.of(text)
    if plain is not None:
        return plain
    import ast
    import warnings

    import numpy as np

    listed = text.lstrip().startswith("[")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy warns of spellings that it will drop
        if not listed and "," not in text:
            try:
                Order.of(text)
            except UsageError as error:
                raise UsageError(f"--dtype {error.what}", way_out=did_you_mean(text, DTYPES, error.way_out)) from None
            return of_dtype(np.dtype(text))
        try:
            dtype = np.dtype(ast.literal_eval(text) if listed else text)
        except (TypeError, ValueError, SyntaxError, MemoryError, RecursionError):
            dtype = None
    if dtype is None or dtype.names is None:
        raise UsageError(
            f"--dtype {quoted_value(text)} is not a structured dtype",
            way_out="write for example u4,f8 or \"[('id','<u4'),('x','f8')]\"",
        )
    if dtype.hasobject or not 0 < dtype.itemsize <= LARGEST:
        raise UsageError(
            f"--dtype {quoted_value(text)} is not a dtype of records in a file",
            way_out="use fields of numbers and bytes",
        )
    return dtype


def record_format(dtype: str | None, request: RecordRequest) -> tuple[Dtype | None, Key | None]:
    """(the dtype of a record, its key) as options give them; (None, None) if no option is about records.

    The first is None if a header states it. dtype: as --dtype has it. Raises UsageError for options that do not
    fit together.
    """
    given = None if dtype is None else parse_dtype(dtype)
    if given is not None and given.names is not None:
        _refuse(request, ("size", "offset", "width"), "--dtype says where the fields of a record lie")
        key = Key(fields=request.fields, option=request.option)
        order_of(given, key)
        return given, key
    if not request.first_option:
        return None, None
    if request.fields:
        _refuse(request, ("size", "offset", "width"), f"{request.option} says where the key lies")
        key = Key(fields=request.fields, option=request.option)
        if given is not None:
            raise UsageError(
                f"{key.option} {key.named}: --dtype {dtype} has no fields", way_out="leave one of them out"
            )
        return None, key
    if given is not None and request.width not in (None, given.itemsize):
        raise UsageError(
            f"--key-size {request.width}: a key of --dtype {dtype} has {given.itemsize} bytes", way_out="leave it out"
        )
    key = Key(None, request.offset or 0, request.width if given is None else None, given)
    if request.size is None:
        return None, key
    if not 0 < request.size <= LARGEST:
        raise UsageError(f"--record-size {request.size}: records have 1 to {LARGEST} bytes")
    items = ItemType("V", request.size)
    order_of(items, key)
    return items, key


def _refuse(request: RecordRequest, names: tuple[str, ...], why: str) -> None:
    options = {"size": "--record-size", "offset": "--key-offset", "width": "--key-size"}
    for name in names:
        if getattr(request, name) is not None:
            raise UsageError(f"{options[name]} {getattr(request, name)}: {why}", way_out="leave one of them out")


def order_of(items: Dtype, key: Key | None, *, descending: bool = False) -> Order:
    """The order of items of a dtype, by their key. key None: no option gives it.

    S and V items are bytes, by default their own key. Raises UsageError for items without an order, for a key that is
    not in them, and if structured items have no key.
    """
    if items.kind not in "SV" or items.subdtype is not None:
        if key is not None:
            what = f"{key.option} {key.named}" if key.named else "a key's place was given"
            raise UsageError(f"{what}: the items are {item_name(items)}, not records", way_out="leave it out")
        return Order.of(items, descending=descending)
    if items.itemsize == 0 or items.hasobject:
        raise UsageError(f"{item_name(items)} cannot be ordered", way_out="use fields of numbers and bytes")
    place = key or Key()
    if place.field is not None:
        return _order_of_field(items, place.field, descending, place.option)
    if place.fields:
        named = [one for text in place.fields for one in _named(items, text, place.option)]
        _refuse_twice(named, place.option)
        return FieldsOrder.by(
            [_order_of_field(items, name, turned or descending, place.option) for name, turned in named]
        )
    if items.names is not None and key in (None, Key()):
        fields = ", ".join(items.names)
        raise UsageError("records need a key", way_out=f"name one of their fields as the key (--field): {fields}")
    kind: Any = place.dtype if place.dtype is not None else place.width
    if kind is None:
        kind = items.itemsize - place.offset
    return Order.records(items.itemsize, place.offset, kind, descending=descending)


def _named(items: Dtype, text: str, option: str) -> list[tuple[str, bool]]:
    """The fields that a text of `option` names, each with whether it is reversed.

    Raises UsageError for a text that can be read in two ways, and for letters that records do not take.
    """
    words = text.split(",")
    whole = [one for one in dict.fromkeys((_turned(text), (text, False))) if _field_at(items, one[0]) is not None]
    split = len(words) > 1 and all(_field_at(items, _turned(word)[0]) is not None for word in words)
    if len(whole) + split > 1:
        meanings = [f"the field {quoted_value(name)}{', reversed' if turned else ''}" for name, turned in whole]
        meanings += [f"the fields {' and '.join(map(repr, words))}"] * split
        raise UsageError(
            f"{option} {text} means {' or '.join(meanings)}",
            way_out=f"give each field its own {option}" if split else "rename one of them by --dtype",
        )
    if whole:
        return whole
    for word in words:
        name, colon, letters = word.rpartition(":")
        if colon and letters != "r" and _field_at(items, word) is None and _field_at(items, name) is not None:
            raise UsageError(
                f"{option} {word}: keys of records do not accept {quoted_value(letters)}",
                way_out="write NAME or NAME:r",
            )
    return [(word, False) if _field_at(items, word) is not None else _turned(word) for word in words]


def _turned(word: str) -> tuple[str, bool]:
    """The name in "NAME" or "NAME:r", and whether it is the latter."""
    return word.removesuffix(":r"), word.endswith(":r")


def _refuse_twice(named: Sequence[tuple[str, bool]], option: str) -> None:
    names = [name for name, _ in named]
    twice = next((name for number, name in enumerate(names) if name in names[:number]), None)
    if twice is not None:
        raise UsageError(f"{option} {','.join(names)}: {twice} is named twice", way_out="name each field once")


def _field_at(items: Dtype, field: str) -> tuple[np.dtype[Any], int] | None:
    """(the dtype of a field, where it starts in the items); None if there is none of that name."""
    inside: Any = items
    offset, rest = 0, field
    while inside is items or rest:
        fields: Mapping[str, Any] = inside.fields or {}
        name, _, behind = (rest, "", "") if rest in fields else rest.partition(".")
        if name not in fields:
            return None
        found, start = fields[name][:2]
        inside, offset, rest = found, offset + start, behind
    return inside, offset


def _order_of_field(items: Dtype, field: str, descending: bool, option: str) -> RecordOrder:
    found = _field_at(items, field)
    if found is None:
        names = _names(items)
        there = f"its fields are {', '.join(items.names)}" if items.names else "it has no fields"
        raise UsageError(
            f"{option} {field}: {item_name(items)} have no field {quoted_value(field)}",
            way_out=did_you_mean_column(field, {name: name for name in names}, there),
        )
    inside, offset = found
    if inside.subdtype is not None:
        raise UsageError(
            f"{option} {field}: the field is an array of {inside.shape}", way_out="name a field of one value"
        )
    if inside.names is not None:
        raise UsageError(
            f"{option} {field}: the field has fields", way_out=f"name one, for example {field}.{inside.names[0]}"
        )
    try:
        return RecordOrder.of_key(items.itemsize, offset, inside, descending=descending, name=field)
    except UsageError:
        raise UsageError(
            f"{option} {field}: a field of type {inside.str} cannot be ordered",
            way_out="name a field of numbers, bools, dates, time spans or bytes",
        ) from None


def _names(items: Any, ahead: str = "") -> list[str]:
    """The names of all fields, those inside others too."""
    names = []
    for name in items.names or ():
        names += [ahead + name, *_names(items[name], f"{ahead}{name}.")]
    return names


def item_name(dtype: Any) -> str:
    """The name of items of a dtype in messages. It states the byte order only for records."""
    if dtype.kind not in "SV":
        return str(dtype.newbyteorder("=").name)
    fields = ", ".join(f"{name} {dtype[name].str}" for name in dtype.names or ())
    fields = fields if len(fields) <= _SHOWN else f"{fields[:_SHOWN]}..."
    return f"records of {dtype.itemsize} bytes" + (f" ({fields})" if fields else "")
