"""Reports as JSON: the model's fields as they are, with seconds and bytes as plain numbers."""

from __future__ import annotations

import json
from dataclasses import MISSING, asdict, fields, is_dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

from gpumerge_cli.errors import InputError
from gpumerge_cli.json_text import dumps, restored
from gpumerge_cli.results.compared import BenchReport, BenchRow, Report
from gpumerge_cli.results.run import SCHEMA

_MOST = 1 << 64
_NAMES = {str: "text", bool: "true or false", BenchRow: "row"}


def render(report: Report) -> str:
    """The report as an indented JSON object."""
    return dumps(asdict(report), indent=2) + "\n"


def parse_bench(text: str, where: str) -> BenchReport:
    """The report that `render` wrote. Raises InputError, naming the file `where`, for another or a newer report."""
    try:
        values = restored(json.loads(text))
        if not isinstance(values, dict) or values.get("kind") != "bench":
            raise _DamageError("its kind is not bench")
        if values.get("schema") != SCHEMA:
            raise InputError(
                f"has schema {values.get('schema')}, not {SCHEMA}", where=where, way_out="run the bench again"
            )
        rows = values.get("rows")
        if not isinstance(rows, list) or not rows:
            raise _DamageError("it has no rows")
        found = tuple(BenchRow(**_fields(BenchRow, row, f"rows[{number}]")) for number, row in enumerate(rows))
        return BenchReport(**_fields(BenchReport, values | {"rows": found}, "the report"))
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"not the results of gpumerge bench ({error})",
            where=where,
            way_out="name a .json file that gpumerge bench -o wrote",
        ) from None


class _DamageError(ValueError):
    """A mistake in a value that was read, described without a full stop."""


def _fields(kind: type[Any], values: Any, where: str) -> dict[str, Any]:
    """The `values` that `kind` has fields for; a later version of the same schema may write more.

    Raises _DamageError for a value of another type, and for a field without a default that is missing.
    """
    if not isinstance(values, dict):
        raise _DamageError(f"{where} is not an object")
    types = get_type_hints(kind)
    found: dict[str, Any] = {}
    for one in fields(kind):
        if one.name in values:
            found[one.name] = _value(types[one.name], values[one.name], f"{where}: {one.name}")
        elif one.default is MISSING and one.default_factory is MISSING:
            raise _DamageError(f"{where} has no {one.name}")
    return found


def _value(kind: Any, value: Any, where: str) -> Any:
    """`value`, of the type `kind` that a field has: lists become tuples."""
    of = get_args(kind)
    if get_origin(kind) is Literal:
        if value not in of:
            raise _DamageError(f"{where} is not one of {', '.join(of)}")
    elif get_origin(kind) is tuple:
        if not isinstance(value, list | tuple):
            raise _DamageError(f"{where} is not a list")
        return tuple(_value(of[0], each, where) for each in value)
    elif get_origin(kind) is dict:
        if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
            raise _DamageError(f"{where} does not hold text by name")
    elif is_dataclass(kind) and isinstance(kind, type) and not isinstance(value, kind):
        return kind(**_fields(kind, value, where))
    elif kind in (int, float):
        # JSON has one kind of numbers, and Python's reader also takes NaN and infinity, which no measurement gives.
        number = isinstance(value, int if kind is int else int | float) and not isinstance(value, bool)
        if not number or not 0 <= value < _MOST:
            raise _DamageError(f"{where} is not a {'count' if kind is int else 'number'} from 0 to 2^64")
    elif not isinstance(value, kind):
        raise _DamageError(f"{where} is not a {_NAMES.get(kind, kind.__name__)}")
    return value
