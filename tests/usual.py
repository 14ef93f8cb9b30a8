"""Which cases of a test are usual ones. The others are marked `thorough`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def mark_other_cases(items: Iterable[pytest.Item]) -> None:
    """Mark most cases of a test thorough, if the test is marked `one_of_each` or `one_in`.

    `one_of_each`: each value of each parameter is in a usual case, and few cases are usual. The other cases are other
    combinations of the values. `one_in(n)`: the first of each n cases is usual. Cases that need a GPU count apart.
    """
    tests: dict[tuple[str, bool], list[pytest.Function]] = {}
    for item in items:
        if isinstance(item, pytest.Function) and "[" in item.name and item.get_closest_marker("thorough") is None:
            needs_gpu = item.get_closest_marker("gpu") is not None
            tests.setdefault((item.nodeid.partition("[")[0], needs_gpu), []).append(item)
    for cases in tests.values():
        usual = cases
        if cases[0].get_closest_marker("one_of_each"):
            usual = _one_of_each(usual)
        if marker := cases[0].get_closest_marker("one_in"):
            usual = usual[:: marker.args[0]]
        for case in cases:
            if case not in usual:
                case.add_marker(pytest.mark.thorough)


def _one_of_each(cases: list[pytest.Function]) -> list[pytest.Function]:
    """Few cases that have each value of each parameter, in their order."""
    values = [{(name, _key(value)) for name, value in case.callspec.params.items()} for case in cases]
    missing, chosen = set().union(*values), set()
    while missing:
        best = max(range(len(cases)), key=lambda at: len(values[at] & missing))
        missing -= values[best]
        chosen.add(best)
    return [cases[at] for at in sorted(chosen)]


def _key(value: Any) -> Any:
    """What tells a parameter's value from its others, as 1 from True, and arrays, which cannot be hashed."""
    try:
        hash(value)
    except TypeError:
        return id(value)
    return type(value), value
