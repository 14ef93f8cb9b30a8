"""A lack of file descriptors ends in one line that says so, wherever it is met; no file is at fault then."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpumerge_cli.cli.failures import describe_failure
from gpumerge_cli.errors import ClusterError, DisorderError, input_error
from tests import needs

ROOT = Path(__file__).resolve().parents[2]
TOLD = "too many open files; raise the limit on open files (ulimit -n)"
_RUN = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
from gpumerge_cli.cli.app import invoke
held = []
try:
    while True:
        held.append(os.dup(0))
except OSError:
    pass
for _ in range(int(sys.argv[1])):
    os.close(held.pop())
os._exit(invoke(sys.argv[2:]))
"""


COMMANDS = [
    "merge -q a.txt b.txt -o o.txt", "merge -q --csv -k 1 a.txt b.txt -o o.txt.gz", "sort b.txt a.txt -o o.txt",
    "check a.txt b.txt", "rank --at 1 a.txt", "join -q a.txt b.txt", "union -q --field=1 --csv a.txt b.txt",
]  # fmt: skip


@pytest.mark.one_of_each
@pytest.mark.parametrize("words", COMMANDS)
@pytest.mark.parametrize("free", range(4))
def test_a_command_without_descriptors_says_so(words: str, free: int, tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("1\n2\n")
    done = subprocess.run(
        [sys.executable, "-c", _RUN, str(free), *words.split()],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) in ((0, ""), (2, f"gpumerge: {TOLD}\n"))


def test_the_cause_counts_whatever_an_error_says() -> None:
    try:
        raise OSError(errno.EMFILE, "", "module.py")
    except OSError:
        with pytest.raises(ClusterError) as caught:
            raise ClusterError("no scheduler answers", way_out="start one") from None
    assert describe_failure(caught.value) == (TOLD, 2)
    assert describe_failure(OSError(errno.EMFILE, "", "module.py")) == (TOLD, 2)
    assert describe_failure(ImportError("module.so: cannot open shared object file: Too many open files")) == (TOLD, 2)
    told = "too many open files in system; close other programs, or raise the system's limit on open files"
    assert describe_failure(OSError(errno.ENFILE, "", "module.py")) == (f"{told} (sysctl fs.file-max)", 2)


def test_other_errors_stay_as_they_are() -> None:
    disorder = DisorderError("disorder: 'Too many open files' comes after 'a'", where="log:2")
    assert describe_failure(disorder)[0] == str(disorder)
    missing = input_error(OSError(errno.ENOENT, ""), "a.txt")
    missing.__cause__ = missing  # as `raise error from error` makes it
    assert describe_failure(missing) == ("a.txt: no such file or directory; check the name", 2)


@pytest.mark.one_of_each
@pytest.mark.parametrize("words", ["check", "merge -q -o o.txt", "sort -o o.txt"])
@pytest.mark.parametrize("limit", [20, 35])
def test_a_local_cluster_says_how_many_it_needs(words: str, limit: int, tmp_path: Path) -> None:
    needs.library("distributed")
    (tmp_path / "a.txt").write_text("1\n2\n")
    command = f"ulimit -n {limit}; exec {sys.executable} -m gpumerge_cli {words} --cluster local:2 a.txt"
    done = subprocess.run(
        ["sh", "-c", command],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    told = f"--cluster local:2 needs 36 open files, and {limit} are allowed"
    way_out = "use fewer workers, or raise the limit on open files (ulimit -n)"
    assert (done.returncode, done.stderr) == (2, f"gpumerge: {told}; {way_out}\n")
    assert os.listdir(tmp_path) == ["a.txt"]
