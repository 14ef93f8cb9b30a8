"""When the world fails: the whole program, in a process of its own."""

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


def left(folder: Path) -> list[str]:
    return sorted(name for name in os.listdir(folder) if name not in ("a.i32", "b.i32"))


def test_a_file_size_limit(inputs: list[str], tmp_path: Path) -> None:
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


def test_a_full_disk(inputs: list[str], tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(small)], capture_output=True)
    if mounted.returncode:
        pytest.skip("a small file system cannot be mounted here")
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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals(inputs: list[str], tmp_path: Path, number: signal.Signals) -> None:
    output = tmp_path / "out.i32"
    for wait in (0.25, 0.35, 0.5):
        with subprocess.Popen(
            [*COMMAND, *inputs, "-o", str(output), "-q"], cwd=ROOT, stderr=subprocess.PIPE, text=True
        ) as merge:
            time.sleep(wait)
            merge.send_signal(number)
            assert merge.stderr is not None
            said = merge.stderr.read()
        if merge.returncode == 0:  # it was done before the signal came
            assert output.stat().st_size == 32_000_000
            output.write_bytes(b"earlier")
        elif merge.returncode == 128 + number:
            assert said == "gpumerge: interrupted; no output was written\n"
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
        assert merge.wait(timeout=5) == 130


def test_after_sigkill_the_next_run_cleans_up(inputs: list[str], tmp_path: Path) -> None:
    output = tmp_path / "out.i32"
    (tmp_path / ".out.i32.gpumerge-abcdefabcdef").write_bytes(b"left by a killed run")
    subprocess.run([*COMMAND, *inputs, "-o", str(output), "-q"], cwd=ROOT, check=True)
    assert left(tmp_path) == ["out.i32"]
