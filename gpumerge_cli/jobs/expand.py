"""What stands for something else in a job file: ${VARIABLES}, {fields} and globs."""

from __future__ import annotations

import fnmatch
import glob
import os
import re
from collections.abc import Mapping, Sequence

from gpumerge_cli.errors import UsageError

_VARIABLE = re.compile(r"\$(\$?)\{([^}]*)\}")
_FIELD = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_MAGIC = re.compile("[*?[]")
FIELDS = ("job", "name", "stem", "suffix", "dir")
"""{job} is the job's name; the others are of its first input: in/a.txt has name a.txt, stem a, suffix .txt, dir in."""


def with_variables(text: str, environ: Mapping[str, str]) -> str:
    """`text` with every ${NAME} replaced by the environment's; $${NAME} stands for itself. Raises UsageError."""

    def value(found: re.Match[str]) -> str:
        escaped, name = found.groups()
        if escaped:
            return f"${{{name}}}"
        if name not in environ:
            raise UsageError(
                f"${{{name}}}: the environment has no such variable", way_out="set it, or write $${...} for the text"
            )
        return environ[name]

    return _VARIABLE.sub(value, text)


def fields_of(job: str, first_input: str | None) -> dict[str, str]:
    """The values of FIELDS, those of the input left out if there is none."""
    if first_input is None:
        return {"job": job}
    folder, name = os.path.split(first_input)
    stem, suffix = os.path.splitext(name)
    return {"job": job, "name": name, "stem": stem, "suffix": suffix, "dir": folder or "."}


def with_fields(text: str, fields: Mapping[str, str]) -> str:
    """`text` with every {field} replaced; {{ and }} stand for braces. Raises UsageError."""

    def value(found: re.Match[str]) -> str:
        token, name = found[0], found[1]
        if token in ("{{", "}}"):
            return token[0]
        if name is None:
            raise UsageError(f"{text!r} has a lone brace", way_out="write {{ or }} for a brace")
        if name not in fields:
            known = ", ".join(f"{{{field}}}" for field in fields)
            raise UsageError(f"{{{name}}} is no field here", way_out=f"use {known}, or {{{{ for a brace")
        return fields[name]

    return _FIELD.sub(value, text)


class Folder:
    """The files that globs of a job file may match: those that are there, and those that jobs will make.

    base: the folder that paths are relative to, "" for the current one. hidden: real paths of files that no glob
    matches: logs and reports, which are there the second time.
    """

    def __init__(self, base: str) -> None:
        self.base = base
        self.hidden: set[str] = set()
        self._reals: dict[str, str] = {}
        self._there: dict[str, list[str]] = {}

    def path(self, name: str) -> str:
        """`name` as it is opened: never "-", which would be a standard stream."""
        return os.path.join(self.base, name) if self.base or name != "-" else "./-"

    def real(self, name: str) -> str:
        """The real path of `name`."""
        if name not in self._reals:
            try:
                self._reals[name] = os.path.realpath(self.path(name))
            except (OSError, ValueError):
                self._reals[name] = name
        return self._reals[name]

    def is_glob(self, name: str) -> bool:
        """Whether `name` is a glob, and not the name of a file that is there."""
        return glob.has_magic(name) and not os.path.lexists(self.path(name))

    def matches(self, pattern: str, to_come: Sequence[str], own: str | None) -> list[str]:
        """The names that a glob stands for, in the order of their bytes.

        to_come: outputs of all jobs, normalized. own: that of the job itself, which is not matched.
        """
        if pattern not in self._there:
            found = glob.glob(pattern, root_dir=self.base or None, recursive=True)
            places = {name: self.path(name) for name in found}
            self._there[pattern] = [
                name
                for name, place in places.items()
                if os.path.lexists(place) and not os.path.isdir(place) and self.real(name) not in self.hidden
            ]
        # By place, so that a file which links lead to twice is there once.
        names = {self.place(name): name for name in sorted(self._there[pattern], key=_bytes, reverse=True)}
        fixed, below = _split(pattern)
        parts = os.path.normpath(below).split("/")
        start = os.path.join(os.path.realpath(self.path(fixed)), "")
        for name in to_come:
            place = self.place(name)
            if place.startswith(start) and _is_like(place[len(start) :].split("/"), parts):
                # As the pattern spells it, as once it is there.
                names.setdefault(place, os.path.join(fixed, place[len(start) :]))
            elif _is_like(name.split("/"), os.path.normpath(pattern).split("/")):
                names.setdefault(place, name)
        if own is not None:
            names.pop(self.place(own), None)
        return sorted(names.values(), key=lambda name: _bytes(os.path.normpath(name)))

    def place(self, name: str) -> str:
        """`name` in the real path of its folder: the same however the folder is spelt."""
        folder, last = os.path.split(name)
        return os.path.join(self.real(folder), last)


def _split(pattern: str) -> tuple[str, str]:
    """The folder that a glob begins with, and the rest of it."""
    folder = os.path.dirname(_MAGIC.split(pattern, maxsplit=1)[0])
    return folder, pattern[len(folder) :].lstrip("/")


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass")


def _is_like(names: Sequence[str], patterns: Sequence[str]) -> bool:
    """Whether the parts of a path match those of a glob as glob.glob has it: no part that begins with a dot does,
    unless the pattern's begins with one.
    """
    if not patterns or not names:
        return not patterns and not names
    pattern, name = patterns[0], names[0]
    hidden = name.startswith(".") and not pattern.startswith(".")
    if pattern == "**" and len(patterns) == 1:
        return not any(name.startswith(".") for name in names)
    if pattern == "**":
        return _is_like(names, patterns[1:]) or (not hidden and _is_like(names[1:], patterns))
    return not hidden and fnmatch.fnmatchcase(name, pattern) and _is_like(names[1:], patterns[1:])
