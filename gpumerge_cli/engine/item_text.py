"""Items that a user writes as text: numbers, keys of records and rows, whole lines."""

from __future__ import annotations

import csv
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import isinf
from typing import TYPE_CHECKING

from gpumerge_cli.engine.escapes import bytes_of, escaped_line, escaped_text, printable
from gpumerge_cli.errors import UsageError
from gpumerge_cli.formats.format import Format
from gpumerge_cli.order.key_types import DTYPES
from gpumerge_cli.order.kinds import FieldsOrder, KeyOrder, Order, RecordOrder
from gpumerge_cli.order.rows import RowOrder

if TYPE_CHECKING:
    import numpy as np

_FORMATS = dict(zip(DTYPES, "bhiqBHIQefd", strict=True))
"""The letters of struct for numbers, whose limits it checks behind an "="."""
_BOOLS = {"false": False, "true": True, "0": False, "1": True}
_NO_UNIT = "generic time units"
_UNITS = {
    "years": "Y", "months": "M", "weeks": "W", "days": "D", "hours": "h", "minutes": "m", "seconds": "s",
    "milliseconds": "ms", "microseconds": "us", "nanoseconds": "ns", "picoseconds": "ps", "femtoseconds": "fs",
    "attoseconds": "as",
}  # fmt: skip
"""The units of time spans by the words that NumPy writes."""
_VALUES = {
    "b": "True or False",
    "M": "a date or a time in its unit, as 2024-03-01 or 2024-03-01T12:30:00, or NaT",
    "m": "a whole number of its units, as 90, one with a unit, as '90 seconds', or NaT",
}
"""Examples by NumPy's letter of a dtype."""


@contextmanager
def stated(option: str, text: str) -> Iterator[None]:
    """Errors about an item that a user wrote name it, and the option that has it."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{option} '{printable(text)}': {error.what}", way_out=error.way_out) from None


def by_stated_keys(text: str, order: Order) -> Order:
    """The order of items by as many of their first keys as a text states."""
    if order.key_count == 1:
        return order
    return order.by_first(len(split_fields(text)))


def parse_item(text: str, order: Order, format: Format) -> bytes:
    """An item of inputs in this order that compares as `text` says, in the form that Source.item_at gives.

    text: a number, a bool, a date or a time span; the keys of a record or row as `parse_fields` takes them; all of a
    line, with escapes. format: that of the inputs. Raises UsageError for a text that no item of the inputs can be.
    """
    if isinstance(order, KeyOrder):
        return _number(text, order)
    if isinstance(order, RowOrder):
        return format.item_of([parse_bytes(field) for field in parse_fields(text, len(order.keys_of_rows))], order)
    if isinstance(order, RecordOrder):
        return _record(text, [order], order.record)
    if isinstance(order, FieldsOrder):
        return _record(text, order.parts, order.record)
    line = parse_bytes(text)
    if b"\n" in line and order.end == b"\n":
        raise UsageError("a line ends at a newline", way_out="write one line without its end")
    return format.item_of([line], order)


def format_item(item: bytes, order: Order) -> str:
    """An item in the form that parse_item takes."""
    if isinstance(order, RowOrder):
        return format_fields([escaped_text(value) for value in order.values(item)])
    if isinstance(order, FieldsOrder | RecordOrder):
        parts = [order] if isinstance(order, RecordOrder) else order.parts
        return format_fields([_format_key(item, part) for part in parts])
    number = order.number(item)
    return escaped_line(order.key_of(item)) if number is None else number


def parse_fields(text: str, count: int) -> list[str]:
    """The fields of a key: as many as `count`, with commas between them, quoted as in CSV where they hold commas.

    Raises UsageError for any other number of fields.
    """
    fields = split_fields(text)
    if len(fields) != count:
        several = "write a value for each, with commas between"
        way_out = "put a field that holds commas into double quotes" if count == 1 else several
        raise UsageError(f"the key has {count} field{'s' * (count > 1)}, not {len(fields)}", way_out=way_out)
    return fields


def split_fields(part: str) -> list[str]:
    """The fields of a part of an item's text, quoted as in CSV. Raises UsageError."""
    try:
        return next(csv.reader([printable(part)], strict=True), []) or [""]
    except csv.Error as error:
        raise UsageError(f"its fields are not valid CSV: {error}", way_out="check its quotes") from None


def format_fields(fields: Sequence[str]) -> str:
    """The text of which parse_fields makes these fields."""
    return ",".join(map(_quoted, fields)) if list(fields) != [""] else '""'


def _quoted(field: str) -> str:
    """The field with quotes if it needs them: blanks at its ends would get lost in a table."""
    needs_none = field == field.strip() and "," not in field and '"' not in field
    return field if needs_none else f'"{field.replace(chr(34), chr(34) * 2)}"'


