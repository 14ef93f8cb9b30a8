"""Help by the words of a job, and the cookbook that shows the same jobs."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.cli.options.commands import COMMAND_NAMES
from gpumerge_cli.cli.options.other_names import OTHER_NAMES, SHORT_NAMES
from gpumerge_cli.cli.recipes import RECIPES, Recipe, matching

COOKBOOK = Path(__file__).parents[2] / "data" / "manual" / "cookbook.md"
NOT_JOBS = ("devices", "version", "s3", "gs", "azure", "cloud", "url", "http")
"""Names that people try for what is no job."""


def without_quiet(line: str) -> list[str]:
    return [word for word in shlex.split(line) if word not in ("-q", "--quiet")]


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.job)
def test_the_cookbook_shows_each_recipe(recipe: Recipe) -> None:
    """The tests of documents run what it shows."""
    _, found, section = COOKBOOK.read_text().partition(f"\n## {recipe.job}\n")
    assert found, recipe.job
    commands = [
        line[2:].split(" | ")[0] for line in section.partition("\n## ")[0].splitlines() if line.startswith("$ ")
    ]
    assert without_quiet(recipe.line) in map(without_quiet, commands)


def test_the_cookbook_has_no_other_jobs() -> None:
    headings = [line[3:] for line in COOKBOOK.read_text().splitlines() if line.startswith("## ")]
    assert sorted(headings) == sorted(recipe.job for recipe in RECIPES)
    assert len(headings) >= 20


@pytest.mark.parametrize(
    ("words", "job"),
    [
        ("dedupe", "Write each line once"),
        ("uniq", "Count equal lines"),
        ("median", "Find the median and percentiles"),
        ("newest row", "Keep the newest row of each key"),
        ("merge by date", "Merge logs by time"),
        ("top 10", "Find the top 10"),
        ("Group By", "Sum a column by key"),
        ("sort by date", "Sort lines by time"),
        ("sort -u", "Write each line once"),
        ("last 10 lines", "Show the newest lines of sorted logs"),
        ("most frequent", "Count equal lines"),
        ("changed rows", "See what changed between two exports"),
        ("lookup", "Join two CSV files"),
        ("is it sorted", "Check that files are in order"),
        ("merge csv", "Merge CSV files by a column"),
        ("compact parquet", "Compact sorted Parquet files"),
        ("diff two sorted files", "See what changed between two exports"),
        ("compare files", "Find lines that two files have"),
        ("gzip", "Merge compressed files"),
    ],
)
def test_help_finds_a_job_by_its_words(words: str, job: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["help", *words.split()]) == 0
    recipe = next(recipe for recipe in RECIPES if recipe.job == job)
    assert f"{job}:\n    {recipe.line}\n" in capsys.readouterr().out


def test_words_in_quotes_are_words() -> None:
    assert matching(["newest row"]) == matching(["newest", "row"]) != []
    assert [recipe.job for recipe in matching(["how do I find the median?"])] == ["Find the median and percentiles"]


def test_words_that_say_nothing_find_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert matching(["the"]) == matching(["of", "the"]) == matching([]) == []
    assert matching(["the", "top", "10"]) == matching(["top", "10"]) != []
    assert invoke(["help", "the"]) == 2
    assert capsys.readouterr().err.startswith("gpumerge: no such command 'the'")


def test_only_whole_short_words_count() -> None:
    """The word head is not a form of header, but log is one of logs."""
    assert [recipe.job for recipe in matching(["head"])] == ["Find the top 10"]
    assert "Merge logs by time" in [recipe.job for recipe in matching(["log"])]


@pytest.mark.parametrize(("form", "word"), [("merging", "merge"), ("joined", "join"), ("sorting", "sort")])
def test_forms_of_a_word_find_the_same(form: str, word: str) -> None:
    assert matching([form]) == matching([word]) != []


@pytest.mark.parametrize("name", [*OTHER_NAMES, *SHORT_NAMES])
def test_names_that_people_try_find_a_job(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    if name in NOT_JOBS:
        assert invoke(["help", name]) == 2
        return
    assert invoke(["help", name]) == 0
    shown = capsys.readouterr().out
    assert name in SHORT_NAMES or OTHER_NAMES[name] in shown
    assert shown.splitlines()[-1].split()[2] in COMMAND_NAMES


def test_words_of_no_job_find_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert matching(["xyzzy"]) == []
    assert invoke(["help", "xyzzy"]) == 2
    assert capsys.readouterr().err == "gpumerge: no such command 'xyzzy'; see gpumerge --help\n"
