"""The program for compute-sanitizer, as far as no device is needed: its calls are right, and its work is shared out."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("cupy", reason="the limits that it lowers are those of kernels", exc_type=ImportError)

from gpumerge_cli.backends.base import LaunchRequest
from gpumerge_cli.backends.gpu import passes, policy, prepared
from gpumerge_cli.backends.limits import TUNED_ON
from gpumerge_cli.order import Order
from tests.kernels import exercise, exercise_calls
from tests.kernels.exercise_calls import _BY_VALUES, _MANY_TILES, call_work, lowered


def test_calls_are_right_in_host_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    numpys = SimpleNamespace(zeros=np.zeros, asarray=np.asarray, asnumpy=np.asarray)
    monkeypatch.setattr(exercise_calls, "cupy", numpys)
    for name, one in call_work():
        assert one() > 0, name


def test_lowered_limits_are_those_that_count() -> None:
    order = Order.of("uint8")
    launch = policy.resolve(LaunchRequest(), order, TUNED_ON)
    assert not policy.by_values(order, launch, _MANY_TILES)
    with lowered(_BY_VALUES):
        assert policy.by_values(order, launch, _MANY_TILES)
        assert policy.values_stretch(_MANY_TILES, TUNED_ON) < _MANY_TILES / 4
    with lowered(exercise_calls._CUT_AHEAD), lowered(exercise_calls._BY_DIGITS):
        assert passes.OWN_CUTS == prepared._MERGED == prepared._MERGED_WIDE == 0
    assert passes.OWN_CUTS > 0


def test_each_does_what_no_other_has_begun(tmp_path: Path) -> None:
    first = exercise.shared_out(5, str(tmp_path))
    second = exercise.shared_out(5, str(tmp_path))
    assert [next(first), next(second), next(second), next(first)] == [0, 1, 2, 3]
    assert [*first, *second] == [4]
    assert [*exercise.shared_out(7, "1/3")] == [1, 4]
