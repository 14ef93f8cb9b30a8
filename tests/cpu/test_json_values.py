"""Images of JSON's values by the library, against Python's json."""

from __future__ import annotations

import json
import random
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest

from gpumerge_cli.native.json_values import JsonImages, JsonKey, lines_of_items
from gpumerge_cli.order.key_kinds import TEXT_PADDING
from tests.json_documents import any_number, any_string, any_value, spelled

NULL = b"\xff"


def image(text: bytes, key: JsonKey = JsonKey(("k",), null_image=NULL)) -> bytes:  # noqa: B008 - frozen
    item, found = JsonImages([key]).read(b'{"k":' + text + b"}")
    assert found.fault is None, found.fault
    return item.split(b"\1")[0]


def fault(line: bytes) -> str:
    found = JsonImages([JsonKey(("k",), null_image=NULL)]).read(line)[1]
    return "" if found.fault is None else found.fault.name


def test_numbers_compare_exactly(seed: int) -> None:
    draw = random.Random(seed)
    texts = [any_number(draw) for _ in range(2000)]
    texts += ["0", "-0", "0.0", "0e5", "-0E-7", "1e400", "-1e400", "1e-400", "1000", "1e3", "1E+3", "10.00e2"]
    texts += ["12345678901234567890", "12345678901234567891", "1e78", "1e79", "1e-41", "1e-42", "-1e78", "-1e79"]
    ordered = sorted(texts, key=lambda text: image(text.encode()))
    values = [Decimal(text) for text in ordered]
    assert values == sorted(values)
    for one, other in pairwise(ordered):
        assert (image(one.encode()) == image(other.encode())) == (Decimal(one) == Decimal(other)), (one, other)


def utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def test_strings_compare_by_their_bytes(seed: int) -> None:
    draw = random.Random(seed)
    texts = [any_string(draw) for _ in range(2000)]
    spellings = {text: spelled(draw, text) for text in texts}
    images = {text: image(utf8(spellings[text])) for text in texts}
    assert sorted(texts, key=images.__getitem__) == sorted(texts, key=utf8)
    assert len({*images.values()}) == len({*texts})
    assert all(b"\0" not in one and b"\1" not in one for one in images.values())


def test_a_null_lies_on_either_side_of_all(seed: int) -> None:
    draw = random.Random(seed)
    values = [b"false", b"true", b'""', b'"\xf4\x8f\xbf\xbf"', b"-1e999999", b"1e999999", any_number(draw).encode()]
    for text in values:
        assert b"\3" < image(text) < NULL
    assert image(b"false") < image(b"true")


def test_paths_find_what_python_finds(seed: int) -> None:
    draw = random.Random(seed)
    names = ["a", "b", "0", "1", "é", "", "a.b", '"', "\\"]
    for _ in range(400):
        paths = list({tuple(draw.choices(names, k=draw.randint(1, 3))) for _ in range(draw.randint(1, 4))})
        value = any_value(draw, 4, names)
        text = spelled(draw, value)
        images = JsonImages([JsonKey(path, null_image=NULL) for path in paths])
        line = utf8(text)
        _, found = images.read(line)
        if found.fault is not None:
            assert found.fault.name == "NO_ORDER"
            assert isinstance(at_path(json.loads(text), paths[found.fault.key]), dict | list)
            continue
        for path, its in zip(paths, found.last, strict=True):
            expected = at_path(json.loads(text, parse_float=Decimal, parse_int=Decimal), path)
            raw = line[its.start : its.stop].decode("utf-8", "surrogatepass")
            assert (json.loads(raw, parse_float=Decimal, parse_int=Decimal) if raw else None) == expected


