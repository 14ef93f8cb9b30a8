"""Files that appear whole or not at all, whoever writes them."""

from __future__ import annotations

import ast
import errno
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.cluster.writers import rename_once
from gpumerge_cli.errors import OutputError
from gpumerge_cli.formats.output import remove_unfinished
from gpumerge_cli.formats.output_file import OutputFile
from gpumerge_cli.replacement import PlacementError, Replacement, replacing
from gpumerge_cli.temporary_files import remove_leftovers, remove_temporaries

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
    remove_temporaries()
    assert os.listdir(tmp_path) == ["out"]


def test_a_file_that_others_removed_under_its_temporary_name_is_not_taken_for_the_one_in_place(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("old")
    made = Replacement(tmp_path / "out")
    os.unlink(made.temporary)
    with pytest.raises(PlacementError):
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
    remove_leftovers(places)
    made = [Replacement(place) for place in places]
    assert read == [str(tmp_path)]
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
        if isinstance(node, ast.Attribute)
        and node.attr.startswith("re")
        and ast.unparse(node) in ("os.replace", "os.rename")
    }
    assert renames == {"replacement.py", "cluster/writers.py"}  # the latter names runs and copies, which are no outputs


FOREIGN = b"of another program"


def _swap(made: Replacement) -> None:
    os.unlink(made.temporary)
    Path(made.temporary).write_bytes(FOREIGN)


@pytest.mark.parametrize("there", [None, b"old"])
def test_a_temporary_file_that_was_swapped_does_not_take_the_place(tmp_path: Path, there: bytes | None) -> None:
    place = tmp_path / "out"
    if there is not None:
        place.write_bytes(there)
    made = Replacement(place)
    _swap(made)
    with pytest.raises(PlacementError, match="another program replaced its temporary file"):
        made.commit()
    assert not made.abort()
    remove_temporaries()
    assert Path(made.temporary).read_bytes() == FOREIGN
    assert (place.read_bytes() if place.exists() else None) == there


def test_a_link_to_the_new_file_is_not_the_file(tmp_path: Path) -> None:
    made = Replacement(tmp_path / "out")
    os.rename(made.temporary, tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", made.temporary)
    with pytest.raises(PlacementError):
        made.commit()
    assert not (tmp_path / "out").exists()


def test_a_temporary_file_that_was_removed_is_named_so(tmp_path: Path) -> None:
    made = Replacement(tmp_path / "out")
    os.unlink(made.temporary)
    with pytest.raises(PlacementError, match="another program removed its temporary file"):
        made.commit()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("keep", [False, True])
def test_a_file_swapped_with_the_rename_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep: bool) -> None:
    """It cannot be undone; what was there before is named, where it was kept."""
    place = tmp_path / "out"
    place.write_bytes(b"old")
    made = Replacement(place)
    really = os.replace

    def swapped(source: Path, target: Path) -> None:
        _swap(made)
        really(source, target)

    monkeypatch.setattr(os, "replace", swapped)
    with pytest.raises(PlacementError, match="another program put a different file") as caught:
        made.commit(keep=keep)
    monkeypatch.undo()
    assert not made.take_back()
    assert not made.abort()
    remove_temporaries()
    assert place.read_bytes() == FOREIGN
    others = [path for path in tmp_path.iterdir() if path != place]
    assert [path.read_bytes() for path in others] == ([b"old"] if keep else [])
    assert all(str(path) in caught.value.way_out for path in others)


def test_a_file_that_others_put_there_after_the_commit_is_not_taken_back(tmp_path: Path) -> None:
    place = tmp_path / "out"
    made = Replacement(place)
    made.commit(keep=True)
    os.unlink(place)
    place.write_bytes(FOREIGN)
    assert not made.take_back()
    made.abort()
    assert place.read_bytes() == FOREIGN


@pytest.mark.parametrize("replaced", [True, False])
def test_a_file_of_others_under_the_kept_name_is_not_put_back(tmp_path: Path, replaced: bool) -> None:
    place = tmp_path / "out"
    place.write_bytes(b"old")
    made = Replacement(place)
    os.write(made.descriptor, b"new")
    made.commit(keep=True)
    (kept,) = (path for path in tmp_path.iterdir() if path != place)
    kept.rename(tmp_path / "moved")
    if replaced:
        kept.write_bytes(FOREIGN)
    assert not made.take_back()
    made.abort()
    assert place.read_bytes() == b"new"
    assert (tmp_path / "moved").read_bytes() == b"old"
    assert not replaced or kept.read_bytes() == FOREIGN


@pytest.mark.parametrize("number", [errno.EIO, errno.EINTR])
def test_a_close_that_fails_after_the_rename_says_that_the_file_is_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    output = OutputFile(str(tmp_path / "out"))
    output.write_at(0, np.frombuffer(b"new", np.uint8))
    output.finish()
    really = os.close

    def failing(descriptor: int) -> None:
        really(descriptor)
        raise OSError(number, "")

    monkeypatch.setattr(os, "close", failing)
    with pytest.raises(OutputError) as caught:
        output.commit()
    output.abort()
    monkeypatch.undo()
    assert str(tmp_path / "out") in str(caught.value)
    assert "the new output is in place" in str(caught.value)
    assert (tmp_path / "out").read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["out"]
    remove_unfinished()


def test_a_temporary_file_that_cannot_be_removed_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    remove_unfinished()

    def failing(path: Path) -> None:
        raise OSError(errno.EROFS, "")

    made = Replacement(tmp_path / "out")
    monkeypatch.setattr(os, "unlink", failing)
    assert not made.abort()
    assert invoke(["--version"]) == 0
    monkeypatch.undo()
    told = capsys.readouterr().err
    assert told.startswith(f"gpumerge: warning: {made.temporary}: this temporary file could not be removed (read-only")
    assert told.count("\n") == 1


def test_a_run_whose_name_was_taken_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.part"
    with open(path, "xb") as file:
        os.unlink(path)
        path.write_bytes(FOREIGN)
        with pytest.raises(PlacementError):
            rename_once(path, file.fileno(), tmp_path / "run")
    assert os.listdir(tmp_path) == ["run.part"]
