"""The program for compute-sanitizer, as far as no device is needed: its calls are right, and its work is shared out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests import needs

pytest.importorskip("cupy", reason=needs.reason("cupy"), exc_type=ImportError)

from gpumerge_cli.backends.gpu import device, merging, module, policy, prepared
from gpumerge_cli.backends.limits import TUNED_ON
from gpumerge_cli.launch import LaunchPolicy, LaunchRequest
from gpumerge_cli.order.kinds import Order
from tests.engine.fake_gpu import stand_in
from tests.kernels import exercise, exercise_calls, exercise_older
from tests.kernels.exercise_calls import _BY_VALUES, _MANY_TILES, call_work, lowered
from tests.reference import ReferenceBackend


@pytest.mark.thorough
def test_calls_are_right_in_host_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    numpys = SimpleNamespace(zeros=np.zeros, asarray=np.asarray, asnumpy=np.asarray)
    monkeypatch.setattr(exercise_calls, "cupy", numpys)
    for name, one in call_work():
        assert one() > 0, name


@pytest.mark.thorough
def test_the_work_is_right_by_the_reference(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    """Each kind of work has an oracle that the reference agrees with. Sets go through the GPU's workspace."""
    monkeypatch.setattr(exercise_calls, "call_work", list)

    class Older(ReferenceBackend):
        """The reference, whose launches move vectors."""

        def resolve(self, *arguments: Any, **options: Any) -> LaunchPolicy:
            return replace(super().resolve(*arguments, **options), transfer="vector")

    whole = exercise._all_work(ReferenceBackend())
    assert len({name for name, _ in whole}) == len(whole)
    short = [one for one in whole if not one[0].startswith("sets") and not one[0].endswith("with values")]
    older = [one for one in exercise_older.all_work(Older()) if not one[0].startswith("sets")]
    sets = exercise.sets_work(stand_in(monkeypatch))
    for works, count in ((short, len(short)), (older, 2), (sets, 3)):
        for at in rng.choice(len(works), count, replace=False):
            name, one = works[at]
            assert one() > 0, name


def test_older_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that asks for a device's limits gets those of an older one."""
    monkeypatch.setattr(device, "limits", lambda of: TUNED_ON)
    monkeypatch.setattr(module, "begin_compiling", lambda *unit: pytest.fail("compiled for a missing device"))
    told = []
    monkeypatch.setattr(exercise, "main", lambda work: told.append((work, device.limits(None))))
    exercise_older.main()
    module.Kernels(0, Order.of("int32"), TUNED_ON).ready("walk", 1)
    assert told == [(exercise_older.all_work, replace(TUNED_ON, capability=75, shared_memory=64 << 10))]


def test_the_program_tells_how_much_there_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(exercise.gpu, "create", ReferenceBackend)
    monkeypatch.setattr("sys.argv", ["exercise", "1/2", "b"])
    exercise.main(lambda backend: [(name, lambda: 7) for name in ("a", "b 1", "b 2", "c")])
    first, second, last = capsys.readouterr().out.splitlines()
    assert (first, last) == ("pieces of work: 2", "7 merges, sorts, sets and checks right")
    assert second.startswith("b 2: 7 right, in ")


def test_lowered_limits_are_those_that_count() -> None:
    order = Order.of("uint8")
    launch = policy.resolve(LaunchRequest(), order, TUNED_ON)
    assert policy.least_by_values(order, launch) > _MANY_TILES
    with lowered(_BY_VALUES):
        assert policy.least_by_values(order, launch) == 0
        assert policy.values_stretch(_MANY_TILES, TUNED_ON) < _MANY_TILES / 4
    with lowered(exercise_calls._CUT_AHEAD), lowered(exercise_calls._BY_DIGITS):
        assert merging.OWN_CUTS == prepared.most_by_rank(Order.of("int32"), None) == 0
    assert merging.OWN_CUTS > 0


def test_each_does_what_no_other_has_begun(tmp_path: Path) -> None:
    first = exercise.shared_out(5, str(tmp_path))
    second = exercise.shared_out(5, str(tmp_path))
    assert [next(first), next(second), next(second), next(first)] == [0, 1, 2, 3]
    assert [*first, *second] == [4]
    assert [*exercise.shared_out(7, "1/3")] == [1, 4]
