"""Reports as JSON: the model's fields as they are, with seconds and bytes as plain numbers."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import Any

from gpumerge_cli.errors import InputError
from gpumerge_cli.report.model import SCHEMA, BenchReport, BenchRow, Report


def render(report: Report) -> str:
    """The report as an indented JSON object."""
    return json.dumps(asdict(report), indent=2) + "\n"


def parse_bench(text: str, where: str) -> BenchReport:
    """The report that `render` wrote. Raises InputError, naming the file `where`, if it is no bench's, or newer."""
    way_out = "name a .json file that gpumerge bench -o wrote"
    try:
        told = json.loads(text)
    except ValueError as error:
        raise InputError(f"is not JSON ({error})", where=where, way_out=way_out) from None
    if not isinstance(told, dict) or told.get("kind") != "bench":
        raise InputError("holds no results of a bench", where=where, way_out=way_out)
    if told.get("schema") != SCHEMA:
        raise InputError(f"has schema {told.get('schema')}, not {SCHEMA}", where=where, way_out="run the bench again")
    try:
        rows = tuple(BenchRow(**_known(BenchRow, row) | {"seconds": tuple(row["seconds"])}) for row in told["rows"])
        return BenchReport(**_known(BenchReport, told) | {"rows": rows})
    except (TypeError, KeyError) as error:
        raise InputError(f"holds no whole results ({error})", where=where, way_out=way_out) from None


def _known(kind: type[Any], values: dict[str, Any]) -> dict[str, Any]:
    """Of `values` those that `kind` has a field for: a later version of the same schema may write more."""
    names = {field.name for field in fields(kind)}
    return {name: value for name, value in values.items() if name in names}
