"""The program's own dataclasses behave as the standard library's, which also takes them for its own."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any, ClassVar

import pytest

from gpumerge_cli import dataclass as own


@own.dataclass(frozen=True)
class Base:
    """A base."""

    kind: ClassVar[str] = "none"
    first: int
    second: str = "two"

    @property
    def doubled(self) -> int:
        return 2 * self.first


@own.dataclass(frozen=True)
class Derived(Base):
    third: tuple[int, ...] = own.field(default=(), compare=False)
    fourth: list[int] = own.field(default_factory=list, compare=False)


@own.dataclass
class Open:
    """May be changed."""

    told: int = 1
    made: list[int] = own.field(init=False)
    secret: bytes = own.field(default=b"", repr=False)

    def __post_init__(self) -> None:
        self.made = [self.told]


@own.dataclass(frozen=True, eq=False)
class Same:
    """Equal to itself only."""

    value: int


@own.dataclass(frozen=True, kw_only=True)
class Named(Base):
    """Has a field that is given by name."""

    third: int


def test_fields_come_from_bases_and_have_defaults() -> None:
    made = Derived(1, third=(2,))
    assert (made.first, made.second, made.third, made.fourth, made.doubled) == (1, "two", (2,), [], 2)
    assert own.field_names(Derived) == ("first", "second", "third", "fourth")
    assert Derived(1).fourth is not Derived(1).fourth


def test_equal_values_are_equal_and_hash_alike() -> None:
    assert Derived(1) == Derived(1, third=(3,)) != Derived(2)
    assert hash(Derived(1)) == hash(Derived(1, third=(3,)))
    assert Base(1) != Derived(1)
    assert Open(3) == Open(3) != Open(4)
    assert Same(1) != Same(1)
    assert len({Same(1), Same(1)}) == 2
    with pytest.raises(TypeError):
        hash(Open(3))


def test_frozen_ones_stay_as_they_are() -> None:
    made: Any = Derived(1)
    with pytest.raises(AttributeError):
        made.first = 2
    with pytest.raises(AttributeError):
        del made.first
    Open().told = 2


@pytest.mark.parametrize(("given", "named"), [((), {}), ((1, "a", 3), {}), ((), {"first": 1, "other": 2})])
def test_wrong_arguments_are_refused(given: tuple[Any, ...], named: dict[str, Any]) -> None:
    for _ in range(2):  # the first call compiles
        with pytest.raises(TypeError):
            Base(*given, **named)


def test_fields_given_by_name_have_no_place() -> None:
    made: Any = Named
    assert vars(made(1, third=3)) == {"first": 1, "second": "two", "third": 3}
    assert own.replace(made(1, third=3), third=4) == made(1, "two", third=4)
    for given in ((1, "two", 3), (1,)):
        with pytest.raises(TypeError):
            made(*given)


def test_they_are_shown_without_secrets() -> None:
    assert repr(Open(secret=b"x")) == "Open(told=1, made=[1])"


@pytest.mark.parametrize("value", [Derived(1, "b", (1,), [2]), Open(5, b"s")])
def test_pickles_give_the_same_value(value: Any) -> None:
    assert vars(pickle.loads(pickle.dumps(value))) == vars(value)


def test_replacing_gives_a_new_value() -> None:
    for replace in (own.replace, dataclasses.replace):
        made = Derived(1, "b", (1,))
        assert replace(made, first=2) == Derived(2, "b")
        assert replace(made, first=2).third == (1,)
        assert replace(Open(5), told=6).made == [6]


def test_the_standard_library_knows_them() -> None:
    assert dataclasses.is_dataclass(Derived)
    assert dataclasses.is_dataclass(Open())
    assert dataclasses.asdict(Derived(1)) == {"first": 1, "second": "two", "third": (), "fourth": []}
    fields = {one.name: one for one in dataclasses.fields(Derived)}
    assert [*fields] == ["first", "second", "third", "fourth"]
    assert fields["first"].default is dataclasses.MISSING
    assert fields["second"].default == "two"
    assert fields["fourth"].default_factory is list
