"""--report FILE.html, from the command line to the page, against the JSON report of the same run."""

from __future__ import annotations

import gzip
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.cli.app import invoke

RESULTS = Path(__file__).parents[2] / "data" / "results" / "h100"
HOSTILE = "<b onclick='x'>&\"a\n.i32"


@pytest.fixture
def two(tmp_path: Path) -> tuple[str, str]:
    for name, step in ((HOSTILE, 2), ("b.i32", 3)):
        (tmp_path / name).write_bytes(np.arange(0, 60_000, step, dtype=np.int32).tobytes())
    return str(tmp_path / HOSTILE), str(tmp_path / "b.i32")


class Balanced(HTMLParser):
    def __init__(self, path: Path) -> None:
        super().__init__()
        self.open: list[str] = []
        self.words = ""
        self.feed(path.read_text())
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not any(name.startswith("on") for name, _ in attrs)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


def check_timeline(report: dict[str, Any]) -> None:
    assert report["schema"] == 4
    seconds = {stage["name"]: stage["seconds"] for stage in report["stages"]}
    moved = {stage["name"]: stage["nbytes"] for stage in report["stages"]}
    timeline = report["timeline"]
    assert set(seconds) <= {one["stage"] for one in timeline} <= {*seconds, "plan", "decompress", "spool", "search"}
    for stage, total in seconds.items():
        mine = [one for one in timeline if one["stage"] == stage]
        assert sum(one["seconds"] for one in mine) == pytest.approx(total, abs=2e-6 * len(mine))
        assert sum(one["nbytes"] for one in mine) == moved[stage]
    ends = report["start_up"] + report["busy"]
    for one in timeline:
        assert 0 <= one["start"] <= one["stop"] <= ends + 1e-3
        if one["stage"] not in ("decompress", "spool", "search"):
            assert one["start"] >= report["start_up"] - 1e-3


@pytest.mark.parametrize("words", [["merge", "--head=900"], ["rank", "--range=5:900"], ["merge", "--parts=3"]])
def test_the_search_for_ranks_and_parts_is_no_work(words: list[str], two: tuple[str, str], tmp_path: Path) -> None:
    """It comes ahead of the work, whose shares are those of the time since then."""
    told, page, out = tmp_path / "r.json", tmp_path / "r.md", tmp_path / "out.{part}.i32"
    out = out if "--parts=3" in words else tmp_path / "out.i32"
    words = [*words, "-o", str(out), "-q", "--backend=cpu", "--threads=1"]
    for report_to in (told, page):
        assert invoke([*words, *two, "--report", str(report_to)]) == 0
    report = json.loads(told.read_text())
    check_timeline(report)
    assert any(one["stage"] == "search" for one in report["timeline"])
    assert report["plan"] <= report["busy"]
    assert re.findall(r"^\| *(start-up|find the cuts|work) \|", page.read_text(), re.M)[:3] == [
        "start-up",
        "find the cuts",
        "work",
    ]


def test_a_merge(two: tuple[str, str], tmp_path: Path) -> None:
    page, told, out = tmp_path / "r.html", tmp_path / "r.json", str(tmp_path / "out.i32")
    for report in (page, told):
        words = ["merge", *two, "-o", out, "-q", "--report", str(report), "--backend", "cpu", "--memory", "8M"]
        assert invoke(words) == 0
    report = json.loads(told.read_text())
    check_timeline(report)
    assert {one["name"] for one in report["ceilings"]} == {"storage", "merging"}
    assert report["expected"] > 0
    words = Balanced(page).words
    assert "<b onclick='x'>&\"a\\n.i32" in words
    for name in ("read inputs", "merge kernel", "write output", "Bounded by"):
        assert name in words


def test_what_is_decompressed_shows(two: tuple[str, str], tmp_path: Path) -> None:
    packed = tmp_path / "a.i32.gz"
    packed.write_bytes(gzip.compress(Path(two[0]).read_bytes()))
    told = tmp_path / "r.json"
    words = ["merge", str(packed), two[1], "-o", str(tmp_path / "o.i32"), "-q", "--backend", "cpu"]
    assert invoke([*words, "--report", str(told)]) == 0
    report = json.loads(told.read_text())
    check_timeline(report)
    assert [one["nbytes"] for one in report["timeline"] if one["stage"] == "decompress"] == [120_000]


@pytest.mark.parametrize("options", [[], ["-u"], ["-S", "100k"]])
def test_a_sort(tmp_path: Path, options: list[str]) -> None:
    source = tmp_path / "u.txt"
    source.write_text("".join(f"{n * 7919 % 100_003}\n" for n in range(100_000)))
    page, told = tmp_path / "r.html", tmp_path / "r.json"
    for report in (page, told):
        words = ["sort", "-n", str(source), "-o", str(tmp_path / "s.txt"), f"--report={report}"]
        assert invoke([*words, *options]) == 0
    report = json.loads(told.read_text())
    assert report["kind"] == "sort"
    check_timeline(report)
    words = Balanced(page).words
    assert "gpumerge sort" in words
    assert "sort pieces" in words
    assert "sorted 1 input" in words


def test_a_comparison(two: tuple[str, str], tmp_path: Path) -> None:
    page = tmp_path / "r.html"
    words = ["merge", *two, "--compare", "-q", "--backend", "cpu", "--repeat", "2", "--report", str(page)]
    assert invoke(words) == 0
    assert "too few timings" in Balanced(page).words


def test_results_of_a_bench(tmp_path: Path) -> None:
    page = tmp_path / "r.html"
    assert invoke(["bench", "--render", str(RESULTS / "bench-sizes.json"), "-o", str(page), "-q"]) == 0
    words = Balanced(page).words
    assert re.search(r"lost, 0\.\d\d x", words)
    assert "not significant" in words
