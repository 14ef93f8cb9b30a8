"""Reads a job file, TOML or JSON lines: its tables, with the line of every table and key."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from typing import Any

from gpumerge_cli.dataclass import dataclass, field
from gpumerge_cli.json_text import restored

_DEEPEST = 16
_TOO_DEEP = "its values lie too deep in each other"
_TOML_OR_JSON = "write TOML, or a JSON object a line"
_TOO_LONG, _SHORTER = "a number in it has thousands of digits", "write it with fewer"
_LONG_NUMBER = re.compile(rb"[0-9_]{4000,}")
"""A number of more digits than Python may read; how many that is, is a setting of Python."""
_BAD_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
_STRING_OR_COMMENT = re.compile(
    r"""#[^\n]*|"{3}(?:\\.|[^\\])*?"{3,5}|'{3}.*?'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'""", re.DOTALL
)
_NAME = r""""[^"]*"|'[^']*'|[\w-]+"""
_NAMES = rf"((?:{_NAME})(?:\s*\.\s*(?:{_NAME}))*)"
_HEADER_OR_KEY = re.compile(rf"\s*(?:(\[\[?)\s*{_NAMES}\s*\]\]?\s*(?:#.*)?$|{_NAMES}\s*=)")

KeyPath = tuple[str | int, ...]
"""The place of a table or key: ("job", 2, "name") is the name of the third [[job]]."""


@dataclass(eq=True, unsafe_hash=True)
class Mistake(Exception):  # noqa: N818 - mostly collected, seldom raised
    """A mistake in a file: its line, counted from 1, what is wrong, and the way out."""

    line: int
    what: str
    way_out: str = ""


@dataclass(frozen=True)
class Entry:
    """The value of a key, and the key's line."""

    value: Any
    line: int


@dataclass(frozen=True)
class JobTable:
    """A job, or the defaults."""

    line: int = 1
    """Its first line."""
    entries: dict[str, Entry] = field(default_factory=dict)


@dataclass
class Document:
    """The tables of a job file, and its mistakes of form."""

    defaults: JobTable = field(default_factory=JobTable)
    jobs: list[JobTable] = field(default_factory=list)
    mistakes: list[Mistake] = field(default_factory=list)


def read_document(data: bytes) -> Document:
    """Read a job file. One that begins with a brace is JSON lines, since TOML never begins so."""
    text = data.removeprefix(b"\xef\xbb\xbf")
    found = Document()
    try:
        values, lines = _json_lines(text, found.mistakes) if text.lstrip()[:1] == b"{" else parse_toml(text)
        values = restored(values)
    except Mistake as mistake:
        return Document(mistakes=[mistake])
    for name, value in values.items():
        place: KeyPath = (name,)
        if name == "defaults" and isinstance(value, dict):
            found.defaults = _table(value, place, lines)
        elif name == "job" and isinstance(value, list) and all(isinstance(job, dict) for job in value):
            found.jobs = [_table(job, (name, number), lines) for number, job in enumerate(value)]
        else:
            message = f"{name} is not a table of a job file"
            found.mistakes.append(Mistake(lines.get(place, 1), message, "write [defaults] or [[job]]"))
    if not found.jobs and not found.mistakes:
        found.mistakes = [Mistake(1, "it holds no job", "write one under [[job]], or as a JSON object on a line")]
    return found


