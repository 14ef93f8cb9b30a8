"""Renderers: everything measured is there, whatever the names look like, in 80 columns."""

from __future__ import annotations

import csv
import io
import json
import os
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from pathlib import Path

import pytest
from rich.console import Console

from gpumerge_cli.errors import GpumergeError, OutputError, UsageError
from gpumerge_cli.json_text import restored
from gpumerge_cli.report import csv as report_csv
from gpumerge_cli.report import json as report_json
from gpumerge_cli.report import markdown, terminal, timeline
from gpumerge_cli.report.line import summary_line
from gpumerge_cli.report.merge_tables import bound_name, bound_text, busy_cells, busy_header, clock_cells, facts
from gpumerge_cli.report.notes import ceiling, compare_notes
from gpumerge_cli.report.write import COMPARE_SUFFIXES, MERGE_SUFFIXES, report_file
from gpumerge_cli.results.compared import CompareReport, Measured
from gpumerge_cli.results.origin import Origin
from gpumerge_cli.results.run import (
    Ceiling,
    InputFile,
    KindReport,
    MergeReport,
    OutputPart,
    Stage,
    Stretch,
    WorkerReport,
    bounded,
)

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
    bound="start-up",
    peak_memory=12345678,
    version="0.1.0",
    origin=Origin("2026-11-26T05:38:39Z", "<b>host</b>", "gpumerge merge 'a b.i32' b.i32 -o c.i32"),
    timeline=(
        Stretch("plan", "cpu 0", 0.25, 0.251, 0.001, 0),
        Stretch("read", "cpu 0", 0.251, 0.281, 0.03, 3600),
        Stretch("read", "gpu 0", 0.251, 0.271, 0.02, 2400),
        Stretch("upload", "gpu 0", 0.271, 0.281, 0.01, 6000),
        Stretch("kernel", "gpu 0", 0.281, 0.311, 0.02, 12000, 3),
        Stretch("download", "cpu 0", 0.311, 0.321, 0.01, 6000),
        Stretch("write", "cpu 0", 0.321, 0.381, 0.06, 6000),
    ),
    ceilings=(
        Ceiling("storage", ("read", "write"), 2e5, 2, "built in"),
        Ceiling("merging", ("index", "check", "kernel"), 4e5, 1, "built in"),
    ),
    expected=0.1,
    worker_reports=(
        WorkerReport("cpu 0", "cpu", "A [bold]Processor[/bold]", "path", "path 1x4096", 1, 4000, 1, 0.1, 0.25, 0.381),
        WorkerReport("gpu 0", "gpu", "A Device", "path", "path 256x19", 1, 2000, 4, 0.06, 0.251, 0.311),
        WorkerReport("gpu 1", "gpu", "", "", "", 0, 0, 1, 0.0, 0.0, 0.0, "did not start: no GPU 1; use another"),
    ),
    kinds=(KindReport("cpu", 1, 0.2, 0.6, 2 / 3), KindReport("gpu", 2, 0.3, 0.4, 1 / 3)),
    parts=(OutputPart("c_0.i32", 750, 3000), OutputPart("c_1.i32", 749, 2996)),
)

LONG = replace(
    MERGE,
    items=123_456_789_012,
    nbytes=999_900_000_000,
    output="a-folder-with-a-long-name/another/and-a-file-in-it-that-has-a-long-name-too.i32",
    device="Some Processor of a Maker who Says it All in the Name, 128 Cores at 3.70 GHz",
    workers=128,
    wall=1234.5,
    bound="download",
)

