"""The manual in data agrees with what help says now."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.cli.examples import EXAMPLES
from gpumerge_cli.cli.manual import pages
from gpumerge_cli.cli.options.commands import COMMAND_NAMES, COMMANDS, options_of
from gpumerge_cli.cli.options.model import Command
from tests import needs

DATA = Path(__file__).parents[2] / "data"


def test_what_lies_in_data_is_what_is_made_now() -> None:
    stale = [name for name, text in pages().items() if (DATA / name).read_text() != text]
    assert stale == [], "run python -m gpumerge_cli.cli.manual"


def test_every_command_has_pages_with_examples_and_every_option() -> None:
    assert set(EXAMPLES) == {*COMMAND_NAMES}
    for command in COMMANDS[1:]:
        page = (DATA / "manual" / "commands" / f"{command.name}.md").read_text()
        man = (DATA / "man" / f"gpumerge-{command.name}.1").read_text()
        for option in command.options:
            for name in (*option.names, *option.off_names):
                assert f"`{name}" in page, (command.name, name)
                assert "\\fB" + name.replace("-", "\\-") + "\\fR" in man, (command.name, name)


QUOTED = {"find", "sort", "sort's", "uniq", "merge", "PROGRAM"}
"""Words ahead of options that belong to another program or command."""


@pytest.mark.parametrize("command", COMMANDS[1:], ids=lambda command: command.name)
def test_help_mentions_only_options_that_the_command_has(command: Command) -> None:
    known = {name for option in command.options for name in (*option.names, *option.off_names)}
    for text in [*(option.help for option in command.options), command.details]:
        for ahead, written in re.findall(r"([\w']*)\s\(?(--?[A-Za-z][\w-]*)", text):
            several = written[1:2] != "-" and all(f"-{letter}" in known for letter in written[1:])
            assert written in known or several or ahead in QUOTED, (written, text)


def test_the_package_ships_every_man_page() -> None:
    shipped = tomllib.loads((DATA.parent / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    made = [f"data/{name}" for name in pages() if not name.startswith("manual/")]
    assert set(shipped["shared-data"]) == {"data/man" if name.startswith("data/man/") else name for name in made}


@pytest.mark.parametrize("option", ["backend", "kernel", "algorithm", "format", "sort"])
def test_words_that_completions_offer_are_taken(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    (words,) = (row.choices for row in options_of("sort") if row.name == option)
    for word in words:
        assert invoke(["sort", f"--{option}={word}", "--help"]) == 0
    assert invoke(["sort", f"--{option}=no-such-word", "/dev/null"]) in (1, 2)
    error = capsys.readouterr().err
    assert all(word in error for word in words)


@pytest.mark.parametrize("page", ["gpumerge.1", *(f"gpumerge-{name}.1" for name in COMMAND_NAMES)])
def test_man_pages_are_sound(page: str) -> None:
    groff = needs.program("groff")
    done = subprocess.run(
        [groff, "-man", "-Tutf8", "-ww", "-P-c", str(DATA / "man" / page)], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    shown = re.sub(".\b", "", done.stdout)  # bold is printed twice
    for words in ("NAME", "SYNOPSIS", "OPTIONS", "ENVIRONMENT", "GPUMERGE_MERGE_THREADS", "SEE ALSO"):
        assert words in shown
    assert ("EXAMPLES" in shown) == (page != "gpumerge.1")
