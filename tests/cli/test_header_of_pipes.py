"""Names of columns in the header of a pipe: reading the header takes nothing away from the records."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

HEADER = b"id,amount\n"
SALES = HEADER + b"1,3\n2,1\n3,2\n"
BY_AMOUNT = HEADER + b"2,1\n3,2\n1,3\n"
WIDE = ",".join(f"c{number}" for number in range(200_000))
ROWS = [",".join(f"{row}{number % 7}" for number in range(200_000)) for row in (9, 8)]
"""A header of 1.4 MB is longer than a pipe, and than a block of the parser."""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(words: str, data: bytes) -> bytes:
    done = subprocess.run(
        [sys.executable, "-m", "gpumerge_cli", *words.split()], input=data, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


@contextmanager
def written(data: bytes, piece: int = 1 << 20) -> Iterator[int]:
    """The end of a pipe to read, to which a thread writes `data`, so many bytes at a time."""
    end, into = os.pipe()

    def write() -> None:
        with open(into, "wb", buffering=0) as out:
            for start in range(0, len(data), piece):
                out.write(data[start : start + piece])

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield end
    finally:
        os.close(end)
        thread.join()


@pytest.mark.parametrize("words", ["", "-", "/dev/stdin", "--csv -k amount:n", "-S 1K", "-m in.csv -", "-T ."])
def test_sort(words: str) -> None:
    Path("in.csv").write_bytes(HEADER)
    field = "" if "-k" in words else "--field amount:n"
    data = BY_AMOUNT if "-m" in words else SALES
    assert run(f"sort {field} {words}", data) == BY_AMOUNT


@pytest.mark.parametrize("command", ["merge -q", "union -q", "sort -m", "join -q", "join -q --csv -j id"])
def test_other_commands(command: str) -> None:
    Path("in.csv").write_bytes(SALES)
    field = "" if "-j" in command else "--field id:n"
    done = run(f"{command} {field} - in.csv", HEADER + b"2,7\n")
    assert b"2,7" in done
    assert done.startswith(b"id,amount")


def test_questions() -> None:
    assert run("check --field id:n -", SALES) == b""
    assert run("rank --at 2 --field id:n -", SALES).splitlines()[-1].split() == [b"2", b"-", b"2", b"3"]


def test_standard_input_that_is_a_file() -> None:
    """It is read from where it stands, and to its end, which others who have it open see."""
    Path("in.csv").write_bytes(b"skipped\n" + SALES)
    with open("in.csv", "rb", buffering=0) as file:
        file.seek(8)
        done = subprocess.run(
            [sys.executable, "-m", "gpumerge_cli", "sort", "--field", "amount:n"],
            stdin=file, capture_output=True, check=False,
        )  # fmt: skip
        assert (done.stdout, done.stderr, file.read()) == (BY_AMOUNT, b"", b"")


@pytest.mark.parametrize("piece", [1, 5, 1 << 20])
def test_descriptors(piece: int) -> None:
    """As a shell makes of <(...). Two pipes: the first one says the header."""
    with written(SALES, piece) as first, written(HEADER + b"2,7\n", piece) as second:
        command = [sys.executable, "-m", "gpumerge_cli", "merge", "-q", "--field", "id:n"]
        done = subprocess.run(
            [*command, f"/dev/fd/{first}", f"/dev/fd/{second}"],
            pass_fds=(first, second), capture_output=True, check=False,
        )  # fmt: skip
    assert (done.stdout, done.stderr) == (HEADER + b"1,3\n2,1\n2,7\n3,2\n", b"")


def test_a_named_pipe_is_opened_once() -> None:
    """A writer would find nobody who reads, if the header's reader closed it."""
    os.mkfifo("pipe")
    writer = threading.Thread(target=lambda: Path("pipe").write_bytes(SALES))
    writer.start()
    assert run("sort --field amount:n pipe", b"") == BY_AMOUNT
    writer.join()


@pytest.mark.parametrize(
    ("data", "field", "result"),
    [
        (f"{WIDE}\n{ROWS[0]}\n{ROWS[1]}\n".encode(), "c199999:n", f"{WIDE}\n{ROWS[1]}\n{ROWS[0]}\n".encode()),
        (b"", "amount", b""),
        (b"id,amount", "amount", HEADER),
        (HEADER, "amount", HEADER),
        (b"\xef\xbb\xbf" + SALES, "amount:n", b"\xef\xbb\xbf" + BY_AMOUNT),
        (b"\xef\xbb\xbf", "amount", b"\xef\xbb\xbf"),
        (b'id,"amount\nnet"\n1,3\n2,"1\n"\n', "2:n", b'id,"amount\nnet"\n2,"1\n"\n1,3\n'),
    ],
    ids=["longer than a read", "empty", "no newline", "header alone", "mark", "mark alone", "newlines in quotes"],
)
def test_headers(data: bytes, field: str, result: bytes) -> None:
    header = "--header 1 " if field[0].isdigit() else ""
    assert run(f"sort {header}--field {field}", data) == result


def test_an_empty_pipe_has_no_header_for_another() -> None:
    Path("in.csv").write_bytes(b"")
    with written(b"") as first, written(SALES) as second:
        command = [sys.executable, "-m", "gpumerge_cli", "sort", "--field", "amount:n"]
        done = subprocess.run(
            [*command, "in.csv", f"/dev/fd/{first}", f"/dev/fd/{second}"],
            pass_fds=(first, second), capture_output=True, check=False,
        )  # fmt: skip
    assert (done.stdout, done.stderr) == (BY_AMOUNT, b"")


def test_an_unknown_name_is_told_as_soon_as_the_header_is_there() -> None:
    """The writer of the pipe need not end."""
    end, into = os.pipe()
    os.write(into, SALES)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "gpumerge_cli", "merge", "--field", "town", "-"],
            stdin=end, capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
    finally:
        os.close(end)
        os.close(into)
    assert done.stderr == "gpumerge: --field town: the header has no field 'town'; use one of id, amount\n"


def test_a_device_without_an_end_has_no_header() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gpumerge_cli", "sort", "--csv", "--field", "a", "/dev/zero"],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert "/dev/zero:1: its header does not end within 67.1 MB; " in done.stderr


def test_a_terminal_is_asked_once() -> None:
    """The end of input that was typed while the header was read counts for the records, too."""
    typed, screen = os.openpty()
    command = [sys.executable, "-m", "gpumerge_cli", "sort", "--field", "amount:n", "-q"]
    with subprocess.Popen(command, stdin=screen, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        os.write(typed, HEADER + b"\4")
        out, err = process.communicate(timeout=60)
    os.close(typed)
    os.close(screen)
    assert (out, err) == (HEADER, b"")
