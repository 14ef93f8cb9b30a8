"""--files0-from: the inputs as a list."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

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


def test_names_come_from_one_place(names: list[bytes]) -> None:
    done = gpumerge("merge", "a.txt", "--files0-from", "list")
    assert done.returncode == 2
    assert done.stderr == b"gpumerge: a.txt: files are named by --files0-from already; use one of the two\n"
