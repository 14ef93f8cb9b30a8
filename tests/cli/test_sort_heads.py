"""sort --head and --tail, by their command lines."""

from __future__ import annotations

import gzip
import io
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.cli.app import invoke

Captured = pytest.CaptureFixture[str]
LINES = [f"{number * 7919 % 1000} line {number}\n" for number in range(1000)]


@pytest.fixture
def numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """a.txt and b.txt in the current folder; their lines by number."""
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("".join(LINES[:600]))
    Path("b.txt").write_text("".join(LINES[600:]))
    return sorted(LINES, key=lambda line: int(line.split()[0]))


def shown(capfd: Captured, words: Sequence[str]) -> str:
    assert invoke(["sort", *words]) == 0
    return capfd.readouterr().out


@pytest.mark.parametrize("count", [0, 1, 7, 999, 1000, 1 << 40])
def test_first_and_last_lines(numbers: list[str], count: int, capfd: Captured) -> None:
    words = ["-n", "a.txt", "b.txt"]
    assert shown(capfd, ["--head", str(count), *words]) == "".join(numbers[:count])
    assert shown(capfd, ["--tail", str(count), *words]) == "".join(numbers[max(0, 1000 - count) :])


def test_parts_names_and_underlined_keys(numbers: list[str], capfd: Captured) -> None:
    assert invoke(["sort", "-n", "--head", "7", "--parts", "2", "a.txt", "b.txt", "-o", "{part}.txt"]) == 0
    assert [Path(f"{part}.txt").read_text() for part in range(2)] == ["".join(numbers[:3]), "".join(numbers[3:7])]
    assert invoke(["sort", "-n", "-u", "--tail", "5", "--parts", "2", "a.txt", "b.txt", "-o", "{part}.txt"]) == 0
    assert "".join(Path(f"{part}.txt").read_text() for part in range(2)) == "".join(numbers[-5:])
    expected = [("a.txt" if int(line.split()[2]) < 600 else "b.txt") + "\t" + line for line in numbers]
    assert shown(capfd, ["-n", "--source", "--tail", "40", "a.txt", "b.txt"]) == "".join(expected[-40:])
    assert shown(capfd, ["-n", "--debug", "--head", "2", "a.txt", "b.txt"]).splitlines()[::3] == [
        line[:-1] for line in numbers[:2]
    ]


def test_names_of_inputs_beside_many_runs(numbers: list[str], monkeypatch: pytest.MonkeyPatch, capfd: Captured) -> None:
    """Each run has the items of one input."""
    monkeypatch.setattr("gpumerge_cli.engine.selecting._LEAST", 1000)
    expected = [("a.txt" if int(line.split()[2]) < 600 else "b.txt") + "\t" + line for line in numbers]
    for count in (3, 400):
        words = ["-n", "--source", "--head", str(count), "a.txt", "b.txt"]
        assert shown(capfd, words) == "".join(expected[:count])


def test_pipes_and_compressed_inputs(
    numbers: list[str], monkeypatch: pytest.MonkeyPatch, capfd: Captured, tmp_path: Path
) -> None:
    Path("a.txt.gz").write_bytes(gzip.compress(Path("a.txt").read_bytes()))
    assert shown(capfd, ["-n", "--compressed", "--tail", "3", "a.txt.gz", "b.txt"]) == "".join(numbers[-3:])
    with open("b.txt", "rb") as file:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(file))
        assert shown(capfd, ["-n", "--head", "2", "b.txt"]) == "".join(
            [one for one in numbers if one in LINES[600:]][:2]
        )


def test_the_output_may_be_an_input(numbers: list[str]) -> None:
    assert invoke(["sort", "-n", "--head", "4", "a.txt", "b.txt", "-o", "a.txt"]) == 0
    assert Path("a.txt").read_text() == "".join(numbers[:4])


def test_outputs_of_other_formats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    monkeypatch.chdir(tmp_path)
    rng = random.Random(7)
    ids = [rng.randrange(10**6) for _ in range(5000)]
    Path("a.csv").write_text("id,name\n" + "".join(f"{one},n{at}\n" for at, one in enumerate(ids)))
    assert invoke(["sort", "-q", "--field", "id:n", "--head", "9", "a.csv", "-o", "few.parquet"]) == 0
    found = pq.read_table("few.parquet").column("id").to_pylist()
    assert [int(one) for one in found] == sorted(ids)[:9]
    np.save("a.npy", np.array(ids))
    assert invoke(["sort", "-q", "--tail", "9", "a.npy", "-o", "few.npy"]) == 0
    assert np.load("few.npy").tolist() == sorted(ids)[-9:]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("memory", [[], ["-S", "200K"]])
