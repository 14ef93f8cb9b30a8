"""Reads kernels/cpu/entries.h, which keeps to a few forms of C, and makes types of ctypes from it."""

from __future__ import annotations

import ctypes
import re
from typing import Any

from gpumerge_cli.dataclass import dataclass, field

_SKIPPED = re.compile(r"/\*.*?\*/|^#[^\n]*|^extern \"C\" \{|^\}$", re.DOTALL | re.MULTILINE)
_ENUMERATION = re.compile(r"enum \w+ \{(.*)\}", re.ASCII | re.DOTALL)
_VALUE = re.compile(r"\s*(\w+) = (\d+)\s*", re.ASCII)
# The patterns below see text without "const" and "struct", where an unsigned char is a byte.
_UNTOLD = re.compile(r"\b(?:const|struct)\b ?")
_STRUCTURE = re.compile(r"(\w+) \{(.*)\}", re.ASCII | re.DOTALL)
_VARIABLE = re.compile(r"\s*(\w+)(?:\s+|\s*(\*[\s*]*))(\w+)\s*", re.ASCII)
_FUNCTION = re.compile(r"(\w+[\s*]+\w+)\((.*)\)", re.ASCII | re.DOTALL)
_POINTER_TO_FUNCTION = re.compile(r"int64_t \(\*(\w+)\)\((.*)\)", re.ASCII | re.DOTALL)


@dataclass(frozen=True)
class Declarations:
    """The declarations of a header by name: constants, structures, and the result and argument types of functions."""

    constants: dict[str, int] = field(default_factory=dict)
    structures: dict[str, type[ctypes.Structure]] = field(default_factory=dict)
    functions: dict[str, tuple[Any, list[Any]]] = field(default_factory=dict)


def parse(text: str) -> Declarations:
    """The declarations in `text`. Raises ValueError that shows the first one of an unknown form."""
    found = Declarations()
    plain = _UNTOLD.sub("", _SKIPPED.sub("", text)).replace("unsigned char", "byte")
    for statement in _statements(plain):
        if match := _ENUMERATION.fullmatch(statement):
            for item in match[1].split(","):
                name, number = _matched(_VALUE, item, statement).groups()
                found.constants[name] = int(number)
        elif match := _STRUCTURE.fullmatch(statement):
            fields = [one for line in _statements(match[2]) for one in _fields(line, found)]
            found.structures[match[1]] = type(match[1], (ctypes.Structure,), {"_fields_": fields})
        else:
            named, arguments = _matched(_FUNCTION, statement, statement).groups()
            result, name = _function(named)
            found.functions[name] = (result, _arguments(arguments, found))
    return found


def _statements(text: str) -> list[str]:
    """The statements of `text`: each ends with a semicolon outside of braces."""
    found, depth, start = [], 0, 0
    for match in re.finditer("[{};]", text):
        depth += {"{": 1, "}": -1, ";": 0}[match[0]]
        if match[0] == ";" and depth == 0:
            found.append(text[start : match.start()].strip())
            start = match.end()
    if depth or text[start:].strip():
        raise ValueError(f"not a declaration: {text[start:].strip()!r}")
    return found


def _matched(form: re.Pattern[str], text: str, whole: str) -> re.Match[str]:
    match = form.fullmatch(text)
    if match is None:
        raise ValueError(f"not a declaration: {whole!r}")
    return match


def _fields(text: str, known: Declarations) -> list[tuple[str, Any]]:
    if match := _POINTER_TO_FUNCTION.fullmatch(text):
        return [(match[1], ctypes.CFUNCTYPE(ctypes.c_int64, *_arguments(match[2], known)))]
    first, *others = text.split(",")
    base = _matched(_VARIABLE, first, text)[1]
    # A star belongs to the name behind it only.
    return [_variable(one, known) for one in (first, *(f"{base} {other.strip()}" for other in others))]


def _arguments(text: str, known: Declarations) -> list[Any]:
    return [] if text == "void" else [_variable(one, known)[1] for one in text.split(",")]


def _variable(text: str, known: Declarations) -> tuple[str, Any]:
    base, stars, name = _matched(_VARIABLE, text, text).groups("")
    if not stars:
        if base != "int64_t":
            raise ValueError(f"neither an int64_t nor a pointer: {text.strip()!r}")
        return name, ctypes.c_int64
    if stars.strip() == "*" and base in known.structures:
        return name, ctypes.POINTER(known.structures[base])
    return name, ctypes.c_void_p


def _function(text: str) -> tuple[Any, str]:
    base, stars, name = _matched(_VARIABLE, text, text).groups("")
    if stars:
        return ctypes.c_char_p if base == "char" else ctypes.c_void_p, name
    if base not in ("int64_t", "void"):
        raise ValueError(f"not a result: {text!r}")
    return ctypes.c_int64 if base == "int64_t" else None, name
