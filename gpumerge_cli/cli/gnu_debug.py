"""sort --debug: notes on keys that may not mean what they say, and lines with their keys underlined.

Both are those of GNU sort 9.1 in the C locale, letter for letter.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from gpumerge_cli.cli.keyspec import KeySpec
from gpumerge_cli.dataclass import replace
from gpumerge_cli.order.key_kinds import LETTERS
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import BLANKS, LineKey, LineOrder, separator_text

_NUMERIC = frozenset("ngh")
_POINT = "."
_TAB, _SHOWN_TAB, _SHOWN_END = b"\t", b">", b"\n"
_NO_WIDTH = bytes(code for code in range(128) if code != 9 and not 32 <= code <= 126)
_DECIMAL = re.compile(rb"-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)")
_WITH_UNIT = re.compile(_DECIMAL.pattern + rb"[KkMGTPEZY]?")
_GENERAL = re.compile(
    rb"""[ \t\n\v\f\r]*[+-]?(?:
        inf(?:inity)? | nan(?:\([0-9a-z_]*\))?
        | 0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p[+-]?[0-9]+)?
        | (?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_MONTH = re.compile(rb"jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec", re.IGNORECASE)
_MATCHED = {"numeric": _DECIMAL, "human": _WITH_UNIT, "general": _GENERAL, "month": _MONTH}


def debug_notes(
    letters: Collection[str], keys: Sequence[KeySpec], separator: bytes | None, *, stable: bool, locale: str
) -> list[str]:
    """The notes of GNU sort about a command line, a line each, without the program's name.

    letters: the global options. keys: as written; keys without options have the global ones; empty without -k.
    stable: lines with equal keys are not compared further. locale: the one by which text compares, "" for none.
    """
    by = f"'{locale}' sorting rules" if locale else "simple byte comparison"
    notes = [f"text ordering performed using {by}"]
    spans: set[str] = set()
    for number, key in enumerate(keys, start=1):
        notes += _notes_of_key(key, number, separator)
        if _NUMERIC & _options(key) and _spans_fields(key):
            spans |= _options(key)
    if not locale and (any(_NUMERIC & _options(key) for key in keys) or (not keys and _NUMERIC & set(letters))):
        notes += _notes_of_numbers(spans, separator)
    return notes + (_notes_of_global(set(letters), keys, stable=stable) if keys else [])


def _options(key: KeySpec) -> frozenset[str]:
    return key.start | key.end


def _spans_fields(key: KeySpec) -> bool:
    at = key.line_key
    return at.end_field is None or at.start_field < at.end_field


def _notes_of_key(key: KeySpec, number: int, separator: bytes | None) -> list[str]:
    notes, at = [], key.line_key
    if key.obsolete:
        old, new = f"+{at.start_field}", f"-k {at.start_field + 1}"
        if at.end_field is not None:
            old, new = f"{old} -{at.end_field + 1}", f"{new},{at.end_field + 1}"
        notes.append(f"obsolescent key '{old}' used; consider '{new}' instead")
    numeric = bool(_NUMERIC & _options(key))
    empty = at.end_field is not None and at.end_field < at.start_field
    if empty:
        notes.append(f"key {number} has zero width and will be ignored")
    in_first_field = at.end_field == 0 and at.end_char > 0  # where characters are counted from the line's start
    if not empty and separator is None and not in_first_field:
        counted_from_blanks = "b" not in key.start and (at.start_char > 0 or not (numeric or "M" in _options(key)))
        if counted_from_blanks or ("b" not in key.end and at.end_char > 0):
            notes.append(f"leading blanks are significant in key {number}; consider also specifying 'b'")
    if numeric and _spans_fields(key):
        notes.append(f"key {number} is numeric and spans multiple fields")
    return notes


def _notes_of_numbers(spans: set[str], separator: bytes | None) -> list[str]:
    """The notes about separators. spans: options of the numeric keys that span several fields."""
    byte = "" if separator is None else separator_text(separator)
    if spans and byte == _POINT:
        return [f"field separator '{byte}' is treated as a decimal point in numbers"]
    notes = []
    if spans and byte == "-":
        notes.append("field separator '-' is treated as a minus sign in numbers")
    if "g" in spans and byte == "+":
        notes.append("field separator '+' is treated as a plus sign in numbers")
    note = "" if byte == _POINT else "note "
    return [*notes, f"{note}numbers use '{_POINT}' as a decimal point in this locale"]


def _notes_of_global(letters: set[str], keys: Sequence[KeySpec], *, stable: bool) -> list[str]:
    """The notes about global options that no key has."""
    letters -= {"i"} if "d" in letters else set()
    unused = {letter for letter in letters if not any(_has(key, letter) for key in keys)}
    notes = []
    ignored = (unused if stable else unused - {"r"}).intersection(LETTERS)
    if ignored:
        shown = "".join(sorted(ignored, key=LETTERS.index))
        notes.append(f"options '-{shown}' are ignored" if len(shown) > 1 else f"option '-{shown}' is ignored")
    if "r" in unused and not stable:
        notes.append("option '-r' only applies to last-resort comparison")
    return notes


def _has(key: KeySpec, letter: str) -> bool:
    if letter == "b":
        return "b" in key.start and "b" in key.end
    return letter in _options(key) and not (letter == "i" and "d" in _options(key))


def underlined(order: LineOrder, unique: bool, lines: bytes) -> bytes:
    """Show lines, each with its terminator, as --debug does: tabs as ">", and below each line its keys underlined.

    unique: only the first of lines with equal keys is there, so keys alone were compared.
    """
    from gpumerge_cli.native.comparison import key_bounds

    end, lines_order = bytes([order.terminator]), Order.lines(order)
    from_start = [replace(key, start_field=0, start_char=0, skip_start=False) for key in order.keys]
    ends_order = Order.lines(replace(order, keys=tuple(from_start)))
    out = []
    for line in lines.split(end)[:-1]:
        out += [line.replace(_TAB, _SHOWN_TAB), _SHOWN_END]
        for number, key in enumerate(order.keys):
            bounds, (_, key_end) = key_bounds(lines_order, number, line), key_bounds(ends_order, number, line)
            out.append(_mark(line, *_compared(key, bounds, key_end, line)))
        if not order.keys or not (order.stable or unique):
            out.append(_mark(line, 0, len(line)))
    return b"".join(out)


def _compared(key: LineKey, bounds: tuple[int, int], end: int, line: bytes) -> tuple[int, int]:
    """First and last place of the bytes that the key compares: for numbers and months, the part that is read as one.

    bounds: of the key. end: its end, even where it lies ahead of its start.
    """
    start, stop = bounds
    pattern = _MATCHED.get(key.compare)
    if pattern is None:
        return start, stop
    # GNU sort does not pass over blanks behind the end of a key, unless that lies ahead of its start.
    start = next((at for at in range(start, len(line)) if at == end or line[at] not in BLANKS), len(line))
    found = pattern.match(line, start, max(start, stop))
    return start, start if found is None else found.end()


def _mark(line: bytes, start: int, stop: int) -> bytes:
    width = _width(line[start:stop])
    return b" " * _width(line[:start]) + (b"_" * width if width else b"^ no match for key") + b"\n"


def _width(text: bytes) -> int:
    """Columns of a terminal: one for each byte that is not a control character, and for a tab."""
    return len(text.translate(None, _NO_WIDTH))
