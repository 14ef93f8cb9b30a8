"""Data classes of gpumerge_cli.dataclass: an object is the same whether `__init__` is interpreted or compiled."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Callable
from typing import Any

import pytest

from gpumerge_cli import dataclass as ours
from gpumerge_cli.patterns import pattern
from gpumerge_cli.shell_words import quoted

CALLS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((1,), {}), ((1, 2), {}), ((1, 2, [3]), {}), ((), {"a": 1, "c": [4]}), ((1,), {"b": 5}),
    ((), {}), ((1, 2, [3], 4), {}), ((1,), {"a": 2}), ((1,), {"unknown": 2}), ((), {"b": 2}),
]  # fmt: skip


def made(dataclass: Callable[..., Any], field: Callable[..., Any]) -> type[Any]:
    class Kind:
        a: int
        b: int = 7
        c: list[int] = field(default_factory=list)
        d: int = field(init=False, default=0)

        def __post_init__(self) -> None:
            object.__setattr__(self, "d", self.a + self.b)

    kind: type[Any] = dataclass(frozen=True)(Kind)
    return kind


def outcome(kind: type[Any], given: tuple[Any, ...], named: dict[str, Any]) -> Any:
    try:
        one = kind(*given, **named)
    except TypeError:
        return TypeError
    return one.a, one.b, one.c, one.d


@pytest.mark.parametrize(("given", "named"), CALLS)
def test_the_first_objects_are_those_of_the_compiled_method(given: tuple[Any, ...], named: dict[str, Any]) -> None:
    kind, known = made(ours.dataclass, ours.field), made(dataclasses.dataclass, dataclasses.field)
    expected = outcome(known, given, named)
    for _ in range(ours._INTERPRETED + 3):
        assert outcome(kind, given, named) == expected
    assert outcome(kind, (1,), {}) == (1, 7, [], 8)
    assert kind(1).c is not kind(1).c


def test_a_method_is_compiled_after_some_objects() -> None:
    kind = made(ours.dataclass, ours.field)
    first = kind.__init__
    for number in range(ours._INTERPRETED):
        assert kind(number).d == number + 7
        assert kind.__init__ is first
    assert kind(1).d == 8
    assert kind.__init__ is not first


def test_patterns_are_those_of_re() -> None:
    assert pattern("(a)(b)?").fullmatch("a").groups("") == ("a", "")  # type: ignore[union-attr]
    assert pattern("[,;]").split("a,b;c") == ["a", "b", "c"]


@pytest.mark.parametrize("word", ["", "a", "a b", "a;b", "$a", "ä", "a'b$", "'", "a=b", "*", "~", "a-b_c@d%e+f:g,h./"])
def test_words_are_quoted_as_shlex_does(word: str) -> None:
    wanted = shlex.quote(word)
    assert shlex.split(quoted(word)) == [word]
    assert quoted(word) == wanted or ("'" in word and quoted(word) == f'"{word}"')
