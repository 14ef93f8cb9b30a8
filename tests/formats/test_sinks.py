"""Outputs appear whole or not at all."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.errors import OutputError
from gpumerge_cli.formats.output import given, remove_unfinished
from gpumerge_cli.formats.output_file import OutputFile
from gpumerge_cli.formats.registry import open_sink
from tests.layouts import layout

DATA = np.arange(6, dtype=np.uint8)


def test_nothing_shows_before_commit_and_nothing_stays_after_abort(tmp_path: Path) -> None:
    place = tmp_path / "out"
    place.write_bytes(b"old")
    for end in ("abort", "commit"):
        output = OutputFile(str(place))
        output.write_at(3, DATA[3:])
        output.write_at(0, DATA[:3])
        assert place.read_bytes() == b"old"
        getattr(output, end)()
        output.abort()
    assert place.read_bytes() == DATA.tobytes()
    assert os.listdir(tmp_path) == ["out"]


def test_permissions_are_kept_and_new_files_get_the_usual_ones(tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.write_bytes(b"")
    old.chmod(0o640)
    umask = os.umask(0o022)
    try:
        for name, mode in (("old", 0o640), ("new", 0o644)):
            output = OutputFile(str(tmp_path / name))
            output.commit()
            assert stat.S_IMODE((tmp_path / name).stat().st_mode) == mode
    finally:
        os.umask(umask)


def test_owners_are_kept_where_that_is_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "old"
    place.write_bytes(b"")
    place.chmod(0o6755)
    own = os.getegid()
    gave: list[tuple[int, int]] = []

    def chown(descriptor: int, user: int, group: int) -> None:
        gave.append((user, group))
        if user != -1:
            raise PermissionError(errno.EPERM, "")
        really(descriptor, -1, own)

    def replaced(place: Path) -> int:
        OutputFile(str(place)).commit()
        return stat.S_IMODE(place.stat().st_mode)

    assert replaced(place) == 0o6755
    really, before = os.fchown, os.stat(place)
    other = os.stat_result((before.st_mode, *before[1:4], before.st_uid + 1, before.st_gid + 1, *before[6:]))
    monkeypatch.setattr("gpumerge_cli.replacement._status_of", lambda _: other)
    monkeypatch.setattr(os, "fchown", chown)
    assert replaced(place) == 0o755
    assert gave == [(before.st_uid + 1, before.st_gid + 1), (-1, before.st_gid + 1)]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to give a file to another user; run it as root")
def test_root_leaves_a_file_its_owner(tmp_path: Path) -> None:
    place = tmp_path / "old"
    place.write_bytes(b"")
    os.chown(place, 12345, 12346)
    place.chmod(0o6751)
    output = OutputFile(str(place))
    output.write_at(0, DATA)
    output.commit()
    status = place.stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (12345, 12346, 0o6751)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "real").write_bytes(b"")
    (tmp_path / "link").symlink_to("folder/real")
    output = OutputFile(str(tmp_path / "link"))
    output.write_at(0, DATA)
    output.commit()
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "folder" / "real").read_bytes() == DATA.tobytes()


def test_files_left_by_killed_runs_are_removed_and_living_ones_kept(tmp_path: Path) -> None:
    living = OutputFile(str(tmp_path / "out"))
    left = tmp_path / ".out.gpumerge-0123456789ab"
    left.write_bytes(b"left")
    other = tmp_path / ".outer.gpumerge-0123456789ab"
    other.write_bytes(b"another output's")
    alike = tmp_path / ".out.gpumerge-notes"
    alike.write_bytes(b"no temporary file at all")
    second = OutputFile(str(tmp_path / "out"))
    assert not left.exists()
    assert other.exists()
    assert alike.exists()
    alike.unlink()
    assert len([name for name in os.listdir(tmp_path) if name.startswith(".out.")]) == 2
    living.abort()
    second.abort()


def test_what_only_bears_the_name_of_a_left_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".out.gpumerge-0123456789ab")
    (tmp_path / ".out.gpumerge-0123456789ac").symlink_to("elsewhere")
    (tmp_path / ".out.gpumerge-0123456789ad").mkdir()
    (tmp_path / "elsewhere").write_bytes(b"precious")
    output = OutputFile(str(tmp_path / "out"))
    output.write_at(0, DATA)
    output.commit()
    assert (tmp_path / "out").read_bytes() == DATA.tobytes()
    assert (tmp_path / "elsewhere").read_bytes() == b"precious"


@pytest.mark.parametrize("way", ["removed", "locked"])
def test_a_run_that_begins_at_the_same_moment_takes_nothing(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, calls = fcntl.flock, 0

    def flock(descriptor: int, how: int) -> None:
        nonlocal calls
        calls += 1
        if calls == 1 and way == "removed":
            next(tmp_path.glob(".out.*")).unlink()
        if calls == 1 and way == "locked":
            raise BlockingIOError(errno.EWOULDBLOCK, "")
        lock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    output = OutputFile(str(tmp_path / "out"))
    output.write_at(0, DATA)
    output.commit()
    assert calls > 1
    assert (tmp_path / "out").read_bytes() == DATA.tobytes()
    assert os.listdir(tmp_path) == ["out"]


def test_a_write_that_is_told_to_have_failed_as_the_file_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "out").write_bytes(b"old")
    output = OutputFile(str(tmp_path / "out"))
    output.write_at(0, DATA)
    close, calls = os.close, 0

    def closed(descriptor: int) -> None:
        nonlocal calls
        calls += 1
        close(descriptor)
        if calls == 1:
            raise OSError(errno.EDQUOT, "")

    monkeypatch.setattr(os, "close", closed)
    with pytest.raises(OutputError, match="quota"):
        output.commit()
    assert (tmp_path / "out").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["out"]


def test_outputs_where_files_cannot_be_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(descriptor: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "")

    monkeypatch.setattr(fcntl, "flock", flock)
    output = OutputFile(str(tmp_path / "out"))
    output.commit()
    assert os.listdir(tmp_path) == ["out"]


def test_an_output_in_a_folder_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(OutputError) as caught:
        OutputFile("out")
    assert caught.value.where == "out"


def test_outputs_that_cannot_be(tmp_path: Path) -> None:
    for name in (tmp_path, tmp_path / "missing" / "out"):
        with pytest.raises(OutputError) as caught:
            OutputFile(str(name))
        assert caught.value.where == str(name)


def test_a_device_is_written_in_order() -> None:
    sink = open_sink("/dev/null", layout("text"), None, 0)
    assert not sink.seekable
    sink.write_at(0, DATA)
    sink.write_at(6, DATA)
    sink.commit()


def test_a_stream_has_a_part_of_the_output_once_something_was_written() -> None:
    """Chunks of a set may be empty, and several jobs may write to one stream."""
    remove_unfinished()
    for said in ("no output was written", "/dev/null has a part of the output"):
        sink = open_sink("/dev/null", layout("text"), None, 0)
        for _ in range(3):
            sink.write_at(0, DATA[:0])
        assert given() == said
        sink.write_at(0, DATA)
        sink.write_at(6, DATA)
        assert given() == "/dev/null has a part of the output"
        sink.commit()
    remove_unfinished()
    assert given() == "no output was written"


def test_a_full_device_is_one_clear_error() -> None:
    sink = open_sink("/dev/full", layout("text"), None, 0)
    with pytest.raises(OutputError, match="/dev/full: no space left on device; free some space"):
        sink.write_at(0, DATA)
    sink.abort()


@pytest.mark.parametrize("dtype", ["<i4", ">i4", "<f8"])
def test_npy_outputs_are_read_by_numpy(tmp_path: Path, dtype: str) -> None:
    values = np.arange(5, dtype=np.dtype(dtype).newbyteorder("="))
    sink = open_sink(str(tmp_path / "out.npy"), layout("raw"), np.dtype(dtype), 5)
    sink.write_at(0, sink.encode(values.view(np.uint8)))
    sink.commit()
    read = np.load(tmp_path / "out.npy")
    assert read.dtype == np.dtype(dtype)
    assert np.array_equal(read, values)


@pytest.mark.parametrize(
    ("name", "dtype"), [("out.i64", "int32"), ("out.txt", "int32"), ("out.npy", None), ("out.f32", None)]
)
def test_suffixes_that_contradict_the_items(tmp_path: Path, name: str, dtype: str | None) -> None:
    with pytest.raises(OutputError):
        open_sink(str(tmp_path / name), layout("raw"), None if dtype is None else np.dtype(dtype), 1)
    assert os.listdir(tmp_path) == []


def test_durable_outputs_are_forced_to_storage_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bytes before the rename, the folder after it."""
    done: list[str] = []
    sync, replace = os.fsync, os.replace

    def note_sync(descriptor: int) -> None:
        done.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        sync(descriptor)

    def note_replace(*names: Any) -> None:
        done.append("rename")
        replace(*names)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(os, "replace", note_replace)
    for durable, expected in ((False, ["rename"]), (True, ["file", "rename", "folder"])):
        done.clear()
        sink = open_sink(str(tmp_path / "out.i32"), layout("raw"), np.dtype("int32"), 1)
        sink.commit(durable=durable)
        assert done == expected


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/dev/./stdout"])
def test_a_descriptors_name_is_written_to_and_not_replaced(tmp_path: Path, name: str) -> None:
    """Standard output may be a regular file that the shell keeps open, and writes to before and after."""
    write = f"""if True:
        import numpy as np
        from tests.layouts import layout
        from gpumerge_cli.formats.registry import open_sink
        sink = open_sink({name!r}, layout("text"), None, 0)
        sink.write_at(0, np.frombuffer(b"merged\\n", np.uint8))
        sink.commit()
    """
    output = tmp_path / "out"
    with open(output, "w") as file:
        for argv in (["echo", "before"], [sys.executable, "-c", write], ["echo", "after"]):
            subprocess.run(argv, stdout=file, check=True)
    assert output.read_text() == "before\nmerged\nafter\n"


