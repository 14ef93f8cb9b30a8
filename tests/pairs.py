"""Fewer pairs of parameters than all there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest


def one_of_each(first: Sequence[Any], second: Sequence[Any]) -> list[Any]:
    """Pairs as parameters of a test, so that each value is in one at least; the other pairs are for thorough runs."""
    usual = {(at % len(first), at % len(second)) for at in range(max(len(first), len(second)))}
    return [
        pytest.param(one, other, marks=() if (i, j) in usual else pytest.mark.thorough)
        for i, one in enumerate(first)
        for j, other in enumerate(second)
    ]
