"""Reports of benches: tables, files read back, results put together, and figures."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Callable
from dataclasses import fields, replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from gpumerge_cli.errors import GpumergeError, InputError, OutputError
from gpumerge_cli.report import csv as report_csv
from gpumerge_cli.report import json as report_json
from gpumerge_cli.report import markdown, terminal
from gpumerge_cli.report.combine import combine_reports
from gpumerge_cli.report.notes import bench_notes
from gpumerge_cli.report.series import BY_RUNS, BY_SHAPE, BY_SIZE, kernels, ladder, slices, types
from gpumerge_cli.results.compared import BenchReport, BenchRow
from tests import needs

KERNELS = ("basic", "tiled full", "tiled exact", "circular", "path")


def row(
    name: str, milliseconds: float, items: str = "int32", shape: str = "uniform", runs: int = 2, size: int = 1 << 20
) -> BenchRow:
    role = "kernel" if name in KERNELS else "copy" if name == "copy" else "library"
    seconds = tuple(milliseconds * factor / 1000 for factor in (1, 1.1, 1.2) if milliseconds)
    middle = seconds[1] if seconds else 0.0
    width = int(re.sub(r"\D", "", items)) // 8
    return BenchRow(
        items, shape, runs, size, size // runs * runs, 2 * width * (size // runs * runs), name, role,  # type: ignore[arg-type]
        "path 256x35" if name == "path" else "", seconds=seconds, judged_by="stable sort",
        median=middle, spread=0.2 / 1.1 if seconds else 0.0, ceiling=1e-3,
        share_of_copy=1e-3 / middle if middle else 0.0,
    )  # fmt: skip


def report(*rows: BenchRow) -> BenchReport:
    return BenchReport("gpu", "NVIDIA H200", 3, 0, 16, rows, {"CuPy": "14.2"}, "0.1.0")


SMALL = report(
    row("basic", 4),
    replace(row("circular", 0), right=False, problem="not the merge"),
    row("path", 1.25),
    replace(row("cupy.sort", 0), problem="not enough memory"),
    row("copy", 1),
    row("path", 5, runs=3),
)
MANY = report(
    *(
        row(name, number + 1 + runs / 8, items, shape, runs, size)
        for items, shape, runs, size in [
            *product(("int32", "int64", "uint8"), ("uniform",), (2,), (1 << 20,)),
            *product(("int32", "int64"), ("uniform",), (2,), (1 << 10, 1 << 16)),
            *product(("int32",), ("equal", "blocky"), (2,), (1 << 20,)),
            *product(("int32",), ("uniform",), (3, 4, 8), (1 << 20,)),
        ]
        for number, name in zip(
            (4, 3, 2, 1, 0, 5, 6), (*KERNELS, "cccl tree" if runs > 2 else "cccl", "copy"), strict=True
        )
    )
)


def test_json_is_read_back_as_it_was() -> None:
    for one in (SMALL, MANY):
        text = report_json.render(one)
        assert json.loads(text).keys() == {field.name for field in fields(one)}
        assert report_json.parse_bench(text, "r.json") == one


def test_json_of_a_later_version_may_say_more() -> None:
    told = json.loads(report_json.render(SMALL))
    told["more"] = 1
    told["rows"][0]["more"] = 2
    assert report_json.parse_bench(json.dumps(told), "r.json") == SMALL


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "merge"}, "its kind is not bench"),
        ({"schema": 99}, "schema 99"),
        ({"rows": [{"items": "int32"}]}, r"rows\[0\] has no shape"),
        ({"rows": None}, "it has no rows"),
        ({"rows": []}, "it has no rows"),
        ({"rows": [1]}, r"rows\[0\] is not an object"),
        ({"device": 7}, "device is not a text"),
        ({"threads": True}, "threads is not a count"),
        ({"environment": {"a": 1}}, "environment does not hold text"),
    ],
)
def test_other_json_is_refused(change: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words) as raised:
        report_json.parse_bench(json.dumps(json.loads(report_json.render(SMALL)) | change), "r.json")
    assert raised.value.where == "r.json"


@pytest.mark.parametrize("text", ["", "[]", "null", "7", "{", "[" * 100_000, '{"kind": "bench"', "9" * 5000])
def test_what_is_no_json_of_a_bench_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"^r.json: not the results of gpumerge bench \("):
        report_json.parse_bench(text, "r.json")


@pytest.mark.parametrize("value", [None, [], {}, "x", -1, True, float("nan"), 1e300, [None]])
@pytest.mark.parametrize("name", [one.name for one in fields(BenchRow)])
def test_a_damaged_row_is_refused_or_of_the_right_types(name: str, value: object) -> None:
    told = json.loads(report_json.render(SMALL))
    told["rows"][2][name] = value
    try:
        one = report_json.parse_bench(json.dumps(told), "r.json")
    except InputError as error:
        said = str(error)
    else:
        said = f"rows[2]: {name} is read"
        assert type(getattr(one.rows[2], name)) is type(getattr(SMALL.rows[2], name))
        markdown.render(one)
        report_csv.render(one)
    assert f"rows[2]: {name}" in said


def test_csv_has_a_complete_row_for_each_row() -> None:
    rows = list(csv.DictReader(io.StringIO(report_csv.render(SMALL))))
    assert [one["name"] for one in rows] == [one.name for one in SMALL.rows]
    assert rows[2]["median_s"] == repr(SMALL.rows[2].median)
    assert float(rows[2]["gb_per_s"]) == pytest.approx(2 * 4 * 2**20 / 1.375e-3 / 1e9)
    assert [one["right"] for one in rows] == ["true", "false", "true", "true", "true", "true"]
    assert rows[1]["median_s"] == rows[3]["ceiling_s"] == ""
    assert (rows[5]["runs"], rows[5]["size"], rows[5]["count"]) == ("3", "1048576", "1048575")
    assert all(None not in one and None not in one.values() for one in rows)


MARKDOWN = r"""# gpumerge bench