def test_a_protected_output_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "out"
    place.write_bytes(b"old")
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)  # as for a user who is not the superuser
    with pytest.raises(OutputError, match="permission denied"):
        OutputFile(str(place))
    assert os.listdir(tmp_path) == ["out"]


def test_a_folder_that_takes_no_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = str(tmp_path / "out")
    Path(name).write_bytes(b"old")

    def refuse(path: object, flags: int, *rest: int) -> int:
        raise PermissionError(errno.EACCES, "", str(path))

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(OutputError, match="must be writable, too") as caught:
        OutputFile(name)
    assert str(tmp_path) in str(caught.value)


def test_what_was_not_brought_to_an_end_is_removed_at_the_end(tmp_path: Path) -> None:
    done, dropped, left = (OutputFile(str(tmp_path / name)) for name in ("done", "dropped", "left"))
    done.commit()
    dropped.abort()
    assert len(os.listdir(tmp_path)) == 2
    remove_unfinished()
    assert os.listdir(tmp_path) == ["done"]
    left.abort()


def test_long_names_count_in_bytes(tmp_path: Path) -> None:
    name = tmp_path / ("é" * 120 + ".txt")
    output = OutputFile(str(name))
    output.commit()
    assert name.exists()


def test_room_is_taken_ahead(tmp_path: Path) -> None:
    output = OutputFile(str(tmp_path / "out"))
    output.reserve(1 << 20)
    output.write_at(0, DATA)
    output.abort()
    with pytest.raises(OutputError, match=r"no space left|file too large"):
        OutputFile(str(tmp_path / "out")).reserve(1 << 60)
    remove_unfinished()
    assert os.listdir(tmp_path) == []
