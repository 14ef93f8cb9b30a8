"""The whole program, in a process of its own, where disks, memory or inputs fail."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent.parent
COMMAND = [sys.executable, "-m", "gpumerge_cli", "merge", "--backend", "cpu"]


@pytest.fixture
def inputs(tmp_path: Path) -> list[str]:
    names = [str(tmp_path / "a.i32"), str(tmp_path / "b.i32")]
    for name in names:
        np.arange(4_000_000, dtype=np.int32).tofile(name)
    (tmp_path / "out.i32").write_bytes(b"earlier")
    return names


@pytest.fixture(params=["calls", "mapping"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The two ways in which outputs are written."""
    monkeypatch.setenv("GPUMERGE_TEST_MAPPED", str(int(request.param == "mapping")))


def left(folder: Path) -> list[str]:
    return sorted(name for name in os.listdir(folder) if name not in ("a.i32", "b.i32"))


@pytest.mark.one_in(2)
def test_a_file_size_limit(inputs: list[str], way: None, tmp_path: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    output = str(tmp_path / "out.i32")
    done = subprocess.run(
        [*COMMAND, *inputs, "-o", output], cwd=ROOT, preexec_fn=limit, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == (
        f"gpumerge: {output}: file too large; raise the file-size limit (ulimit -f) or write elsewhere\n"
    )
    assert left(tmp_path) == ["out.i32"]
    assert Path(output).read_bytes() == b"earlier"


def test_a_full_disk(inputs: list[str], way: None, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(small)], capture_output=True)
    if mounted.returncode:
        pytest.skip("needs to mount a small file system; run it as root, outside of a container")
    try:
        (small / "out.i32").write_bytes(b"earlier")
        output = str(small / "out.i32")
        done = subprocess.run([*COMMAND, *inputs, "-o", output], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert done.stderr == f"gpumerge: {output}: no space left on device; free some space or write elsewhere\n"
        assert os.listdir(small) == ["out.i32"]
        assert Path(output).read_bytes() == b"earlier"
    finally:
        subprocess.run(["umount", str(small)], check=False)


def test_a_closed_pipe_is_silent(inputs: list[str], tmp_path: Path) -> None:
    with subprocess.Popen([*COMMAND, *inputs], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as merge:
        assert merge.stdout is not None
        assert merge.stderr is not None
        merge.stdout.read(10)
        merge.stdout.close()
        assert merge.stderr.read() == b""
    assert merge.returncode == 141


@pytest.mark.one_of_each
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals(inputs: list[str], way: None, tmp_path: Path, number: signal.Signals) -> None:
    output = tmp_path / "out.i32"
    for wait in (0.25, 0.35, 0.5):
        with subprocess.Popen(
            [*COMMAND, *inputs, "-o", str(output), "-q"], cwd=ROOT, stderr=subprocess.PIPE, text=True
        ) as merge:
            time.sleep(wait)
            merge.send_signal(number)
            assert merge.stderr is not None
            stderr = merge.stderr.read()
        if merge.returncode == 0:  # it was done before the signal came
            assert output.stat().st_size == 32_000_000
            output.write_bytes(b"earlier")
        elif merge.returncode == 128 + number:
            assert stderr == "gpumerge: interrupted; no output was written\n"
            assert output.read_bytes() == b"earlier"
        else:  # before the program could take charge of its signals
            assert merge.returncode == -number
        assert left(tmp_path) == ["out.i32"]


def test_a_signal_while_nobody_reads(inputs: list[str], tmp_path: Path) -> None:
    """Workers that wait for a full pipe must not keep the program."""
    with subprocess.Popen([*COMMAND, *inputs, "-q"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as merge:
        assert merge.stdout is not None
        merge.stdout.read(10)
        time.sleep(1)
        merge.send_signal(signal.SIGINT)
        assert merge.wait(timeout=60) == 130


def test_after_sigkill_the_next_run_cleans_up(inputs: list[str], tmp_path: Path) -> None:
    output = tmp_path / "out.i32"
    (tmp_path / ".out.i32.gpumerge-abcdefabcdef").write_bytes(b"left by a killed run")
    subprocess.run([*COMMAND, *inputs, "-o", str(output), "-q"], cwd=ROOT, check=True)
    assert left(tmp_path) == ["out.i32"]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("moments", [5, pytest.param(100, marks=pytest.mark.thorough)])
def test_sigkill_at_random_moments(
    inputs: list[str], way: None, tmp_path: Path, rng: np.random.Generator, moments: int
) -> None:
    """The output is the old one or the whole new one. The next run removes any temporary file beside it."""
    output = tmp_path / "out.i32"
    command = [*COMMAND, *inputs, "-o", str(output), "-q", "--threads", "2"]
    start = time.monotonic()
    subprocess.run(command, cwd=ROOT, check=True)
    longest = time.monotonic() - start
    whole = output.read_bytes()
    output.write_bytes(b"earlier")
    ends = {"earlier": 0, "whole": 0, "left": 0}
    for _ in range(moments):
        with subprocess.Popen(command, cwd=ROOT) as merge:
            # Most of a run is start-up; what comes after it is where harm could be done.
            time.sleep(longest * rng.uniform(0.4, 1.1))
            merge.kill()
        found = output.read_bytes()
        assert found in (b"earlier", whole)
        ends["whole" if found == whole else "earlier"] += 1
        beside = [name for name in left(tmp_path) if name != "out.i32"]
        assert len(beside) <= 1
        ends["left"] += len(beside)
        output.write_bytes(b"earlier")
    print(ends)
    subprocess.run(command, cwd=ROOT, check=True)
    assert left(tmp_path) == ["out.i32"]
    assert output.read_bytes() == whole


@pytest.mark.parametrize("command", ["merge", "sort"])
def test_an_output_loses_its_bytes(inputs: list[str], tmp_path: Path, command: str) -> None:
    """The file system fails under a mapped output, or somebody cuts the temporary file off."""
    output = str(tmp_path / "out.i32")
    program = (
        "import faulthandler, glob, itertools, os, sys\n"
        "from gpumerge_cli.native.chunks import CpuChunkWorker\n"
        "from gpumerge_cli.formats.output_file import OutputFile\n"
        "faulthandler.enable()\n"
        "calls = itertools.count(1)\n"
        "def acting(really):\n"
        "    def act(*arguments):\n"
        "        if next(calls) == 2:\n"
        f"            os.truncate(*glob.glob({str(tmp_path / '.out.i32.gpumerge-*')!r}), 9999)\n"
        "        return really(*arguments)\n"
        "    return act\n"
        "OutputFile.write_at, CpuChunkWorker.run = acting(OutputFile.write_at), acting(CpuChunkWorker.run)\n"
        "from gpumerge_cli.__main__ import main\n"
        f"sys.argv[1:] = {[command, *COMMAND[4:], *inputs, '-o', output]!r}\n"
        "main()\n"
    )
    environment = os.environ | {"GPUMERGE_TEST_MAPPED": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False, env=environment
    )
    lost = "the file system lost the file's bytes; look for errors of the disk in the system's log, or write elsewhere"
    assert (done.returncode, done.stderr) == (2, f"gpumerge: {output}: {lost}\n")
    assert left(tmp_path) == ["out.i32"]
    assert Path(output).read_bytes() == b"earlier"


@pytest.mark.parametrize("number", [2, 20])
def test_a_read_error(inputs: list[str], tmp_path: Path, number: int) -> None:
    """The device under an input fails at some read."""
    output = str(tmp_path / "out.i32")
    program = (
        "import errno, itertools, os, sys\n"
        "really, calls = os.preadv, itertools.count(1)\n"
        "def fail(*arguments):\n"
        f"    if next(calls) == {number}:\n"
        "        raise OSError(errno.EIO, 'Input/output error')\n"
        "    return really(*arguments)\n"
        "os.preadv = fail\n"
        "from gpumerge_cli.formats.input import SeekableInput\n"
        "SeekableInput.extent = lambda *arguments: None\n"  # the library, too, then reads through os.preadv
        "from gpumerge_cli.__main__ import main\n"
        f"sys.argv[1:] = {[*COMMAND[3:], *inputs, '-o', output]!r}\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr in [f"gpumerge: {name}: input/output error\n" for name in inputs]
    assert left(tmp_path) == ["out.i32"]
    assert Path(output).read_bytes() == b"earlier"


@pytest.mark.one_of_each
@pytest.mark.parametrize("change", ["shrinks", "changes", "loses an item"])
def test_an_input_changes_while_it_is_read(inputs: list[str], way: None, tmp_path: Path, change: str) -> None:
    output = str(tmp_path / "out.i32")
    act = {
        "shrinks": "os.truncate(name, 8_000_000)",
        "changes": "os.utime(name, (1, 1))",
        "loses an item": "os.truncate(name, 15_999_996)",
    }[change]
    program = (
        "import itertools, os, sys\n"
        "from gpumerge_cli.native.chunks import CpuChunkWorker\n"
        "calls = itertools.count(1)\n"
        f"name = {inputs[1]!r}\n"
        "def acting(really):\n"
        "    def act(*arguments):\n"
        "        if next(calls) == 3:\n"
        f"            {act}\n"
        "        return really(*arguments)\n"
        "    return act\n"
        "os.preadv, CpuChunkWorker.run = acting(os.preadv), acting(CpuChunkWorker.run)\n"
        "from gpumerge_cli.__main__ import main\n"
        f"sys.argv[1:] = {[*COMMAND[3:], *inputs, '-o', output]!r}\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith(f"gpumerge: {inputs[1]}: the file ")
    assert done.stderr.count("\n") == 1
    assert left(tmp_path) == ["out.i32"]
    assert Path(output).read_bytes() == b"earlier"


@pytest.mark.thorough
def test_two_thousand_files_within_256_descriptors(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    parts = np.sort(rng.integers(-(2**31), 2**31, (2000, 2000), np.int32), axis=1)
    parts = parts.astype(np.int32)
    names = []
    for number, part in enumerate(parts):
        part.tofile(tmp_path / f"{number}.i32")
        names.append(str(tmp_path / f"{number}.i32"))
    (tmp_path / "list").write_text("\0".join(names))

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))

    output = tmp_path / "out.i32"
    done = subprocess.run(
        [*COMMAND, "--files0-from", str(tmp_path / "list"), "-o", str(output), "-S", "64M", "-q"],
        cwd=ROOT,
        preexec_fn=limit,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert np.array_equal(np.fromfile(output, np.int32), np.sort(parts, axis=None))
