"""--files0-from: the inputs as a list."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.cli.options.commands import COMMANDS

ROOT = Path(__file__).parent.parent.parent


def gpumerge(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "gpumerge_cli", *arguments]
    return subprocess.run(command, cwd=ROOT, input=stdin, capture_output=True, check=False)


@pytest.fixture
def names(tmp_path: Path) -> list[bytes]:
    found = []
    for number, name in enumerate(["a.txt", "with space.txt", "line\nbreak.txt"]):
        (tmp_path / name).write_bytes(b"%d\n%d\n" % (number, number + 5))
        found.append(bytes(tmp_path / name))
    return found


@pytest.mark.parametrize("ended", [b"", b"\0"])
def test_a_list_of_names(names: list[bytes], tmp_path: Path, ended: bytes) -> None:
    (tmp_path / "list").write_bytes(b"\0".join(names) + ended)
    for arguments, stdin in (((str(tmp_path / "list"),), b""), (("-",), (tmp_path / "list").read_bytes())):
        done = gpumerge("merge", "-q", "--files0-from", *arguments, stdin=stdin)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"0\n1\n2\n5\n6\n7\n", b"")
        done = gpumerge("check", "--files0-from", *arguments, stdin=stdin)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "it names no file; "),
        (b"a.txt\0\0b.txt\0", "list:2: a name is empty; "),
        (b"missing.txt\0", "missing.txt: no such file or directory; "),
    ],
)
def test_lists_that_cannot_be(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "list").write_bytes(content)
    done = gpumerge("merge", "--files0-from", str(tmp_path / "list"))
    assert done.returncode == 2
    assert done.stderr.startswith(b"gpumerge: ")
    assert said in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1


def test_standard_input_is_one_thing(tmp_path: Path) -> None:
    done = gpumerge("merge", "--files0-from", "-", stdin=b"a\0-\0")
    assert done.returncode == 2
    assert b"-:2: - cannot be both" in done.stderr


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("merge", "- /dev/stdin"),
        ("intersect", "/dev/stdin -"),
        ("join", "/dev/stdin /dev/fd/0"),
        ("check", "/dev/fd/0 /dev/fd/0"),
        ("rank --at 0", "- /dev/fd/0"),
    ],
)
def test_a_pipe_is_one_input(command: str, names: str) -> None:
    """The first name would get all of it, and the second one nothing."""
    done = gpumerge(*command.split(), *names.split(), stdin=b"a\nb\n")
    assert (done.returncode, done.stdout) == (2, b"")
    first, second = names.split()
    assert done.stderr.decode() == (
        f"gpumerge: {first} and {second} are one pipe, which can be read once; name it once, or give it as a file\n"
    )


@pytest.mark.parametrize("names", ["- /dev/stdin", "/dev/stdin /dev/stdin"])
def test_a_file_at_standard_input_is_as_many_inputs_as_are_named(names: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"a\nb\n")
    with open(tmp_path / "a.txt", "rb") as file:
        command = [sys.executable, "-m", "gpumerge_cli", "intersect", "-q", *names.split()]
        assert subprocess.run(command, cwd=ROOT, stdin=file, capture_output=True, check=True).stdout == b"a\nb\n"


def test_names_come_from_one_place(names: list[bytes]) -> None:
    done = gpumerge("merge", "a.txt", "--files0-from", "list")
    assert done.returncode == 2
    assert done.stderr == b"gpumerge: a.txt: files are named by --files0-from already; use one of the two\n"


@pytest.mark.parametrize(
    "words",
    [
        "merge -q a.txt.gz -o out.txt",
        "check a.txt.gz",
        "sort --compressed a.txt.gz -o out.txt",
        "merge -q --csv -k1 a.txt.gz -o out.txt",
        "batch -q jobs.toml",
    ],
)
def test_copies_of_inputs_go_to_the_folders_that_are_named(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt.gz").write_bytes(gzip.compress(b"1,2\n"))
    Path("jobs.toml").write_text('[[job]]\noperation = "merge"\ninputs = ["a.txt.gz"]\noutput = "out.txt"\n')
    Path("spool").mkdir()
    made = tempfile.TemporaryFile
    folders: list[Any] = []

    def recorded(*arguments: Any, dir: Any = None, **named: Any) -> Any:
        folders.append(dir)
        return made(*arguments, dir=dir, **named)

    monkeypatch.setattr(tempfile, "TemporaryFile", recorded)
    assert invoke([*words.split(), "-T", "spool"]) == 0
    assert folders
    assert {os.path.realpath(folder) for folder in folders} == {str(tmp_path / "spool")}
    assert invoke([*words.split(), "--temporary-directory=nowhere"]) == 2
    assert "nowhere)" in capsys.readouterr().err


def test_a_batch_has_fsync_for_its_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("a\n")
    job = '[[job]]\noperation = "{}"\ninputs = ["a.txt"]\n{}'
    jobs = [job.format("merge", 'output = "b"\n'), job.format("sort", 'output = "c"\n'), job.format("check", "")]
    jobs += [job.format(name, f'output = "{name}"\nfsync = false\n') for name in ("merge", "sort")]
    Path("jobs.toml").write_text("".join(jobs))
    assert invoke(["batch", "--dry-run", "--fsync", "jobs.toml"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert ["--fsync" in line for line in shown] == [True, True, False, False, False]


def test_bench_verbose_shows_its_table_beside_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = "bench --backend=cpu --kernels=path --dtypes=int32 --sizes=1000 --shapes=uniform --runs=2 --repeat=1"
    for more, is_shown in (([], False), (["-v"], True), (["-v", "-q"], False)):
        assert invoke([*words.split(), "-o", str(tmp_path / "r.json"), *more]) == 0
        captured = capsys.readouterr()
        assert captured.out == ""
        assert ("1 case on cpu" in captured.err) == is_shown


def test_k_is_a_key_wherever_it_is_an_option() -> None:
    assert {option.name for one in COMMANDS for option in one.options if option.letter == "k"} == {"key"}
