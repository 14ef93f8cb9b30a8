"""entries.h as Python reads it."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from gpumerge_cli.native.declarations import parse
from gpumerge_cli.native.library import entries_file, library

HEADER = """
/* A comment; with a semicolon { and braces. */
#pragma once
#ifdef __cplusplus
extern "C" {
#endif
enum Colour { RED = 0, GREEN = 7 };
struct Point {
    int64_t x, y;
    const unsigned char *bytes, *others;
    int64_t (*read)(int64_t context, unsigned char* out);
    struct Gate* gate;
};
struct Line {
    const struct Point* ends;
};
const char* name(void);
unsigned char* room(struct Gate* gate, int64_t nbytes);
void close_it(struct Gate* gate);
int64_t move(const struct Line* line,
    const unsigned char* const* runs);
#ifdef __cplusplus
}
#endif
"""


def test_every_form_becomes_a_type() -> None:
    found = parse(HEADER)
    assert found.constants == {"RED": 0, "GREEN": 7}
    point, line = found.structures["Point"], found.structures["Line"]
    assert [(name, kind) for name, kind, *_ in point._fields_ if name != "read"] == [
        ("x", ctypes.c_int64), ("y", ctypes.c_int64), ("bytes", ctypes.c_void_p), ("others", ctypes.c_void_p),
        ("gate", ctypes.c_void_p),
    ]  # fmt: skip
    read = dict(point._fields_)["read"]  # type: ignore[arg-type]
    assert (read._restype_, read._argtypes_) == (ctypes.c_int64, (ctypes.c_int64, ctypes.c_void_p))
    assert line._fields_ == [("ends", ctypes.POINTER(point))]
    assert found.functions == {
        "name": (ctypes.c_char_p, []),
        "room": (ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_int64]),
        "close_it": (None, [ctypes.c_void_p]),
        "move": (ctypes.c_int64, [ctypes.POINTER(line), ctypes.c_void_p]),
    }


@pytest.mark.parametrize(
    "text",
    [
        "int64_t f(int32_t a);", "int64_t f(a);", "double f(void);", "struct S { int64_t a[3]; };", "int64_t f(void)",
        "struct S { int32_t a; };", "enum E { A, B };", "typedef int64_t Size;", "struct S { int64_t a; ", "int64_t f(",
    ],
)  # fmt: skip
def test_no_other_form_is_taken(text: str) -> None:
    with pytest.raises(ValueError, match=r"declaration|neither|not a result"):
        parse(text)


def test_every_declared_function_is_in_the_library() -> None:
    declared = parse(Path(entries_file()).read_text("utf-8"))
    assert len(declared.functions) > 20
    for name, (result, arguments) in declared.functions.items():
        function = getattr(library(), name)
        assert function.restype is result
        assert [kind.__name__ for kind in function.argtypes] == [kind.__name__ for kind in arguments]
