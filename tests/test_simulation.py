"""The simulated cluster conserves work, keeps within capacities, and is the closed formula where nothing varies."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

BENCH = Path(__file__).parent.parent / "data" / "bench"
DATA = 2e12


def module(name: str) -> ModuleType:
    """A script of data/bench as a module."""
    spec = importlib.util.spec_from_file_location(name, BENCH / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    sys.modules[name] = found  # where dataclasses look for their fields' types, and the script for the model
    spec.loader.exec_module(found)
    return found


@pytest.fixture(scope="module")
def simulation() -> ModuleType:
    return module("cluster_model")


@pytest.fixture(scope="module")
def settings(simulation: ModuleType) -> list[Any]:
    """The rows of the table, for 20 machines."""
    return list(module("simulate_cluster").settings(20))


@pytest.mark.parametrize("row", range(14))
def test_work_is_conserved_within_capacity(simulation: ModuleType, settings: list[Any], row: int) -> None:
    setting = replace(settings[row], dying=0.3 if row % 2 else 0.0)
    done = simulation.simulate(setting, 5, DATA)
    for phase, rate in ((done.runs, setting.machine.sort), (done.merges, setting.machine.merge)):
        assert phase.nbytes == pytest.approx(DATA)
        assert (phase.busy <= phase.seconds * (1 + 1e-9)).all()
        if not (setting.sigma or setting.slow):
            # Stages that a task had done before its machine died are done again.
            rates = np.array([setting.machine.network, rate, setting.machine.network])
            through = phase.busy.sum(axis=0) * rates
            assert through[2] == pytest.approx(DATA)
            assert (through >= DATA * (1 - 1e-9)).all()
            assert (through <= (DATA + phase.again) * (1 + 1e-9)).all()


@pytest.mark.parametrize("machines", [1, 4, 20])
def test_without_variance_it_is_the_closed_formula(simulation: ModuleType, machines: int) -> None:
    setting = simulation.Setting("even", machines, schedule=0.0, cuts="nobody")
    for network in (0.5e9, 3e9, 9e9):
        one = replace(setting, machine=replace(setting.machine, network=network))
        assert simulation.simulate(one, 1, DATA).seconds == pytest.approx(simulation.closed_form(one, DATA))


def test_parts_are_equal_or_as_sampled(simulation: ModuleType) -> None:
    exact = simulation.Setting("exact", heavy=0.01)
    sampled = replace(exact, splitters="100")
    for setting, most in ((exact, 1.0), (sampled, 100.0)):
        sizes = simulation.part_sizes(setting, 10_000, DATA, np.random.default_rng(3))
        assert sizes.sum() == pytest.approx(DATA)
        assert sizes.max() / sizes.mean() >= most * (1 - 1e-9)
    assert simulation.simulate(sampled, 3, DATA).seconds == simulation.simulate(sampled, 3, DATA).seconds
