"""The page of a merge path in a browser: each control moves what it should, by mouse, touch and keyboard."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.cli.app import invoke
from tests import needs
from tests.browser.conftest import NARROW, WIDE

A = "0 1 4 5 5 7 8 9"
B = "1 1 3 6 6 7 9"
HOSTILE = "<img/src=x/onerror=alert(1)>", "</script><script>alert(2)</script>", "]]>&amp;"


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The textbook's example."""
    file = tmp_path_factory.mktemp("page") / "page.html"
    assert invoke(["path", "--html", str(file), "--rank", "7"]) == 0
    return file


def texts(page: Any, selector: str) -> list[str]:
    return page.eval_on_selector_all(selector, "all => all.map(one => one.textContent)")  # type: ignore[no-any-return]


def rank(page: Any) -> tuple[int, int, int]:
    """k, i and j as the page shows them."""
    k, i, j = page.evaluate("[...document.getElementById('sum').textContent.matchAll(/\\d+/g)].slice(0, 3).map(Number)")
    assert page.input_value("#rank") == str(k)
    return k, i, j


def test_the_cut_moves(book: Path, opened: Callable[..., Any]) -> None:
    with opened(book) as page:
        assert rank(page) == (7, 4, 3)
        assert texts(page, "#conditions tr") == ["A[i−1] ≤ B[j]5 ≤ 6✓ yes", "B[j−1] < A[i]3 < 5✓ yes"]
        page.click("#rank-more")
        assert rank(page) == (8, 5, 3)
        page.focus("#rank")
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowLeft")
        assert rank(page) == (6, 3, 3)
        page.wait_for_url("**/page.html#k=6")
        page.focus("#cut-plot svg")
        page.keyboard.press("End")
        assert rank(page) == (15, 8, 7)
        page.keyboard.press("Home")
        page.keyboard.press("ArrowDown")
        assert rank(page) == (1, 1, 0)
        assert page.get_attribute("#cut-plot svg", "aria-valuetext") == "k 1: 1 of A and 0 of B"
        page.evaluate("location.hash = '#k=15'")
        page.locator("#sum", has_text="k = 15").wait_for()


def test_the_point_is_dragged(book: Path, opened: Callable[..., Any]) -> None:
    with opened(book) as page:
        box = page.locator("#cut-plot .point").bounding_box()
        cell = page.evaluate("document.querySelector('#cut-plot .probe-cell').getBBox().width")
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + cell, y + cell, steps=4)
        assert rank(page) == (9, 5, 4)
        page.mouse.move(x + 1.5 * cell, y + 1.5 * cell, steps=4)
        page.mouse.up()
        assert rank(page) == (10, 5, 5)
        page.mouse.move(x, y)
        assert rank(page) == (10, 5, 5)


def test_a_finger_taps(book: Path, opened: Callable[..., Any]) -> None:
    with opened(book, viewport=NARROW, has_touch=True) as page:
        box = page.locator("#cut-plot svg .ground-b").bounding_box()
        cell = box["height"] / 8
        page.touchscreen.tap(box["x"] + cell, box["y"] + cell)
        assert rank(page)[0] == 2
        page.tap("#rank-more")
        assert rank(page)[0] == 3


def test_a_finger_drags_the_point(book: Path, opened: Callable[..., Any]) -> None:
    with opened(book, viewport=NARROW, has_touch=True) as page:
        box = page.locator("#cut-plot .point").bounding_box()
        cell = page.evaluate("document.querySelector('#cut-plot .probe-cell').getBBox().width")
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        tools = page.context.new_cdp_session(page)
        for kind, far in (("Start", 0), ("Move", 0.5), ("Move", 1), ("End", None)):
            points = [] if far is None else [{"x": x + far * cell, "y": y + far * cell}]
            tools.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": points})
        assert rank(page) == (9, 5, 4)
        assert page.evaluate("scrollY") == 0


