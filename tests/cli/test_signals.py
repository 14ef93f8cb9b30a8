"""Signals: one line, nothing left behind, and the exit code that shells expect."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gpumerge_cli.cli import app as door
from gpumerge_cli.cli.failures import describe_failure
from gpumerge_cli.errors import Interrupted

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGXCPU])
def test_a_signal_stops_the_work_and_cleans_up(number: signal.Signals) -> None:
    code = """
import sys, time
from gpumerge_cli import __main__
from gpumerge_cli.cli import app
def work(arguments):
    try:
        print("working", flush=True)
        time.sleep(30)
    finally:
        print("cleaned up", flush=True)
app._dispatch = work
__main__.main()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "working\n"
    process.send_signal(number)
    out, error = process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert out == "cleaned up\n"
    assert error == "gpumerge: interrupted; no output was written\n"


AT_A_CALL = """
import os, pkgutil, signal, sys
from gpumerge_cli import __main__
sys.argv[1:] = {arguments!r}
owner = pkgutil.resolve_name({owner!r})
really, left = owner.{name}, {call}
def interrupted(*arguments):
    global left
    result = really(*arguments)
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGINT)
    return result
owner.{name} = interrupted
__main__.main()
"""


def interrupted_after(
    name: str, call: int, arguments: list[str], owner: str = "os"
) -> subprocess.CompletedProcess[str]:
    """A run that gets SIGINT right after so many calls of a function of `owner`."""
    code = AT_A_CALL.format(owner=owner, name=name, call=call, arguments=arguments)
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False, errors="replace"
    )


@pytest.mark.parametrize("words", ["merge -q", "sort", "sort -m", "generate --count 10"])
def test_a_signal_once_the_output_is_in_place_changes_nothing(words: str, tmp_path: Path) -> None:
    a, b = tmp_path / "a.txt", tmp_path / "b.txt"
    a.write_text("1\n2\n")
    b.write_text("earlier\n")
    files = [str(b)] if words.startswith("generate") else [str(a), "-o", str(b)]
    done = interrupted_after("replace", 1, [*words.split(), *files])
    assert (done.returncode, done.stderr) == (0, "")
    assert b.read_text() != "earlier\n"


def test_a_signal_says_what_was_written(tmp_path: Path) -> None:
    names = [str(tmp_path / f"{letter}.i32") for letter in "abc"]
    done = interrupted_after("replace", 2, ["generate", "--count=10", *names])
    assert (done.returncode, done.stderr) == (
        130,
        f"gpumerge: interrupted; {names[0]} is complete, {names[1]} is complete\n",
    )
    assert [os.path.exists(name) for name in names] == [True, True, False]
    done = interrupted_after("write", 1, ["merge", "-q", names[0]])
    assert (done.returncode, done.stderr) == (130, "gpumerge: interrupted; standard output has a part of the output\n")
    writer = "gpumerge_cli.native.chunks:CpuChunkWorker"
    done = interrupted_after("run", 1, ["merge", "-q", names[0], "-o", str(tmp_path / "out.i32")], writer)
    assert (done.returncode, done.stderr) == (130, "gpumerge: interrupted; no output was written\n")
    assert sorted(os.listdir(tmp_path)) == ["a.i32", "b.i32"]


AT_AN_IMPORT = """
import os, sys
class Finder:
    left = {left}
    def find_spec(self, name, path=None, target=None):
        Finder.left -= 1
        if Finder.left == 0:
            os.kill(os.getpid(), {number})
from gpumerge_cli.__main__ import main
sys.argv[1:] = {arguments!r}
sys.meta_path.insert(0, Finder())
main()
"""


