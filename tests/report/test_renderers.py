"""Renderers: everything measured is there, whatever the names look like, in 80 columns."""

from __future__ import annotations

import csv
import io
import json
import os
import stat
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import pytest
from rich.console import Console

from gpumerge_cli.errors import GpumergeError, OutputError, UsageError
from gpumerge_cli.report import csv as report_csv
from gpumerge_cli.report import json as report_json
from gpumerge_cli.report import markdown, terminal
from gpumerge_cli.report.model import Ceiling, CompareReport, InputFile, Measured, MergeReport, Stage, Stretch
from gpumerge_cli.report.notes import ceiling, notes
from gpumerge_cli.report.write import COMPARE_SUFFIXES, MERGE_SUFFIXES, report_file

ODD_NAME = "a [bold]b[/bold] | :smile: \udcff.i32"

MERGE = MergeReport(
    inputs=(InputFile(ODD_NAME, 1000, 4000), InputFile("b.i32", 500, 2000)),
    output="c.i32",
    items=1500,
    nbytes=6000,
    written=5996,
    order="int32",
    unique=True,
    dropped=1,
    backend="gpu",
    device="NVIDIA H200",
    backend_why="the GPU takes 0.1 s, the CPU 0.2 s",
    kernel="path",
    launch="path 256x19",
    launch_why="tuned for 4-byte keys",
    chunks=2,
    chunk_bytes=4000,
    shrunk_to=2000,
    workers=2,
    checked=True,
    wall=0.5,
    start_up=0.25,
    plan=0.001,
    busy=0.2,
    stages=(
        Stage("read", 0.05, 6000),
        Stage("upload", 0.01, 6000),
        Stage("kernel", 0.02, 12000),
        Stage("download", 0.01, 6000),
        Stage("write", 0.06, 6000),
    ),
    bound="start-up: half of the run was spent before the first byte",
    peak_memory=12345678,
    version="0.1.0",
    timeline=(
        Stretch("plan", 0, 0.25, 0.251, 0.001, 0),
        Stretch("read", 0, 0.251, 0.281, 0.03, 3600),
        Stretch("read", 1, 0.251, 0.271, 0.02, 2400),
        Stretch("upload", 1, 0.271, 0.281, 0.01, 6000),
        Stretch("kernel", 1, 0.281, 0.311, 0.02, 12000, 3),
        Stretch("download", 0, 0.311, 0.321, 0.01, 6000),
        Stretch("write", 0, 0.321, 0.381, 0.06, 6000),
    ),
    ceilings=(
        Ceiling("storage", ("read", "write"), 2e5, 2, "built in"),
        Ceiling("merging", ("index", "check", "kernel"), 4e5, 1, "built in"),
    ),
    expected=0.1,
)

ROWS = (
    Measured("basic", "basic 256x8", True, (4e-3, 4.2e-3, 4.1e-3), 12000, 4.1e-3, 0.05, 0.25, 1.0),
    Measured("tiled full", "tiled 128x16, tile 1024 full, 1056 blocks", False, nbytes=12000, problem="not the merge"),
    Measured("path", "path 256x19", True, (1e-3, 1.1e-3, 1.3e-3), 12000, 1.1e-3, 0.27, 0.93, 3.7),
    Measured("cub", "", True, (2e-3, 2.1e-3, 2.2e-3), 12000, 2.1e-3, 0.1, 0.5, 2.0, library=True),
    Measured("cupy.sort", "", True, nbytes=12000, problem="not enough memory", library=True),
)

COMPARE = CompareReport(
    inputs=MERGE.inputs,
    items=1500,
    order="int32",
    backend="gpu",
    device="NVIDIA H200",
    repeat=3,
    copy_seconds=(1.02e-3, 1e-3, 1.1e-3),
    copy_nbytes=12000,
    rows=ROWS,
    environment={"driver": "580", "python": "3.11"},
    version="0.1.0",
)

SORTS = replace(
    COMPARE,
    command="sort",
    rows=(
        Measured(
            "merge", "merge, tiles of 4096, path 256x19", True, (4e-3, 4.2e-3, 4.1e-3), 12000, 4.1e-3, 0.05, 0.25,
            copies=4.0, whole_seconds=(0.3, 0.2, 0.4), whole=0.3,
        ),
        Measured("radix", "radix", False, nbytes=12000, problem="not in order"),
        Measured(
            "cupy.sort", "", True, (2e-3, 2.1e-3, 2.2e-3), 12000, 2.1e-3, 0.1, 0.05, copies=20.5, library=True,
            whole_seconds=(0.5,), whole=0.5,
        ),
    ),
)  # fmt: skip


