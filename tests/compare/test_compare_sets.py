"""Comparisons of sets: the oracle is right, wrong results are told, and NumPy stands beside the set."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.backends.compared import ComparedBackend
from gpumerge_cli.backends.select import host
from gpumerge_cli.cli.app import invoke
from gpumerge_cli.compare.contest import Effort
from gpumerge_cli.compare.run import compare_sets
from gpumerge_cli.compare.set_oracle import SetOracle
from gpumerge_cli.engine.load import LoadedRuns
from gpumerge_cli.errors import UsageError
from gpumerge_cli.launch import LaunchPolicy
from gpumerge_cli.order.equals import SETS, Equals
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.results.run import InputFile
from tests.engine.test_sets import ALL_SETS, expected
from tests.linekeys import key_of
from tests.reference import ReferenceBackend, ReferenceWorkspace

ORDERS = {
    "int32": Order.of("int32"),
    "float64, descending": Order.of("float64", descending=True),
    "uint8": Order.of("uint8"),
    "records": Order.records(5, 1, np.dtype(">i2")),
    "bytes": Order.records(4, 1, 2, descending=True),
    "lines": Order.lines(),
    "numbers in lines": Order.lines(numeric=True),
}


def drawn(order: Order, chance: random.Random) -> list[list[bytes]]:
    """A few runs of items, many of them equal. Lines come with their ends."""

    def item() -> bytes:
        if not order.record and order.text is None:
            return np.array(chance.choice([0, 1, 2, -0.0]), np.float64).astype(order.dtype).tobytes()
        if order.record:
            return bytes(chance.choice([0, 1, 2]) for _ in range(order.record))
        return chance.choice([b"1", b"01", b"2", b"", b"a b"])

    runs = [[item() for _ in range(chance.choice([0, 1, 12, 30]))] for _ in range(chance.randint(1, 4))]
    return [sorted(each, key=key_of(order)) for each in runs]


def joined(items: Sequence[bytes], order: Order) -> Any:
    end = order.end if order.text is not None else b""
    return np.frombuffer(b"".join(item + end for item in items), np.uint8)


def loaded(runs: Sequence[Any], order: Order) -> LoadedRuns:
    return LoadedRuns(
        tuple(runs), order, tuple(InputFile(str(at), len(each), each.nbytes) for at, each in enumerate(runs))
    )


@pytest.mark.parametrize("kind", ORDERS)
@pytest.mark.parametrize("equals", ALL_SETS)
def test_the_oracle_has_what_the_plain_rule_says(kind: str, equals: Equals, seed: int) -> None:
    print("seed", seed)
    chance, order = random.Random(seed), ORDERS[kind]
    for _ in range(5):
        runs = drawn(order, chance)
        right = joined(expected(runs, order, equals), order)
        truth = SetOracle([joined(each, order) for each in runs], order, equals)
        assert truth.exact(right)
        assert truth.equal_by_key(right)
        assert truth.nbytes == right.nbytes
        if len(right):
            assert not truth.exact(right[:-1])
            wrong = right.copy()
            wrong[chance.randrange(len(wrong))] ^= 3
            assert not truth.exact(wrong)


def test_zeros_of_either_sign_are_equal_by_key_alone() -> None:
    order = Order.of("float64")
    first, second = np.array([-0.0, 1]), np.array([0.0, 1])
    truth = SetOracle([first.view(np.uint8), second.view(np.uint8)], order, Equals.INTERSECT)
    assert truth.exact(first.view(np.uint8))
    assert not truth.exact(second.view(np.uint8))
    assert truth.equal_by_key(second.view(np.uint8))
    assert not truth.equal_by_key(np.array([1.0, 1]).view(np.uint8))


@pytest.mark.parametrize("kind", ORDERS)
@pytest.mark.parametrize("equals", ALL_SETS)
def test_the_cpu_is_right_and_timed(kind: str, equals: Equals, seed: int) -> None:
    print("seed", seed)
    chance, order = random.Random(seed), ORDERS[kind]
    runs = [joined(each, order) for each in drawn(order, chance)]
    if not sum(each.nbytes for each in runs):
        runs.append(joined([b"\x01" * (order.item_bytes or 1)], order))
    report = compare_sets(loaded(runs, order), host(), equals, Effort(2, 2))  # type: ignore[arg-type]
    names = [row.name for row in report.rows]
    assert names[0] == "walk"
    assert len(names) == (2 if order in (ORDERS["int32"], ORDERS["uint8"], ORDERS["float64, descending"]) else 1)
    total = sum(each.nbytes for each in runs)
    for row in report.rows:
        assert (row.right, row.problem, len(row.seconds)) == (True, "", 2)
        assert row.nbytes == total + SetOracle(runs, order, equals).nbytes
    assert report.command == f"{equals.name_of_set}{' --distinct' if equals.is_distinct else ''}"


@pytest.mark.gpu
@pytest.mark.parametrize("kind", sorted(set(ORDERS) - {"int32", "uint8", "float64, descending"}))
@pytest.mark.parametrize("equals", ALL_SETS)
def test_a_gpu_is_right_on_lines_and_records(
    gpu_backend: ComparedBackend, kind: str, equals: Equals, seed: int
) -> None:  # fmt: skip
    print("seed", seed)
    chance, order = random.Random(seed), ORDERS[kind]
    runs = [joined(each, order) for each in drawn(order, chance)]
    if not sum(each.nbytes for each in runs):
        runs.append(joined([b"\x01" * (order.item_bytes or 1)], order))
    (row,) = compare_sets(loaded(runs, order), gpu_backend, equals, Effort(2, 2)).rows
    assert (row.name, row.right, row.problem, len(row.seconds)) == ("walk", True, "", 2)


@pytest.mark.gpu
@pytest.mark.parametrize("kind", ["int32", "uint8", "float64, descending"])
@pytest.mark.parametrize("equals", ALL_SETS)
def test_a_gpu_is_right_and_timed(gpu_backend: ComparedBackend, kind: str, equals: Equals, seed: int) -> None:
    """Beside Thrust, if it compiles, where that knows the set: of two runs, and without `distinct`."""
    print("seed", seed)
    chance, order = random.Random(seed), ORDERS[kind]
    thrust = "left out" not in gpu_backend.versions()["CCCL"]
    for count in (1, 2, 3):
        runs = [np.sort(np.array(chance.choices(range(50), k=4000 * at), order.dtype)) for at in range(count)]
        runs[0] = np.array([1, 1, 2], order.dtype)
        runs = [run[::-1].copy() if order.descending else run for run in runs]
        given = loaded([run.view(np.uint8) for run in runs], order)
        report = compare_sets(given, gpu_backend, equals, Effort(2, 2))
        assert [row.right for row in report.rows] == [True] * len(report.rows), report.rows
        assert len(report.rows) == 1 + (thrust and count == 2 and not equals.is_distinct)
        assert all(len(row.seconds) == 2 and row.seconds[0] > 0 for row in report.rows)


def test_the_output_may_be_the_input_itself() -> None:
    """A set of one run is that run. To overwrite it would spoil the input of all that follows."""
    one = np.array([1, 1, 2], np.int32).view(np.uint8)
    assert all(row.right for row in compare_sets(loaded([one], ORDERS["int32"]), host(), Equals.UNION, Effort(2)).rows)  # type: ignore[arg-type]


class Merging(ReferenceBackend):
    """A backend that knows no sets: it merges."""

    def workspace(self, order: Order, capacity: int, *, threads: int = 1) -> ReferenceWorkspace:
        return MergingWorkspace(order, capacity)


class MergingWorkspace(ReferenceWorkspace):
    def merge(self, policy: LaunchPolicy, equals: Equals = Equals.ALL) -> None:
        super().merge(policy)


def test_a_wrong_set_is_told_and_not_timed() -> None:
    runs = [np.array([1, 2], np.int32).view(np.uint8)] * 2
    (row,) = compare_sets(loaded(runs, Order.of("int32")), Merging(), Equals.UNION, Effort(2)).rows
    assert (row.right, row.seconds) == (False, ())
    with pytest.raises(UsageError, match="the inputs are empty"):
        compare_sets(loaded([runs[0][:0]], Order.of("int32")), Merging(), Equals.UNION, Effort(2))


@pytest.mark.one_of_each
@pytest.mark.parametrize("distinct", [False, True])
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("suffix", [".json", ".csv", ".md", ".html"])
def test_the_command_shows_a_table_and_writes_reports(
    name: str, distinct: bool, suffix: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for file in "ab":
        np.sort(np.random.default_rng(3).integers(0, 50, 400).astype("i4")).tofile(tmp_path / f"{file}.i32")
    report = tmp_path / f"report{suffix}"
    two = [str(tmp_path / f"{file}.i32") for file in "ab"]
    words = [name, *two, "--compare", "--repeat", "2", "--report", str(report), *["--distinct"] * distinct]
    assert invoke(words) == 0
    captured = capfd.readouterr()
    assert captured.out == ""
    for text in ("walk", "numpy", "library", "copy", "median of 2"):
        assert text in captured.err
    assert "walk" in report.read_text()
    if suffix == ".json":
        told = json.loads(report.read_text())
        assert (told["kind"], told["command"]) == ("compare", f"{name} --distinct" if distinct else name)
    if suffix == ".md":
        assert report.read_text().startswith(f"# gpumerge {name}{' --distinct' if distinct else ''} --compare\n")
    assert invoke([*words, "-q"]) == 0
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["-o", "x"], "--compare writes no output; leave -o out"),
        (["--count"], "--compare counts nothing"),
        (["--count-to", "c"], "--compare counts nothing"),
        (["--parts", "2"], "--compare writes no parts"),
        (["--report", "r.txt"], "r.txt"),
    ],
)
def test_what_is_refused(more: list[str], told: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_text("1\n2\n")
    file = str(tmp_path / "a.txt")
    assert invoke(["union", file, file, "--compare", *more]) == 2
    error = capfd.readouterr().err
    assert told in error
    assert error.count("\n") == 1


def test_repeats_need_a_comparison_and_disorder_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_text("b\na\n")
    assert invoke(["union", str(tmp_path / "a.txt"), "--repeat", "2"]) == 2
    assert "--repeat is for comparisons; add --compare" in capfd.readouterr().err
    assert invoke(["union", str(tmp_path / "a.txt"), "--compare"]) == 2
    assert "a.txt:2: disorder: 'a' comes after 'b'" in capfd.readouterr().err