2 cases on gpu: NVIDIA H200; median of 3; GB/s count bytes read and written; of copy: against the best copy of the same bytes

| items | shape | runs | size | variant | median | spread | GB/s | of copy | result |
| --- | --- | ---: | ---: | --- | ---: | ---: | ---: | ---: | --- |
| int32 | uniform | 2 | 2^20 | basic | 4.40 ms | 18% | 1.91 | 0.23 | correct |
|  |  |  |  | circular | - | - | - | - | wrong |
|  |  |  |  | path | 1.38 ms | 18% | 6.1 | 0.73 | correct |
|  |  |  |  | cupy.sort | - | - | - | - | not run |
|  |  |  |  | copy | 1.10 ms | 18% | 7.63 | 0.91 |  |
| int32 | uniform | 3 | 2^20 | path | 5.50 ms | 18% | 1.53 | 0.18 | correct |

- circular, int32 uniform, 2 runs, 1,048,576 items: wrong: not the merge
- cupy.sort, int32 uniform, 2 runs, 1,048,576 items: not run: not enough memory
- CuPy: 14.2
- seed: 0
- host threads: 16
- gpumerge: 0.1.0
"""  # noqa: E501


def test_markdown() -> None:
    assert markdown.render(SMALL) == MARKDOWN


def shown(one: BenchReport, width: int) -> str:
    out = io.StringIO()
    terminal.show_report(one, Console(file=out, width=width, markup=False, emoji=False, highlight=False))
    return out.getvalue()


@pytest.mark.parametrize("width", [80, 120])
def test_the_table_fits_the_terminal(width: int) -> None:
    text = shown(report(*SMALL.rows, row("polars merge_sorted", 2, "float64", "one-sided", 16, 10**8)), width)
    assert max(len(line) for line in text.splitlines()) <= width
    lines = [line.rstrip() for line in text.splitlines()]
    assert "int32, uniform, 2 runs, 2^20 items" in lines
    assert "float64, one-sided, 16 runs, 100,000,000 items" in " ".join(text.split())
    (path, _) = (line for line in lines if line.startswith("  path"))
    assert path.split() == ["path", "1.38", "ms", "18%", "6.1", "0.73", "correct"]
    assert "\x1b" not in text
    assert "…" not in text


def test_notes_say_that_it_was_stopped() -> None:
    assert bench_notes(replace(report(row("path", 1)), stopped=2)) == ("stopped early: not all cases were run",)


def test_notes_say_what_is_shaky() -> None:
    assert bench_notes(report(row("path", 1))) == ()
    (note,) = bench_notes(report(replace(row("path", 1), spread=0.3), row("basic", 1)))
    assert note == "1 of 2 rows: spread above 20%, may be unstable; raise --repeat"


class TestCombined:
    def test_the_last_measure_of_a_row_counts(self) -> None:
        first = report(row("basic", 4), row("path", 2), row("path", 3, runs=4))
        second = replace(report(row("path", 1), row("path", 9, runs=8)), version="0.2.0")
        (one,) = combine_reports([first, second])
        assert one.rows == (row("basic", 4), row("path", 1), row("path", 3, runs=4), row("path", 9, runs=8))
        assert one.version == "0.1.0, 0.2.0"

    def test_cases_stay_together(self) -> None:
        (one,) = combine_reports([report(row("path", 1), row("path", 2, runs=3)), report(row("basic", 1))])
        assert [(each.runs, each.name) for each in one.rows] == [(2, "path"), (2, "basic"), (3, "path")]

    def test_the_ladder_keeps_its_order(self) -> None:
        whole = report(*(row(name, 1) for name in (*KERNELS, "cccl", "copy")))
        part = report(*(row(name, 2) for name in ("path", "cccl", "copy")))
        for reports in ([whole, part], [part, whole]):
            (one,) = combine_reports(reports)
            assert [each.name for each in one.rows] == [*KERNELS, "cccl", "copy"]
            assert kernels(one.rows) == [*KERNELS]

    def test_devices_stay_apart(self) -> None:
        cpu = replace(SMALL, backend="cpu", device="EPYC")
        assert combine_reports([SMALL, cpu, SMALL]) == [SMALL, cpu]

    def test_numbers_of_threads_that_merge_stay_apart(self) -> None:
        few, many = (replace(SMALL, backend="cpu", threads=threads) for threads in (1, 64))
        assert combine_reports([few, many, few]) == [few, many]
        assert "NVIDIA H200, 64 threads; median" in markdown.render(many)
        assert combine_reports([SMALL, replace(SMALL, threads=1)]) == [replace(SMALL, threads=1)]

    def test_other_differences_are_said(self) -> None:
        again = replace(report(replace(row("path", 1, runs=8), seconds=(1.0,) * 7)), seed=5, repeat=7)
        (one,) = combine_reports([SMALL, again])
        assert one.merged == "repeats 3, 7; seeds 0, 5"
        assert "results of several runs, with repeats 3, 7; seeds 0, 5" in bench_notes(one)
        assert "median of 3 to 7;" in markdown.render(one)


class TestSlices:
    def test_each_axis(self) -> None:
        for axis, title, places in (
            (BY_SIZE, "int32, uniform, 2 runs", [1 << 10, 1 << 16, 1 << 20]),
            (BY_SHAPE, "int32, 2 runs, 2^20 items", ["uniform", "equal", "blocky"]),
            (BY_RUNS, "int32, uniform, 2^20 items", [2, 3, 4, 8]),
        ):
            best = slices(MANY.rows, axis)[0]
            assert (best.title, best.places) == (title, places)
            assert best.names == [*KERNELS, "cccl"]
            assert [axis.of(one) for one in best.of("cccl")] == places

    def test_types_are_shown_with_the_largest_size_of_all(self) -> None:
        (best,) = types(MANY.rows)
        assert (best.title, best.places) == ("uniform, 2 runs, 2^20 items", ["int32", "int64", "uint8"])
        rows = [row("path", 1, items, size=size) for size in (1 << 10, 1 << 20) for items in ("int32", "int64")]
        (best,) = types(rows)
        assert (best.title, best.places) == ("uniform, 2 runs, 2^20 items", ["int32", "int64"])
        (best,) = types([*rows, row("path", 1, "uint8", size=1 << 10)])
        assert (best.title, {one.size for one in best.rows}) == ("uniform, 2 runs, 2^10 items", {1 << 10})
        (best,) = types([*rows, row("path", 1, "uint8", size=1 << 12)])
        assert best.title == "uniform, 2 runs, the most items of each type"
        assert best.places == ["int32\n2^20", "int64\n2^20", "uint8\n2^12"]

    def test_of_as_many_places_the_largest_size_comes_first(self) -> None:
        rows = [row("path", 1, runs=runs, size=size) for size in (1 << 10, 1 << 20) for runs in (2, 4)]
        assert [part.title for part in slices(rows, BY_RUNS)] == [
            "int32, uniform, 2^20 items",
            "int32, uniform, 2^10 items",
        ]

    def test_untimed_rows_and_copies_are_no_part(self) -> None:
        assert slices([row("path", 1), replace(row("path", 0, runs=3), problem="none"), row("copy", 1)], BY_RUNS) == []

    def test_the_ladder_is_that_of_the_largest_case(self) -> None:
        rungs = ladder(MANY.rows)
        assert [(one[0].items, one[0].size) for one in rungs] == [
            (name, 1 << 20) for name in ("int32", "int64", "uint8")
        ]
        assert [one.name for one in rungs[0]] == [*KERNELS, "cccl"]
        by_vectors = replace(row("path", 2), name="path, vector loads")
        assert ladder([by_vectors, row("path", 1), row("cccl", 1)]) == []

    def test_kernels_are_in_the_order_of_the_case_with_the_most(self) -> None:
        rows = [row("path", 1, "int64"), row("cccl", 1, "int64")]
        assert kernels(rows) == ["path"]
        assert kernels([*rows, *(row(name, 1) for name in KERNELS)]) == [*KERNELS]
        named = [replace(row(name, 1), role="kernel") for name in ("first", "second", "third")]
        assert kernels([*rows, *named, replace(row("other", 1, size=1), role="kernel")])[-3:] == [
            "first", "second", "third",
        ]  # fmt: skip
        assert kernels([row("cccl", 1)]) == []


def figure_of(make: Callable[[BenchReport], Any], of: BenchReport) -> Any:
    drawn = make(of)
    assert drawn is not None
    return drawn[0]


class TestFigures:
    @pytest.fixture(autouse=True)
    def needs_matplotlib(self) -> None:
        needs.library("matplotlib")

    def draw(self, folder: Path, *reports: BenchReport) -> list[str]:
        from gpumerge_cli.report.figure import draw

        folder.mkdir(exist_ok=True)
        return draw(reports, str(folder))

    @pytest.mark.thorough
    def test_every_figure_is_drawn_the_same_each_time_and_says_which_panels_are_left_out(self, tmp_path: Path) -> None:
        told, again = (self.draw(tmp_path / folder, MANY) for folder in ("a", "b"))
        assert len(told) == len(again) == 5
        places = dict(line.split(": ", 1) for line in told)
        assert places["ladder-gpu"].endswith("ladder-gpu.svg; shows 2 of 3 parts, 1 left out")
        assert places["throughput-gpu"].endswith("throughput-gpu.svg")
        names = sorted(os.listdir(tmp_path / "a"))
        stems = ("dtypes", "ladder", "runs", "shapes", "throughput")
        assert names == [f"{stem}-gpu.{suffix}" for stem in stems for suffix in ("png", "svg")]
        for name in names:
            content = (tmp_path / "a" / name).read_bytes()
            assert content == (tmp_path / "b" / name).read_bytes()
            assert content.startswith(b"\x89PNG" if name.endswith("png") else b"<?xml")
            assert b"<dc:date>" not in content

    def test_each_panel_of_the_ladder_names_its_own_bars(self) -> None:
        from gpumerge_cli.report import figure

        rows = [row("basic", 4), row("path", 1), row("cccl", 2)]
        rows += [row(name, 2, "int64") for name in ("basic", "circular", "path")]
        made = figure_of(figure._ladder, report(*rows))
        found = [[label.get_text() for label in panel.get_yticklabels()] for panel in made.axes]
        assert found == [["basic", "path", "cccl"], ["basic", "circular", "path"]]
        assert all(panel.yaxis_inverted() for panel in made.axes)

    def test_the_shared_axis_holds_every_panel(self) -> None:
        from gpumerge_cli.report import figure

        slow = [row("path", 10, runs=runs) for runs in (2, 4)]
        fast = [row("path", 1, "int64", runs=runs) for runs in (2, 4)]
        made = figure_of(figure._over_runs, report(*slow, *fast))
        assert len(made.axes) == 2
        for panel in made.axes:
            bottom, top = panel.get_ylim()
            assert bottom == 0
            assert top > max(one.share_of_copy for one in fast)

    def test_the_legend_names_the_series_of_all_panels(self) -> None:
        from gpumerge_cli.report import figure

        series = (("path", "int32"), ("cccl", "int64"))
        for make, rows in (
            (figure._over_runs, [row(name, 1, items, runs=runs) for name, items in series for runs in (2, 4)]),
            (figure._throughput, [row(name, 1, items, size=size) for name, items in series for size in (1024, 4096)]),
        ):
            made = figure_of(make, report(*rows))
            (legend,) = made.legends
            assert {"path", "cccl"} <= {text.get_text() for text in legend.get_texts()}

    def test_panels_of_the_throughput_name_type_and_runs(self) -> None:
        from gpumerge_cli.report import figure

        titles = [panel.get_title() for panel in figure_of(figure._throughput, MANY).axes]
        assert titles == ["int32, uniform, 2 runs", "int64, uniform, 2 runs"]

    def test_kernels_of_any_name_have_looks_of_their_own(self, tmp_path: Path) -> None:
        from gpumerge_cli.report import figure

        names = [f"kernel {number}" for number in range(6)]
        rows = [replace(row(name, 1), role="kernel") for name in names]
        looks = figure._Styles(report(*rows, row("cccl", 2)))
        assert looks.best == names[-1]
        assert len({(looks.colour(name), looks.mark(name)) for name in [*names, "cccl", "unknown"]}) == 8
        more = [*rows, *(replace(row(f"{name}!", 1), role="kernel") for name in names)]
        assert len(self.draw(tmp_path, report(*more, row("cccl", 2)))) == 5

    @pytest.mark.thorough
    def test_dollar_signs_in_names_are_drawn_as_they_are(self, tmp_path: Path) -> None:
        odd = replace(MANY, device=r"a$\b$", rows=tuple(replace(one, shape=r"$\x$", name="$^$") for one in MANY.rows))
        assert len(self.draw(tmp_path, odd)) == 5

    @pytest.mark.thorough
    def test_numbers_touch_no_other_bar_and_stay_within_the_axes(self) -> None:
        from gpumerge_cli.report import figure

        shapes = ("uniform", "few", "equal", "disjoint", "blocky", "one-sided", "tiny")
        names = ("path", "cccl", "cupy.sort", "copy")
        bars = figure_of(
            figure._FIGURES["shapes"],
            report(*(row(name, number + 1, shape=shape) for shape in shapes for number, name in enumerate(names))),
        )
        rungs = figure_of(
            figure._ladder,
            report(
                *(
                    row(name, 0.002 + number * 1e-5, items)
                    for items in ("int32", "int64")
                    for number, name in enumerate((*KERNELS, "numpy stable sort"))
                )
            ),
        )
        for made in (bars, rungs):
            made.draw_without_rendering()
            for panel in made.axes:
                boxes = [text.get_window_extent() for text in panel.texts]
                assert len(boxes) >= 6
                for number, box in enumerate(boxes):
                    assert not box.count_overlaps([*boxes[:number], *boxes[number + 1 :]])
                    assert panel.bbox.x0 <= box.x0
                    assert box.x1 <= panel.bbox.x1
                    assert box.y1 <= panel.bbox.y1
                    assert box.count_overlaps([patch.get_window_extent() for patch in panel.patches]) == 0

    def test_what_the_results_do_not_hold_is_said(self, tmp_path: Path) -> None:
        told = self.draw(tmp_path, report(row("path", 1), row("cccl", 2)))
        assert told[0] == "throughput-gpu: not drawn: the results hold one size only"
        assert all("not drawn" in line for line in told)
        assert os.listdir(tmp_path) == []

    def test_two_devices_of_a_backend_are_refused(self, tmp_path: Path) -> None:
        with pytest.raises(GpumergeError, match="several devices"):
            self.draw(tmp_path, MANY, replace(MANY, device="another"))

    @pytest.mark.thorough
    def test_two_backends_go_to_one_folder(self, tmp_path: Path) -> None:
        ladder = report(row("basic", 4), row("path", 1), row("cccl", 2))
        self.draw(tmp_path, ladder, replace(ladder, backend="cpu"))
        assert {"ladder-gpu.svg", "ladder-cpu.svg"} <= set(os.listdir(tmp_path))

    def test_a_place_that_cannot_be_written_is_one_line(self, tmp_path: Path) -> None:
        (tmp_path / "throughput-gpu.png").mkdir()
        with pytest.raises(OutputError, match="throughput-gpu"):
            self.draw(tmp_path, MANY)
        assert os.listdir(tmp_path) == ["throughput-gpu.png"]


def test_tables_hold_rows_against_cccl_where_it_was_timed() -> None:
    rows = [replace(row("path", 1), times_cccl=1.25), replace(row("cccl", 2), times_cccl=1.0), row("copy", 1)]
    with_it = replace(report(*rows), environment={"CCCL": "3.6.0"})
    text = markdown.render(with_it)
    assert "x cccl: against CCCL 3.6.0" in text
    assert "- CCCL: 3.6.0" in text
    assert "| x cccl |" in text
    assert re.search(r"\| path \|[^\n]*\| 1.25 \| correct \|", text)
    assert re.search(r"\| copy \|[^\n]*\| - \|  \|", text)
    console = Console(width=200, record=True, file=io.StringIO())
    terminal.show_report(with_it, console)
    assert "x cccl" in console.export_text()
    (first, *_) = csv.DictReader(io.StringIO(report_csv.render(with_it)))
    assert first["times_cccl"] == "1.25"
    assert "cccl" not in markdown.render(report(row("path", 1)))


def test_libraries_that_are_left_out_are_noted() -> None:
    reason = "left out: there is no nvcc to compile it; install CUDA's compiler"
    without = replace(report(row("path", 1)), environment={"numpy": "2.0", "CCCL": reason})
    assert bench_notes(without) == (f"CCCL: {reason}",)
