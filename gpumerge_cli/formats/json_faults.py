"""Messages about lines that are not JSON, and about values that have no order."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.json_members import way_out_of_member
from gpumerge_cli.native.json_values import JsonFault, JsonValue
from gpumerge_cli.order.rules import LineKey, LineOrder
from gpumerge_cli.shell_words import quoted
from gpumerge_cli.units import visible

_SHOWN = 40
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[][{}]', re.DOTALL)
"""A string, or a bracket outside of strings."""
_CHECKED = "mend the line, or add --format text to compare lines by their bytes"
_WHAT = {
    "VALUE_EXPECTED": "a value is expected",
    "NAME_EXPECTED": "a name in quotes is expected",
    "COLON_EXPECTED": "a colon is expected",
    "COMMA_EXPECTED": "a comma, or the end of the object or array, is expected",
    "TEXT_BEHIND_VALUE": "text follows the value",
    "OPEN_STRING": "a string does not end",
    "CONTROL_IN_STRING": "a string holds a control character without an escape",
    "INVALID_ESCAPE": "a string has an invalid escape",
    "INVALID_UTF8": "a string is not UTF-8",
    "INVALID_NUMBER": "a number is invalid",
    "TOO_DEEP": "there are more than 1,024 objects and arrays within each other",
    "LINE_ENDS": "the line ends within a value",
}
_NUMBER = re.compile(r'("?)-?\d+(\.\d+)?([eE][+-]?\d+)?\1')
_KINDS = {"bool": "a bool", "number": "a number", "string": "a string"}


def type_words(type: str) -> str:
    """The words for a type of values."""
    return _KINDS[type]


def value_text(text: Bytes, value: JsonValue) -> str:
    """A value in short, as a text of lines spells it."""
    return _in_short(bytes(text[value.start : min(value.stop, value.start + 4 * _SHOWN)]))


def _in_short(data: bytes) -> str:
    text = data.decode("utf-8", "replace")
    return visible(text[:_SHOWN]) + "..." * (len(text) > _SHOWN)


def nested_text(data: bytes) -> str:
    """The object or array at the start of some bytes, in short."""
    return _in_short(_whole_value(data[: 4 * _SHOWN]))


def _whole_value(data: bytes) -> bytes:
    """The object or array at the start of some bytes; all of them if it does not end there."""
    depth = 0
    for found in _TOKEN.finditer(data):
        depth += {b"[": 1, b"{": 1, b"]": -1, b"}": -1}.get(found[0], 0)
        if depth == 0:
            return data[: found.end()]
    return data


def types_way_out(key: LineKey, values: Sequence[str]) -> str:
    """The way out for values of two types, as the lines spell them, by a key that has no kind."""
    if all(_NUMBER.fullmatch(one) for one in values):
        return f"give it one type, or use {key.name}:n{'r' * key.reverse}, which takes numbers in strings, too"
    return f"give it one type, or {_as_versions(key)}"


def _as_versions(key: LineKey) -> str:
    """The advice to use a kind of key that takes values of every type."""
    return f"use {key.name}:V{'r' * key.reverse}, which compares values of all types as versions"


def line_error(
    file: str, text: Bytes, fault: JsonFault, ahead: int, order: LineOrder, added: Sequence[str]
) -> InputError:
    """The error for a line of a text. ahead: the lines of the file ahead of the text. added: see JsonImages."""
    where = f"{file}:{ahead + fault.line + 1}"
    if fault.key >= len(order.keys):
        name = added[fault.key - len(order.keys)]
        what = f"it has a member {name} already, which the output adds"
        if fault.name == "NO_OBJECT":
            what = f"it is not an object, so it cannot get a member {name}"
        return InputError(what, where=where, way_out=way_out_of_member(name))
    if fault.key >= 0:
        return _key_error(where, text, fault, order.keys[fault.key])
    start = bytes(text[: fault.at]).rfind(b"\n") + 1
    before = bytes(text[start : fault.at])
    what = f"column {len(before.decode('utf-8', 'replace')) + 1}: {_WHAT[fault.name]}"
    way_out = _CHECKED
    if fault.name == "LINE_ENDS":
        program = "'.[]'" if before.strip().startswith(b"[") else "."
        way_out = f"write each value on a line of its own, for example with jq -c {program} {quoted(file)}"
    if fault.name == "INVALID_UTF8":
        way_out = "convert it, for example with iconv -t UTF-8, or add --format text to compare lines by their bytes"
    return InputError(f"it is not JSON: {what}", where=where, way_out=way_out)


def _key_error(where: str, text: Bytes, fault: JsonFault, key: LineKey) -> InputError:
    name = key.option_text
    if fault.name == "NO_ORDER":
        shown = nested_text(bytes(text[fault.at : fault.at + 4 * _SHOWN]))
        kind, inner = ("an object", "NAME") if shown.startswith("{") else ("an array", "0")
        what = f"{name} is {kind}, {shown}, which has no order"
        return InputError(what, where=where, way_out=f"name a value within it, as {key.name}.{inner}")
    shown = value_text(text, fault.value)
    if fault.name == "LONG_EXPONENT":
        what = f"{name} is {shown}, whose exponent has more than 18 digits"
        return InputError(what, where=where, way_out="write it with a shorter one")
    way_out = f"mend it, or {_as_versions(key)}"
    return InputError(f"{name} is {shown}, which is not a number", where=where, way_out=way_out)
