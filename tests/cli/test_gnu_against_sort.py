"""gpumerge sort's command line against the system's sort: refusals, exit codes, and the meaning of orders."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpumerge_cli.cli.gnu import parse_sort
from gpumerge_cli.errors import UsageError
from tests.linekeys import item_key, key_of


def gnu_sort() -> str:
    found = shutil.which("sort")
    if found is not None:
        version = subprocess.run([found, "--version"], capture_output=True, check=False).stdout
        if b"GNU coreutils" in version:
            return found
    pytest.skip("needs GNU sort; install coreutils")


def test_own_options_take_nothing_from_gnus() -> None:
    """Every short form that GNU sort takes stands for the same option here."""
    names = re.findall(
        rb"--([a-z0-9-]+)", subprocess.run([gnu_sort(), "--help"], capture_output=True, check=True).stdout
    )
    options = {name.decode() for name in names} - {"help", "version"}
    assert {"key", "parallel", "check"} <= options
    for name in options:
        for end in range(1, len(name) + 1):
            short = name[:end]
            if short == "field":  # the whole name of an option that GNU sort has not
                continue
            for value in ("", ("=2", "=quiet", "=month")[end % 3]):
                compare_exit_codes([f"--{short}{value}", "/dev/null"], {})


FIELD = st.one_of(st.integers(0, 5).map(str), st.sampled_from(["", "1", "18446744073709551616", " 1", "+2", "x", "-1"]))
# GNU sort adds such a byte position to an address, and begins ahead of the field.
PAST_ALL_MEMORY = re.compile(r"\.18446744073709551616")
LETTERS = st.text("bdfghiMnRrVx", max_size=3)
POSITION = st.builds(
    lambda field, char, letters: field + ("" if char is None else f".{char}") + letters,
    FIELD,
    st.none() | FIELD,
    LETTERS,
)
SPEC = st.lists(POSITION, min_size=1, max_size=3).map(",".join) | st.text("1230.,nbr -+", max_size=6)
ARGUMENT = st.one_of(
    st.sampled_from("bdfghiMnRrVsuzmcC").map("-{}".format),
    SPEC.map("-k{}".format),
    st.tuples(POSITION, POSITION).map(lambda ends: f"+{ends[0]}\0-{ends[1]}"),
    st.sampled_from(["-", "--", "+1", "-t,", "-t;", "-t\\0", "-o/dev/null", "-S1k", "--par=2", "--sort=v", "--key=2"]),
    st.sampled_from(["--ch=q", "-y", "-y7", "--batch-size=2", "--files0-from=/dev/null", "--b", "-S3%", "--sort=x"]),
)


ENVIRONMENT = st.dictionaries(st.just("POSIXLY_CORRECT"), st.just("1")).flatmap(
    lambda posix: st.sampled_from(["", "199209", "200112", "200808", "200809"]).map(
        lambda version: {**posix, "_POSIX2_VERSION": version}
    )
)


def sort(arguments: list[str], environ: dict[str, str], data: bytes) -> subprocess.CompletedProcess[bytes]:
    kept = {key: value for key, value in os.environ.items() if key not in ("POSIXLY_CORRECT", "_POSIX2_VERSION")}
    with tempfile.TemporaryDirectory() as folder:  # where the outputs that it may write belong
        return subprocess.run(
            [gnu_sort(), *arguments],
            cwd=folder,
            env={**kept, **environ, "LC_ALL": "C"},
            input=data,
            capture_output=True,
            check=False,
        )


def compare_exit_codes(arguments: list[str], environ: dict[str, str]) -> None:
    """On empty input."""
    done = sort(arguments, environ, b"")
    if b"multi-character tab" in done.stderr:  # an option of our own, of up to 7 bytes
        return
    try:
        command = parse_sort(arguments, environ)
    except UsageError as error:
        code = error.exit_code
    else:
        missing = not {"-", "/dev/null"}.issuperset(command.files)
        code = 2 if missing or command.options.files0_from else 0
    assert (arguments, done.returncode, done.stderr) == (arguments, code, done.stderr)


@given(SPEC)
def test_keys_are_taken_as_gnu_sort_takes_them(spec: str) -> None:
    compare_exit_codes(["-k", spec], {})


@given(st.lists(ARGUMENT, max_size=5), ENVIRONMENT)
def test_arguments_are_taken_as_gnu_sort_takes_them(arguments: list[str], environ: dict[str, str]) -> None:
    compare_exit_codes([word for argument in arguments for word in argument.split("\0")], environ)


# sort 9.1 takes 0x80 within numbers for a separator of thousands, and names that begin with a dot for suffixes.
LINE = st.lists(st.sampled_from([*"aB12-,K\t _0+~%\xff", " ", "JAN", "feb"]), max_size=9).map(
    lambda parts: "".join(parts).encode("latin-1")
)
ORDERING = st.one_of(
    st.sampled_from("bdfghiMnrVsu").map("-{}".format),
    SPEC.map("-k{}".format),
    st.sampled_from(["-k1", "-k2,2", "-k1.2,2.1", "-k2,3.1b", "-t,", "-t1", "+1\0-2", "+0.1\0-1.2b", "--sort=v"]),
).filter(lambda argument: "R" not in argument and not PAST_ALL_MEMORY.search(argument))


@given(st.lists(ORDERING, max_size=4), st.lists(LINE, min_size=1, max_size=8))
def test_orders_mean_what_they_mean_to_gnu_sort(arguments: list[str], lines: list[bytes]) -> None:
    arguments = [word for argument in arguments for word in argument.split("\0")]
    try:
        command = parse_sort(arguments, {})
    except UsageError:
        return
    done = sort(arguments, {}, b"".join(line + b"\n" for line in lines))
    merged = sorted(lines, key=key_of(command.order))
    if command.options.unique:
        merged = list({item_key(command.order, line): line for line in reversed(merged)}.values())[::-1]
    assert (done.returncode, done.stdout) == (0, b"".join(line + b"\n" for line in merged))
