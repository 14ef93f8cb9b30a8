"""How commands end: errors are one line, closed pipes and streams lose nothing in silence."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gpumerge_cli.cli import app as door
from gpumerge_cli.errors import DisorderError, GpumergeError, InputError, Interrupted, OutputError

ROOT = Path(__file__).parents[2]


def raising(error: BaseException) -> Callable[..., None]:
    def command(*_arguments: object, **_keywords: object) -> None:
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (InputError("is a directory", where="a", way_out="name a file"), 2, "a: is a directory; name a file"),
        (OutputError("odd\nname", where="b\n"), 2, "b : odd name"),
        (Interrupted(signal.SIGINT), 130, "interrupted; no output was written"),
        (Interrupted(signal.SIGTERM), 143, "interrupted; no output was written"),
        (KeyboardInterrupt(), 130, "interrupted; no output was written"),
        (MemoryError(), 2, "not enough memory; merge less at once, or close other programs"),
        (RuntimeError("can't start new thread"), 2, "not enough memory; merge less at once, or close other programs"),
        (ValueError("surprise"), 2, "ValueError: surprise; run again with --debug for the traceback"),
    ],
)
def test_every_error_is_one_line(
    error: BaseException, code: int, line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(door, "_dispatch", raising(error))
    assert door.invoke([]) == code
    assert capsys.readouterr().err == f"gpumerge: {line}\n"


def test_what_others_make_of_a_signal_is_told_as_the_signal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(arguments: list[str]) -> int:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(5)
        except BaseException:
            raise ImportError("a broken installation") from None
        return 0

    monkeypatch.setattr(door, "_dispatch", stopped)
    assert door.invoke([]) == 143
    assert capsys.readouterr().err.startswith("gpumerge: interrupted; ")
    monkeypatch.setattr(door, "_dispatch", raising(ValueError("surprise")))
    assert door.invoke([]) == 2  # the signal is not taken for what stops the next run


def test_no_memory_for_the_way_that_errors_are_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(door, "_dispatch", raising(MemoryError()))
    monkeypatch.setattr(door, "anything_set", raising(MemoryError()))
    assert door.invoke([]) == 2
    assert "not enough memory" in capsys.readouterr().err


def test_debug_shows_the_traceback_and_the_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(door, "_dispatch", raising(InputError("wrong")))
    assert door.invoke(["merge", "--debug"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("Traceback")
    assert error.endswith("\ngpumerge: wrong\n")


def test_a_closed_pipe_is_silent(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    wrapped = OutputError("broken pipe", where="-")
    wrapped.__cause__ = BrokenPipeError()
    for error in (BrokenPipeError(), wrapped):
        monkeypatch.setattr(door, "_dispatch", raising(error))
        assert door.invoke([]) == 141
    assert capsys.readouterr().err == ""


def test_a_closed_pipe_at_exit_is_silent() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "gpumerge_cli", "--help"]
    done = subprocess.run(command, cwd=ROOT, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    os.close(writer)
    assert done.returncode == 141
    assert done.stderr == ""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full; run it on Linux")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", [["--help"], ["rank", "data/samples/a.i32", "--at", "0"]])
def test_a_full_disk_at_exit_is_one_line(words: list[str], unbuffered: str) -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "gpumerge_cli", *words]
        done = subprocess.run(
            command, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False,
            env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        )  # fmt: skip
    assert done.returncode == 2
    # If Python buffers nothing, the help's write itself fails, and an OSError has no name for its stream.
    place = "" if unbuffered and words == ["--help"] else "standard output: "
    assert done.stderr == f"gpumerge: {place}no space left on device; free some space or write elsewhere\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full; run it on Linux")
@pytest.mark.parametrize("stats", [[], ["--stats"]])
def test_a_report_that_cannot_be_written_is_exit_2_with_the_output_in_place(stats: list[str], tmp_path: Path) -> None:
    output = tmp_path / "out.i32"
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "gpumerge_cli", "merge", "data/samples/a.i32", "-o", str(output), *stats]
        done = subprocess.run(command, cwd=ROOT, stderr=full, timeout=60, check=False)
    assert done.returncode == 2
    assert output.read_bytes() == (ROOT / "data/samples/a.i32").read_bytes()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["sort", "--help"],
        ["--show-completion", "bash"],
        ["path", "--items", "1 3", "--items", "2"],
        ["info", "--config"],
        ["info", "--config", "--json"],
        ["merge", "--format", "text", os.devnull],
    ],
)
def test_what_goes_to_a_closed_standard_output_is_not_lost_in_silence(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", None)
        code = door.invoke(arguments)
        assert sys.stdout is None
    assert code == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("gpumerge: standard output: it is closed; ")
    assert captured.err.count("\n") == 1


def test_notes_do_not_go_to_standard_output_where_standard_error_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_text("b\na\n")
    monkeypatch.setattr(sys, "stderr", None)
    assert door.invoke(["sort", "--debug", str(tmp_path / "a.txt")]) == 0
    assert capfd.readouterr().out == "a\n_\nb\n_\n"


def test_closed_standard_streams_are_no_crash() -> None:
    done = subprocess.run(
        ["sh", "-c", f'"{sys.executable}" -m gpumerge_cli --help >&-'], cwd=ROOT, capture_output=True, timeout=60
    )
    assert done.returncode == 2
    assert done.stderr.startswith(b"gpumerge: standard output: it is closed; ")
    done = subprocess.run(
        ["sh", "-c", f'"{sys.executable}" -m gpumerge_cli marge 2>&-'], cwd=ROOT, capture_output=True, timeout=60
    )
    assert done.returncode == 2
    assert done.stdout == b""


def test_exit_codes_of_the_tree() -> None:
    assert GpumergeError("").exit_code == DisorderError("").exit_code == 2
