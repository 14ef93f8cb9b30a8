"""Usual command lines are read without Typer, and give what Typer gives."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

from gpumerge_cli.cli.application import invoke
from gpumerge_cli.cli.options.commands import COMMANDS, command
from gpumerge_cli.cli.options.groups import Options
from gpumerge_cli.cli.options.model import Command, Option
from gpumerge_cli.cli.settings import Settings, variable_name
from gpumerge_cli.cli.usual import read_usual
from gpumerge_cli.errors import GpumergeError

SEEDS = 30
READ = [one for one in COMMANDS if one.name not in ("", "sort") and len(one.arguments) == 1]
TEXTS = {"number": "3", "numbers": "1,2", "size": "64M", "count": "100"}


def by_typer(row: Command, words: list[str], environ: Mapping[str, str]) -> Options | None:
    """The values, None if Typer refuses the words."""
    read: list[Options] = []
    try:
        invoke([row.name, *words], Settings(environ), lambda name: read.append)
    except GpumergeError:
        return None
    return read[0]


def settings_of(row: Command, random: random.Random) -> dict[str, str]:
    """An environment that sets some options of the command."""
    found = {}
    for option in random.choices([one for one in row.options if one.settable], k=random.randrange(3)):
        text = random.choice([random.choice(option.choices or (TEXTS.get(option.kind, "text"),)), "1", "0", ""])
        found[variable_name(option.name, "" if option.shared else row.name)] = text
    return found


def written(option: Option, random: random.Random) -> list[str]:
    """An option as command lines have it, in one of its ways."""
    name = random.choice(option.names)
    if not option.takes_value:
        return [name]
    value = random.choice([random.choice(option.choices or (TEXTS.get(option.kind, "text"),)), "wrong", "-", "-x", ""])
    return [f"{name}={value}"] if name.startswith("--") and random.random() < 0.5 else [name, value]


def words_of(row: Command, random: random.Random) -> list[str]:
    options = random.choices([one for one in row.options if one.name not in ("help", "version")], k=random.randrange(4))
    pieces = [written(one, random) for one in options]
    pieces += random.choices(
        [["a.txt"], ["-"], ["b"], ["--"], ["--outp=c"], ["--no-quiet"], ["-qx"]], k=random.randrange(4)
    )
    random.shuffle(pieces)
    return [word for piece in pieces for word in piece]


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("name", [one.name for one in READ])
def test_it_reads_what_typer_reads(name: str, seed: int) -> None:
    row, rng = command(name), random.Random(f"{name} {seed}")
    for _ in range(10):
        words, environ = words_of(row, rng), settings_of(row, rng)
        read = read_usual([name, *words], Settings(environ))
        if read is None:
            continue
        other = by_typer(row, words, environ)
        assert other is not None, words
        assert read == other, words
        assert read.given == other.given, words


@pytest.mark.parametrize("name", [one.name for one in READ])
def test_it_reads_the_usual(name: str) -> None:
    row = command(name)
    words = [name, *["--render"] * (name == "bench"), *["a", "b"][: 1 + row.arguments[0].many], *["-q"] * any("-q" in one.names for one in row.options)]
    assert read_usual(words)


@pytest.mark.parametrize(
    "words",
    [[], ["--help"], ["merge", "--help"], ["merge", "a", "--unsure"], ["merge", "a", "-o"], ["merge", "--count", "a"],
     ["merge", "a", "-uq"], ["merge", "a", "--", "-b"], ["merge", "a", "--threads", "x"], ["sort", "a"], ["mrege", "a"],
     ["merge", "a", "-t,", "-t;"], ["merge", "a", "--no-quiet"], ["merge", "a", "--quiet=yes"], ["batch"],
     ["batch", "a", "b"]],
)  # fmt: skip
def test_all_else_is_left_to_typer(words: list[str]) -> None:
    assert read_usual(words) is None