def test_the_search_goes_step_by_step(book: Path, opened: Callable[..., Any]) -> None:
    with opened(book, at="#k=7") as page:
        assert texts(page, "#search-steps tr") == [
            "107346 < 5: no, low = i + 1",
            "247521 < 7: yes, high = i",
            "345433 < 5: yes, high = i",
        ]
        page.click("#search-first")
        assert page.text_content("#search-says").startswith("Step 1: i lies between 0 and 7; try i = 3, j = 4.")
        assert page.is_visible("#cut-plot .probe-cell")
        assert texts(page, "#conditions .bad, #conditions .good") == ["✓ yes", "✗ no"]
        page.click("#search-next")
        page.click("#search-next")
        assert page.text_content("#search-says").startswith("Step 3")
        page.click("#search-next")
        assert page.text_content("#search-says") == "Found after 3 steps: i = 4, j = 3."
        assert page.is_disabled("#search-next")
        page.click("#search-back")
        assert not page.is_visible("#cut-plot .point")
        page.click("#search-play")
        page.locator("#search-says", has_text="Found").wait_for()


def test_a_launch_decides_pieces_accesses_and_rounds(book: Path, opened: Callable[..., Any]) -> None:
    with opened(book) as page:
        assert page.is_hidden("#with-rounds")
        page.select_option("#kernel", "circular")
        page.select_option("#tile", "4")
        page.select_option("#threads", "4")
        page.select_option("#items", "1")
        assert page.text_content("#launch-says").startswith("circular 4x1, tile 4, 2 blocks, by the GPU's rules.")
        assert page.text_content("#owner").startswith(
            "Output 7 is A[4] = 5. block 0, round 1, thread 3 writes it: 1 output"
        )
        assert texts(page, "#output .mine") == ["5"]
        assert texts(page, "#pieces tr.now td:first-child") == ["block 0, round 1, thread 3"]
        first = page.text_content("#access-says")
        page.click("#access-next")
        assert page.text_content("#access-says") != first
        page.select_option("#phase", "stage")
        assert "Copy: 4 of 32 lanes load from A. They ask for 16 bytes, and 1 sector" in page.text_content(
            "#access-says"
        )
        assert texts(page, "#lanes .active small") == ["0", "1", "2", "3"]
        assert texts(page, "#arrays .asked") == ["0", "1", "4", "5"]
        page.select_option("#warp", "1")
        assert page.text_content("#access-says").startswith("1 of ")
        assert page.text_content("#round-says") == "Round 1 of 4. Block 0 writes outputs 0 to 3."
        page.click("#round-next")
        assert page.text_content("#round-says") == "Round 2 of 4. Block 0 writes outputs 4 to 7."
        assert len(texts(page, "#written .cell")) == 8
        page.click("#traffic button >> text=basic")
        assert page.input_value("#kernel") == "basic"


def test_bugs_break_what_they_break(book: Path, opened: Callable[..., Any]) -> None:
    with opened(book) as page:
        page.select_option("#kernel", "circular")
        page.select_option("#tile", "3")
        assert page.text_content("#broken") == "All outputs are correct."
        for bug, words in (("refill", "Lost: "), ("count", "Wrong. "), ("ties", "Wrong. ")):
            page.check(f"input[value={bug}]")
            assert words in page.text_content("#broken")
            while page.is_enabled("#round-next"):
                page.click("#round-next")
            assert len(texts(page, "#written .wrong")) > 0
        page.check("input[value=none]")
        assert texts(page, "#written .wrong") == []


def test_the_focus_stays_where_it_is(book: Path, opened: Callable[..., Any]) -> None:
    """Redrawing replaces elements, and disables buttons at an end."""
    focused = "[document.activeElement.tagName, document.activeElement.value]"
    with opened(book) as page:
        page.select_option("#kernel", "circular")
        page.focus("#bugs input")
        for _ in range(2):
            page.keyboard.press("ArrowDown")
        chosen = page.eval_on_selector("#bugs input:checked", "one => one.value")
        assert page.evaluate(focused) == ["INPUT", chosen]
        page.focus("#traffic tr:last-child button, #traffic button")
        page.keyboard.press("Enter")
        assert page.evaluate(focused)[0] == "BUTTON"
        page.focus("#search-first")
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.disabled") is False
        assert page.evaluate(focused)[0] == "BUTTON"


