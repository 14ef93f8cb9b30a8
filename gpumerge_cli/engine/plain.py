"""Frozen values as plain ones, which JSON can hold, and back again by the types of their fields."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from gpumerge_cli.errors import InputError
from gpumerge_cli.order import Order
from gpumerge_cli.order.fields import Fields
from gpumerge_cli.order.keys import Keys
from gpumerge_cli.order.lines import Lines
from gpumerge_cli.order.records import Records
from gpumerge_cli.order.rules import LineOrder

T = TypeVar("T")

_ORDERS: dict[str, type[Order]] = {"keys": Keys, "records": Records, "lines": Lines, "fields": Fields}


def plain(value: Any) -> Any:
    """The value as dictionaries, lists, text and numbers. Bytes become hexadecimal text."""
    if isinstance(value, Order):
        name = next(name for name, kind in _ORDERS.items() if type(value) is kind)
        return {"of": name} | {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    return value.hex() if isinstance(value, bytes) else value


def restored(kind: type[T], told: Any) -> T:
    """The value of type `kind` from which `plain` made `told`. Raises InputError for anything else."""
    try:
        value: T = _restored(kind, told)
        return value
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"a task cannot be read: {error}", way_out="write it with the same version") from None


def _restored(kind: Any, told: Any) -> Any:
    of, origin = get_args(kind), get_origin(kind)
    make: Any = kind
    if kind is Order:
        return _order(told)
    if origin in (Union, UnionType):
        return _one_of(of, told)
    if origin is Literal:
        if told not in of:
            raise ValueError(f"{told!r} is none of {of}")
        return told
    if origin is tuple:
        kinds = [of[0]] * len(told) if of[-1] is Ellipsis else of
        return tuple(_restored(one, each) for one, each in zip(kinds, told, strict=True))
    if is_dataclass(kind):
        return make(**_values(kind, told))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(told)
    if kind is bytes:
        return bytes.fromhex(told)
    if kind is float:
        return float(told)
    if type(told) is not kind:
        raise TypeError(f"{told!r} is no {getattr(kind, '__name__', kind)}")
    return told


def _one_of(kinds: tuple[Any, ...], told: Any) -> Any:
    """`told` as a value of the first type that fits; objects are known by the names of their fields."""
    if told is None and NoneType in kinds:
        return None
    for kind in kinds:
        if is_dataclass(kind) and isinstance(told, Mapping) and {one.name for one in fields(kind)} != told.keys():
            continue
        if kind is not NoneType:
            with suppress(TypeError, ValueError):
                return _restored(kind, told)
    raise TypeError(f"{told!r} is none of {kinds}")


@cache
def _types(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _values(kind: Any, told: Any) -> dict[str, Any]:
    if not isinstance(told, Mapping):
        raise TypeError(f"{told!r} is no object")
    unknown = told.keys() - {one.name for one in fields(kind)}
    if unknown:
        raise ValueError(f"{', '.join(sorted(unknown))}: no field of {kind.__name__}")
    return {name: _restored(_types(kind)[name], each) for name, each in told.items()}


def _order(told: Any) -> Order:
    kind = _ORDERS[told["of"]]
    values = {name: value for name, value in told.items() if name != "of"}
    if "rules" in values:
        values["rules"] = _restored(LineOrder, values["rules"])
    if "parts" in values:
        values["parts"] = tuple(map(_order, values["parts"]))
    return kind(**values)
