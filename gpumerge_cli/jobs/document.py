"""A job file as it is written: its tables, and the line of every table, key and element.

TOML or JSON lines, told apart by the first character: no TOML begins with a brace.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

TOO_DEEP = "its values lie too deep in each other"
_DEEPEST = 16
_TABLES = ("defaults", "job")
_BAD_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
_TOKEN = re.compile(
    r"""
    (?P<blank>[ \t\r]+|\#[^\n]*)
    |(?P<text>\"{3}(?:[^\\]|\\.)*?\"{3,5}|'{3}.*?'{3,5}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')
    |(?P<newline>\n)
    |(?P<mark>[][{}=.,])
    |(?P<word>[^][{}=.,\#"'\s]+)
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Mistake:
    """Something wrong with a job file: the line, counted from 1, what is wrong, and the way out."""

    line: int
    what: str
    way_out: str = ""


@dataclass(frozen=True)
class Entry:
    """The value of a key. line: of the key. lines: of the elements, where the value is a list, as far as known."""

    value: Any
    line: int
    lines: tuple[int, ...] = ()

    def line_of(self, element: int) -> int:
        """The line of an element of a list."""
        return self.lines[element] if element < len(self.lines) else self.line


@dataclass(frozen=True)
class Table:
    """A job, or the defaults, by key. line: where it begins."""

    line: int
    entries: dict[str, Entry] = field(default_factory=dict)


@dataclass(frozen=True)
class Document:
    """What a job file says, as far as it says it right."""

    defaults: Table
    jobs: tuple[Table, ...]
    mistakes: tuple[Mistake, ...] = ()


def read_document(data: bytes) -> Document:
    """The tables of a job file, and everything that is wrong with how it is written."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return _wrong(Mistake(data.count(b"\n", 0, error.start) + 1, "is not UTF-8", "save it as UTF-8"))
    found = _json_lines(text) if text.lstrip()[:1] == "{" else _toml(text)
    if not found.jobs and not found.mistakes:
        return _wrong(Mistake(1, "it holds no job", "write one under [[job]], or as a JSON object on a line"))
    return found


def too_deep(value: Any) -> bool:
    """Whether lists and tables lie so deep in each other that showing them, or working on them, may fail."""
    level = [value]
    for _ in range(_DEEPEST):
        inner = [each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list)]
        level = [each for part in inner for each in part]
    return bool(level)


def did_you_mean(word: str, known: list[str]) -> str:
    """The way out for a word that is none of `known`."""
    close = get_close_matches(word, known, 1)
    return f"did you mean {close[0]}?" if close else f"use {', '.join(known)}"


def _wrong(mistake: Mistake) -> Document:
    return Document(Table(1), (), (mistake,))


def _json_lines(text: str) -> Document:
    defaults: Table | None = None
    jobs, mistakes = [], []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line, object_pairs_hook=_without_twins, parse_constant=_no_constant)
            if too_deep(found):
                raise RecursionError
        except RecursionError:
            mistakes.append(Mistake(number, TOO_DEEP, "a job is an object of plain values"))
            continue
        except ValueError as error:
            told = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            mistakes.append(Mistake(number, f"is no JSON: {told}", "write one object a line"))
            continue
        if not isinstance(found, dict):
            mistakes.append(Mistake(number, "is no JSON object", "write one job a line, in braces"))
        elif set(found) == {"defaults"} and isinstance(found["defaults"], dict):
            if defaults is not None:
                mistakes.append(Mistake(number, "defaults are given twice", f"those of line {defaults.line} count"))
            defaults = defaults or _on_line(number, found["defaults"])
        else:
            jobs.append(_on_line(number, found))
    return Document(defaults or Table(1), tuple(jobs), tuple(mistakes))


def _on_line(line: int, values: dict[str, Any]) -> Table:
    return Table(line, {key: Entry(value, line) for key, value in values.items()})


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} is given twice")
    return values


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _toml(text: str) -> Document:
    try:
        tables = tomllib.loads(text)
        if too_deep(tables):
            raise RecursionError
    except ValueError as error:  # TOMLDecodeError, and that of an integer of too many digits
        told = str(error)
        place = _BAD_PLACE.search(told)
        line = int(place[1]) if place and place[1] else text.rstrip().count("\n") + 1
        what = told[: place.start()] if place else told
        return _wrong(Mistake(line, f"is no TOML: {what[:1].lower()}{what[1:]}", "write TOML, or a JSON object a line"))
    except RecursionError:
        return _wrong(Mistake(1, TOO_DEEP, "a job is a table of plain values"))
    places = _places(text)
    mistakes = [
        Mistake(places.get((name,), _Place(1)).line, f"there is no [{name}]", did_you_mean(name, list(_TABLES)))
        for name in tables
        if name not in _TABLES
    ]
    defaults, jobs = tables.get("defaults", {}), tables.get("job", [])
    if not isinstance(defaults, dict):
        mistakes.append(Mistake(places[("defaults",)].line, "defaults is no table", "write [defaults]"))
        defaults = {}
    if not isinstance(jobs, list) or not all(isinstance(job, dict) for job in jobs):
        mistakes.append(Mistake(places.get(("job",), _Place(1)).line, "job is no array of tables", "write [[job]]"))
        jobs = []
    return Document(
        _table(defaults, ("defaults",), places),
        tuple(_table(job, ("job", number), places) for number, job in enumerate(jobs)),
        tuple(mistakes),
    )


_Path = tuple[str | int, ...]


@dataclass
class _Place:
    """Where a table or key begins, and the texts among its value's elements."""

    line: int
    elements: list[int] = field(default_factory=list)


def _table(values: dict[str, Any], path: _Path, places: dict[_Path, _Place]) -> Table:
    own = places.get(path) or places.get(path[:1]) or _Place(1)
    entries = {}
    for key, value in values.items():
        place = places.get((*path, key), own)
        lines = place.elements if isinstance(value, list) and len(place.elements) == len(value) else ()
        entries[key] = Entry(value, place.line, tuple(lines))
    return Table(own.line, entries)


def _places(text: str) -> dict[_Path, _Place]:
    """Where tables and keys of `text`, which is TOML, begin: ("job", 2) is the third job, ("job", 2, "name") its name.

    Only the two upper levels are told; what is deeper has the place of what it is in.
    """
    places: dict[_Path, _Place] = {}
    header: _Path = ()
    jobs = 0
    for line, words, marks, rest in _statements(text):
        if marks == "[[" and words[:1] == ["job"] and len(words) == 1:
            header = ("job", jobs)
            jobs += 1
            places.setdefault(header, _Place(line))
            places.setdefault(("job",), _Place(line))
            continue
        if marks:
            # [job.x] is key x of the last job; [defaults] and what is none of ours are what they are called.
            header = ("job", jobs - 1, *words[1:]) if words[0] == "job" and jobs else tuple(words)
            places.setdefault(header[:3], _Place(line))
            places.setdefault(header[:1], _Place(line))
            continue
        path = (*header, *words)[: 3 if header[:1] == ("job",) else 2]
        places.setdefault(path[:1], _Place(line))
        place = places.setdefault(path, _Place(line))
        if path == ("job",):
            for number, at in enumerate(at for at, depth, kind in rest if kind == "{" and depth == 1):
                places[("job", number)] = _Place(at)
        else:
            place.elements += [at for at, depth, kind in rest if kind == "text" and depth == 1]
    return places


def _statements(text: str) -> Iterator[tuple[int, list[str], str, list[tuple[int, int, str]]]]:
    """Of every header and every key with its value: its line, its name's words, "[" or "[[" of a header, and of the
    value's texts and braces (line, how deep in brackets, "text" or the brace).
    """
    line, depth = 1, 0
    begun, marks, behind = 0, "", False
    words: list[str] = []
    rest: list[tuple[int, int, str]] = []
    for found in _TOKEN.finditer(text + "\n"):
        kind, token = found.lastgroup, found[0]
        if kind == "newline" and depth == 0:
            if begun:
                yield begun, words, marks, rest
            begun, words, marks, behind, rest = 0, [], "", False, []
        elif kind not in ("blank", "newline"):
            begun = begun or line
            if behind:
                if kind == "text" or token == "{":
                    rest.append((line, depth, "text" if kind == "text" else token))
                depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token, 0)
            elif kind in ("word", "text"):
                words.append(_unquoted(token) if kind == "text" else token)
            elif token == "=":
                behind = True
            elif token == "[":
                marks += token
        line += token.count("\n")


def _unquoted(key: str) -> str:
    (name,) = tomllib.loads(f"{key} = 1")
    return name