def test_large_items_do_not_overlap(tmp_path: Path, opened: Callable[..., Any]) -> None:
    """Numbers of ten digits on a phone: each sector is as wide as its items."""
    for name, first in (("a", 2_000_000_000), ("b", 2_000_000_017)):
        np.arange(first, first + 64 * 33, 33, dtype=np.int32).tofile(tmp_path / f"{name}.i32")
    file = tmp_path / "page.html"
    files = [str(tmp_path / f"{name}.i32") for name in "ab"]
    assert invoke(["path", *files, "--html", str(file)]) == 0
    with opened(file, viewport=NARROW) as page:
        assert page.evaluate("""[...document.querySelectorAll('.sector span')].every(one => {
            const text = document.createRange();
            text.selectNodeContents(one);
            return text.getBoundingClientRect().width <= one.getBoundingClientRect().width + 0.5;
        })""")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_question_is_answered_before_the_answer_shows(book: Path, opened: Callable[..., Any]) -> None:
    with opened(book) as page:
        for name, right, after in (
            ("cut", "6", lambda: rank(page) == (10, 5, 5)),
            ("pieces", "2", lambda: page.input_value("#kernel") == "basic"),
            ("memory", None, lambda: "store to the output" in page.text_content("#access-says")),
            ("rounds", "15", lambda: page.input_value("#kernel") == "circular"),
        ):
            place = f".question[data-question={name}]"
            buttons = texts(page, f"{place} button")
            assert len(set(buttons)) == len(buttons) >= 3
            if right is not None and name != "cut":
                assert right in buttons
            page.click(f"{place} button >> nth=0")
            assert len(texts(page, f"{place} button.correct")) == 1
            said = page.text_content(f"{place} [role=status]")
            assert said.startswith(("Correct.", "No, it is"))
            if name != "cut":
                assert after()


def test_names_and_items_never_become_markup(tmp_path: Path, opened: Callable[..., Any]) -> None:
    files = [tmp_path / f"{number}{name.replace('/', chr(0x2215))}" for number, name in enumerate(HOSTILE[:2])]
    for file in files:
        file.write_text("".join(sorted(f"{one}\n" for one in HOSTILE)))
    out = tmp_path / "page.html"
    assert invoke(["path", *map(str, files), "--html", str(out)]) == 0
    with opened(out) as page:
        assert page.evaluate("document.querySelectorAll('img, iframe, script').length") == 2
        assert "<img∕src=x∕onerror=alert(1)>" in page.text_content("h1")
        assert "<img/src=x/…" in page.text_content("#output")
        page.click("#search-first")


@pytest.mark.one_of_each
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["wide", "narrow"])
def test_everybody_can_use_it(book: Path, opened: Callable[..., Any], scheme: str, viewport: dict[str, int]) -> None:
    script = Path(needs.library("axe_playwright_python").__file__).with_name("axe.min.js").read_text(encoding="utf-8")
    with opened(book, viewport=viewport, color_scheme=scheme) as page:
        for kernel in ("basic", "circular"):
            page.select_option("#kernel", kernel)
            page.click("#search-first")
            page.click(".question button >> nth=0")
            page.evaluate(script)
            found = page.evaluate("axe.run()")
            faults = [(one["id"], [node["html"] for node in one["nodes"]][:3]) for one in found["violations"]]
            assert faults == []
            assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_without_scripts_there_is_a_picture_and_text(book: Path, opened: Callable[..., Any]) -> None:
    with opened(book, java_script_enabled=False) as page:
        assert page.is_visible("noscript svg .path")
        words = page.locator("noscript").inner_text()
        assert "the first 7 outputs are the first 4 items of A and the first 3 of B" in " ".join(words.split())
        assert page.is_hidden("#live")


def test_measured_times_show_if_they_were_measured(tmp_path: Path, opened: Callable[..., Any]) -> None:
    out = tmp_path / "page.html"
    words = ["path", "--html", str(out), "--compare", "--repeat", "1", "--backend", "cpu", "--items", A, "--items", B]
    assert invoke(words) == 0
    with opened(out) as page:
        names = texts(page, "#times .bar > span:first-child")
        assert {"basic", "tiled full", "tiled exact", "circular", "path", "copy of the same bytes"} <= set(names)
        assert "15 items" in page.text_content("#times-says")
