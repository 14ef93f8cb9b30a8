"""Reads kernels/cpu/entries.h, which keeps to a few forms of C, and makes types of ctypes from it as they are needed.

A run needs a tenth of the declarations, and reading all of them takes as long as merging 20 MB.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from typing import Any

from gpumerge_cli.patterns import pattern

_LINES_OF_C = ("}", 'extern "C" {')
"""Lines, but for the preprocessor's, that declare nothing."""
_VALUE = pattern(r"\s*(\w+) = (\d+)\s*", re.ASCII)
_STRUCTURE = pattern(r"(\w+) \{(.*)\}", re.ASCII | re.DOTALL)
_VARIABLE = pattern(r"\s*(\w+)(?:\s+|\s*(\*[\s*]*))(\w+)\s*", re.ASCII)
_FUNCTION = pattern(r"(\w+[\s*]+\w+)\((.*)\)", re.ASCII | re.DOTALL)
_POINTER_TO_FUNCTION = pattern(r"int64_t \(\*(\w+)\)\((.*)\)", re.ASCII | re.DOTALL)


class Declarations:
    """The declarations of a header. Raises ValueError for a text that does not consist of statements.

    One thread at a time may ask: two types of one structure do not go together.
    """

    def __init__(self, text: str) -> None:
        self.constants: dict[str, int] = {}
        """The values of all enumerations by their names."""
        self.structures: dict[str, type[ctypes.Structure]] = {}
        """Those that were asked for, by name."""
        self.functions: dict[str, tuple[Any, list[Any]]] = {}
        """The result and the argument types of those that were asked for, by name."""
        self._structures: dict[str, str] = {}
        self._functions: dict[str, str] = {}
        for statement in _statements(_plain(text)):
            kind, _, rest = statement.partition(" ")
            if kind == "enum":
                self._enumerate(rest)
            elif kind == "struct" and rest.endswith("}"):
                self._structures[rest.partition(" ")[0]] = rest
            else:
                self._functions[statement.partition("(")[0].replace("*", " ").rpartition(" ")[2]] = statement

    @property
    def names(self) -> list[str]:
        """The names of all declarations."""
        return [*self.constants, *self._structures, *self._functions]

    def structure(self, name: str) -> type[ctypes.Structure] | None:
        """The structure of that name; None if there is none. Raises ValueError for one of an unknown form."""
        if name in self._structures and name not in self.structures:
            text = _without_qualifiers(self._structures[name])
            body = _matched(_STRUCTURE, text, text)[2]
            fields = [one for line in _statements(body) for one in self._fields(line)]
            self.structures[name] = type(name, (ctypes.Structure,), {"_fields_": fields})
        return self.structures.get(name)

    def function(self, name: str) -> tuple[Any, list[Any]] | None:
        """The result and the argument types of the function of that name; else as `structure`."""
        if name in self._functions and name not in self.functions:
            text = _without_qualifiers(self._functions[name])
            named, arguments = _matched(_FUNCTION, text, text).groups()
            self.functions[name] = (_result(named), self._arguments(arguments))
        return self.functions.get(name)

    def _enumerate(self, text: str) -> None:
        name, brace, items = text.partition("{")
        if not brace or not items.endswith("}"):
            raise ValueError(f"not a declaration: {text!r}")
        for item in items[:-1].split(","):
            name, number = _matched(_VALUE, item, text).groups()
            self.constants[name] = int(number)

    def _fields(self, text: str) -> list[tuple[str, Any]]:
        if match := _POINTER_TO_FUNCTION.fullmatch(text):
            return [(match[1], ctypes.CFUNCTYPE(ctypes.c_int64, *self._arguments(match[2])))]
        first, *others = text.split(",")
        base = _matched(_VARIABLE, first, text)[1]
        # A star belongs to the name behind it only.
        return [self._variable(one) for one in (first, *(f"{base} {other.strip()}" for other in others))]

    def _arguments(self, text: str) -> list[Any]:
        return [] if text == "void" else [self._variable(one)[1] for one in text.split(",")]

    def _variable(self, text: str) -> tuple[str, Any]:
        base, stars, name = _matched(_VARIABLE, text, text).groups("")
        if not stars:
            if base != "int64_t":
                raise ValueError(f"neither an int64_t nor a pointer: {text.strip()!r}")
            return name, ctypes.c_int64
        pointed = self.structure(base) if stars.strip() == "*" else None
        return name, ctypes.c_void_p if pointed is None else ctypes.POINTER(pointed)


def parse(text: str) -> Declarations:
    """All declarations in `text`. Raises ValueError that shows the first one of an unknown form."""
    found = Declarations(text)
    for name in found.names:
        found.structure(name)
        found.function(name)
    return found


def _plain(text: str) -> str:
    """`text` without comments, the preprocessor's lines and those of C++."""
    first, *others = text.split("/*")
    code = first + "".join(other.partition("*/")[2] for other in others)
    return "\n".join(line for line in code.split("\n") if line[:1] != "#" and line not in _LINES_OF_C)


def _without_qualifiers(text: str) -> str:
    return re.sub(r"\b(?:const|struct)\b ?", "", text).replace("unsigned char", "byte")


def _statements(text: str) -> Iterator[str]:
    """The statements of `text`: each ends with a semicolon outside of braces."""
    start = 0
    while (end := text.find(";", start)) >= 0:
        opened = text.find("{", start, end)
        if opened >= 0:
            end = text.find(";", text.find("}", opened) + 1 or len(text))
            if end < 0:
                break
        yield text[start:end].strip()
        start = end + 1
    if text[start:].strip():
        raise ValueError(f"not a declaration: {text[start:].strip()!r}")


def _matched(form: re.Pattern[str], text: str, whole: str) -> re.Match[str]:
    match = form.fullmatch(text)
    if match is None:
        raise ValueError(f"not a declaration: {whole!r}")
    return match


def _result(text: str) -> Any:
    base, stars, _ = _matched(_VARIABLE, text, text).groups("")
    if stars:
        return ctypes.c_char_p if base == "char" else ctypes.c_void_p
    if base not in ("int64_t", "void"):
        raise ValueError(f"not a result: {text!r}")
    return ctypes.c_int64 if base == "int64_t" else None
