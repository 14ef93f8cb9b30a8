"""Items that a user writes as text: numbers, keys of records, lines."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from logging import getLogger

import numpy as np

from gpumerge_cli.engine.inputs import Inputs
from gpumerge_cli.engine.line_warnings import is_number_like
from gpumerge_cli.errors import UsageError
from gpumerge_cli.native.comparison import key_bounds
from gpumerge_cli.order.kinds import FieldsOrder, KeyOrder, Order, RecordOrder


def parse_item(text: str, inputs: Inputs) -> bytes:
    """An item of the inputs that compares as `text` says, in the form that Source.item_at gives.

    text: a number; the key of a record, with commas between those of several fields; a line, of CSV a whole record.
    Raises UsageError for a text that no item of the inputs can be.
    """
    order = inputs.order
    if isinstance(order, KeyOrder):
        return _number(text, order)
    if isinstance(order, RecordOrder):
        return _record(text, [text], [order], order.record)
    if isinstance(order, FieldsOrder):
        words = next(csv.reader([text]), [])
        if len(words) != len(order.parts):
            raise _invalid(
                text, f"the key has {len(order.parts)} fields", "write a value for each, with commas between"
            )
        return _record(text, words, order.parts, order.record)
    return _line(text, inputs)


def format_item(item: bytes, order: Order) -> str:
    """An item in the form that item_of takes. But bytes of lines that are no UTF-8 become "\\xe9" and the like."""
    if isinstance(order, FieldsOrder):
        row = io.StringIO()
        csv.writer(row, lineterminator="").writerow([_format_key(item, part) for part in order.parts])
        return row.getvalue()
    if isinstance(order, RecordOrder):
        return _format_key(item, order)
    number = order.number(item)
    return order.key_of(item).decode("utf-8", "backslashreplace") if number is None else number


def is_number(order: Order) -> bool:
    """Whether the texts of its items are numbers."""
    return isinstance(order, KeyOrder) or (isinstance(order, RecordOrder) and order.key is not None)


def _format_key(item: bytes, part: RecordOrder) -> str:
    """The key of a record: a number, a text, or "0x" and hexadecimal digits."""
    number = part.number(item)
    if number is not None:
        return number
    key = part.key_of(item) or b"\0"
    text = key.rstrip(b"\0").decode("utf-8", "replace")
    is_plain = text.isprintable() and "\ufffd" not in text and not text.startswith("0x")
    return text if text and is_plain else f"0x{key.hex()}"


def _number(text: str, order: KeyOrder) -> bytes:
    dtype = order.dtype
    try:
        number = float(text) if dtype.kind == "f" else int(text)
        with np.errstate(over="ignore"):
            item = np.array([number], dtype)
    except (ValueError, OverflowError):
        raise _invalid(text, f"it is no {dtype}", f"write {_example(order)}") from None
    if dtype.kind == "f" and np.isinf(item[0]) and "inf" not in text.lower():
        raise _invalid(text, f"it is too large for {dtype}", "write inf, or a lesser number")
    return item.tobytes()


def _example(order: KeyOrder) -> str:
    if order.dtype.kind == "f":
        return "a number, as 0.5, 1e-3 or nan"
    limits = np.iinfo(order.dtype)
    return f"a whole number from {limits.min} to {limits.max}"


def _record(text: str, words: Sequence[str], parts: Sequence[RecordOrder], size: int) -> bytes:
    """A record whose keys are these words, with zeros elsewhere."""
    record = np.zeros((1, size), np.uint8)
    for word, part in zip(words, parts, strict=True):
        if part.key is not None:
            part.put(np.frombuffer(_number(word, part.key), part.key.dtype), record)
            continue
        key = _from_hexadecimal(word) or os.fsencode(word)
        if len(key) > part.width:
            way_out = f"write fewer, or 0x and up to {2 * part.width} hexadecimal digits"
            raise _invalid(text, f"a key has {part.width} bytes, and {word!r} has {len(key)}", way_out)
        record[0, part.offset : part.offset + len(key)] = np.frombuffer(key, np.uint8)
    return record.tobytes()


def _from_hexadecimal(word: str) -> bytes:
    """The bytes of "0x" and two digits for each; b"" for anything else."""
    try:
        return bytes.fromhex(word[2:]) if word.startswith("0x") else b""
    except ValueError:
        return b""


def _line(text: str, inputs: Inputs) -> bytes:
    line, order = os.fsencode(text), inputs.order
    if b"\n" in line and order.end == b"\n":
        raise _invalid(text, "a line ends at a newline", "write one line without its end")
    try:
        line = inputs.layout.format.item_of(line, order)
    except UsageError as error:
        raise _invalid(text, error.what, error.way_out) from None
    _check_keys(text, line, order)
    return line


def _check_keys(text: str, line: bytes, order: Order) -> None:
    """Raise UsageError for a line that has no such field as a key, and warn of one with a text in place of a number."""
    keys = order.text.keys if order.text is not None else ()
    for number, key in enumerate(keys):
        if not key.start_field:
            continue
        begin, end = key_bounds(order, number, line)
        word = order.item_word
        if begin == len(line) and line[-1:] not in _separators_of(order):
            what = f"it is taken for a whole {word}, and has no field for {order.key_option(number)}"
            raise _invalid(text, what, f"write the {word} up to the key, with any text in the fields ahead of it")
        if not is_number_like(key, line[begin:end]):
            shown = order.quoted(line[begin:end])
            getLogger("gpumerge").warning(
                "gpumerge: warning: --of %r is taken for a whole %s, whose key %s by %s is not a number",
                text, word, shown, order.key_option(number),
            )  # fmt: skip


def _separators_of(order: Order) -> tuple[bytes, ...]:
    separator = None if order.text is None else order.text.separator
    return (b" ", b"\t") if separator is None else (bytes([separator]),)


def _invalid(text: str, what: str, way_out: str) -> UsageError:
    return UsageError(f"--of {text!r}: {what}", way_out=way_out)