def shown(report: MergeReport | CompareReport, width: int = 80) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, markup=False, emoji=False, highlight=False, force_terminal=False)
    terminal.show(report, console)
    return out.getvalue()


@pytest.mark.parametrize("report", [MERGE, COMPARE, SORTS])
def test_json_holds_every_field_as_it_is(report: MergeReport | CompareReport) -> None:
    back = json.loads(report_json.render(report))
    assert back.keys() == {field.name for field in fields(report)}
    assert back["schema"] == report.schema
    back["inputs"] = tuple(InputFile(**file) for file in back["inputs"])
    if isinstance(report, MergeReport):
        back["stages"] = tuple(Stage(**stage) for stage in back["stages"])
        back["timeline"] = tuple(Stretch(**stretch) for stretch in back["timeline"])
        back["ceilings"] = tuple(Ceiling(**one | {"stages": tuple(one["stages"])}) for one in back["ceilings"])
    else:
        series = ("seconds", "whole_seconds")
        back["rows"] = tuple(Measured(**row | {name: tuple(row[name]) for name in series}) for row in back["rows"])
        back["copy_seconds"] = tuple(back["copy_seconds"])
    assert type(report)(**back) == report


def test_csv_has_a_complete_row_for_each_variant() -> None:
    rows = list(csv.DictReader(io.StringIO(report_csv.render(COMPARE))))
    assert [row["name"] for row in rows] == [row.name for row in ROWS]
    assert [row["right"] for row in rows] == ["true", "false", "true", "true", "true"]
    assert float(rows[2]["median_s"]) == 1.1e-3
    assert float(rows[2]["gb_per_s"]) == pytest.approx(12000 / 1.1e-3 / 1e9)
    assert [float(part) for part in rows[2]["seconds"].split()] == [1e-3, 1.1e-3, 1.3e-3]
    assert rows[1]["median_s"] == rows[4]["gb_per_s"] == ""
    assert all(None not in row and None not in row.values() for row in rows)


