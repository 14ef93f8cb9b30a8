"""The types of JSON's values by the library, against Python's json."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from gpumerge_cli.native.json_types import JsonTypes, TooManyMembersError
from gpumerge_cli.order.key_kinds import TEXT_PADDING
from tests.json_documents import any_value, spelled

Path = tuple[str | None, ...]


def kinds_of(value: Any) -> Iterator[str]:
    """The kinds of a value, whose numbers are texts behind a mark."""
    if isinstance(value, bool) or value is None:
        yield "bool" if value is not None else "null"
    elif isinstance(value, list):
        yield "array"
    elif isinstance(value, Pairs):
        yield "object"
    elif not isinstance(value, Number):
        yield "string"
        if any("\ud800" <= one <= "\udfff" for one in value):
            yield "lone surrogate"
    elif set(value) & set(".eE"):
        yield "fraction"
    else:
        yield from kinds_of_integer(int(value))


def kinds_of_integer(value: int) -> Iterator[str]:
    if value < 0:
        yield "negative"
    if not -(2**63) <= value < 2**64:
        yield "huge integer"
    elif value >= 2**63:
        yield "large integer"
    else:
        yield "integer" if int(float(value)) == value else "other integer"


class Number(str):
    __slots__ = ()


class Pairs(tuple[tuple[str, Any], ...]):
    """The members of an object, those that stand twice, too."""

    __slots__ = ()


def walked(value: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    for kind in kinds_of(value):
        yield path, kind
    if isinstance(value, Pairs):
        for at, (name, one) in enumerate(value):
            if name in (other for other, _ in value[:at]):
                yield (*path, name), "member twice"
            yield from walked(one, (*path, name))
    if isinstance(value, list):
        for one in value:
            yield from walked(one, (*path, None))


def types_of(texts: list[bytes]) -> set[tuple[Path, str]]:
    types, found = JsonTypes(), []
    for text in texts:
        for event in types.add(text + bytes(TEXT_PADDING), len(text)):
            assert event.line == text[: event.start].count(b"\n")
            found.append((event.member, event.kind))
    paths: list[Path] = []
    for one in types.members:
        name = None if one.name is None else one.name.decode("utf-8", "surrogatepass")
        paths.append((*paths[one.parent], name) if one.parent >= 0 else ())
    assert len({*found}) == len(found), "the first of each kind alone"
    return {(paths[member], kind) for member, kind in found}


def test_all_kinds_of_all_paths(seed: int) -> None:
    draw = random.Random(seed)
    numbers = [str(draw.choice([-1, 1]) * ((1 << draw.randrange(70)) + draw.randint(-2, 2))) for _ in range(300)]
    lines = [spelled(draw, any_value(draw, 3, ["a", "b", "é"])) for _ in range(300)]
    lines += [f'{{"n{at % 50}":[{number}]}}' for at, number in enumerate(numbers)]
    draw.shuffle(lines)
    expected = set()
    for line in lines:
        expected |= {*walked(json.loads(line, parse_int=Number, parse_float=Number, object_pairs_hook=Pairs))}
    text = b"".join(line.encode("utf-8", "surrogatepass") + b"\n" for line in lines)
    cut = text.index(b"\n", draw.randrange(len(text) - 1)) + 1
    assert types_of([text[:cut], text[cut:]]) == expected


def test_members_that_stand_twice() -> None:
    text = b'{"a":[{"x":1},{"x":2}],"b":1}\n\n{"b":{"x":1,"\\u0078":2}}\n'
    found = types_of([text])
    assert [path for path, kind in found if kind == "member twice"] == [("b", "x")]


def test_more_members_than_columns() -> None:
    text = b"".join(b'{"%d":1}\n' % number for number in range(TooManyMembersError.most))
    with pytest.raises(TooManyMembersError):
        list(JsonTypes().add(text + bytes(TEXT_PADDING), len(text)))
    assert len(types_of([text[: text.index(b'{"9999"')]])) == 10000
