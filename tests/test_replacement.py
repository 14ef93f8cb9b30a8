"""Files that appear whole or not at all, whoever writes them."""

from __future__ import annotations

import ast
import os
import stat
from pathlib import Path

import pytest

from gpumerge_cli.replacement import Replacement, remove_unfinished, replacing

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


def test_nothing_else_puts_files_in_their_place() -> None:
    renames = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and ast.unparse(node) in ("os.replace", "os.rename")
    }
    assert renames == {"replacement.py"}