def test_rows_of_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, memory: list[str], rng: np.random.Generator
) -> None:
    """Rows that cannot be among the wanted ones are left out while the others are read, equal ones by --unique."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gpumerge_cli.formats.tables.runs._MOST_CANDIDATES", 500)
    rows: list[tuple[int, str, int]] = []
    for number in range(2):
        ids = rng.integers(0, 900, 4000).tolist()
        table = pa.table(
            {"id": ids, "text": [f"t{one * 7 % 31}" for one in ids], "row": range(len(rows), len(rows) + 4000)}
        )
        pq.write_table(table, f"{number}.parquet", row_group_size=700)
        rows += zip(*(table.column(name).to_pylist() for name in ("id", "text", "row")), strict=True)

    def found(*words: str) -> list[tuple[Any, ...]]:
        assert invoke(["sort", "-q", *memory, *words, "0.parquet", "1.parquet", "-o", "out.parquet"]) == 0
        table = pq.read_table("out.parquet")
        return list(zip(*(table.column(name).to_pylist() for name in ("id", "text", "row")), strict=True))

    whole = sorted(rows, key=lambda row: (row[1], row[0]))
    by_id: dict[int, list[tuple[int, str, int]]] = {}
    for row in rows:
        by_id.setdefault(row[0], []).append(row)
    distinct = [by_id[one] for one in sorted(by_id)]
    for count in (0, 1, 60, 5000, 10_000):
        assert found("--field", "text,id", "--head", str(count)) == whole[:count]
        assert found("--field", "text,id", "--tail", str(count)) == whole[max(0, len(whole) - count) :]
        assert found("--field", "id", "-u", "--head", str(count)) == [one[0] for one in distinct[:count]]
        last = [one[-1] for one in distinct[max(0, len(distinct) - count) :]]
        assert found("--field", "id", "--unique=last", "--tail", str(count)) == last


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--head 1 --tail 1", "--head and --tail are both given; use one of them"),
        ("--head 1 -m", "--head cannot be combined with -m; use gpumerge merge --head"),
        ("--tail 1 -c", "-c: a check writes nothing; leave --tail out"),
        ("--tail 1 -C", "-C: a check writes nothing; leave --tail out"),
        ("--head 1 --count", "--count needs the whole sort, so it cannot be combined with --head; {way}"),
        ("--tail 1 --count-to n", "--count-to needs the whole sort, so it cannot be combined with --tail; {way}"),
        ("--head 1 --only singles", "--only needs the whole sort, so it cannot be combined with --head; {way}"),
        ("--head 1 --counted", "--counted needs the whole sort, so it cannot be combined with --head; {way}"),
        ("--head 1 --sum 1", "--sum needs the whole sort, so it cannot be combined with --head; {way}"),
        (
            "--tail 1 --unique --keep-order",
            "--tail is for sorted outputs; leave --tail out, or use gpumerge sort without --keep-order",
        ),
        ("--head 1 --compare", "--compare needs the whole sort, so it cannot be combined with --head; {way}"),
        ("--head 1 --cluster 2", "--head is for this machine; leave --cluster out"),
        (
            "--head 1 --backend gpu",
            "the first or last items of a sort are made by the CPU alone; leave --backend gpu out",
        ),
        (
            "--head 1 -u --source",
            "--source cannot be combined with --unique if only the first or last items are written; leave one of "
            "them out",
        ),
        ("--head -1", "--head: invalid count '-1'; write for example 1000000, 1e6, 10M or 2^20"),
    ],
)  # fmt: skip
def test_heads_that_cannot_be(numbers: list[str], capfd: Captured, words: str, said: str) -> None:
    assert invoke(["sort", *words.split(), "a.txt"]) == 2
    captured = capfd.readouterr()
    assert captured.err == f"gpumerge: {said.format(way='leave one of them out', out='out')}\n"
    assert captured.out == ""


def test_invalid_keys_of_items_that_are_left_out(numbers: list[str], capfd: Captured) -> None:
    """Each key is read, wherever its line goes."""
    Path("c.txt").write_text("".join(f"10.0.0.{number % 250}\n" for number in range(50_000)) + "none\n10.0.0.1\n")
    assert invoke(["sort", "-k1,1:address", "--head", "1", "c.txt", "-o", "out.txt"]) == 2
    assert capfd.readouterr().err.startswith("gpumerge: c.txt:50001: 'none' is not an address")
    assert not Path("out.txt").exists()


def test_heads_in_jobs(numbers: list[str]) -> None:
    Path("jobs.toml").write_text(
        '[[job]]\noperation = "sort"\ninputs = ["a.txt"]\nnumeric-sort = true\noutput = "few.txt"\nhead = 3\n'
        '[[job]]\noperation = "sort"\ninputs = ["a.txt"]\nnumeric-sort = true\noutput = "last.txt"\ntail = 2\n'
    )
    assert invoke(["batch", "-q", "jobs.toml"]) == 0
    lines = [line for line in numbers if int(line.split()[2]) < 600]
    assert Path("few.txt").read_text() == "".join(lines[:3])
    assert Path("last.txt").read_text() == "".join(lines[-2:])
