"""The fuzzer: a quick run on every backend, and wrong backends that it must find."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpumerge_cli
from gpumerge_cli.backends import select as backends_select
from gpumerge_cli.backends.base import Backend
from gpumerge_cli.backends.cpu.backend import CpuBackend
from gpumerge_cli.backends.ladder import KERNELS
from gpumerge_cli.launch import LaunchPolicy
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.kinds import Order, TextOrder
from tests import fuzz, fuzz_api, fuzz_cases, fuzz_columns, fuzz_device, needs
from tests.fake_cupy import fake_cupy
from tests.linekeys import item_key
from tests.reference import ReferenceBackend, ReferenceWorkspace

__all__ = ["fake_cupy"]


def test_random_cases_are_right(backend: Backend, rng: np.random.Generator, capsys: pytest.CaptureFixture[str]) -> None:
    seed, count = int(rng.integers(2**32)), 4 * len(fuzz_cases.ORDERS)
    if backend.name == "gpu":  # in use here, so in no fork
        lines: list[str] = []
        counts, failures = fuzz.run(backend, seed, range(count), lines.append)
        assert failures == 0, "\n".join(lines)
        assert all(counts[order.describe()] == 4 for order in fuzz_cases.ORDERS)
    else:
        code = fuzz.main(["--backend", backend.name, "--seed", str(seed), "--cases", str(count)])
        assert code == 0, capsys.readouterr().out


def test_random_calls_are_right(rng: np.random.Generator, capsys: pytest.CaptureFixture[str]) -> None:
    code = fuzz_api.main(["--cases", "80", "--seed", str(rng.integers(2**32))])
    assert code == 0, capsys.readouterr().out


def test_random_calls_survive_writers(rng: np.random.Generator, capsys: pytest.CaptureFixture[str]) -> None:
    code = fuzz_api.main(["--cases", "80", "--seed", str(rng.integers(2**32)), "--writers"])
    assert code == 0, capsys.readouterr().out


def test_calls_are_of_every_kind(tmp_path: Path) -> None:
    calls = [fuzz_api.drawn(3, number, "cpu", tmp_path) for number in range(600)]
    assert {(call.function, call.ordered) for call in calls} >= {
        (name, ordered) for name in ("merge", "sort", "is_sorted") for ordered in (False, True)
    }
    notes = {note for call in calls for note in call.notes}
    assert notes >= {"every other", "reversed", "unaligned", "read-only", "mapped", "field"}
    assert {call.key for call in calls if isinstance(call.key, str)} >= {"id", "in.n", "in.raw", "k", "v"}
    assert {len(call.key) for call in calls if isinstance(call.key, list)} == {1, 2, 3}
    assert {option for call in calls for option in call.options} >= {
        "out", "values", "threads", "algorithm", "kernel", "block_size", "items_per_thread", "tile_size", "tile_load",
        "fan_in", "transfer", "key", "descending", "backend",
    }  # fmt: skip
    assert len({note for note in notes if note.startswith("to be refused")}) > 12


def test_wrong_calls_are_found(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    really = gpumerge_cli.sort

    def wrong(array: Any, **options: Any) -> Any:
        found = really(array, **options)
        return found[::-1] if isinstance(found, np.ndarray) else found

    monkeypatch.setattr(gpumerge_cli, "sort", wrong, raising=False)
    assert fuzz_api.main(["--cases", "60", "--seed", "1"]) == 1
    assert "python -m tests.fuzz_api --seed 1 --backend cpu --only " in capsys.readouterr().out


def test_random_calls_on_arrays_as_they_lie(rng: np.random.Generator, capsys: pytest.CaptureFixture[str]) -> None:
    """Those of the GPU, on NumPy's arrays."""
    code = fuzz_device.main(["--cases", "100", "--backend", "cpu", "--seed", str(rng.integers(2**32))])
    assert code == 0, capsys.readouterr().out


def test_calls_on_arrays_as_they_lie_are_of_every_kind() -> None:
    calls = [fuzz_device.drawn(np, 3, number) for number in range(1500)]
    kinds = {kind for call in calls for kind in call.kinds}
    assert {f"{what}: {way}" for what in ("keys", "values") for way in fuzz_device.WAYS} <= kinds
    assert {f"{many} of {how}" for many in ("two", "several") for how in ("blocks", "any", "nearly one")} <= kinds
    assert {(call.function, call.dtype.name) for call in calls if call.equals is None} == {
        (function, key) for function in ("merge", "sort", "argsort", "is_sorted") for key in fuzz_device.KEYS
    }
    assert {call.dtype.name for call in calls if call.equals is not None} == set(fuzz_device.KEYS)
    assert {call.equals for call in calls} == {None, *fuzz_device.EVERY_SET}
    assert {len(call.runs) for call in calls if call.equals is not None and call.rows is not None} >= {1, 2, 3}
    assert any(not run.flags.aligned for call in calls for run in call.runs)
    floats = [np.asarray(run) for call in calls if call.dtype.kind == "f" for run in call.runs]
    both_signs = {bool(sign) for run in floats for sign in np.unique(np.signbit(run[np.isnan(run)]))}
    assert both_signs == {False, True}
    sizes = [fuzz_device._size(np.random.default_rng(number), False) for number in range(20_000)]
    assert 250 < sum(size >= 20 for size in sizes) < 600


