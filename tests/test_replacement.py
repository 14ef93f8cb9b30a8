"""Files that appear whole or not at all, whoever writes them."""

from __future__ import annotations

import ast
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from gpumerge_cli.replacement import Replacement, remove_unfinished, replacing, sweep

PACKAGE = Path(__file__).parent.parent / "gpumerge_cli"


def test_a_file_shows_at_the_end_of_its_body(tmp_path: Path) -> None:
    place = tmp_path / "out"
    place.write_bytes(b"old")
    with replacing(place) as file:
        file.write(b"new")
        file.flush()
        assert place.read_bytes() == b"old"
    assert place.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["out"]


def test_a_body_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    place = tmp_path / "out"
    for there in (None, b"old"):
        if there is not None:
            place.write_bytes(there)
        with pytest.raises(ZeroDivisionError), replacing(place) as file:
            file.write(bytes(1 // 0))
        assert os.listdir(tmp_path) == ([] if there is None else ["out"])
    assert place.read_bytes() == b"old"


def test_permissions_of_a_new_file_are_those_asked_for(tmp_path: Path) -> None:
    with replacing(tmp_path / "own", 0o600):
        pass
    assert stat.S_IMODE((tmp_path / "own").stat().st_mode) == 0o600


def test_a_signal_that_comes_with_the_rename_finds_the_file_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = os.replace

    def interrupted(source: Path, target: Path) -> None:
        really(source, target)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    made = Replacement(tmp_path / "out")
    with pytest.raises(KeyboardInterrupt):
        made.commit()
    assert made.abort()
    assert os.listdir(tmp_path) == ["out"]
    dropped = Replacement(tmp_path / "other")
    assert not dropped.abort()
    remove_unfinished()
    assert os.listdir(tmp_path) == ["out"]


def test_a_file_that_others_removed_under_its_temporary_name_is_not_taken_for_the_one_in_place(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("old")
    made = Replacement(tmp_path / "out")
    made.temporary.unlink()
    with pytest.raises(FileNotFoundError):
        made.commit(keep=True)
    assert made.take_back()
    assert not made.in_place
    assert not made.abort()
    assert (tmp_path / "out").read_text() == "old"
    assert os.listdir(tmp_path) == ["out"]


def test_a_folder_is_read_once_for_many_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = [tmp_path / f".out{number}.gpumerge-{'0' * 12}" for number in range(3)]
    other = tmp_path / f".else.gpumerge-{'0' * 12}"
    for path in (*left, other):
        path.touch()
    read: list[Any] = []
    really = os.scandir

    def scandir(folder: Any) -> Any:
        read.append(folder)
        return really(folder)

    monkeypatch.setattr(os, "scandir", scandir)
    places = [tmp_path / f"out{number}" for number in range(3)]
    sweep(places)
    made = [Replacement(place) for place in places]
    assert read == [tmp_path]
    assert not any(path.exists() for path in left)
    assert other.exists()
    for one in made:
        one.commit()
    Replacement(places[0]).abort()
    assert len(read) == 2  # what is left is looked for again each time


def test_nothing_else_puts_files_in_their_place() -> None:
    renames = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and ast.unparse(node) in ("os.replace", "os.rename")
    }
    assert renames == {"replacement.py", "cluster/outlets.py"}  # the latter names runs and copies, which are no outputs
