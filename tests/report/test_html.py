"""The HTML page: well-formed, complete in itself, true to the report, whatever the names look like."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from itertools import combinations, pairwise
from pathlib import Path

import pytest

from gpumerge_cli.measure import Stretch
from gpumerge_cli.report import html
from gpumerge_cli.report.bars import contest_chart, of_case, of_compare, stage_bars
from gpumerge_cli.report.json import parse_bench
from gpumerge_cli.report.merge_tables import idle_share
from gpumerge_cli.report.notes import chance, compare_notes, differ, rule
from gpumerge_cli.report.timeline import by_stage, overlap, overlap_text, packed, ticks, timeline, window, workers
from gpumerge_cli.results.compared import BenchReport, CompareReport, Report
from gpumerge_cli.results.run import InputFile, MergeReport
from tests.report.test_renderers import COMPARE, MERGE

RESULTS = Path(__file__).parents[2] / "data" / "results" / "h100"
VOID = {"meta", "br", "hr", "img", "link", "input"}
HOSTILE = (
    "<script>alert(1)</script>.i32",
    "\"><img src=x onerror='alert(1)'>",
    "</style></title><b>",
    "&lt;script&gt; &amp; &#60;",
    "a\nb\tc\x1b[31m\x7f",
    "right\u202eto left \u2028",
    "\udcff\udc80.txt",
    "]]> <!-- -->",
    "javascript:alert(1)",
)


def bench() -> BenchReport:
    path = RESULTS / "bench-ladder.json"
    return parse_bench(path.read_text(), str(path))


REPORTS: dict[str, Callable[[], Report]] = {
    "merge": lambda: MERGE,
    "sort": lambda: replace(MERGE, kind="sort"),
    "bare merge": lambda: replace(MERGE, timeline=(), ceilings=(), stages=(), wall=0.0, busy=0.0, start_up=0.0),
    "no time": lambda: replace(
        MERGE, timeline=(Stretch("read", "cpu 0", 0.25, 0.25, 0.0, 0),), start_up=0.25, busy=0.0
    ),
    "compare": lambda: COMPARE,
    "nothing timed": lambda: replace(COMPARE, copy_seconds=(), rows=COMPARE.rows[1:2]),
    "bench": bench,
    "no case": lambda: replace(bench(), rows=()),
}


class Page(HTMLParser):
    """Tags in balance, and what the page holds."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == [], self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), (tag, attrs)
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, (tag, self.open)

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def of(self, tag: str, style: str = "") -> list[dict[str, str | None]]:
        found = [attributes for name, attributes in self.seen if name == tag]
        return [a for a in found if not style or style in (a.get("class") or "").split()]


@pytest.mark.parametrize("name", REPORTS)
def test_a_page_is_whole_and_by_itself(name: str) -> None:
    text = html.render(REPORTS[name]())
    page = Page(text)
    assert text.startswith("<!DOCTYPE html>\n<html")
    for word in ("http", "<script", "url(", "@import", "<link", "src="):
        assert word not in text.lower(), word
    tags = {tag for tag, _ in page.seen}
    assert {"html", "head", "title", "style", "body", "main", "h1"} <= tags
    allowed = {
        "meta",
        "p",
        "b",
        "div",
        "span",
        "section",
        "h2",
        "ul",
        "li",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
    }
    svg = {"svg", "rect", "line", "text", "details", "summary"}
    assert tags <= {"html", "head", "title", "style", "body", "main", "h1"} | allowed | svg
    assert [a for _, a in page.seen for key in a if key.startswith("on") or key in ("href", "style")] == []
    for _, attributes in page.seen:
        for key in ("x", "x1", "x2", "width"):
            place = attributes.get(key)
            if place is not None:
                assert 0 <= float(place.removesuffix("%")) <= 100.1, attributes
    assert "nan" not in re.sub(r"[a-z]*nan[a-z]+", "", text.lower()).split()


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("of", [MERGE, COMPARE], ids=["merge", "compare"])
def test_names_are_words_and_nothing_else(of: MergeReport | CompareReport, name: str) -> None:
    files = (InputFile(name, 1, 1), *of.inputs[1:])
    report = replace(of, inputs=files, device=name, version=name)
    if isinstance(report, MergeReport):
        report = replace(report, output=name, bound=name, backend_why=name, order=name)
    plain, page = Page(html.render(of)), Page(html.render(report))
    assert [tag for tag, _ in page.seen] == [tag for tag, _ in plain.seen]
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)
    assert shown in "".join(page.words)
    html.render(report).encode("utf-8")  # no half of a surrogate pair is left


