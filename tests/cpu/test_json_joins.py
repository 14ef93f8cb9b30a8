"""Joined lines of JSON by the library, against Python's json."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from gpumerge_cli.errors import UsageError
from gpumerge_cli.native.json_joins import JsonPairs
from tests.json_documents import any_value, spelled

NAMES = ["a", "b", "a_2", "a_2_2", "é", "k", "", "x" * 40]


def members(line: str) -> list[tuple[str, Any]]:
    """The members of an object, in their order, each with its value as it is spelled but for escapes and blanks."""
    found: list[tuple[str, Any]] = json.loads(line, object_pairs_hook=list, parse_float=str, parse_int=str)
    return found


def joined(a: str, b: str, keys: list[tuple[str, str]]) -> list[tuple[str, Any]]:
    """The members of the joined line. keys: see JsonPairs."""
    if not a:
        names = {theirs: own for own, theirs in keys if own}
        used = set() if all(own in ("", theirs) for own, theirs in keys) else {*names.values()}
        return [(names.get(name) or apart(name, used, b, keys), value) for name, value in members(b)]
    if not b:
        return members(a)
    found, of_a = members(a), {name for name, _ in members(a)}
    others = [(name, value) for name, value in members(b) if name not in [name for _, name in keys]]
    return found + [(apart(name, of_a, b, keys), value) for name, value in others]


def apart(name: str, used: set[str], b: str, keys: list[tuple[str, str]]) -> str:
    """The name of a member of B that is no key with a name in A, beside other names."""
    own = name
    if name in [theirs for _, theirs in keys]:
        return name
    while own in used or (own != name and own in {name for name, _ in members(b)}):
        own += "_2"
    return own


def an_object(draw: random.Random, most: int) -> str:
    names = NAMES if most < 20 else [f"n{number}" for number in range(2 * most)]
    value = {draw.choice(names): any_value(draw, 2, NAMES) for _ in range(draw.randrange(most + 1))}
    return spelled(draw, value).replace("\n", " ")


@pytest.mark.parametrize("most", [3, 8, pytest.param(60, marks=pytest.mark.thorough)])
def test_members_of_both(most: int, seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(60):
        keys = draw.choice([[], [("k", "k")], [("a", "b")], [("", "a"), ("é", "k")], [("k", "a_2"), ("a", "a")]])
        pairs = [(an_object(draw, most), an_object(draw, most)) for _ in range(draw.choice([0, 1, 30]))]
        pairs = [draw.choice([(a, b), (a, b), ("", b), (a, "")]) for a, b in pairs]
        items = b"".join(f"{a}\1{b}\0".encode("utf-8", "surrogatepass") for a, b in pairs)
        lines = bytes(JsonPairs(keys).lines(items)).decode("utf-8", "surrogatepass").split("\n")
        assert lines.pop() == ""
        for (a, b), line in zip(pairs, lines, strict=True):
            assert members(line) == joined(a, b, keys), (a, b, keys)


def test_text_stays_as_it_is() -> None:
    a, b = '{ "id" : 1 , "n\\u0061me":  1.50e2 } \r', '{"x": [1,  2],"id":1, "name" :"\\u00e9"}\t'
    assert bytes(JsonPairs([("id", "id")]).lines(f"{a}\1{b}\0".encode())).decode() == (
        '{ "id" : 1 , "n\\u0061me":  1.50e2, "x": [1,  2], "name_2" :"\\u00e9" } \r\n'
    )


@pytest.mark.parametrize(("a", "b"), [("[1]", "{}"), ("{}", "1"), ('"x"', '{"a":1}')])
def test_other_values_than_objects(a: str, b: str) -> None:
    with pytest.raises(UsageError, match="are not two objects"):
        JsonPairs([]).lines(f"{{}}\1{{}}\0{a}\1{b}\0".encode())
