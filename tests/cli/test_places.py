"""--unique=last and --only by the command line, in every format, with counts, names of files, parts and in batches."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from gpumerge_cli.cli.app import invoke

Row = tuple[int, str]
RULES: dict[str, Callable[[list[Row]], list[Row]]] = {
    "--unique": lambda rows: rows[:1],
    "--unique=first": lambda rows: rows[:1],
    "--unique=last": lambda rows: rows[-1:],
    "--only=duplicates": lambda rows: rows[:1] if len(rows) > 1 else [],
    "--only=all-duplicates": lambda rows: rows if len(rows) > 1 else [],
    "--only=singles": lambda rows: rows if len(rows) == 1 else [],
}


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write_csv(name: str, rows: Sequence[Row]) -> None:
    Path(name).write_text("id,name\n" + "".join(f'{number},"{text}\n"\n' for number, text in rows))


def read_csv(name: str) -> list[Row]:
    import csv

    with open(name, newline="") as file:
        return [(int(number), text[:-1]) for number, text in [*csv.reader(file)][1:]]


def write_jsonl(name: str, rows: Sequence[Row]) -> None:
    Path(name).write_text("".join(json.dumps({"name": text, "id": number}) + "\n" for number, text in rows))


def read_jsonl(name: str) -> list[Row]:
    found = map(json.loads, Path(name).read_text().splitlines())
    return [(one["id"], one["name"]) for one in found]


def write_parquet(name: str, rows: Sequence[Row]) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pa.table({"id": pa.array([one for one, _ in rows], pa.int32()), "name": [text for _, text in rows]})
    parquet.write_table(table, name, row_group_size=7)


def read_parquet(name: str) -> list[Row]:
    from pyarrow import parquet

    return [(row["id"], row["name"]) for row in parquet.read_table(name).to_pylist()]


FORMATS: dict[str, tuple[Any, Any, str]] = {
    "csv": (write_csv, read_csv, "id:n"),
    "jsonl": (write_jsonl, read_jsonl, "id:n"),
    "parquet": (write_parquet, read_parquet, "id"),
}


def drawn(chance: random.Random, *, ordered: bool) -> list[list[Row]]:
    few = chance.choice([1, 4, 30])
    runs = []
    for run in range(chance.randint(1, 3)):
        rows = [(chance.randrange(few), f"{run} {at}") for at in range(chance.choice([1, 1, 60]))]
        runs.append(sorted(rows, key=lambda row: row[0]) if ordered else rows)
    return runs


def kept(rule: str, runs: Sequence[Sequence[Row]]) -> list[tuple[int, list[Row]]]:
    """The size of each group of equal rows, and its rows that go out."""
    rows = sorted((row for run in runs for row in run), key=lambda row: row[0])
    groups = [[*group] for _, group in groupby(rows, lambda row: row[0])]
    return [(len(group), RULES[rule](group)) for group in groups]


@pytest.mark.one_of_each
@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("command", ["merge", "sort -S 1M -s"])
@pytest.mark.parametrize("rule", RULES)
def test_formats(rule: str, command: str, suffix: str, seed: int) -> None:
    chance = random.Random(seed)
    write, read, field = FORMATS[suffix]
    for _ in range(3):
        runs = drawn(chance, ordered=command == "merge")
        names = [f"{number}.{suffix}" for number in range(len(runs))]
        for name, run in zip(names, runs, strict=True):
            write(name, run)
        expected = [row for _, rows in kept(rule, runs) for row in rows]
        words = [*command.split(), "--field", field, rule, "--backend", "cpu", "-q", *names]
        assert invoke([*words, "-o", f"out.{suffix}"]) == 0
        assert read(f"out.{suffix}") == expected
        assert invoke([*words, "--parts", "2", "-o", f"out{{part}}.{suffix}"]) == 0
        assert read(f"out0.{suffix}") + read(f"out1.{suffix}") == expected


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_nulls_are_equal(suffix: str) -> None:
    write, read, field = FORMATS[suffix]
    for name, rows in (("a", [(1, "x"), (None, "y")]), ("b", [(1, "z"), (2, "v"), (None, "w")])):
        write(f"{name}.{suffix}", rows)
    expected: dict[str, list[Any]] = {
        "--unique": [(1, "x"), (2, "v"), (None, "y")],
        "--unique=last": [(1, "z"), (2, "v"), (None, "w")],
        "--only=duplicates": [(1, "x"), (None, "y")],
        "--only=all-duplicates": [(1, "x"), (1, "z"), (None, "y"), (None, "w")],
        "--only=singles": [(2, "v")],
    }
    for rule, rows in expected.items():
        assert invoke(["merge", "-q", "--field", field, rule, f"a.{suffix}", f"b.{suffix}", "-o", f"out.{suffix}"]) == 0
        assert read(f"out.{suffix}") == rows


@pytest.mark.parametrize("command", ["merge", "sort", "sort -m"])
@pytest.mark.parametrize("rule", [rule for rule in RULES if "all" not in rule])
def test_counts_and_names_stand_beside_the_item_that_is_kept(rule: str, command: str, seed: int) -> None:
    runs = drawn(random.Random(seed), ordered=command != "sort")
    for number, run in enumerate(runs):
        Path(f"{number}.txt").write_text("".join(f"{key:02d} {text}\n" for key, text in run))
    names = [f"{number}.txt" for number in range(len(runs))]
    words = [*command.split(), "-k", "1,1", rule, "-q", "--backend", "cpu", "-o", "out", *names]
    assert invoke([*words, "--count"]) == 0
    groups = kept(rule, runs)
    expected = (f"{count:7d} {key:02d} {text}\n" for count, rows in groups for key, text in rows)
    assert Path("out").read_text() == "".join(expected)
    assert invoke([*words, "--source"]) == 0
    expected = (f"{text.split()[0]}.txt\t{key:02d} {text}\n" for _, rows in groups for key, text in rows)
    assert Path("out").read_text() == "".join(expected)


def test_jobs_settings_and_plans(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    Path("a.txt").write_text("1 a\n1 b\n2 c\n")
    jobs = [("last", {"unique": "last"}, "1 b\n2 c\n"), ("none", {"unique": False}, "1 a\n1 b\n2 c\n")]
    jobs += [("first", {"unique": True}, "1 a\n2 c\n"), ("singles", {"only": "singles"}, "2 c\n")]
    with open("jobs.jsonl", "w") as file:
        for name, options, _ in jobs:
            job = {"operation": "merge", "key": "1,1", "inputs": ["a.txt"], "output": f"{name}.out", **options}
            print(json.dumps(job), file=file)
    assert invoke(["batch", "jobs.jsonl", "-q"]) == 0
    for name, _, expected in jobs:
        assert Path(f"{name}.out").read_text() == expected
    words = ["merge", "-q", "-k", "1,1", "a.txt"]
    capfd.readouterr()
    monkeypatch.setenv("GPUMERGE_MERGE_UNIQUE", "last")
    for more, expected in (([], "1 b\n2 c\n"), (["-u"], "1 a\n2 c\n"), (["--no-unique"], "1 a\n1 b\n2 c\n")):
        assert invoke([*words, *more]) == 0
        assert capfd.readouterr().out == expected
    monkeypatch.setenv("GPUMERGE_MERGE_UNIQUE", "lest")
    assert invoke(words) == 2
    assert "GPUMERGE_MERGE_UNIQUE" in capfd.readouterr().err
    monkeypatch.delenv("GPUMERGE_MERGE_UNIQUE")
    assert invoke(["merge", "--only", "singles", "a.txt", "--plan"]) == 0
    assert json.loads(capfd.readouterr().out)["nbytes"] == 12
    assert invoke(["merge", "--only", "singles", "-k", "1,1", "a.txt", "-o", "out", "--report", "r.json"]) == 0
    assert (json.loads(Path("r.json").read_text())["dropped"], Path("out").read_text()) == (2, "2 c\n")


def test_disorder_is_an_error_where_lines_are_chosen(capfd: pytest.CaptureFixture[str]) -> None:
    """sort -m takes lines in any order, but only for what GNU sort has, too."""
    Path("a.txt").write_text("2\n1\n2\n")
    assert invoke(["sort", "-m", "-u", "a.txt"]) == 0
    assert capfd.readouterr().out == "2\n1\n2\n"
    assert invoke(["sort", "-m", "--only=singles", "a.txt"]) == 2
    assert "a.txt:2" in capfd.readouterr().err
