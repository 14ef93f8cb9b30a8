"""Dataclasses that take no time to make.

The standard library compiles all methods of a dataclass as the class is made. That takes half a millisecond, a merge
has a hundred of them, and what the library imports for it takes as long as ten more. Here classes share their methods,
but for `__init__`, which is compiled once a class has made some objects: compiling takes 0.1 ms, as long as making
_INTERPRETED of them without it. The standard library's functions accept these classes.
"""

from __future__ import annotations

from operator import attrgetter

TYPE_CHECKING = False  # see gpumerge_cli
if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass, field, replace
    from typing import Any
else:

    def dataclass(kind=None, /, *, frozen=False, eq=True, unsafe_hash=False, kw_only=False):
        """The standard library's, for these arguments."""

        def made(kind):
            return _made(kind, frozen, eq, unsafe_hash or (eq and frozen), kw_only)

        return made if kind is None else made(kind)

    def field(*, default=..., default_factory=None, init=True, compare=True, repr=True):
        """The standard library's, for these arguments."""
        return _Field(default, default_factory, init, compare, repr)

    def replace(value, /, **changes):
        """The standard library's."""
        kind = type(value)
        for name, one in kind._fields_.items():
            if one.init and name not in changes:
                changes[name] = getattr(value, name)
        return kind(**changes)


_INTERPRETED = 20
"""Objects of a class that are made before its `__init__` is compiled."""
__all__ = ["dataclass", "field", "field_names", "replace"]


def field_names(kind: type[Any]) -> tuple[str, ...]:
    """The names of a dataclass's fields."""
    return tuple(kind._fields_)


class _Field:
    """A field. default: ... if there is none."""

    kw_only = False

    def __init__(self, default: Any, factory: Callable[[], Any] | None, init: bool, compare: bool, shown: bool) -> None:
        self.default, self.factory, self.init, self.compare, self.shown = default, factory, init, compare, shown


class _Standard:
    """The fields in the standard library's form, made when they are first read."""

    def __get__(self, _: Any, kind: Any) -> Any:
        import dataclasses

        specs = []
        for name, one in kind._fields_.items():
            value = {} if one.default is ... else {"default": one.default}
            value |= {} if one.factory is None else {"default_factory": one.factory}
            specs.append((name, object, dataclasses.field(init=one.init, compare=one.compare, kw_only=True, **value)))
        found = dataclasses.make_dataclass(kind.__name__, specs).__dataclass_fields__  # type: ignore[attr-defined]
        kind.__dataclass_fields__ = found
        return found


def _made(kind: Any, frozen: bool, eq: bool, hashed: bool, kw_only: bool) -> Any:
    fields: dict[str, _Field] = {}
    for base in reversed(kind.__mro__[1:]):
        fields |= base.__dict__.get("_fields_", {})
    for name, annotation in kind.__annotations__.items():
        if annotation.startswith("ClassVar"):
            continue
        given = kind.__dict__.get(name, ...)
        fields[name] = given if isinstance(given, _Field) else _Field(given, None, init=True, compare=True, shown=True)
        fields[name].kw_only = kw_only
        if given is not fields[name]:
            continue
        if given.default is ...:
            delattr(kind, name)
        else:
            setattr(kind, name, given.default)
    kind._fields_ = fields
    kind.__dataclass_fields__ = _Standard()
    own = kind.__dict__
    if "__init__" not in own:
        kind.__init__ = _first_init(kind)
    if "__repr__" not in own:
        kind.__repr__ = _repr
    if frozen:
        kind.__setattr__, kind.__delattr__ = _refuse, _refuse
    if eq and "__eq__" not in own:
        _compare_by(kind, [name for name, one in fields.items() if one.compare], hashed)
    return kind


def _first_init(kind: Any) -> Callable[..., None]:
    """An `__init__` that goes through the fields, until it replaces itself by the compiled one."""
    fields: dict[str, _Field] = kind._fields_
    positional = [name for name, one in fields.items() if one.init and not one.kw_only]
    finish = getattr(kind, "__post_init__", None)
    made = 0

    def first_init(self: Any, *given: Any, **named: Any) -> None:
        nonlocal made
        made += 1
        values = dict(zip(positional, given, strict=False), **named) if made <= _INTERPRETED else None
        if values is None or not _fill(self, fields, values, len(given) + len(named)):
            kind.__init__ = _compiled_init(kind)
            kind.__init__(self, *given, **named)
        elif finish is not None:
            finish(self)

    return first_init


def _fill(made: object, fields: dict[str, _Field], values: dict[str, Any], count: int) -> bool:
    """Set the fields of an object; False if these are not `count` values of its fields, with all that it needs."""
    taken = 0
    for name, one in fields.items():
        if one.init and name in values:
            value = values[name]
            taken += 1
            if value is ... and one.factory is not None:
                value = one.factory()
        elif one.factory is not None:
            value = one.factory()
        elif one.default is not ...:
            value = one.default
        elif one.init:
            return False
        else:
            continue
        object.__setattr__(made, name, value)
    return taken == count


def _compiled_init(kind: Any) -> Any:
    # Not by the object's __dict__: objects whose __dict__ was looked at have slower attributes from then on.
    known: dict[str, Any] = {"_set": object.__setattr__}
    taken, lines = ["self"], [" pass"]
    named: list[str] = []
    for name, one in kind._fields_.items():
        value = name
        if one.factory is not None:
            known[f"_of_{name}"] = one.factory
            value = f"_of_{name}() if {name} is ... else {name}" if one.init else f"_of_{name}()"
        elif not one.init and one.default is ...:
            continue
        known[f"_{name}"] = ... if one.factory is not None else one.default
        if one.init:
            has_default = one.factory is not None or one.default is not ...
            (named if one.kw_only else taken).append(f"{name}=_{name}" if has_default else name)
        lines.append(f" _set(self, {name!r}, {value if one.init or one.factory else f'_{name}'})")
    if hasattr(kind, "__post_init__"):
        lines.append(" self.__post_init__()")
    exec(f"def __init__({', '.join([*taken, *['*'] * bool(named), *named])}):\n" + "\n".join(lines), known)
    return known["__init__"]


def _compare_by(kind: Any, names: list[str], hashed: bool) -> None:
    values: Callable[[Any], Any] = attrgetter(*names) if names else type

    def is_equal(self: Any, other: Any) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def hash_of(self: Any) -> int:
        return hash(values(self))

    kind.__eq__ = is_equal
    if "__hash__" not in kind.__dict__ or kind.__dict__["__hash__"] is None:
        kind.__hash__ = hash_of if hashed else None


def _repr(self: Any) -> str:
    values = ", ".join(f"{name}={getattr(self, name)!r}" for name, one in type(self)._fields_.items() if one.shown)
    return f"{type(self).__qualname__}({values})"


def _refuse(self: Any, name: str, _value: object = None) -> None:
    raise AttributeError(f"cannot change field {name!r} of a frozen {type(self).__name__}")
