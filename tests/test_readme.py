"""The first screen of the README: its figures are those of the results, and its picture shows what commands give."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.shown import matches, rows_of

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "data" / "results"
PICTURE = ROOT / "data" / "figures" / "terminal.svg"

# Rows of the README: the file below data/results/epyc, its case, and the commands of the columns; None: not measured.
_GPUMERGE = ("gpumerge, cpu", "GNU sort", None, None)
_ALL = ("gpumerge, cpu", "GNU sort", "duckdb", "polars")
_TABLES = ("gpumerge", None, "DuckDB ORDER BY", "polars merge_sorted")
TABLE = {
    "merge 2 x 0.5 GB of access log lines": (
        "text-merges.md", "1.02 GB of access log lines, bytewise", _GPUMERGE
    ),
    "merge 2 x 0.2 GB of numbers, `-n`": ("text-merges.md", "0.40 GB of numbers, -n", _GPUMERGE),
    "merge 2 x 0.2 GB of CSV, `-k2,2n -t,`": ("text-merges.md", "0.41 GB of CSV, -k2,2n -t,", _GPUMERGE),
    "sort 20 M lines, 0.21 GB": ("file-sorts.md", "0.21 GB, 20,000,000 lines, bytewise", _ALL),
    "sort 20 M lines by their numbers, `-n`": ("file-sorts.md", "0.21 GB, 20,000,000 lines, -n", _ALL),
    "sort 1 GB of 100-byte lines": ("file-sorts.md", "1.0 GB of sort benchmark records, ASCII", _GPUMERGE),
    "merge 2 Parquet files that do not overlap, 20 M rows each": (
        "tables.md", "merge of two files that follow each other", _TABLES
    ),
    "merge 2 Parquet files that overlap, 20 M rows each": ("tables.md", "merge of two files", _TABLES),
    "merge 1,000 pairs of 100 KB files": (
        "batch.md", "lines, bytewise", ("gpumerge batch", "shell loop over sort -m", None, None)
    ),
}  # fmt: skip
# Rows of the README: the result of gpumerge bench below data/results/h100, and its kind and number of items.
BENCH = {
    "merge 2^28 int32": ("bench-dtypes.json", "int32", 1 << 28),
    "merge 2^27 int32 with 4-byte values": ("bench-pairs.json", "int32+4", 1 << 27),
    "merge 2^10 int32": ("bench-sizes.json", "int32", 1 << 10),
    "sort 2^28 uint32": ("bench-sorts.json", "uint32", 1 << 28),
    "sort 2^14 int32": ("bench-small-sorts.json", "int32", 1 << 14),
}
# Rows of the README: the first cells of a row in data/results/h100/answers.md.
ANSWERS = {
    "first 10 of 2^28 uint32": ["topk 10", "uint32", "uniform", str(1 << 28)],
    "first 10,000 of 2^27 int64": ["topk 10,000", "int64", "uniform", str(1 << 27)],
    "unique of 2^27 uint32, all different, with counts": ["unique, counts", "uint32", "all differ", str(1 << 27)],
}


def shown() -> dict[str, list[str]]:
    """The rows of the README's tables of figures."""
    text = (ROOT / "README.md").read_text().split("## How fast it is")[1].split("\n## ")[0]
    return {cells[0]: cells[1:] for cells in rows_of(text)}


def with_least_marked(cells: dict[int, str], width: int) -> list[str]:
    least = min(cells, key=lambda at: float(cells[at]))
    return [f"**{cells[at]}**" if at == least else cells.get(at, "") for at in range(width)]


def test_each_row_of_the_readmes_tables_is_held() -> None:
    assert {name for name in shown() if not name.startswith(("seconds", "milliseconds", "-"))} == {
        *TABLE, *BENCH, *ANSWERS
    }  # fmt: skip


@pytest.mark.parametrize("title", TABLE)
def test_the_readmes_seconds_are_the_results(title: str) -> None:
    file, case, commands = TABLE[title]
    rows = rows_of((RESULTS / "epyc" / file).read_text())
    command = rows[0].index("command")  # its median stands behind it
    medians = {cells[command]: cells[command + 1].split()[0] for cells in rows if cells[0] == case}
    assert shown()[title] == with_least_marked({at: medians[name] for at, name in enumerate(commands) if name}, 4)


@pytest.mark.parametrize("title", BENCH)
def test_the_readmes_merges_and_sorts_of_a_gpu_are_the_results(title: str) -> None:
    file, items, size = BENCH[title]
    report = json.loads((RESULTS / "h100" / file).read_text())
    rows = [row for row in report["rows"] if (row["items"], row["size"]) == (items, size)]
    assert all(row["right"] for row in rows)
    ours = min(row["median"] for row in rows if row["role"] == "kernel")
    theirs = min(row["median"] for row in rows if row["name"].startswith("cccl"))
    assert shown()[title] == milliseconds(1000 * ours, 1000 * theirs)


@pytest.mark.parametrize("title", ANSWERS)
def test_the_readmes_answers_of_a_gpu_are_the_results(title: str) -> None:
    rows = rows_of((RESULTS / "h100" / "answers.md").read_text())
    (cells,) = [cells for cells in rows if cells[:4] == ANSWERS[title]]
    assert cells[-1] == "yes"
    assert shown()[title] == milliseconds(float(cells[4]), float(cells[6]))


def milliseconds(ours: float, theirs: float) -> list[str]:
    return with_least_marked(dict(enumerate(f"{time:#.3g}" for time in (ours, theirs))), 2)


def recorder() -> Any:
    spec = importlib.util.spec_from_file_location("record_terminal", ROOT / "data" / "bench" / "record_terminal.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_picture_of_a_terminal_shows_what_its_commands_give(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = recorder()
    shutil.copytree(ROOT / "data" / "samples", tmp_path / "samples")
    said: list[tuple[str, str]] = [
        (command, script.recorded(command, tmp_path / "samples")) for command in script.COMMANDS
    ]
    shutil.rmtree(tmp_path / "samples")
    kept, drawn = ("\n".join(script.lines_of(svg)) for svg in (PICTURE.read_text(), script.picture(said)))
    # The rates are masked, and the processor and the bound differ from machine to machine.
    assert kept.count("sort it first") == 1  # nothing is cut off at the edge
    kept, drawn = (re.sub("/s, [cg]pu, bounded by .*", "/s", text) for text in (kept, drawn))
    assert matches(kept, drawn), drawn
    assert all(f"$ {command}\n" in kept for command in script.COMMANDS)


def test_the_picture_of_a_terminal_loads_nothing() -> None:
    svg = PICTURE.read_text()
    assert re.findall(r"https?:[^\s\"<)]*", svg) == ["http://www.w3.org/2000/svg"]
    assert "@font-face" not in svg
    assert "@import" not in svg
    assert len(list(recorder().lines_of(svg))) <= 25