def test_wrong_results_of_calls_on_arrays_as_they_lie_are_found(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    really = gpumerge_cli.merge

    def unstable(*arrays: Any, **options: Any) -> Any:
        if "values" not in options:
            return really(*arrays[::-1], **options)
        return really(*arrays[::-1], **options | {"values": options["values"][::-1]})

    monkeypatch.setattr(gpumerge_cli, "merge", unstable, raising=False)
    assert fuzz_device.main(["--cases", "80", "--seed", "1", "--backend", "cpu"]) == 1
    printed = capsys.readouterr().out
    assert "is the first that is wrong" in printed
    assert "python -m tests.fuzz_device --seed 1 --backend cpu --only " in printed


def test_cases_are_of_every_kind() -> None:
    backend = CpuBackend()
    cases = [fuzz_cases.drawn(3, number, backend)[0] for number in range(600)]
    assert {case.shape for case in cases} == set(fuzz_cases.SHAPES)
    assert {case.policy.kernel for case in cases} == set(KERNELS)
    assert {case.equals for case in cases} == {*fuzz_cases.KEPT, *fuzz_cases.SETS}
    assert {case.equals for case in cases if case.disorder and case.budget} >= {Equals.ALL, Equals.UNION}
    assert {case.disorder for case in cases} == {"", *fuzz_cases.DISORDERS}
    assert {case.count for case in cases} == {"", *fuzz_cases.COUNTS}
    budgets = [case.budget for case in cases if case.budget is not None]
    assert min(budgets) < 100
    assert max(budgets) > 10_000_000
    assert {len(case.lengths) for case in cases} >= set(range(1, 13))
    lengths = {length for case in cases for length in case.lengths}
    assert {0, 1, 2} <= lengths
    assert max(lengths) > 5000


def test_runs_are_sorted_and_as_long_as_the_case_says() -> None:
    for number in range(4 * len(fuzz_cases.ORDERS)):
        case, runs = fuzz_cases.drawn(5, number, ReferenceBackend())
        assert [len(run) for run in runs] == list(case.lengths)
        for run in runs if not case.disorder else ():
            if case.order.record:
                items = np.frombuffer(b"".join(run), np.uint8)
                images = case.order.image(case.order.keys(items)) if run else np.empty(0)
                assert (images[1:] >= images[:-1]).all()
            elif isinstance(case.order, TextOrder):
                keys = [item_key(case.order, line) for line in run]
                assert all(not later < earlier for earlier, later in pairwise(keys))
            else:
                images = case.order.image(np.asarray(run))
                assert (images[1:] >= images[:-1]).all()


class _UnstableWorkspace(ReferenceWorkspace):
    """Merges its runs in reverse. Only ties show it."""

    def merge(self, policy: LaunchPolicy, equals: Equals = Equals.ALL, *, counted: bool = False) -> None:
        turns = not equals.is_set
        self._runs = self._runs[:: -1 if turns else 1]
        super().merge(policy, equals, counted=counted)
        self._runs = self._runs[:: -1 if turns else 1]


class _Unstable(ReferenceBackend):
    name = "cpu"

    def workspace(self, order: Order, capacity: int, *, threads: int = 1) -> ReferenceWorkspace:
        return _UnstableWorkspace(order, capacity)


def test_what_is_wrong_is_found_and_can_be_run_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(backends_select, "host", _Unstable)
    summary = tmp_path / "summary.txt"
    wish = ["--seed", "17", "--backend", "cpu"]
    assert fuzz.main([*wish, "--cases", "200", "-o", str(summary)]) == 1
    printed = capsys.readouterr().out
    assert printed == summary.read_text()
    assert printed.startswith("seed 17, 200 cases on cpu")
    found = [line for line in printed.splitlines() if line.startswith("case ")]
    # Nothing but ties is wrong, and only floats and numbers of lines have ties that differ.
    assert found
    assert all("float" in line or "ties left" in line for line in found)
    number = found[0].split()[1].rstrip(":")
    assert f"  again: python3 -m tests.fuzz {' '.join(wish)} --only {number}" in printed
    assert fuzz.main([*wish, "--only", number]) == 1
    assert found[0] in capsys.readouterr().out


def test_a_right_run_exits_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert fuzz.main(["--backend", "cpu", "--cases", "60"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("seed ")
    assert "60 of 60 right" in printed


@pytest.mark.parametrize("backend", ["cpu", "stand-in", pytest.param("gpu", marks=pytest.mark.gpu)])
def test_random_calls_on_columns(backend: str, rng: np.random.Generator, request: pytest.FixtureRequest) -> None:
    if backend == "gpu":
        request.getfixturevalue("gpu_backend")
    module = needs.library("cupy") if backend == "gpu" else None
    put = fuzz_columns.put_by(request.getfixturevalue("fake_cupy") if backend == "stand-in" else module)
    for _ in range(120):
        case, wrong = fuzz_columns.run_case(rng, put)
        assert not wrong, f"{case.describe()}: {wrong}"