def test_every_stretch_is_drawn_in_its_place() -> None:
    report = MERGE
    page = Page(html.render(report))
    begin, end = window(report)
    for stage, stretches in by_stage(report.timeline).items():
        drawn = [a for a in page.of("rect", stage) if (a["height"] or "") == "14"]
        assert len(drawn) >= len(stretches)
        for one in stretches:
            place, width = (one.start - begin) / (end - begin) * 100, (one.stop - one.start) / (end - begin) * 100
            assert any(
                float((a["x"] or "")[:-1]) == pytest.approx(place, abs=2e-3)
                and float((a["width"] or "")[:-1]) == pytest.approx(width, abs=2e-3)
                for a in drawn
            )
    assert len([a for a in page.of("rect", "kernel") if a.get("fill-opacity")]) == 2  # by stage, by worker


def test_rows_hold_every_stretch_once_and_none_overlap() -> None:
    stretches = [Stretch("read", f"cpu {n % 5}", n * 0.1, n * 0.1 + 0.05 * (n % 7), 0.01, n) for n in range(200)]
    rows = packed(stretches)
    assert sorted((one for row in rows for one in row), key=lambda one: one.nbytes) == stretches
    for row in rows:
        assert all(a.stop <= b.start for a, b in pairwise(row))
    most = max(sum(one.start <= at.start < one.stop for one in stretches) for at in stretches)
    assert len(rows) <= most + 1


def test_what_overlaps_is_counted() -> None:
    some, several, both = overlap(MERGE.timeline)
    assert some == pytest.approx(0.13)
    assert several == both["read", "upload"] == pytest.approx(0.01)
    assert both["read", "write"] == 0
    assert "up to 8% of the time" in overlap_text(MERGE)
    assert overlap_text(replace(MERGE, timeline=())) == ""
    apart = tuple(one for one in MERGE.timeline if one.stage != "upload")
    assert "none overlapped" in overlap_text(replace(MERGE, timeline=apart))


@pytest.mark.parametrize("begin", [0.0, 0.2999, 12.0])
@pytest.mark.parametrize("long", [1e-6, 3.1e-3, 0.1, 0.97, 1.0, 59.0, 86400.0])
def test_ticks_are_few_round_and_within(begin: float, long: float) -> None:
    found = ticks(begin, begin + long)
    assert 2 <= len(found) <= 6
    assert all(begin - 1e-9 <= at <= begin + long * (1 + 1e-9) for at, _ in found)
    assert len({text for _, text in found}) == len(found)
    assert all(float(text.removesuffix(" s")) == pytest.approx(at, abs=1e-9) for at, text in found)


def test_bars_are_the_stages_and_their_ceilings() -> None:
    bars = {bar.name: bar for bar in stage_bars(MERGE)}
    assert list(bars) == [
        "storage", "read inputs", "write output", "merging", "copy to the GPU", "copy from the GPU", "whole program",
    ]  # fmt: skip
    # Two at once: half the seconds that were added up.
    assert bars["read inputs"].rate == pytest.approx(6000 / 0.025)
    assert bars["storage"].rate == pytest.approx(6000 / 0.055)
    assert bars["storage"].ceiling == 2e5
    assert bars["merging"].rate == pytest.approx(12000 / 0.02)
    assert (bars["whole program"].rate, bars["whole program"].ceiling) == (6000 / 0.5, 60000)
    assert bars["copy to the GPU"].ceiling == 0