def parse_toml(data: bytes) -> tuple[dict[str, Any], dict[KeyPath, int]]:
    """The values of a TOML file, and the lines of its tables and keys. Raises Mistake."""
    try:
        text = data.decode()
        values = tomllib.loads(text)
        _refuse_deep(values)
    except UnicodeDecodeError as error:
        raise Mistake(data.count(b"\n", 0, error.start) + 1, "is not UTF-8", _TOML_OR_JSON) from None
    except RecursionError:
        raise Mistake(1, _TOO_DEEP, _TOML_OR_JSON) from None
    except ValueError as error:  # TOMLDecodeError, or an integer of too many digits
        if long := _LONG_NUMBER.search(data):
            raise Mistake(data.count(b"\n", 0, long.start()) + 1, _TOO_LONG, _SHORTER) from None
        what = str(error)
        place = _BAD_PLACE.search(what)
        line = int(place[1]) if place and place[1] else text.rstrip().count("\n") + 1
        what = what[: place.start()] if place else what
        raise Mistake(line, f"is not TOML: {what[:1].lower()}{what[1:]}", _TOML_OR_JSON) from None
    return values, _lines(text)


def _lines(text: str) -> dict[KeyPath, int]:
    """The lines of the tables and keys of a TOML text. The keys of inline tables are not among them."""
    lines: dict[KeyPath, int] = {}
    tables: Counter[str] = Counter()
    table: KeyPath = ()
    # Lines inside a string are neither headers nor keys, so strings of several lines become empty ones.
    plain = _STRING_OR_COMMENT.sub(lambda found: "\n" * found[0].count("\n") or found[0], text)
    for number, line in enumerate(plain.split("\n"), 1):
        found = _HEADER_OR_KEY.match(line)
        if found is None:
            continue
        first, *others = (name.strip("\"'") for name in re.findall(_NAME, found[2] or found[3]))
        path: KeyPath = (*table, first, *others)
        if found[1]:
            tables[first] += found[1] == "[[" and not others
            table = path = (first, tables[first] - 1, *others) if tables[first] else (first, *others)
        for length in range(1, len(path) + 1):
            lines.setdefault(path[:length], number)
    return lines


def _table(values: dict[str, Any], path: KeyPath, lines: dict[KeyPath, int]) -> JobTable:
    line = lines.get(path) or lines.get(path[:1], 1)
    return JobTable(line, {key: Entry(value, lines.get((*path, key), line)) for key, value in values.items()})


def _json_lines(data: bytes, mistakes: list[Mistake]) -> tuple[dict[str, Any], dict[KeyPath, int]]:
    """The values and lines of JSON lines, as if they were one TOML file. Adds the mistakes of all lines."""
    values: dict[str, Any] = {"job": []}
    lines: dict[KeyPath, int] = {}
    for number, line in enumerate(data.split(b"\n"), 1):
        try:
            table = _json_object(line, number) if line.strip() else None
        except Mistake as mistake:
            mistakes.append(mistake)
            continue
        if table is None:
            continue
        if table.keys() != {"defaults"}:
            lines["job", len(values["job"])] = number
            values["job"].append(table)
        elif "defaults" in values or not isinstance(table["defaults"], dict):
            mistakes.append(Mistake(number, "defaults are not an object, or are given twice", "give one object"))
        else:
            lines["defaults",] = number
            values |= table
    return values, lines


def _json_object(line: bytes, number: int) -> dict[str, Any]:
    way_out = "write one object of plain values a line"
    try:
        values = json.loads(line, object_pairs_hook=_without_duplicates)
        _refuse_deep(values)
    except RecursionError:
        raise Mistake(number, _TOO_DEEP, way_out) from None
    except ValueError as error:
        if _LONG_NUMBER.search(line):
            raise Mistake(number, _TOO_LONG, _SHORTER) from None
        raise Mistake(number, f"is not JSON: {getattr(error, 'msg', error)}", way_out) from None
    if not isinstance(values, dict):
        raise Mistake(number, "is not a JSON object", way_out)
    return values


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    for name, times in Counter(name for name, _ in pairs).items():
        if times > 1:
            raise ValueError(f"{name!r} is given twice")
    return dict(pairs)


def _refuse_deep(value: Any, most: int = _DEEPEST) -> None:
    """Raise RecursionError for lists and tables that are nested so deeply that printing them may fail."""
    if most == 0:
        raise RecursionError
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _refuse_deep(inner, most - 1)
