"""A job file as it is written: its tables, and the line of every table and key. TOML, or JSON lines."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

_DEEPEST = 16
_TOO_DEEP = "its values lie too deep in each other"
_BAD_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
_STRING_OR_COMMENT = re.compile(
    r"""#[^\n]*|"{3}(?:\\.|[^\\])*?"{3,5}|'{3}.*?'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*'""", re.DOTALL
)
_NAME = r""""[^"]*"|'[^']*'|[\w-]+"""
_NAMES = rf"((?:{_NAME})(?:\s*\.\s*(?:{_NAME}))*)"
_HEADER_OR_KEY = re.compile(rf"\s*(?:(\[\[?)\s*{_NAMES}\s*\]\]?\s*(?:#.*)?$|{_NAMES}\s*=)")

KeyPath = tuple[str | int, ...]
"""Where a table or key is: ("job", 2, "name") is the name of the third [[job]]."""


class FormatError(ValueError):
    """Text that is not what it should be. line: where, counted from 1."""

    def __init__(self, what: str, line: int) -> None:
        super().__init__(what)
        self.line = line


@dataclass(frozen=True)
class Mistake:
    """Something wrong with a job file: the line, counted from 1, what is wrong, and the way out."""

    line: int
    what: str
    way_out: str = ""


@dataclass(frozen=True)
class Entry:
    """The value of a key, and the key's line."""

    value: Any
    line: int


@dataclass(frozen=True)
class Table:
    """A job, or the defaults, by key. line: where it begins."""

    line: int = 1
    entries: dict[str, Entry] = field(default_factory=dict)


@dataclass
class Document:
    """The tables of a job file, and what is wrong with how it is written."""

    defaults: Table = field(default_factory=Table)
    jobs: list[Table] = field(default_factory=list)
    mistakes: list[Mistake] = field(default_factory=list)


def read_document(data: bytes) -> Document:
    """Read a job file: JSON lines if it begins with a brace, which TOML never does."""
    text = data.removeprefix(b"\xef\xbb\xbf")
    found = _json_lines(text) if text.lstrip()[:1] == b"{" else _toml(text)
    if not found.jobs and not found.mistakes:
        found.mistakes = [Mistake(1, "it holds no job", "write one under [[job]], or as a JSON object on a line")]
    return found


def parse_toml(data: bytes) -> tuple[dict[str, Any], dict[KeyPath, int]]:
    """The values of a TOML file, and the lines of its tables and keys. Raises FormatError."""
    try:
        text = data.decode()
        values = tomllib.loads(text)
        _refuse_deep(values)
    except UnicodeDecodeError as error:
        raise FormatError("is not UTF-8", data.count(b"\n", 0, error.start) + 1) from None
    except RecursionError:
        raise FormatError(_TOO_DEEP, 1) from None
    except ValueError as error:  # TOMLDecodeError, or an integer of too many digits
        what = str(error)
        place = _BAD_PLACE.search(what)
        line = int(place[1]) if place and place[1] else text.rstrip().count("\n") + 1
        what = what[: place.start()] if place else what
        raise FormatError(f"is no TOML: {what[:1].lower()}{what[1:]}", line) from None
    return values, _lines(text)


def _lines(text: str) -> dict[KeyPath, int]:
    """The lines of the tables and keys of `text`, which is TOML. Inline tables keep theirs to themselves."""
    lines: dict[KeyPath, int] = {}
    tables: Counter[str] = Counter()
    table: KeyPath = ()
    # Nothing begins inside a string of several lines.
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


def _toml(data: bytes) -> Document:
    found = Document()
    try:
        values, lines = parse_toml(data)
    except FormatError as error:
        found.mistakes.append(Mistake(error.line, str(error), "write TOML, or a JSON object a line"))
        return found
    for name, value in values.items():
        place: KeyPath = (name,)
        line = lines.get(place, 1)
        if name == "defaults" and isinstance(value, dict):
            found.defaults = _table(value, place, lines)
        elif name == "job" and isinstance(value, list) and all(isinstance(job, dict) for job in value):
            found.jobs = [_table(job, (name, number), lines) for number, job in enumerate(value)]
        else:
            found.mistakes.append(Mistake(line, f"{name} is no table of a job file", "write [defaults] or [[job]]"))
    return found


def _table(values: dict[str, Any], path: KeyPath, lines: dict[KeyPath, int]) -> Table:
    line = lines.get(path) or lines.get(path[:1], 1)
    return Table(line, {key: Entry(value, lines.get((*path, key), line)) for key, value in values.items()})


def _json_lines(data: bytes) -> Document:
    found = Document()
    for number, line in enumerate(data.split(b"\n"), 1):
        told = ""
        try:
            values = json.loads(line, object_pairs_hook=_without_twins) if line.strip() else None
            _refuse_deep(values)
        except RecursionError:
            told = _TOO_DEEP
        except ValueError as error:
            told = f"is no JSON: {getattr(error, 'msg', error)}"
        if told or not isinstance(values, dict | None):
            told = told or "is no JSON object"
            found.mistakes.append(Mistake(number, told, "write one object of plain values a line"))
        elif values is None:
            continue
        elif values.keys() != {"defaults"}:
            found.jobs.append(_table(values, (), {(): number}))
        elif found.defaults.entries or not isinstance(values["defaults"], dict):
            found.mistakes.append(Mistake(number, "defaults are no object, or given twice", "give one object of them"))
        else:
            found.defaults = _table(values["defaults"], (), {(): number})
    return found


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    for name, times in Counter(name for name, _ in pairs).items():
        if times > 1:
            raise ValueError(f"{name!r} is given twice")
    return dict(pairs)


def _refuse_deep(value: Any, most: int = _DEEPEST) -> None:
    """Raise RecursionError for lists and tables that lie so deep in each other that showing them may fail."""
    if most == 0:
        raise RecursionError
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _refuse_deep(inner, most - 1)
