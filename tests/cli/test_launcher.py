"""The command as it is installed: a program that holds SIGINT back until Python has started and handlers are set."""

from __future__ import annotations

import importlib
import os
import random
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
TOLD = "gpumerge: interrupted; no output was written\n"
SHOWN = """
import os, signal, subprocess, sys
from gpumerge_cli import __main__
from gpumerge_cli.cli import app
def work(arguments, last):
    show = "import os, signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()), *os.environ)"
    print(arguments, signal.getsignal(signal.SIGINT) is signal.SIG_IGN)
    sys.stdout.flush()
    exec(show)
    sys.stdout.flush()
    subprocess.run([sys.executable, "-c", show], check=True)
    sys.stdout.flush()
    return 0
app.invoke = work
__main__.main()
"""


@pytest.fixture(scope="module")
def launcher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    sys.path.insert(0, str(ROOT / "kernels"))
    try:
        built = tmp_path_factory.mktemp("launcher")
        build: Any = importlib.import_module("build_library")
        try:
            build.find_compiler()
        except build.BuildError as error:
            pytest.skip(f"needs a compiler: {error}")
        yield build.build_launcher(built / "gpumerge", built / "objects")
    finally:
        sys.path.remove(str(ROOT / "kernels"))


Place = Callable[..., Path]


@pytest.fixture
def place(launcher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Installs the command with a script of this text, as pip does where paths have blanks; its path."""

    def made(text: str = "from gpumerge_cli.__main__ import main\nmain()\n") -> Path:
        folder = tmp_path / "a folder" / "bin"
        folder.mkdir(parents=True)
        (folder / "gpumerge").write_bytes(launcher.read_bytes())
        start = folder / "gpumerge-start"
        start.write_text(f"#!/bin/sh\n'''exec' {shlex.quote(sys.executable)} \"$0\" \"$@\"\n' '''\n{text}")
        for file in folder.iterdir():
            file.chmod(0o755)
        monkeypatch.setenv("PYTHONPATH", str(ROOT))
        return folder / "gpumerge"

    return made


def _default() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _ended(command: Path, after: float) -> tuple[int, str]:
    """The end of a sort that waits for its input, by SIGINT so long after its start."""
    process = subprocess.Popen(
        [command, "sort"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=_default,
    )  # fmt: skip
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    said = process.stderr.read()  # without closing the input, which would end the sort
    code = process.wait(timeout=60)
    for pipe in (process.stdin, process.stdout, process.stderr):
        assert pipe is not None
        pipe.close()
    return code, said


@pytest.mark.thorough
@pytest.mark.slow
def test_ctrl_c_at_any_moment_is_130_without_a_traceback(place: Place) -> None:
    command = place()
    seed = random.randrange(1 << 32)
    print("seed", seed)
    moments = random.Random(seed)
    for _ in range(25):
        after = moments.uniform(0, 0.06)
        end = _ended(command, after)
        assert end in ((130, TOLD), (-signal.SIGINT, "")), (seed, after)


def test_a_signal_that_was_held_back_comes_at_once(place: Place) -> None:
    """It arrives before Python's first line, and is not lost."""
    command = place("import os\nos.kill(os.getpid(), 2)\nfrom gpumerge_cli.__main__ import main\nmain()\n")
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=False, preexec_fn=_default)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", TOLD)


def _block() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def _ignore() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@pytest.mark.parametrize(
    ("before", "ignored", "masked"), [(_default, False, False), (_block, False, True), (_ignore, True, False)]
)
@pytest.mark.parametrize("linked", [False, True])
def test_the_program_and_its_children_have_the_mask_of_the_parent(
    place: Place, tmp_path: Path, before: Callable[[], None], ignored: bool, masked: bool, linked: bool
) -> None:
    command = place(SHOWN)
    if linked:  # as pipx and uv do
        (tmp_path / "gpumerge").symlink_to(command)
        command = tmp_path / "gpumerge"
    environment = {**os.environ, "_GPUMERGE_HELD_SIGINT": "1"}  # of another process
    done = subprocess.run(
        [command, "a b", ""], capture_output=True, text=True, check=False, preexec_fn=before, env=environment
    )
    assert (done.returncode, done.stderr) == (0, "")
    arguments, own, child = done.stdout.splitlines()
    assert arguments == f"['a b', ''] {ignored}"
    for shown in (own, child):
        assert shown.split()[0] == str(masked)
        assert "_GPUMERGE_HELD_SIGINT" not in shown


def test_a_script_that_is_missing_is_one_line(place: Place) -> None:
    command = place("")
    start = command.with_name("gpumerge-start")
    start.unlink()
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"gpumerge: {start}: No such file or directory; install gpumerge again\n"
