"""gpumerge path, from the command line to the terminal and to figures."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from gpumerge_cli.cli.app import invoke
from tests import needs

ROOT = Path(__file__).parents[2]
A, B = (1, 3, 5, 7, 7, 9, 12, 15), (2, 3, 4, 7, 7, 10, 11, 12)
WORDS = ("path", "--items", " ".join(map(str, A)), "--items", ",".join(map(str, B)))
SHAPE = ("--block-size", "2", "--items-per-thread", "2")
Write = Callable[[str, Any], str]


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The output of a command line that must succeed."""
    assert invoke(arguments) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert max(map(len, captured.out.splitlines())) <= 80
    return captured.out


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line of error of a command line that must fail."""
    assert invoke(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("gpumerge: ")
    assert captured.err.count("\n") == 1
    return captured.err


def test_a_small_path_in_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(capsys, "path", "--items", "1 3 5 7", "--items", "2 3 4 8", *SHAPE)
    grid = [line.rstrip() for line in out.splitlines()[3:13]]
    assert grid == [
        "     2   3   4   8",
        "   ┃   ·   ╱   ·   ╱",
        "1  ┃     ╱       ╱",
        "   ┗━━━○   ·   ╱   ·",
        "3    ╱ ┃     ╱",
        "   ╱   ┗━━━●━━━┓   ╱",
        "5        ╱     ┃ ╱",
        "   ·   ╱   ·   ○   ·",
        "7    ╱       ╱ ┃",
        "   ╱   ·   ╱   ┗━━━━",
    ]
    assert "● 1 block cut, pieces of up to 4 outputs: 4 = 2+2\n" in out
    assert "○ 2 thread cuts, pieces of up to 2 outputs: 2 = 1+1, 6 = 3+3\n" in out


def test_without_colours_and_without_more_than_ascii(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from rich.console import Console

    plain = shown(capsys, *WORDS, *SHAPE, "--rank", "9")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("NO_COLOR", "1")
    assert shown(capsys, *WORDS, *SHAPE, "--rank", "9") == plain
    assert "\x1b" not in plain
    monkeypatch.setattr(Console, "encoding", "ascii")
    ascii_only = shown(capsys, *WORDS, *SHAPE, "--rank", "9", "--kernel", "auto")
    assert ascii_only.isascii()
    assert ascii_only.count("@") == plain.count("●")


def test_the_steps_of_a_search(capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(capsys, *WORDS, "--rank", "9")
    steps = [line.split() for line in out.splitlines() if re.search(r"(yes|no), (high|low) =", line)]
    assert [" ".join(step) for step in steps] == [
        "1 1 8 4 5 7 7 no, low = 5",
        "2 5 8 6 3 4 12 yes, high = 6",
        "3 5 6 5 4 7 9 yes, high = 5",
    ]
    assert "found: i = 5, j = 4\n" in out
    assert "without a step" in shown(capsys, *WORDS, "--rank", "0")
    assert "ranks 0 to 16; use one" in refused(capsys, *WORDS, "--rank", "17")


def test_the_steps_of_a_long_search_leave_keys_their_room(capsys: pytest.CaptureFixture[str], write: Write) -> None:
    a, b = (write(name, np.arange(10**8, 9 * 10**8, step, np.int32)) for name, step in (("a.i32", 300), ("b.i32", 301)))
    out = shown(capsys, "path", a, b, "--rank", "3000000")
    steps = [re.split(" +", line.strip()) for line in out.splitlines() if re.search(r"\d +(yes|no)", line)]
    assert len(steps) > 16
    assert all(re.fullmatch(r"\d{9}", key) for step in steps for key in step[5:7])
    assert {step[7] for step in steps} == {"yes", "no"}
    for step, after in pairwise(steps):
        first = step[7] == "yes"
        assert int(after[2 if first else 1]) == int(step[3]) + (not first)


@pytest.mark.parametrize("kernel", ["circular", "tiled"])
def test_rounds(kernel: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(capsys, *WORDS, "--kernel", kernel, "--block-size", "2", "--tile-size", "4", "--rounds")
    assert "3 round cuts" in out
    rows = [line.strip() for line in out.splitlines() if "out[" in line]
    assert rows == ["out[0:4]: 1 2 3 3", "out[4:8]: 4 5 7 7", "out[8:12]: 7 7 9 10", "out[12:16]: 11 12 12 15"]
    assert ("+7* +9   5*  7*" in out) == (kernel == "circular")
    counts = shown(capsys, *WORDS, "--kernel", kernel, "--tile-size", "128", "--rounds").splitlines()
    assert counts[-2].split()[:4] == ["0.0", "0", "8", "8"]
    assert counts[-1] == "1 round: 16 loaded, 16 merged"
    assert "the vector kernel has none" in refused(capsys, *WORDS, "--rounds")


@pytest.mark.parametrize("load", ["full", "exact"])
def test_a_figure_of_rounds(load: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    needs.library("matplotlib")
    shape = ("--kernel", "tiled", "--tile-load", load, "--block-size", "2", "--tile-size", "4", "--blocks", "2")
    for name in ("1.svg", "2.svg"):
        assert shown_nothing(capsys, *WORDS, *shape, "--rounds", "-o", str(tmp_path / name))
    assert (tmp_path / "1.svg").read_bytes() == (tmp_path / "2.svg").read_bytes()
    ids = {element.get("id") for element in ElementTree.parse(tmp_path / "1.svg").iter()}
    assert {"0-0-A-0", "0-1-B-0", "1-1-A-1", "1-1-B-1"} <= ids
    assert ("0-0-A-3" in ids) == (load == "full")
    long = refused(capsys, *WORDS, "--kernel", "tiled", "--tile-size", "128", "--rounds", "-o", str(tmp_path / "3.svg"))
    assert "too large for a figure" in long
    assert not (tmp_path / "3.svg").exists()


def test_large_inputs_are_drawn_to_a_scale_that_is_said(capsys: pytest.CaptureFixture[str], write: Write) -> None:
    rng = np.random.default_rng(7)
    a, b = (
        write(name, np.sort(rng.integers(0, 10**9, count, np.int64)))
        for name, count in (("a.i64", 5000), ("b.i64", 90))
    )
    out = shown(capsys, "path", a, b, *SHAPE, "--rank", "777")
    rows, columns = re.findall(r"scale: a row is (\d+) items of A, a column (\d+) of B", out)[0]
    assert int(rows) >= 5000 / 42
    assert int(columns) == 3
    assert "not drawn" in out


def test_all_formats_of_merge(capsys: pytest.CaptureFixture[str], write: Write) -> None:
    for name, content, options in (
        ("npy", lambda keys: np.array(keys, ">f4"), ()),
        ("u16", lambda keys: np.array(keys, np.uint16), ()),
        ("txt", lambda keys: "".join(f"{key}\n" for key in keys).encode(), ("-n",)),
        ("dat", lambda keys: np.array(keys, ">u4"), ("--record-size", "4", "--dtype", ">u4")),
        ("csv", lambda keys: "".join(f"x,{key}\n" for key in keys).encode(), ("-k2,2n", "-t,")),
    ):
        out = shown(capsys, "path", write(f"a.{name}", content(A)), write(f"b.{name}", content(B)), *SHAPE, *options)
        assert "3 block cuts, pieces of up to 4 outputs: 4 = 2+2, 8 = 5+3, 12 = 6+6" in " ".join(out.split())
    down = [write(f"{name}.i8", np.array(keys[::-1], np.int8)) for name, keys in (("a", A), ("b", B))]
    assert "block cut" in shown(capsys, "path", *down, "-r", *SHAPE)
    assert "block cut" in shown(capsys, "path", "--items", "x10 x9", "--items", "x8", "-V", "-r", *SHAPE)


@pytest.mark.parametrize("words", [("", ""), ("1 2", ""), ("", "1 2")])
def test_empty_inputs(words: tuple[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arguments = ["path", "--items", words[0], "--items", words[1], "--rank", "0"]
    assert "no block cuts" in shown(capsys, *arguments)
    needs.library("matplotlib")
    assert shown_nothing(capsys, *arguments, "-o", str(tmp_path / "x.svg"))
    ElementTree.parse(tmp_path / "x.svg")


def shown_nothing(capsys: pytest.CaptureFixture[str], *arguments: str) -> bool:
    assert invoke(arguments) == 0
    return capsys.readouterr() == ("", "")


def test_a_figure_is_xml_that_holds_path_cuts_and_search_and_the_same_each_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    needs.library("matplotlib")
    for name in ("1.svg", "2.svg", "1.png", "2.PNG"):
        assert shown_nothing(capsys, *WORDS, *SHAPE, "--rank", "9", "-o", str(tmp_path / name))
    svg = (tmp_path / "1.svg").read_bytes()
    assert svg == (tmp_path / "2.svg").read_bytes()
    assert (tmp_path / "1.png").read_bytes() == (tmp_path / "2.PNG").read_bytes()
    assert b"<dc:date>" not in svg
    ids = {element.get("id") for element in ElementTree.fromstring(svg).iter()}
    cuts = {"block-cut-4-2-2", "block-cut-8-5-3", "block-cut-12-6-6", "thread-cut-2-1-1", "thread-cut-14-7-7"}
    assert cuts | {"path", "found-9-5-4", "search-1", "search-3"} <= ids
    assert not any(name and name.startswith(("block-cut-16", "search-4")) for name in ids)


@pytest.mark.thorough
def test_a_figure_tells_levels_apart_and_covers_no_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], write: Write
) -> None:
    needs.library("matplotlib")
    keys = write("k.i32", np.arange(60_000, dtype=np.int32))
    hosts = ("--backend", "cpu", "--kernel", "path", "--tile-size", "20000", "--threads", "2")
    assert shown_nothing(capsys, "path", keys, keys, *hosts, "-o", str(tmp_path / "x.svg"))
    svg = (tmp_path / "x.svg").read_text()
    assert "host thread cut" in svg
    assert re.search(r"block cuts, pieces of up to [0-9,]+ outputs", svg)
    cuts = [
        re.findall(rf'id="{what}-cut-.*?<use [^>]*style="fill: ([^;"]+)', svg, re.DOTALL)
        for what in ("host-thread", "block")
    ]
    assert all(cuts)
    assert not set(cuts[0]) & set(cuts[1])
    assert shown_nothing(capsys, *WORDS, *SHAPE, "--rank", "8", "-o", str(tmp_path / "x.svg"))
    drawn = [element.get("id") or element.text for element in ElementTree.parse(tmp_path / "x.svg").iter()]
    assert drawn.index("8 = 5 + 3") > max(drawn.index(f"search-{number}") for number in (1, 2, 3))
    out = shown(capsys, *WORDS, "--kernel", "circular", "--tile-size", "4", "--block-size", "2")
    assert "1 block," in out


def test_letters_that_the_font_lacks_are_told_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    needs.library("matplotlib")
    words = ("path", "--items", "\u4e2d \u6587", "--items", "\u4e2d", "-o")
    assert shown_nothing(capsys, *words, str(tmp_path / "x.svg"))
    assert invoke([*words, str(tmp_path / "x.png")]) == 0
    said = capsys.readouterr().err
    assert said.startswith(f"gpumerge: {tmp_path / 'x.png'}: its font lacks \u4e2d\u6587, ")
    assert said.count("\n") == 1


@pytest.mark.thorough
def test_figures_of_large_and_of_uneven_inputs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], write: Write
) -> None:
    needs.library("matplotlib")
    rng = np.random.default_rng(5)
    large, small = (
        write("l$1.i32", np.sort(rng.integers(0, 10**6, 2500, np.int32))),
        write("s.i32", np.arange(3, dtype=np.int32)),
    )
    for a, b in ((large, large), (large, small), (small, large)):
        assert shown_nothing(
            capsys, "path", a, b, "--block-size", "64", "--items-per-thread", "9", "-o", str(tmp_path / "x.svg")
        )
        text = (tmp_path / "x.svg").read_text()
        ElementTree.fromstring(text)
        assert "path exact at every 3 items" in text
        assert "l$1.i32, 2,500 items" in text


def test_names_that_cannot_be_shown_are_escaped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], write: Write
) -> None:
    name = write("a\x1b[31m\n\udcff.txt", b"1\n3\n")
    out = shown(capsys, "path", name, name)
    assert r"a\x1b[31m\n\udcff.txt" in "".join(out.split())
    assert "\x1b" not in out
    needs.library("matplotlib")
    for figure in ("x.svg", "x.png"):
        assert shown_nothing(capsys, "path", name, name, "-o", str(tmp_path / figure))
    texts = "".join(ElementTree.parse(tmp_path / "x.svg").getroot().itertext())
    assert r"a\x1b[31m\n\udcff.txt, 2 items" in texts


def test_what_is_not_two_sorted_inputs_is_refused(capsys: pytest.CaptureFixture[str], write: Write) -> None:
    a, b, bad = (
        write(f"{name}.i32", np.array(keys, np.int32)) for name, keys in (("a", A), ("b", B), ("c", (1, 5, 4)))
    )
    assert "two inputs, and 3 were given; name A and B" in refused(capsys, "path", a, b, bad)
    assert "and none were given" in refused(capsys, "path")
    assert f"{bad}@2: disorder: 4 comes after 5" in refused(capsys, "path", a, bad)
    assert "check the name" in refused(capsys, "path", a, "nowhere.i32")
    assert "given by --items already" in refused(capsys, "path", a, "--items", "1")
    assert "--items twice" in refused(capsys, "path", "--items", "1")
    assert "--items B@1: disorder: 2 comes after 3" in refused(capsys, "path", "--items", "1", "--items", "3 2")
    assert "leave --dtype" in refused(capsys, "path", "--items", "1", "--items", "3", "--dtype", "i4")
    assert "does not use it" in refused(capsys, "path", a, b, "--kernel", "basic", "--tile-size", "4")


def test_outputs_that_are_no_figure_are_refused(
    capsys: pytest.CaptureFixture[str], write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = write("a.svg", b"1\n2\n")
    assert "end the name in .png or .svg" in refused(capsys, *WORDS, "-o", "x.pdf")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "gpumerge_cli.report.path_figure", raising=False)
    monkeypatch.delitem(sys.modules, "gpumerge_cli.report.figure", raising=False)
    monkeypatch.delitem(sys.modules, "gpumerge_cli.report.drawing", raising=False)
    assert "pip install 'gpumerge[plot]'" in refused(capsys, *WORDS, "-o", str(tmp_path / "x.svg"))
    assert "would replace an input" in refused(capsys, "path", a, a, "--format", "text", "-o", a)
    (tmp_path / "f.svg").mkdir()
    assert "is a directory" in refused(capsys, *WORDS, "-o", str(tmp_path / "f.svg"))
    assert Path(a).read_bytes() == b"1\n2\n"


def test_a_figure_that_cannot_be_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    needs.library("matplotlib")
    assert "no such file or directory" in refused(capsys, *WORDS, "-o", str(tmp_path / "none" / "x.svg"))
    assert list(tmp_path.iterdir()) == []
