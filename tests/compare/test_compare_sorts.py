"""gpumerge sort --compare: every algorithm is right, and one that is not is said to be wrong."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gpumerge_cli.backends import select as backends_select
from gpumerge_cli.backends.base import Backend
from gpumerge_cli.cli import app as door
from gpumerge_cli.compare import file_sorts
from gpumerge_cli.compare.contest import Effort
from gpumerge_cli.compare.file_sorts import REPEAT
from gpumerge_cli.compare.run import compare_sorts
from gpumerge_cli.engine.load import load_runs
from gpumerge_cli.errors import UsageError
from gpumerge_cli.formats.items import Items
from gpumerge_cli.launch import MAX_RECURSIVE_ITEMS, SortPolicy, SortRequest
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.results.compared import Measured
from tests import needs
from tests.jobs_of import merge_job, sort_job
from tests.reference import ReferenceBackend, ReferenceWorkspace


def made(tmp_path: Path, rng: np.random.Generator, dtype: str = "i4") -> str:
    name = str(tmp_path / f"a.{dtype[0]}{8 * int(dtype[1])}")
    rng.integers(0, 999, 5000).astype(dtype).tofile(name)
    return name


@pytest.mark.parametrize("dtype", ["i4", "f8", "u1"])
def test_every_algorithm_is_right(backend: Backend, rng: np.random.Generator, tmp_path: Path, dtype: str) -> None:
    loaded = load_runs(merge_job((made(tmp_path, rng, dtype),), check=False))
    report = compare_sorts(loaded, backend, SortRequest(), Effort(2))
    assert all(row.right for row in report.rows)
    assert {row.name for row in report.rows} >= {"merge", "bottom-up", "iterative", "recursive", "radix"}
    assert all(len(row.seconds) == 2 for row in report.rows)
    one = compare_sorts(loaded, backend, SortRequest("radix"), Effort(1))
    assert [row.name for row in one.rows if not row.library] == ["radix"]


@pytest.mark.parametrize("name", ["a.i32", "a.npy", "a.txt", "a.i32.gz"])
def test_whole_sorts_of_the_files(backend: Backend, rng: np.random.Generator, tmp_path: Path, name: str) -> None:
    keys = rng.integers(0, 999, 5000).astype(">i4" if name == "a.npy" else "i4")
    path = tmp_path / name
    if name == "a.npy":
        np.save(path, keys)
    elif name == "a.i32.gz":
        needs.library("isal")
        path.write_bytes(gzip.compress(keys.tobytes()))
    else:
        keys.tofile(path, sep="\n" if name == "a.txt" else "")
    (tmp_path / "temporary").mkdir()
    files = sort_job((str(path),), folders=(str(tmp_path / "temporary"),))
    loaded = load_runs(merge_job(files.inputs, check=False))
    report = compare_sorts(loaded, backend, SortRequest(), Effort(1), files)
    assert all(row.right for row in report.rows)
    assert report.command == "sort"
    assert all(len(row.whole_seconds) == REPEAT and row.whole > 0 and row.copies > 0 for row in report.rows)
    assert list((tmp_path / "temporary").iterdir()) == []
    if name != "a.txt":
        assert any(row.library for row in report.rows)


def test_a_library_sorts_whole_files_as_the_command_does(rng: np.random.Generator, tmp_path: Path) -> None:
    """All timed commands do the same work: their outputs have the same bytes."""
    for name, items in (("a.i32", Items()), ("b.i32", Items(reverse=True))):
        rng.integers(0, 999, 5000).astype("i4").tofile(tmp_path / name)
        job = sort_job((str(tmp_path / name),), items=items)
        ours = file_sorts.File(job, backends_select.host(), 2, str(tmp_path / "ours.i32"))
        ours.by_algorithm(SortRequest("merge"))
        for library in ("numpy stable sort", "numpy sort"):
            replace(ours, output=str(tmp_path / "theirs.i32")).by_library(library)
            assert (tmp_path / "theirs.i32").read_bytes() == (tmp_path / "ours.i32").read_bytes()


def test_standard_input_is_not_sorted_again() -> None:
    rows = (Measured("merge", "merge", True, (1.0,)),)
    assert file_sorts.whole_sorts(sort_job(("-",)), ReferenceBackend(), [SortRequest()], rows) == rows


class _WrongWorkspace(ReferenceWorkspace):
    def sort(self, policy: SortPolicy, equals: Equals = Equals.ALL, *, by_parts: bool = False) -> None:
        super().sort(policy, equals)
        if policy.algorithm == "bottom-up":
            self._out = self._out[::-1]


def test_a_wrong_output_is_told(rng: np.random.Generator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = ReferenceBackend()
    monkeypatch.setattr(
        backend, "workspace", lambda order, capacity, **_: _WrongWorkspace(order, capacity), raising=False
    )
    loaded = load_runs(merge_job((made(tmp_path, rng, "u1"),), check=False))
    report = compare_sorts(loaded, backend, SortRequest(), Effort(1))
    assert [row.name for row in report.rows if not row.right] == ["bottom-up"]


def test_more_lines_than_recursion_takes(tmp_path: Path) -> None:
    (tmp_path / "lines").write_bytes(b"a\n" * (MAX_RECURSIVE_ITEMS + 1))
    job = merge_job((str(tmp_path / "lines"),), items=Items("text"), check=False)
    report = compare_sorts(load_runs(job), backends_select.host(), SortRequest(), Effort(1))
    assert "recursive" not in [row.name for row in report.rows]
    assert all(row.right for row in report.rows)


def test_the_command(rng: np.random.Generator, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = made(tmp_path, rng)
    assert door.invoke(["sort", "--compare", "--backend=cpu", name, "--report", str(tmp_path / "r.json")]) == 0
    assert "bottom-up" in capsys.readouterr().err
    rows = json.loads((tmp_path / "r.json").read_text())["rows"]
    assert all(row["whole"] > 0 for row in rows)
    once = ["sort", "--compare", "--repeat=1", "--backend=cpu", name, "--report", str(tmp_path / "r.json")]
    assert door.invoke(once) == 0
    assert {len(row["seconds"]) for row in json.loads((tmp_path / "r.json").read_text())["rows"]} == {1}
    for wrong in (["--repeat=3"], ["--compare", "--repeat=0"]):
        capsys.readouterr()
        assert door.invoke(["sort", *wrong, name]) == 2
        assert "--repeat" in capsys.readouterr().err
    assert door.invoke(["sort", "--compare", "-o", "x", name]) == 2
    assert "--compare sorts and writes no output" in capsys.readouterr().err
    (tmp_path / "none.i32").write_bytes(b"")
    loaded = load_runs(merge_job((str(tmp_path / "none.i32"),), check=False))
    with pytest.raises(UsageError, match="empty"):
        compare_sorts(loaded, ReferenceBackend(), SortRequest(), Effort())
