"""The tables that know sets by name agree with the rules for equal items."""

from __future__ import annotations

import numpy as np
import pytest

from gpumerge_cli.backends.cpu import baselines
from gpumerge_cli.cli.options.commands import COMMANDS
from gpumerge_cli.cli.options.typed import OPTIONS, CombineOptions
from gpumerge_cli.order.equals import SETS, Equals
from gpumerge_cli.order.kinds import Order


def test_each_set_is_a_command_of_sets() -> None:
    assert set(SETS) <= {command.name for command in COMMANDS}
    assert {name for name, options in OPTIONS.items() if options is CombineOptions} == set(SETS)


def test_numpy_may_lack_a_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(baselines._OF_TWO, "symmetric")
    runs = [np.array([1, 2]), np.array([2])]
    order = Order.of(np.dtype(np.int64))
    assert baselines.sets(runs, order, Equals.DISTINCT_SYMMETRIC) == {}
