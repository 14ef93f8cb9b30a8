"""All operands are opened before any of them is read, because reading one may take for ever."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gpumerge_cli.cli import app


def thorough(value: str) -> Any:
    """The parameter of a test for thorough runs alone."""
    return pytest.param(value, marks=pytest.mark.thorough)


def run(words: list[str], folder: Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    words = [sys.executable, "-m", "gpumerge_cli", *words]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(words, cwd=folder, env=environment, input=stdin, capture_output=True, timeout=60, check=False)


@pytest.mark.one_of_each
@pytest.mark.parametrize("endless", ["/dev/zero", "pipe"])
@pytest.mark.parametrize("wrong", ["missing", "folder"])
def test_a_check_beside_a_name_that_is_none_reads_files_alone(endless: str, wrong: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "down.txt").write_bytes(b"2\n1\n")
    done = run(["check", "--format=text", endless, wrong, "down.txt"], tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    told = done.stderr.decode().splitlines()
    assert told[0].startswith(f"gpumerge: {endless}: not checked, since it may have no end")
    assert told[1].startswith(f"gpumerge: {wrong}: ")
    assert told[2].startswith("gpumerge: down.txt:2: disorder: ")


@pytest.mark.one_of_each
@pytest.mark.parametrize("command", ["sort", "sort -m", thorough("sort -n -u"), "merge"])
@pytest.mark.parametrize("endless", ["/dev/zero", "pipe"])
@pytest.mark.parametrize("wrong", ["missing", "folder", thorough("missing/a")])
def test_a_name_that_is_none_ends_it_at_once(command: str, endless: str, wrong: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")  # nobody ever opens it for writing
    done = run([*command.split(), "--format=text", endless, wrong], tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"gpumerge: %s: " % wrong.encode())
    assert done.stderr.count(b"\n") == 1


@pytest.mark.one_of_each
@pytest.mark.parametrize("command", ["sort", thorough("sort -m"), "merge"])
@pytest.mark.parametrize("wrong", ["missing/a", "folder", "text/a", "a" * 300])
def test_an_output_that_cannot_be_made_ends_it_at_once(command: str, wrong: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "text").write_bytes(b"")
    os.mkfifo(tmp_path / "pipe")
    done = run([*command.split(), "--format=text", "pipe", "-o", wrong], tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"gpumerge: %s: " % wrong.encode())
    assert done.stderr.count(b"\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "pipe", "text"]


def test_an_output_is_as_it_was_until_its_inputs_are_read(tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(b"before\n")
    (tmp_path / "lines").write_bytes(b'"a' * 10)
    assert run(["sort", "--csv", "lines", "-o", "out"], tmp_path).returncode == 2
    assert (tmp_path / "out").read_bytes() == b"before\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lines", "out"]


@pytest.mark.parametrize("command", ["sort", "sort -m", "merge -q", "check"])
def test_the_name_of_a_field_beside_a_pipe(command: str, tmp_path: Path) -> None:
    """It is looked up in a pipe last, once all files are known to be there, since the pipe may never end."""
    (tmp_path / "p.csv").write_bytes(b"id,v\n1,y\n2,x\n")
    os.mkfifo(tmp_path / "pipe")
    words = [*command.split(), "--csv", "--header", "1", "-k", "id:n"]
    told = run([*words, "pipe", "missing"], tmp_path)
    assert (told.returncode, told.stdout) == (2, b"")
    assert told.stderr.startswith(b"gpumerge: missing: no such file")
    done = run([*words, "/dev/stdin"], tmp_path, b"id,v\n1,y\n2,x\n")
    assert (done.returncode, done.stdout) == (0, b"" if command == "check" else b"id,v\n1,y\n2,x\n")
    done = run([*words, "/dev/stdin", "p.csv"], tmp_path, b"id,v\n1,z\n3,z\n")
    assert (done.returncode, done.stderr) == (0, b"")
    if command != "check":
        assert done.stdout.splitlines()[0] == b"id,v"
        assert sorted(done.stdout.splitlines()[1:]) == [b"1,y", b"1,z", b"2,x", b"3,z"]


@pytest.mark.one_of_each
@pytest.mark.parametrize("command", ["merge -q", "sort -m", "merge -q --no-check"])
@pytest.mark.parametrize("way", [">> a", "1<> a", "-o /dev/stdout >> a", "-o /dev/fd/7 7>> a", "- < a >> a"])
def test_a_merge_into_an_open_input_is_refused_before_a_byte_is_written(command: str, way: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a\nc\n")
    (tmp_path / "b").write_text("b\n")
    names = "b" if way.startswith("-") and "<" in way else "b a"
    shell = f"{sys.executable} -m gpumerge_cli {command} {names} {way}"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(["sh", "-c", shell], cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert done.returncode == 2
    assert b"; name it with -o" in done.stderr
    assert (tmp_path / "a").read_text() == "a\nc\n"


def test_a_sort_into_an_open_input_writes_once_all_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("c\nb\n")
    shell = f"{sys.executable} -m gpumerge_cli sort a 1<> a"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run(["sh", "-c", shell], cwd=tmp_path, env=environment, check=True)
    assert (tmp_path / "a").read_text() == "b\nc\n"


@pytest.mark.parametrize("command", ["merge", "sort", "check"])
def test_a_list_of_names_on_lines_is_told(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.txt", "b.txt"):
        Path(name).write_text("1\n")
    for text in ("a.txt\nb.txt\n", "a.txt\n"):
        Path("names").write_text(text)
        assert app.invoke([command, "--files0-from", "names"]) == 2
        told = "names: its names end in newlines, not in NUL bytes; end each in NUL, as find -print0 does, or tr "
        assert told in capsys.readouterr().err
    Path("odd\nname.txt").write_text("1\n")
    Path("names").write_text("odd\nname.txt")
    assert app.invoke([command, "--files0-from", "names", *([] if command == "check" else ["-o", "out.txt"])]) == 0
