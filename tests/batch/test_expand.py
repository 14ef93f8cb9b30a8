"""Variables, fields and globs."""

from __future__ import annotations

import glob
import os
from pathlib import Path

import numpy as np
import pytest

from gpumerge_cli.batch.expand import Folder, fields_of, with_fields, with_variables
from gpumerge_cli.errors import UsageError


@pytest.mark.parametrize(
    ("text", "value"),
    [("${A}/x", "1/x"), ("$${A}", "${A}"), ("$A $ {A} $", "$A $ {A} $"), ("${A}${B}", "1${A}"), ("{A}", "{A}")],
)
def test_variables(text: str, value: str) -> None:
    assert with_variables(text, {"A": "1", "B": "${A}"}) == value


@pytest.mark.parametrize("text", ["${C}", "a${}", "${A B}"])
def test_a_missing_variable_is_named(text: str) -> None:
    with pytest.raises(UsageError, match="the environment has no such variable"):
        with_variables(text, {"A": "1"})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{dir}/{stem}-{job}{suffix}", "in/more/a.b-week.txt"),
        ("{name}", "a.b.txt"),
        ("{{job}}", "{job}"),
        ("{{{job}}}", "{week}"),
        ("plain", "plain"),
    ],
)
def test_fields(text: str, value: str) -> None:
    assert with_fields(text, fields_of("week", "in/more/a.b.txt")) == value


def test_fields_of_odd_names() -> None:
    assert fields_of("j", "a") == {"job": "j", "name": "a", "stem": "a", "suffix": "", "dir": "."}
    assert fields_of("j", ".hidden")["stem"] == ".hidden"
    assert fields_of("j", None) == {"job": "j"}


@pytest.mark.parametrize("text", ["{", "a}", "{}", "{0}", "{stam}", "{job!r}", "{job:3}", "{name.x}"])
def test_what_is_no_field(text: str) -> None:
    with pytest.raises(UsageError):
        with_fields(text, fields_of("j", "a"))


def matches(folder: Folder, pattern: str, *to_come: str) -> list[str]:
    """The files that a glob matches if earlier jobs will make the files named `to_come`."""
    return folder.matches(pattern, {folder.place(name): os.path.normpath(name) for name in to_come})


def test_globs_match_what_is_there_and_what_will_be(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "all.txt", "c.csv", ".hidden.txt"):
        (tmp_path / name).touch()
    (tmp_path / "folder.txt").mkdir()
    folder = Folder(str(tmp_path))
    assert folder.matches("*.txt", {}) == ["a.txt", "all.txt", "b.txt"]
    found = matches(folder, "*.txt", "aa.txt", "x/y.txt", ".other.txt")
    assert found == ["a.txt", "aa.txt", "all.txt", "b.txt"]
    assert matches(folder, "*.csv", "all.txt") == ["c.csv"]
    assert matches(folder, ".*.txt", ".other.txt") == [".hidden.txt", ".other.txt"]


def test_globs_match_what_will_be_however_its_folder_is_spelt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "base" / "out").mkdir(parents=True)
    (tmp_path / "base" / "link").symlink_to("out")
    (tmp_path / "base" / "out" / "a").touch()
    monkeypatch.chdir(tmp_path)
    spellings = ("out", "./out", "link", "../base/out", "out/../out", str(tmp_path / "base" / "out"))
    folder = Folder("base")
    for pattern in spellings:
        for output in spellings:
            found = matches(folder, f"{pattern}/*", f"{output}/a", f"{output}/b")
            assert found == [f"{pattern}/a", f"{pattern}/b"], output
    assert matches(folder, "*/*", "link/b") == ["link/a", "out/b"]


def test_names_with_the_letters_of_globs_are_names_where_they_are_there(tmp_path: Path) -> None:
    (tmp_path / "a[1].txt").touch()
    folder = Folder(str(tmp_path))
    assert not folder.is_glob("a[1].txt")
    assert folder.is_glob("a[2].txt")
    assert not folder.is_glob("a.txt")


PATTERNS = (
    "*.txt", "*", "a*/*.txt", "**/*.txt", "**", "a/**", "a?b", "[ab]*", "[!a]*", "**/a/**/b*", ".*", "*/.x*", "./a/*"
)  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_what_will_be_is_matched_as_glob_matches_what_is_there(
    pattern: str, tmp_path: Path, rng: np.random.Generator
) -> None:
    parts = ["a", "b", "ab", ".x", "acb", "a.txt", "b.txt", ".x.txt"]
    names = {"/".join(rng.choice(parts, rng.integers(1, 4))) for _ in range(60)}
    made = []
    for name in sorted(names):
        place = tmp_path / name
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch()
        except OSError:
            continue  # part of it is a file
        if place.is_file():
            made.append(name)
    there = glob.glob(pattern, root_dir=tmp_path, recursive=True)
    expected = sorted({os.path.normpath(name) for name in there if os.path.isfile(f"{tmp_path}/{name}")})
    (tmp_path / "elsewhere").mkdir()
    found = matches(Folder(str(tmp_path / "elsewhere")), pattern, *made)
    assert [os.path.normpath(name) for name in found] == expected


UP = [
    "../../evil",
    "/evil",
    "//evil",
    "a/../../evil",
    "a/..",
    "..",
    ".",
    "./evil",
    "a/./b",
    "s3://bucket/key",
    "file:///evil",
]


@pytest.mark.parametrize("name", UP)
@pytest.mark.parametrize("text", ["{job}", "merged/{job}.txt", ".{job}", "in/{job}/x", "a{job}{job}"])
def test_a_jobs_name_never_leads_up(name: str, text: str) -> None:
    with pytest.raises(UsageError, match="leads out of a folder"):
        with_fields(text, fields_of(name, "a"))


@pytest.mark.parametrize("name", ["..a", "a..", "week/monday", "...", "a b", ".hidden", "-"])
def test_other_names_stay_below(name: str) -> None:
    assert with_fields("merged/{job}", fields_of(name, "a")) == f"merged/{name}"
    assert with_fields("merged/x", fields_of("../../evil", "a")) == "merged/x"
