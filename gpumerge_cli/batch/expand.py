"""Replaces ${VARIABLES}, {fields} and globs of a job file."""

from __future__ import annotations

import fnmatch
import glob
import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from string import Formatter

from gpumerge_cli.errors import UsageError
from gpumerge_cli.urls import is_url, shown

JOB_FILE = "the job file"
"""The description in `taken` of the file that the batch reads and never replaces."""
_VARIABLE = re.compile(r"\$(\$?)\{([^}]*)\}")


def with_variables(text: str, environ: Mapping[str, str]) -> str:
    """`text` with every ${NAME} replaced by the variable's value, and $${NAME} by ${NAME}. Raises UsageError."""
    try:
        return _VARIABLE.sub(lambda found: found[0][1:] if found[1] else environ[found[2]], text)
    except KeyError as error:
        what = f"${{{error.args[0]}}}: the environment has no such variable"
        raise UsageError(what, way_out="set it, or write $${...} for the text") from None


def variables_in(text: str) -> list[str]:
    """The names of the variables that `with_variables` replaces."""
    return [found[2] for found in _VARIABLE.finditer(text) if not found[1]]


def fields_of(job: str, first_input: str | None) -> dict[str, str]:
    """The values of fields. {job} is the job's name. For an input in/a.txt, {name} is a.txt, {stem} a, {suffix} .txt
    and {dir} in; without an input there is {job} alone.
    """
    if first_input is None:
        return {"job": job}
    folder, name = os.path.split(shown(first_input))
    stem, suffix = os.path.splitext(name)
    return {"job": job, "name": name, "stem": stem, "suffix": suffix, "dir": folder or "."}


def with_fields(text: str, fields: Mapping[str, str]) -> str:
    """`text` with every {field} replaced; {{ and }} become braces.

    Raises UsageError, also for a job's name that would lead out of the folder that the rest of `text` names.
    """
    try:
        parts = list(Formatter().parse(text))
    except ValueError:
        raise UsageError(f"{text!r} has a lone brace", way_out="write {{ or }} for a brace") from None
    for _, name, form, conversion in parts:
        if name is not None and (name not in fields or form or conversion):
            known = ", ".join(f"{{{field}}}" for field in fields)
            way_out = "add parts = N" if name == "part" else f"use {known}, or {{{{ for a brace"
            raise UsageError(f"{{{name}}} is not a field here", way_out=way_out)
    if any(name == "job" for _, name, _, _ in parts) and not _stays_below(fields["job"]):
        raise UsageError(
            f"the job's name {fields['job']!r} leads out of a folder, so {{job}} cannot stand for it",
            way_out="rename the job: no '..', no '.' between slashes, no leading slash, no URL",
        )
    return text.format_map(fields)


def _stays_below(name: str) -> bool:
    """Whether a path that contains `name` stays in its folder, whatever precedes `name`.

    A "." is refused, too: after another dot it leads up.
    """
    return not is_url(name) and not name.startswith("/") and not {".", ".."} & {*name.split("/")}


class Folder:
    """The folder that the names in a job file start from.

    base: its path, "" for the current one. taken: by their real paths, descriptions of files that no job may write.
    """

    def __init__(self, base: str = "", taken: Mapping[str, str] | None = None) -> None:
        self.base = base
        self.taken = dict(taken or {})
        self._replaced = dict(self.taken)
        self.hidden = set(self.taken)
        """Real paths that no glob matches: logs and reports, which a second run would find."""
        self.real = cache(self._real)

    def path(self, name: str) -> str:
        """The path that `name` is opened by; never "-", which would be a standard stream."""
        if is_url(name):
            return name
        return os.path.join(self.base, name) if self.base or name != "-" else "./-"

    def _real(self, name: str) -> str:
        if is_url(name):
            return name
        try:
            return os.path.realpath(self.path(name))
        except (OSError, ValueError):
            return name

    def place(self, name: str) -> str:
        """`name` in the real path of its folder, however the folder is spelt."""
        if is_url(name):
            return name
        folder, last = os.path.split(name)
        return os.path.join(self.real(folder), last)

    def refuse_replaced(self, name: str) -> None:
        """Raise UsageError for a file that the batch replaces before a job could read it."""
        what = self._replaced.get(self.real(name), JOB_FILE)
        if what != JOB_FILE:
            raise UsageError(f"{self.path(name)} would be replaced: it is {what}", way_out="name another one")

    def is_glob(self, name: str) -> bool:
        """Whether `name` is a glob, and not the name of an existing file. A URL is never one."""
        return not is_url(name) and glob.has_magic(name) and not os.path.lexists(self.path(name))

    def matches(self, pattern: str, to_come: Mapping[str, str]) -> list[str]:
        """The names that match a glob, in the order of their bytes.

        to_come: normalized names of files that jobs will write, by place.
        """
        there = sorted(glob.glob(pattern, root_dir=self.base or None, recursive=True), reverse=True)
        found = {
            self.place(name): name
            for name in there
            if os.path.lexists(self.path(name))  # for glob, "a/**" matches "a/" even without such a folder
            and not os.path.isdir(self.path(name))
            and self.real(name) not in self.hidden
        }
        fixed = os.path.dirname(re.split("[*?[]", pattern, maxsplit=1)[0])
        start = os.path.join(self.real(fixed), "")
        whole, below = (os.path.normpath(part).split("/") for part in (pattern, pattern[len(fixed) :].lstrip("/")))
        for place, name in to_come.items():
            if place.startswith(start) and _is_like(place[len(start) :].split("/"), below):
                # It is spelt as in the pattern, so that an existing file gets the same name.
                found.setdefault(place, os.path.join(fixed, place[len(start) :]))
            elif _is_like(name.split("/"), whole):
                found.setdefault(place, name)
        return sorted(found.values(), key=lambda name: os.path.normpath(name).encode("utf-8", "surrogatepass"))


def _is_like(names: Sequence[str], patterns: Sequence[str]) -> bool:
    """Whether the parts of a path match those of a glob, by glob.glob's rules: a part that begins with a dot matches
    only a pattern that begins with a dot.
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
