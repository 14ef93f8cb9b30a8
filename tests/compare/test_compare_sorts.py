"""gpumerge sort --compare: every algorithm is right, and one that is not is said to be wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpumerge_cli.backends.base import Backend, SortPolicy, SortRequest, Unique
from gpumerge_cli.backends.reference import ReferenceBackend, ReferenceWorkspace
from gpumerge_cli.cli import app as door
from gpumerge_cli.compare.run import compare_sorts
from gpumerge_cli.engine.load import load_runs
from gpumerge_cli.engine.request import MergeRequest
from gpumerge_cli.errors import UsageError


def made(tmp_path: Path, rng: np.random.Generator, dtype: str = "i4") -> str:
    name = str(tmp_path / f"a.{dtype[0]}{8 * int(dtype[1])}")
    rng.integers(0, 999, 5000).astype(dtype).tofile(name)
    return name


@pytest.mark.parametrize("dtype", ["i4", "f8", "u1"])
def test_every_algorithm_is_right(backend: Backend, rng: np.random.Generator, tmp_path: Path, dtype: str) -> None:
    loaded = load_runs(MergeRequest((made(tmp_path, rng, dtype),), check=False))
    report = compare_sorts(loaded, backend, SortRequest(), repeat=2)
    assert report.all_right
    assert {row.name for row in report.rows} >= {"merge", "bottom-up", "iterative", "recursive", "radix"}
    assert all(len(row.seconds) == 2 for row in report.rows)
    one = compare_sorts(loaded, backend, SortRequest("radix"), repeat=1)
    assert [row.name for row in one.rows if not row.library] == ["radix"]


class _WrongWorkspace(ReferenceWorkspace):
    def sort(self, policy: SortPolicy, unique: Unique = None) -> None:
        super().sort(policy, unique)
        if policy.algorithm == "bottom-up":
            self._out = self._out[::-1]


def test_a_wrong_output_is_told(rng: np.random.Generator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = ReferenceBackend()
    monkeypatch.setattr(backend, "workspace", lambda order, *_, **__: _WrongWorkspace(order), raising=False)
    loaded = load_runs(MergeRequest((made(tmp_path, rng, "u1"),), check=False))
    report = compare_sorts(loaded, backend, SortRequest(), repeat=1)
    assert [row.name for row in report.rows if not row.right] == ["bottom-up"]


def test_the_command(rng: np.random.Generator, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = made(tmp_path, rng)
    assert door.run(["sort", "--compare", "--backend=reference", name, "--report", str(tmp_path / "r.json")]) == 0
    assert "bottom-up" in capsys.readouterr().err
    assert (tmp_path / "r.json").exists()
    assert door.run(["sort", "--compare", "-o", "x", name]) == 2
    assert "--compare sorts and writes no output" in capsys.readouterr().err
    (tmp_path / "none.i32").write_bytes(b"")
    loaded = load_runs(MergeRequest((str(tmp_path / "none.i32"),), check=False))
    with pytest.raises(UsageError, match="empty"):
        compare_sorts(loaded, ReferenceBackend(), SortRequest())
