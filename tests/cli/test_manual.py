"""The manual in data agrees with what help says now."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from gpumerge_cli.cli.app import all_commands, run
from gpumerge_cli.cli.examples import EXAMPLES
from gpumerge_cli.cli.gnu_options import LONG, OWN, WORDS
from gpumerge_cli.cli.manual import pages

DATA = Path(__file__).parents[2] / "data"


def test_what_lies_in_data_is_what_is_made_now() -> None:
    stale = [name for name, text in pages().items() if (DATA / name).read_text() != text]
    assert stale == [], "run python -m gpumerge_cli.cli.manual"


def test_every_command_has_a_page_with_examples_and_every_option() -> None:
    _own, *commands = all_commands()
    assert set(EXAMPLES) == {command.name for command in commands}
    man = (DATA / "man" / "gpumerge.1").read_text()
    for command in commands:
        page = (DATA / "manual" / "commands" / f"{command.name}.md").read_text()
        pages_of_man = man if command.name != "sort" else (DATA / "man" / "gpumerge-sort.1").read_text()
        for option in command.options:
            for name in (*option.names, *option.off):
                assert f"`{name}" in page, (command.name, name)
                assert "\\fB" + name.replace("-", "\\-") + "\\fR" in pages_of_man, (command.name, name)
            assert option.help


def test_sorts_help_tells_of_every_option_that_it_takes() -> None:
    (command,) = (command for command in all_commands() if command.name == "sort")
    assert {option.name for option in command.options} == {*LONG, *OWN}
    shorts = {name[1:] for option in command.options for name in option.names[1:]}
    assert shorts == {letter for letter in LONG.values() if len(letter) == 1} | {"c", "C"}
    assert set(WORDS) <= {option.name for option in command.options if option.choices}


@pytest.mark.parametrize("option", ["backend", "kernel", "algorithm", "format", "sort"])
def test_words_that_completions_offer_are_taken(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    for word in WORDS[option]:
        assert run(["sort", f"--{option}={word}", "--help"]) == 0
    assert run(["sort", f"--{option}=no-such-word", "/dev/null"]) in (1, 2)
    error = capsys.readouterr().err
    assert all(word in error for word in WORDS[option])


@pytest.mark.parametrize("page", ["gpumerge.1", "gpumerge-sort.1"])
def test_man_pages_are_sound(page: str) -> None:
    groff = shutil.which("groff")
    if groff is None:
        pytest.skip("groff is not installed")
    done = subprocess.run(
        [groff, "-man", "-Tutf8", "-ww", "-P-c", str(DATA / "man" / page)], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    shown = re.sub(".\b", "", done.stdout)  # bold is printed twice
    for words in (
        "EXAMPLES" if "sort" in page else "GPUMERGE MERGE",
        "ENVIRONMENT",
        "GPUMERGE_MERGE_THREADS",
        "[OPTION",
    ):
        assert words in shown
