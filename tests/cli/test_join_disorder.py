"""Joins of files out of order: the error names the place, and the order or the sort that mends it."""

from __future__ import annotations

import random
import re
import shlex
from pathlib import Path

import pytest
from test_join import MON, TUE, joined, refusal

from gpumerge_cli.cli import app as door
from gpumerge_cli.cli.help import help_text


@pytest.mark.parametrize(("a", "b", "place"), [(b"b\na\n", b"a\n", "a:2"), (b"x 1\n", b"h\nx 3\nx 2\na 1\n", "b:4")])
def test_disorder_is_an_error_with_its_place(
    a: bytes, b: bytes, place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert f"{place}: disorder" in refusal(tmp_path, capsys, a=a, b=b)


@pytest.mark.parametrize(
    ("options", "lines", "way_out"),
    [
        ([], b"b\na\n", "gpumerge sort -s -k 1b,1"),
        (["-t;", "-j1,2nr"], b"x;1\nx;3\nx;2\n", "gpumerge sort -s -t ';' -k 1,1 -k 2,2nr"),
        (
            ["--csv", "-j", "k:n,the l"],
            b"k,the l\n2,2\n2,1\n2,3\n",
            "gpumerge sort --header 1 -s --csv --field k:n --field 'the l'",
        ),
        (["--on", "9,8", "--header"], b"9,8\n2,2\n1,7\n3,3\n", "gpumerge sort --header 1 -s --csv --field 9 --field 8"),
        (["--csv", "-t:", "-j2r"], b"x:1\nx:3\nx:2\n", "gpumerge sort -s -t : --csv -k 2,2r"),
    ],
)
def test_disorder_names_the_sort_that_mends_it(
    options: list[str], lines: bytes, way_out: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert f"; sort it first: {way_out}\n" in refusal(tmp_path, capsys, *options, a=lines, b=lines)
    command = [*shlex.split(way_out)[1:], str(tmp_path / "a"), "-o", str(tmp_path / "a")]
    assert door.invoke(command) == 0
    assert joined(tmp_path, "-q", *options, a=(tmp_path / "a").read_bytes(), b=(tmp_path / "a").read_bytes())


def _shown_sorts() -> list[list[str]]:
    """The rows of the manual's table and of --help that say how to sort for a join: [join, sort of A, sort of B]."""
    manual = Path(__file__).parents[2].joinpath("data", "manual", "joins.md").read_text()
    rows = re.findall(r"^\| `(join .*)` \| (?:`(sort .*)`|A: `(sort .*)`; B: `(sort .*)`) \|$", manual, re.MULTILINE)
    found = [[join, both or of_a, both or of_b] for join, both, of_a, of_b in rows]
    shown = help_text("join", 80)
    return found + [[join, *2 * [sort]] for join, sort in re.findall(r"^ +(join .* A B) +(sort .*)$", shown, re.M)]


@pytest.mark.parametrize("shown", _shown_sorts(), ids=lambda shown: shown[0])
def test_files_sorted_as_is_shown_can_be_joined(shown: list[str], tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    words = ["9", "10", "010", "-1", "2.5", "b", "a", "B"]
    between = "," if " -t , " in shown[0] else " "
    for name, sort in zip("ab", shown[1:], strict=True):
        lines = ["".join(f"{chance.choice(words)}{between}" for _ in range(3)) + "\n" for _ in range(200)]
        (tmp_path / name).write_text("".join(lines))
        assert door.invoke([*shlex.split(sort), str(tmp_path / name), "-o", str(tmp_path / name)]) == 0
    a, b = ((tmp_path / name).read_bytes() for name in "ab")
    assert joined(tmp_path, *shlex.split(shown[0])[1:-2], a=a, b=b)


def test_disorder_between_chunks_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [b"%06d some text\n" % number for number in range(40_000)]
    lines[25_000] = b"000001 x\n"
    said = refusal(tmp_path, capsys, "-S", "64K", "--threads", "2", a=b"".join(lines), b=b"".join(lines[:1000]))
    assert "a:25001: disorder" in said


@pytest.mark.parametrize(
    ("options", "a", "b", "told"),
    [
        (["--csv", "-j", "id"], MON, TUE, "-j id:n"),
        (["--field", "id"], MON, TUE, "--field id:n"),
        (["--csv", "-1", "id", "-2", "no"], MON, TUE.replace(b"id", b"no"), "-1 id:n -2 no:n"),
        (["--csv", "--header"], MON, TUE, "-j id:n"),
        (["--csv", "-j", "1", "--header"], MON.replace(b"id", b'"i d"'), TUE.replace(b"id", b"i d"), "-j 1:n --header"),
        (["--csv", "-j", "3", "--header"], *2 * [b'"a,b",no,id\n,,9\n,,10\n'], "-j id:n"),
        (["-t,"], MON[8:], TUE[8:], "-j 1:n"),
        (["-t,", "-1", "1", "-2", "2"], MON[8:], b"a,2\na,10\n", "-1 1:n -2 2:n"),
    ],
)
def test_an_order_that_both_files_have_is_proposed(
    options: list[str], a: bytes, b: bytes, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refusal(tmp_path, capsys, *options, a=a, b=b).endswith(f"both files are in the order of {told}: add :n\n")
    kept = [word for word in options if word == "--csv" or word.startswith("-t")]
    assert joined(tmp_path, *kept, *told.split(), "--type=outer", a=a, b=b).count(b"\n") >= 3


def test_an_order_in_place_of_another_is_proposed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = refusal(tmp_path, capsys, "--csv", "-j", "id:nr", a=MON, b=TUE)
    assert said.endswith("by -j id:nr; both files are in the order of -j id:n: use that\n")


@pytest.mark.parametrize("b", [b"id,name\n11,x\n3,y\n7,z\n", b"id,name\nx,x\ny,y\n"])
def test_an_order_that_the_other_file_lacks_is_not_proposed(
    b: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for words, by in ((["--csv", "-j"], "-j"), (["--field"], "--field")):
        said = refusal(tmp_path, capsys, *words, "id", a=MON, b=b)
        assert f" by {by} id; sort it first: gpumerge sort --header 1 -s --csv --field id\n" in said