@pytest.mark.one_of_each
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("words", ["--version", "merge a.txt", "sort a.txt", "batch jobs.toml"])
def test_a_signal_while_things_are_imported_is_one_line(number: signal.Signals, words: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    (tmp_path / "jobs.toml").write_text('[[job]]\noperation = "sort"\ninputs = "a.txt"\noutput = "o"\n')
    ends = []
    for left in (1, 2, 5, 12, 30, 80):
        code = AT_AN_IMPORT.format(left=left, number=int(number), arguments=words.split())
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        ends.append((done.returncode, done.stderr.count("\n"), done.stderr.startswith("gpumerge: interrupted; ")))
    assert ends[:4] == [(128 + number, 1, True)] * 4
    assert set(ends) <= {(128 + number, 1, True), (0, 0, False)}  # some import less


def test_a_signal_where_nothing_can_be_raised_comes_again() -> None:
    code = """
import os, signal, sys, time, weakref
from gpumerge_cli import __main__
from gpumerge_cli.cli import app
class Thing: pass
def work(arguments):
    thing = Thing()
    reference = weakref.ref(thing, lambda _: (os.kill(os.getpid(), signal.SIGTERM), time.sleep(0))[0])
    del thing
    time.sleep(120)
app._dispatch = work
__main__.main()
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=90)
    assert (done.returncode, done.stderr) == (143, "gpumerge: interrupted; no output was written\n")


def test_a_signal_that_comes_again_at_once_is_not_lost_in_the_hook() -> None:
    code = """
import os, signal, sys, threading, time, weakref
from gpumerge_cli import __main__
from gpumerge_cli.cli import app, signals
class Thing: pass
class Late:
    def __init__(self, wait, work, arguments):
        self.start = lambda: work(*arguments)
timer, calls = threading.Timer, []
def at_once(*arguments):
    calls.append(arguments)
    return Late(*arguments) if len(calls) == 1 else timer(*arguments)
def work(arguments):
    thing = Thing()
    reference = weakref.ref(thing, lambda _: (os.kill(os.getpid(), signal.SIGTERM), time.sleep(0))[0])
    threading.Timer = at_once
    del thing
    time.sleep(120)
app._dispatch = work
__main__.main()
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stderr) == (143, "gpumerge: interrupted; no output was written\n")


def test_no_handler_of_errors_takes_a_signal_for_one() -> None:
    assert not issubclass(Interrupted, Exception)


def test_handlers_are_put_back() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    door.invoke(["--help"])
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before


def test_a_signal_after_the_end_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    program = (
        "import os, signal\n"
        "from gpumerge_cli.cli.app import invoke\n"
        "code = invoke(['merge', 'a.txt', '-o', 'out.txt', '-q'], last=True)\n"
        "for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):\n"
        "    os.kill(os.getpid(), number)\n"
        "print(code)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent.parent)}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")


def test_tests_of_signals_pass_where_signals_are_ignored() -> None:
    """As under nohup, and in the background of a shell without job control."""
    code = """
import os, signal, sys
for number in (signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
test = "tests/cli/test_signals.py::test_a_signal_stops_the_work_and_cleans_up"
os.execv(sys.executable, [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", test])
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("limit", [24_000, 45_000, 60_000, 70_000, 90_000, 108_000, 120_000, 200_000])
def test_a_limit_on_address_space_is_no_disorder(limit: int, tmp_path: Path) -> None:
    place = tmp_path / "a.i32"
    place.write_bytes(bytes(400))
    code = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]) << 10,) * 2)
os.execv(sys.executable, [sys.executable, "-m", "gpumerge_cli", "check", sys.argv[2]])
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(limit), str(place)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 2), done.stderr
    told = done.stderr.splitlines()
    assert len(told) == (done.returncode == 2), done.stderr
    assert all(line.startswith("gpumerge: not enough memory") for line in told)


def test_a_library_that_gets_no_memory_is_not_to_be_installed_again() -> None:
    refused = ImportError("Importing the numpy C-extensions failed.\nPlease note")
    refused.__cause__ = ImportError("/x/_multiarray_umath.so: failed to map segment from shared object")
    assert describe_failure(refused) == (
        "not enough memory to load a library; close other programs, or raise a limit (ulimit -v)", 2
    )  # fmt: skip
    refused.__cause__ = ImportError("/x/_multiarray_umath.so: undefined symbol: f")
    assert describe_failure(refused)[0].startswith(
        "ImportError: /x/_multiarray_umath.so: undefined symbol: f; run again"
    )


def test_little_is_imported_before_signals_are_handled() -> None:
    """Until then, Ctrl-C ends in Python's traceback."""
    code = """
import sys
before = set(sys.modules)
from gpumerge_cli.__main__ import main
print(*sorted(set(sys.modules) - before))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {"__future__", "gc", "gpumerge_cli", "gpumerge_cli.__main__", "time"}