def parse_bytes(part: str) -> bytes:
    """The bytes that a part of an item's text stands for. Raises UsageError for what is not an escape."""
    try:
        return bytes_of(part)
    except ValueError as error:
        way_out = "write \\x00 for byte 0" if str(error).startswith("\\0 ") else "write \\\\ for a backslash"
        raise UsageError(str(error), way_out=way_out) from None


def item_heading(order: Order) -> str:
    """The word for the items that format_item writes, or the names of their keys."""
    if isinstance(order, RowOrder):
        return format_fields([key.name for key in order.keys_of_rows])
    if isinstance(order, FieldsOrder | RecordOrder):
        names = [part.name for part in ([order] if isinstance(order, RecordOrder) else order.parts)]
        return format_fields(names) if all(names) else "key"
    return order.item_word or "item"


def _format_key(item: bytes, part: RecordOrder) -> str:
    """The key of a record: a number, a text, or "0x" and hexadecimal digits."""
    number = part.number(item)
    if number is not None:
        return number
    key = part.key_of(item) or b"\0"
    text = key.rstrip(b"\0").decode("utf-8", "replace")
    is_plain = text.isprintable() and "\ufffd" not in text and not text.startswith("0x")
    return escaped_text(text.encode()) if text and is_plain else f"0x{key.hex()}"


def _number(text: str, order: KeyOrder) -> bytes:
    """The key that a text states, native. Raises UsageError."""
    if not order.is_number:
        return _value(text, order)
    is_float = order.kind == "float"
    try:
        number = float(text) if is_float else int(text)
        if is_float and isinf(number) and "inf" not in text.lower():
            raise OverflowError
        return struct.pack(f"={_FORMATS[order.name]}", number)
    except OverflowError:
        raise UsageError(f"it is too large for {order.name}", way_out="write inf, or a smaller number") from None
    except (ValueError, struct.error):
        raise UsageError(f"it is not of type {order.name}", way_out=f"write {_example(order)}") from None


def _value(text: str, order: KeyOrder) -> bytes:
    """A bool, a date or a time span, in any unit in which the dtype has it. Raises UsageError."""
    import numpy as np

    dtype = order.dtype
    try:
        if dtype.kind == "b":
            item = np.array([_BOOLS[text.strip().lower()]], dtype)
        else:
            given = _date(text) if dtype.kind == "M" else _span(text, order)
            item = np.array([given]).astype(dtype)
            if item.astype(given.dtype)[0] != given and not np.isnat(given):
                raise UsageError(f"{dtype} does not have this value", way_out=f"write {_VALUES[dtype.kind]}")
    except (ValueError, KeyError, OverflowError, TypeError):
        raise UsageError(f"it is not of type {dtype}", way_out=f"write {_VALUES[dtype.kind]}") from None
    return item.tobytes()


def _date(text: str) -> np.datetime64:
    import warnings

    import numpy as np

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of time zones, which NumPy takes into account
        return np.datetime64(text.strip())


def _span(text: str, order: KeyOrder) -> np.timedelta64:
    """A time span as NumPy writes it, "5 seconds"; a number alone is one of the order's units."""
    import numpy as np

    number, _, unit = text.strip().partition(" ")
    if number.lower() == "nat":
        return np.timedelta64("NaT")
    if not unit or unit == _NO_UNIT:
        return np.array([int(number)], np.int64).view(order.dtype)[0]  # type: ignore[no-any-return]
    return np.timedelta64(int(number), _UNITS.get(unit, unit))  # type: ignore[call-overload, no-any-return]


def _example(order: KeyOrder) -> str:
    if order.kind == "float":
        return "a number, as 0.5, 1e-3 or nan"
    bits = 8 * order.width
    least, behind = (-1 << bits - 1, 1 << bits - 1) if order.kind == "int" else (0, 1 << bits)
    return f"a whole number from {least} to {behind - 1}"


def _record(text: str, parts: Sequence[RecordOrder], size: int) -> bytes:
    """A record with these keys, and zeros elsewhere."""
    record = bytearray(size)
    for word, part in zip(parse_fields(text, len(parts)), parts, strict=True):
        if part.key is not None:
            number = _number(word, part.key)
            record[part.offset : part.offset + part.width] = number[::-1] if part.swapped else number
            continue
        key = _from_hexadecimal(word) or parse_bytes(word)
        if len(key) > part.width:
            way_out = f"write fewer, or 0x and up to {2 * part.width} hexadecimal digits"
            raise UsageError(f"a key has {part.width} bytes, and {word!r} has {len(key)}", way_out=way_out)
        record[part.offset : part.offset + len(key)] = key
    return bytes(record)


def _from_hexadecimal(word: str) -> bytes:
    """The bytes of "0x" and two digits for each; b"" for anything else."""
    try:
        return bytes.fromhex(word[2:]) if word.startswith("0x") else b""
    except ValueError:
        return b""
