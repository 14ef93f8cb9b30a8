"""Jobs that only Python can make: nothing that they say is passed over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpumerge_cli import Destination, Job, Operation, Resources, UsageError, run
from gpumerge_cli.dataclass import field_names


@pytest.fixture
def names(tmp_path: Path) -> tuple[str, str]:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_bytes(b"1\n2\n")
    return str(tmp_path / "a.txt"), str(tmp_path / "b.txt")


def test_a_job_has_no_file_for_its_report() -> None:
    """The door writes reports: `run` returns them."""
    assert [*field_names(Job)] == ["inputs", "items", "operation", "output", "resources"]


@pytest.mark.parametrize("kind", ["merge", "check", "sort", "rank"])
def test_a_cluster_is_not_passed_over(kind: Any, names: tuple[str, str], tmp_path: Path) -> None:
    output = Destination(str(tmp_path / "out.txt"))
    with pytest.raises(UsageError, match="names the cluster tcp://a:1, and this process is to do it; use the command"):
        run(Job(names, operation=Operation(kind), output=output, resources=Resources(cluster="tcp://a:1")))
    assert not (tmp_path / "out.txt").exists()


def test_other_objects_are_no_jobs() -> None:
    with pytest.raises(UsageError, match="int is not a Job; make one"):
        run(1)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["join", "union", "", None])
def test_unknown_kinds_of_operations(kind: Any, names: tuple[str, str], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a kind of operation; use one of merge, sort, check, rank"):
        run(Job(names, operation=Operation(kind), output=Destination(str(tmp_path / "out.txt"))))
    assert not (tmp_path / "out.txt").exists()


def test_names_are_strings(names: tuple[str, str], tmp_path: Path) -> None:
    out: Any = tmp_path / "out.txt"
    inputs: list[Any] = [names[0], (Path(names[0]),), (names[0], None)]
    jobs = [Job(given, output=Destination(str(out))) for given in inputs]
    for job in [*jobs, Job(names, output=Destination(out))]:
        with pytest.raises(UsageError, match="names of files are strings, and inputs are a tuple"):
            run(job)