def table_rows(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [line.replace("\\|", "").strip("|").split("|") for line in lines]


@pytest.mark.parametrize("report", [MERGE, COMPARE, SORTS])
def test_markdown_tables_are_whole(report: MergeReport | CompareReport) -> None:
    text = markdown.render(report)
    widths = [len(row) for row in table_rows(text)]
    assert set(widths) <= {3, 4, 8}
    assert "NVIDIA H200" in text
    assert ("wrong" in text) is isinstance(report, CompareReport)


@pytest.mark.parametrize("report", [MERGE, COMPARE, SORTS])
@pytest.mark.parametrize("width", [80, 120])
def test_tables_fit_the_terminal(report: MergeReport | CompareReport, width: int) -> None:
    text = shown(report, width)
    assert max(len(line) for line in text.splitlines()) <= width
    assert "\x1b" not in text
    assert "…" not in text


def test_the_merge_table_tells_kernel_and_whole_program_apart() -> None:
    text = shown(MERGE)
    assert "10.0 ms a worker of 500 ms, 2.0% of the whole program" in text
    for words in ("start-up", "read inputs", "to the device", "merge kernel", "from the device", "write output"):
        assert words in text
    assert MERGE.bound in " ".join(text.split())
    assert MERGE.backend_why in text
    assert "600 kB/s" in text


def test_names_are_shown_as_they_are() -> None:
    report = replace(MERGE, output="[bold]x[/bold] :smile:")
    assert "[bold]x[/bold] :smile:" in shown(report)


def test_standard_output_has_a_name() -> None:
    assert "into standard output" in shown(replace(MERGE, output="-", inputs=MERGE.inputs[:1]))


def test_the_compare_table_says_what_is_wrong() -> None:
    text = shown(COMPARE)
    assert "tiled full: wrong: not the merge" in text
    assert "cupy.sort: not run: not enough memory" in text
    assert "path is 1.91 x as fast as cub" in text
    assert "path: spread above 20%, may be unstable" in text
    line = next(line for line in text.splitlines() if line.startswith("tiled full"))
    assert line.split()[-1] == "wrong"


def test_the_table_of_sorts_tells_the_sort_alone_and_whole_programs_apart() -> None:
    text = shown(SORTS)
    lines = {line.split("  ")[0].strip(): line.split() for line in text.splitlines()}
    assert lines["merge"][-8:] == ["4.10", "ms", "5%", "0.00293", "4.00", "300", "ms", "right"]
    assert lines["cupy.sort"][-4:] == ["20", "500", "ms", "right"]
    assert "whole: reading, sorting and writing files, start-up aside; median of 3" in text
    assert markdown.render(SORTS).startswith("# gpumerge sort --compare\n")
    rows = list(csv.DictReader(io.StringIO(report_csv.render(SORTS))))
    assert [row["whole_s"] for row in rows] == ["0.3", "", "0.5"]
    assert [row["whole_seconds"] for row in rows] == ["0.3 0.2 0.4", "", "0.5"]
    assert [row["copies"] for row in rows] == ["4.0", "", "20.5"]
    assert {row["command"] for row in rows} == {"sort"}
    without = replace(SORTS, rows=tuple(replace(row, whole_seconds=(), whole=0.0) for row in SORTS.rows))
    assert "whole: not timed, as standard input is read once" in shown(without)


def test_an_overlap_of_times_is_no_difference() -> None:
    slow = replace(ROWS[3], seconds=(1.2e-3, 2.1e-3, 2.2e-3))
    assert "path against cub: the difference is not significant" in notes(replace(COMPARE, rows=(ROWS[2], slow)))
    fast = replace(ROWS[3], seconds=(1e-4, 1e-4, 1e-4), median=1e-4)
    assert "cub is 11.00 x as fast as path" in notes(replace(COMPARE, rows=(ROWS[2], fast)))


def test_the_ceiling_is_the_median_of_the_copies() -> None:
    assert ceiling(COMPARE) == 1.02e-3
    assert ceiling(replace(COMPARE, copy_seconds=(1.0, 2.0))) == 1.5
    assert ceiling(replace(COMPARE, copy_seconds=())) == 0


class TestReportFile:
    @pytest.mark.parametrize("suffix", COMPARE_SUFFIXES)
    def test_the_suffix_chooses_the_format(self, tmp_path: Path, suffix: str) -> None:
        path = tmp_path / f"report{suffix}"
        with report_file(str(path), COMPARE_SUFFIXES) as write:
            assert not path.exists()
            write(COMPARE)
        starts = {".json": "{", ".csv": "name,", ".md": "# ", ".html": "<!DOCTYPE html>"}
        assert path.read_text().startswith(starts[suffix])
        assert os.listdir(tmp_path) == [path.name]
        umask = os.umask(0)
        os.umask(umask)
        assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask

    def test_no_path_is_no_report(self) -> None:
        with report_file(None, MERGE_SUFFIXES) as write:
            write(MERGE)

    @pytest.mark.parametrize("name", ["report.csv", "report.htm", "report", ".json"])
    def test_an_unknown_suffix_is_refused_first(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(UsageError, match="suffix"), report_file(str(tmp_path / name), MERGE_SUFFIXES):
            pytest.fail("the work began")

    @pytest.mark.parametrize("name", ["missing/report.json", "folder.json"])
    def test_a_place_that_cannot_be_written_is_refused_first(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "folder.json").mkdir()
        with pytest.raises(OutputError) as raised, report_file(str(tmp_path / name), MERGE_SUFFIXES):
            pytest.fail("the work began")
        assert raised.value.where.endswith(name)

    def test_a_failure_leaves_the_earlier_report(self, tmp_path: Path) -> None:
        path = tmp_path / "report.md"
        path.write_text("earlier")
        with pytest.raises(GpumergeError), report_file(str(path), MERGE_SUFFIXES):
            raise GpumergeError("failed")
        assert path.read_text() == "earlier"
        assert os.listdir(tmp_path) == [path.name]

    def test_a_link_stays_a_link(self, tmp_path: Path) -> None:
        (tmp_path / "link.json").symlink_to("real.json")
        with report_file(str(tmp_path / "link.json"), MERGE_SUFFIXES) as write:
            write(MERGE)
        assert (tmp_path / "link.json").is_symlink()
        assert json.loads((tmp_path / "real.json").read_text())["kind"] == "merge"


@pytest.mark.parametrize("render", [shown, markdown.render])
def test_names_do_not_reach_the_terminal_as_commands(render: Callable[[MergeReport | CompareReport], str]) -> None:
    odd = "\x1b[2J\udcff\nx.i32"
    files = (InputFile(odd, 1, 4),)
    for report in (replace(MERGE, inputs=files, output=odd), replace(COMPARE, inputs=files)):
        text = render(report)
        assert text.replace("\n", "").isprintable()
    assert r"\x1b[2J\udcff" in shown(replace(MERGE, output=odd))