def test_a_comparison_draws_every_timing() -> None:
    page = Page(html.render(COMPARE))
    timings = sum(len(row.seconds) for row in COMPARE.rows) + len(COMPARE.copy_seconds)
    assert len(page.of("line", "timing")) == timings
    words = " ".join(page.words)
    assert "wrong: not the merge" in words
    assert "not run: not enough memory" in words
    assert "the fastest" in words
    assert "0.93 of copy" in words
    assert "Dashed: a copy of the same bytes." in words
    contestants = of_compare(COMPARE)
    assert [one.name for one in contestants] == [*(row.name for row in COMPARE.rows), "copy"]
    assert contest_chart([], 0.0).get("class") == "chart"


def test_a_bench_shows_every_case() -> None:
    report = bench()
    page = Page(html.render(report))
    assert len(page.of("details")) == len({row.case for row in report.rows})
    assert len(page.of("line", "timing")) == sum(len(row.seconds) for row in report.rows)
    words = " ".join(page.words)
    assert "Dashed: the best copy of the same bytes." in words
    for row in report.rows:
        assert f"{row.share_of_copy:.2f} of copy" in words, row.name
    assert [one.name for one in of_case(report.rows[:2])] == [row.name for row in report.rows[:2]]


def test_differences_need_timings_apart_and_enough_of_them() -> None:
    for one, other in ((1, 1), (2, 2), (3, 3), (3, 5), (5, 5)):
        orders = list(combinations(range(one + other), one))
        extreme = [o for o in orders if max(o) < one or min(o) >= other]
        assert chance(one, other) == pytest.approx(len(extreme) / len(orders))
    assert differ((1.0, 1.1, 1.2), (1.3, 1.4, 1.5))
    assert differ((1.3, 1.4, 1.5), (1.0, 1.1, 1.2))
    assert not differ((1.0, 1.1, 1.35), (1.3, 1.4, 1.5))
    assert not differ((1.0, 1.1), (1.3, 1.4))
    assert not differ((), (1.0,) * 9)
    assert "0.0079" in rule(5, 5)
    assert "too few" in rule(2, 2)
    once = tuple(replace(row, seconds=row.seconds[:1]) for row in COMPARE.rows)
    assert "path against cccl: the difference is not significant" in compare_notes(replace(COMPARE, rows=once))


def test_a_stage_nobody_knows_is_drawn_too() -> None:
    odd = Stretch("new <stage>", "gpu <7>", 0.26, 0.27, 0.01, 0)
    chart = timeline(replace(MERGE, timeline=(*MERGE.timeline, odd)))
    assert any(rect.get("class") == "other" for rect in chart.iter("rect"))
    assert list(by_stage((odd, *MERGE.timeline)))[-1] == "new <stage>"


def test_each_worker_has_a_lane_whose_gaps_are_idle_time() -> None:
    chart = workers(MERGE)
    names = [div.text for div in chart.iter("div") if div.get("class") == "name"]
    assert names == ["cpu 0", "gpu 0", "gpu 1", "since the start"]
    told = [div.text for div in chart.iter("div") if div.get("class") == "value"]
    assert told[2] == "did not start: no GPU 1; use another"
    # Of 200 ms of work: 1 + 30 + 10 + 60 ms on the CPU; 20 + 10 ms on the device, and 20 within a stretch of three.
    assert idle_share(MERGE, "cpu 0") == pytest.approx(1 - 0.101 / MERGE.busy)
    assert idle_share(MERGE, "gpu 0") == pytest.approx(1 - 0.05 / MERGE.busy)
    assert idle_share(MERGE, "gpu 1") == 1.0
    assert idle_share(replace(MERGE, busy=0.0), "cpu 0") == 0.0
    assert any("idle" in (text or "") for text in told)