ROWS = (
    Measured("basic", "basic 256x8", True, (4e-3, 4.2e-3, 4.1e-3), 12000, 4.1e-3, 0.05, 0.25, 1.0),
    Measured("tiled full", "tiled 128x16, tile 1024 full, 1056 blocks", False, nbytes=12000, problem="not the merge"),
    Measured("path", "path 256x19", True, (1e-3, 1.1e-3, 1.3e-3), 12000, 1.1e-3, 0.27, 0.93, 3.7),
    Measured("cccl", "", True, (2e-3, 2.1e-3, 2.2e-3), 12000, 2.1e-3, 0.1, 0.5, 2.0, library=True),
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
    origin=MERGE.origin,
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
    terminal.show_report(report, console)
    return out.getvalue()


@pytest.mark.parametrize("report", [MERGE, COMPARE, SORTS])
def test_json_holds_every_field_as_it_is(report: MergeReport | CompareReport) -> None:
    back = restored(json.loads(report_json.render(report)))
    assert back.keys() == {field.name for field in fields(report)}
    assert back["schema"] == report.schema
    back["inputs"] = tuple(InputFile(**file) for file in back["inputs"])
    back["origin"] = Origin(**back["origin"])
    if isinstance(report, MergeReport):
        back["stages"] = tuple(Stage(**stage) for stage in back["stages"])
        back["timeline"] = tuple(Stretch(**stretch) for stretch in back["timeline"])
        back["worker_reports"] = tuple(WorkerReport(**one) for one in back["worker_reports"])
        back["kinds"] = tuple(KindReport(**one) for one in back["kinds"])
        back["parts"] = tuple(OutputPart(**one) for one in back["parts"])
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
    assert set(widths) <= {3, 5, 8}
    assert "NVIDIA H200" in text
    assert ("wrong" in text) is isinstance(report, CompareReport)


@pytest.mark.parametrize(
    ("report", "width"),
    [
        (MERGE, 60),
        (LONG, 60),
        *((report, width) for report in (MERGE, LONG, COMPARE, SORTS) for width in (80, 120, 200)),
    ],
)
def test_tables_fit_the_terminal(report: MergeReport | CompareReport, width: int) -> None:
    text = shown(report, width)
    assert max(len(line) for line in text.splitlines()) <= width
    assert "\x1b" not in text
    assert "…" not in text
    if isinstance(report, CompareReport):  # columns are left out rather than folded
        for words in ("variant", *(row.name for row in report.rows), "median", "GB/s", "result"):
            assert words in text
        assert ("launch" in text) is (width > 60)


def test_the_merge_table_tells_whole_time_and_busy_time_apart() -> None:
    text = shown(MERGE)
    for words in (
        "whole time", "start-up", "whole program",
        "busy, all 2 workers", "read inputs", "copy to the GPU", "merge kernel", "copy from the GPU", "write output",
        "10.0 ms per worker, 2.0% of the whole program",
        "start-up, 250 ms before the first byte, 200 ms of work",
    ):  # fmt: skip
        assert words in text
    assert MERGE.backend_why in text
    assert "600 kB/s" in text


def test_more_seconds_of_writing_than_the_run_took_add_up() -> None:
    report = replace(
        MERGE, wall=2.7, start_up=0.3, busy=2.4, plan=0.0, workers=3, timeline=(),
        stages=(Stage("read", 1.0, 6000), Stage("kernel", 1.2, 6000), Stage("write", 3.4, 6000)),
    )  # fmt: skip
    assert clock_cells(report) == [
        ("start-up", "300 ms", "11%", "", ""),
        ("work", "2.40 s", "89%", "6.00 kB", "2.50 kB/s"),
        ("whole program", "2.70 s", "100%", "6.00 kB", "2.22 kB/s"),
    ]
    assert busy_header(report)[0] == "busy, all 3 workers"
    assert [row[:3] for row in busy_cells(report)] == [
        ("read inputs", "1.00 s", "14%"),
        ("merge kernel", "1.20 s", "17%"),
        ("write output", "3.40 s", "47%"),
        ("waiting and the rest", "1.60 s", "22%"),
        ("work x 3 workers", "7.20 s", "100%"),
    ]
    assert bound_text(bounded(report)) == "writing, 47% of the time of 3 workers"
    alone = replace(report, workers=1)
    assert busy_header(alone)[0] == "busy, one worker"
    # More threads than workers were at it: there is no sum.
    assert [row[0] for row in busy_cells(alone)] == ["read inputs", "merge kernel", "write output"]


def test_a_sorts_kernel_time_is_sorting_and_merging_and_it_checks_no_order() -> None:
    told = dict(facts(replace(MERGE, kind="sort", stages=(Stage("sort", 0.18, 6000), *MERGE.stages))))
    assert told["kernel time"] == "100 ms per worker, 20.0% of the whole program"
    assert "order" not in told
    assert "kernel time" not in dict(facts(replace(MERGE, stages=())))


def test_what_took_long_ahead_of_the_first_byte_is_named() -> None:
    unpacked = (Stretch("decompress", "cpu 0", 0.1, 0.9, 0.8, 0), Stretch("decompress", "gpu 0", 0.1, 1.1, 1.0, 0))
    report = bounded(replace(MERGE, start_up=1.2, wall=1.4, timeline=unpacked, worker_reports=()))
    assert [row[:2] for row in clock_cells(report)][:2] == [("start-up", "1.20 s"), ("  decompress inputs", "1.00 s")]
    assert report.bound == "decompress"
    assert bound_text(report) == "decompression, 1.00 s before the work, 200 ms of work"
    compiled = (Stage("compile", 1.1, 0), *MERGE.stages)
    report = bounded(replace(report, stages=compiled, timeline=(Stretch("compile", "cpu 0", 0.1, 1.2, 1.1, 0),)))
    assert [row[:2] for row in clock_cells(report)][:2] == [("start-up", "1.20 s"), ("  compile kernels", "1.10 s")]
    assert "compile kernels" not in [row[0] for row in busy_cells(report)]
    assert bound_text(report) == "compiling, 1.10 s, once: the result is kept"
    late = replace(report, timeline=(Stretch("compile", "cpu 0", 1.3, 2.4, 1.1, 0),))
    assert "compile kernels" in [row[0] for row in busy_cells(late)]


@pytest.mark.parametrize(
    ("changes", "bound"),
    [
        ({}, "start-up"),
        ({"busy": 0.3}, "write"),
        ({"busy": 0.3, "plan": 0.2}, "plan"),
        ({"busy": 0.3, "stages": (Stage("compile", 0.2, 0), *MERGE.stages), "worker_reports": ()}, "compile"),
        # A GPU that compiles while the CPU works holds nothing up.
        ({"busy": 0.3, "stages": (Stage("compile", 0.2, 0), *MERGE.stages)}, "write"),
        ({"busy": 0.3, "stages": (), "plan": 0.0}, "start-up"),
    ],
)
def test_what_bounded_a_run(changes: dict[str, object], bound: str) -> None:
    assert bounded(replace(MERGE, **changes)).bound == bound  # type: ignore[arg-type]


def test_the_line_says_how_much_how_fast_where_and_what_bounded_it() -> None:
    report = replace(MERGE, dropped=0)
    assert summary_line(report) == "merged 1,500 items, 6.00 kB in 500 ms, 12.0 kB/s, gpu, bounded by start-up"
    assert summary_line(report, 60) == "merged 1,500 items, 6.00 kB in 500 ms, 12.0 kB/s, gpu,\n  bounded by start-up"
    assert summary_line(MERGE).startswith("merged 1,500 items, 6.00 kB in 500 ms, 12.0 kB/s, 1 dropped, gpu, ")
    nothing = replace(report, items=0, nbytes=0)
    assert summary_line(nothing) == "merged 0 items, 0 B in 500 ms, gpu, bounded by start-up"
    for width in range(len("  bounded by copies from the GPU"), 100):
        rows = summary_line(LONG, width).split("\n")
        assert max(map(len, rows)) <= width
        assert " ".join(map(str.strip, rows)) == summary_line(LONG)


@pytest.mark.parametrize("stage", [*timeline.LANES, "start-up"])
def test_every_bound_has_words_of_its_own(stage: str) -> None:
    assert (bound_name(replace(MERGE, bound=stage)) != stage) is (stage != "start-up")


def test_names_are_shown_as_they_are() -> None:
    report = replace(MERGE, output="[bold]x[/bold] :smile:")
    assert "[bold]x[/bold] :smile:" in shown(report)


def test_standard_output_has_a_name() -> None:
    assert "into standard output" in shown(replace(MERGE, output="-", inputs=MERGE.inputs[:1]))


def test_the_compare_table_says_what_is_wrong() -> None:
    text = shown(COMPARE)
    assert "tiled full: wrong: not the merge" in text
    assert "cupy.sort: not run: not enough memory" in text
    assert "path is 1.91 x as fast as cccl" in text
    assert "path: spread above 20%, may be unstable" in text
    line = next(line for line in text.splitlines() if line.startswith("tiled full"))
    assert line.split()[-1] == "wrong"


def test_the_table_of_sorts_tells_the_sort_alone_and_whole_programs_apart() -> None:
    text = shown(SORTS)
    lines = {line.split("  ")[0].strip(): line.split() for line in text.splitlines()}
    assert lines["merge"][-8:] == ["4.10", "ms", "5%", "0.00293", "4.00", "300", "ms", "correct"]
    assert lines["cupy.sort"][-4:] == ["20", "500", "ms", "correct"]
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
    assert "path against cccl: the difference is not significant" in compare_notes(
        replace(COMPARE, rows=(ROWS[2], slow))
    )
    fast = replace(ROWS[3], seconds=(1e-4, 1e-4, 1e-4), median=1e-4)
    assert "cccl is 11.00 x as fast as path" in compare_notes(replace(COMPARE, rows=(ROWS[2], fast)))


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

    def test_a_pipe_is_written_into(self, tmp_path: Path) -> None:
        path = tmp_path / "report.json"
        os.mkfifo(path)
        with ThreadPoolExecutor(1) as pool:
            read = pool.submit(path.read_text)
            with report_file(str(path), COMPARE_SUFFIXES) as write:
                write(COMPARE)
            assert json.loads(read.result())["items"] == COMPARE.items
        assert stat.S_ISFIFO(path.stat().st_mode)
        assert os.listdir(tmp_path) == [path.name]

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
