"""sort --debug shows what the system's sort shows: its notes, and its lines with their keys underlined."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpumerge_cli.cli import app as door
from gpumerge_cli.cli import gnu_debug
from gpumerge_cli.cli.gnu import parse_sort
from gpumerge_cli.cli.gnu_debug import debug_notes, underlined
from gpumerge_cli.cli.keyspec import parse_key
from gpumerge_cli.errors import UsageError
from tests.cli.test_gnu_against_sort import ORDERING
from tests.line_cases import cases, lines
from tests.test_line_keys import EXAMPLES, comparable, version

NOTED = [
    "", "-k2n", "-k1,1 -k2n", "-rk2n", "-nb -k1", "-k2,1", "-k2b,3", "-t. -n", "-t. -k1n", "-t- -k1n", "-t+ -k1g",
    "-t+ -k1n", "-ir -k1n", "+1 -2", "+1 -2.3n", "+0.1 -1.0n", "+3 -1", "+1.2b", "-bn -k1,1d", "-s -r -k1n",
    "-bdfir -k1n,1", "-b -k1b", "-V -k2,2", "-d -i -k1i", "-r -k1n -k2r", "-u -r -k1n", "-nrk1,1 -s",
    "-k1,18446744073709551616",
]  # fmt: skip

needs_sort = pytest.mark.skipif(
    version() != (9, 1), reason="needs GNU sort 9.1, whose words it compares; install coreutils 9.1"
)


def theirs(arguments: list[bytes], data: bytes) -> tuple[bytes, list[str]]:
    """Lines and notes of the system's sort."""
    command = [b"sort", b"--debug", *arguments]
    environment = os.environ | {"LC_ALL": "C"}
    done = subprocess.run(command, input=data, capture_output=True, check=True, env=environment)
    return done.stdout, [os.fsdecode(line).removeprefix("sort: ") for line in done.stderr.splitlines()]


@needs_sort
@pytest.mark.parametrize("arguments", NOTED)
def test_notes(arguments: str) -> None:
    words = arguments.split()
    assert list(parse_sort(["--debug", *words], {}).notes) == theirs([*map(os.fsencode, words)], b"")[1]


@needs_sort
@settings(max_examples=EXAMPLES // 3)
@given(st.lists(ORDERING, max_size=4))
def test_notes_of_any_options(arguments: list[str]) -> None:
    arguments = [word for argument in arguments for word in argument.split("\0")]
    try:
        command = parse_sort(["--debug", *arguments], {})
    except UsageError:
        return
    assert list(command.notes) == theirs([*map(os.fsencode, arguments)], b"")[1]


@needs_sort
@settings(max_examples=EXAMPLES // 3)
@given(st.data())
def test_keys_are_underlined(data: st.DataObject) -> None:
    case = data.draw(cases(("bytes", "numeric", "human", "general", "month", "version")))
    end = bytes([case.order.terminator])
    content = comparable(case.order, data.draw(lines(case.order)))[:1]  # so that nothing is sorted
    unique = data.draw(st.booleans())
    expected = theirs([*case.arguments, *[b"-u"] * unique], b"".join(line + end for line in content))[0]
    assert underlined(case.order, unique, b"".join(line + end for line in content)) == expected


def test_notes_name_letters_that_gnu_sort_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gnu_debug, "LETTERS", "bdfghilMnRrV")
    notes = debug_notes({"l", "M", "b"}, [parse_key("1n,1")], None, stable=False, locale="")
    assert "options '-blM' are ignored" in notes


@needs_sort
@pytest.mark.parametrize("number", [b"0Y", b"0R", b"1Q", b"2k", b"2K"])
def test_units_are_underlined(number: bytes) -> None:
    order = parse_sort(["-h"], {}).order
    assert underlined(order, False, number + b"\n") == theirs([b"-h"], number + b"\n")[0]


@needs_sort
@pytest.mark.parametrize(
    "arguments", [["-k2n"], ["-u", "-k1,1"], ["-z"], ["-t,", "-k2,2g", "-k1,1M"], ["-m", "-s"], ["-hr"], ["-bk2.2"]]
)
def test_the_command(arguments: list[str], tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    data = b"b  10 x\na\t2\n\n  c -3.5K\njan,0x1fz\nb 7\nFeb,nan(3)q,1e9\n\xe9\t\x80\0x\nb"
    (tmp_path / "f").write_bytes(data)
    out, notes = theirs([*map(os.fsencode, arguments)], data)
    assert door.invoke(["sort", "--debug", "--backend=cpu", *arguments, str(tmp_path / "f")]) == 0
    captured = capfdbinary.readouterr()
    assert captured.out == out
    assert captured.err.decode().splitlines() == [f"gpumerge: {note}" for note in notes]


@pytest.mark.parametrize("arguments", [["-c"], ["-C"], ["-o", "x"], ["--csv"]])
def test_what_it_does_not_go_with(arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "f").write_bytes(b"a\n")
    assert door.invoke(["sort", "--debug", *arguments, str(tmp_path / "f")]) == 2
    assert "--debug" in capsys.readouterr().err


def test_tracebacks_have_another_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for option, shown in (("--debug", False), ("--traceback", True)):
        assert door.invoke(["sort", option, str(tmp_path / "missing")]) == 2
        assert ("Traceback" in capsys.readouterr().err) is shown


@needs_sort
@pytest.mark.parametrize("key", ["2,1n", "2,1g", "2,1M", "3,1n", "3.1,1M", "2.4n,1", "2.2,1h", "2,1", "3,2n"])
def test_keys_that_end_ahead_of_their_start(key: str) -> None:
    """Their carets pass over blanks only where the key ends ahead of its start, not where it ends there."""
    data = b"1,000\t#\na\na b\na  b\na \tb c\n  a  b   c\n#.A,\t\t1e\n"
    order = parse_sort(["-k", key], {}).order
    lines = sorted(data.splitlines())
    assert underlined(order, False, b"".join(line + b"\n" for line in lines)) == theirs([b"-k", key.encode()], data)[0]