def at_path(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        if isinstance(value, dict):
            value = value.get(name)
        elif isinstance(value, list):
            value = value[int(name)] if name.isdecimal() and int(name) < len(value) else None
        else:
            return None
    return value


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (b"[1,2", "LINE_ENDS"),
        (b"{", "LINE_ENDS"),
        (b'{"a"', "LINE_ENDS"),
        (b'{"a":', "LINE_ENDS"),
        (b'{"a":1', "LINE_ENDS"),
        (b'{"a":1,', "LINE_ENDS"),
        (b'{"a":1,}', "NAME_EXPECTED"),
        (b"{a:1}", "NAME_EXPECTED"),
        (b'{"a" 1}', "COLON_EXPECTED"),
        (b"[1 2]", "COMMA_EXPECTED"),
        (b"[1,]", "VALUE_EXPECTED"),
        (b"[1}", "COMMA_EXPECTED"),
        (b"NaN", "VALUE_EXPECTED"),
        (b"[Infinity]", "VALUE_EXPECTED"),
        (b"nul", "VALUE_EXPECTED"),
        (b"1 2", "TEXT_BEHIND_VALUE"),
        (b"01", "TEXT_BEHIND_VALUE"),
        (b"{}}", "TEXT_BEHIND_VALUE"),
        (b'"a', "OPEN_STRING"),
        (b'"\t"', "CONTROL_IN_STRING"),
        (b'"\0"', "CONTROL_IN_STRING"),
        (b'"\\x"', "INVALID_ESCAPE"),
        (b'"\\u12"', "INVALID_ESCAPE"),
        (b'"\\', "INVALID_ESCAPE"),
        (b'"\xff"', "INVALID_UTF8"),
        (b'"\xc0\x80"', "INVALID_UTF8"),
        (b'"\xe2\x82', "INVALID_UTF8"),
        (b'"\xed\xa0\x80"', "INVALID_UTF8"),
        (b'"\xf4\x90\x80\x80"', "INVALID_UTF8"),
        (b"-", "INVALID_NUMBER"),
        (b"1.", "INVALID_NUMBER"),
        (b"1e", "INVALID_NUMBER"),
        (b"-a", "INVALID_NUMBER"),
        (b"[" * 1025, "TOO_DEEP"),
        (b"[" * 1024 + b"]" * 1024, ""),
        (b'{"k":{}}', "NO_ORDER"),
        (b'{"k":1e1000000000000000000}', "LONG_EXPONENT"),
        (b'{"k":0e1000000000000000000}', ""),
        (b'{"k":1e999999999999999999}', ""),
    ],
)
def test_faults(line: bytes, name: str) -> None:
    assert fault(line) == name


@pytest.mark.parametrize("cases", [600, pytest.param(20_000, marks=pytest.mark.thorough)])
def test_mutated_lines_are_read_or_refused_as_python_does(seed: int, cases: int) -> None:
    draw, pieces = random.Random(seed), [b"", b'"', b"\\", b"{", b"[", b"}", b",", b"\xff", b"1", b"e", b" "]
    images = JsonImages([JsonKey(("a", "b"), null_image=NULL), JsonKey(("c",), "numbers", NULL, (b"NA",))])
    for _ in range(cases):
        line = bytearray(utf8(spelled(draw, any_value(draw, 4, ["a", "b", "c"]))))
        for _ in range(draw.randint(1, 3)):
            at = draw.randrange(len(line) + 1)
            line[at : at + draw.randrange(3)] = draw.choice(pieces)
        line = line.replace(b"\n", b" ")
        found = images.read(bytes(line))[1]
        try:
            json.loads(line.decode(), parse_constant=lambda text: json.loads(""))
            valid = line.strip(b" \t\r") != b""
        except (ValueError, RecursionError):
            valid = False
        if line.strip(b" \t\r"):
            assert (found.fault is None or found.fault.key >= 0) == valid, bytes(line)


def test_lines_come_back(seed: int) -> None:
    draw = random.Random(seed)
    lines = [utf8(spelled(draw, any_value(draw, 3, ["a", "b"]))) for _ in range(300)]
    lines += [b" ", b"", b"\t\r", b'{"a":"' + b"\\u0001" * 3000 + b'"}']
    draw.shuffle(lines)
    text = b"".join(line + b"\n" for line in lines)
    keys = [JsonKey(("a",), "texts"), JsonKey(("b",), "tagged texts", b"z")]
    items, found = JsonImages(keys).items(text + bytes(TEXT_PADDING), len(text))
    if found.fault is not None:
        assert found.fault.name == "NO_ORDER"
        lines = lines[: found.fault.line]
    else:
        assert found.lines == len(lines)
    blanks = [(number, len(line) + 1) for number, line in enumerate(lines) if not line.strip()]
    assert list(found.blanks) == blanks
    made = b"".join(lines_of_items(piece, len(keys)) for piece in items)
    assert made == b"".join(line + b"\n" for line in lines if line.strip())
    lines_of_items(made, 1)  # any bytes
