"""The ordering options of merge and check mean the same as those of sort. The help of sort names every option."""

from __future__ import annotations

import re

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from gpumerge_cli.cli import gnu_options, line_options, options
from gpumerge_cli.cli.gnu import parse_sort
from gpumerge_cli.cli.gnu_help import HELP
from gpumerge_cli.errors import UsageError
from gpumerge_cli.lines import LineOrder

_app = typer.Typer(add_completion=False, rich_markup_mode=None)
_found: list[LineOrder] = []


@_app.command()
def order(
    ignore_leading_blanks: line_options.IgnoreLeadingBlanks = False,
    dictionary_order: line_options.DictionaryOrder = False,
    ignore_case: line_options.IgnoreCase = False,
    ignore_nonprinting: line_options.IgnoreNonprinting = False,
    general_numeric_sort: line_options.GeneralNumeric = False,
    human_numeric_sort: line_options.HumanNumeric = False,
    month_sort: line_options.MonthSort = False,
    numeric_sort: options.Numeric = False,
    version_sort: line_options.VersionSort = False,
    random_sort: line_options.RandomSort = False,
    reverse: options.Reverse = False,
    sort: line_options.SortWord = None,
    sort_key: line_options.SortKey = None,
    field_separator: line_options.FieldSeparator = None,
    stable: line_options.Stable = False,
    zero_terminated: line_options.ZeroTerminated = False,
) -> None:
    _found.append(line_options.line_order(**locals()))


def ordered(*arguments: str) -> LineOrder:
    """The request that a command makes of these options."""
    with typer.main.get_command(_app).make_context("order", list(arguments)) as context:
        context.command.invoke(context)
    return _found.pop()


def test_no_option_makes_the_plain_order() -> None:
    assert ordered() == line_options.line_order() == LineOrder()
    assert line_options.line_order(unique=True) == LineOrder(stable=True)


ARGUMENT = st.one_of(
    st.sampled_from("bdfgihMnVRrsz").map("-{}".format),
    st.sampled_from(["-k1", "-k2,2n", "-k1.2b,3.4r", "-k0", "-t,", "-t\\0", "-txx", "--sort=month", "--sort=x"]),
    st.sampled_from(["--ignore-case", "--numeric-sort", "--reverse", "--stable", "--zero-terminated"]),
)  # fmt: skip


@given(st.lists(ARGUMENT, max_size=6, unique_by=lambda argument: argument[:2] in ("-t", "--") or argument))
def test_options_make_the_order_that_sorts_make(arguments: list[str]) -> None:
    try:
        expected = parse_sort(arguments).order
    except UsageError:
        with pytest.raises(UsageError) as caught:
            ordered(*arguments)
        assert caught.value.exit_code == 2
    else:
        assert ordered(*arguments) == expected


def test_keys_have_a_long_name() -> None:
    assert ordered("--sort-key", "2n", "--sort-key=1") == parse_sort(["-k2n", "-k1"]).order


def test_the_help_names_every_option() -> None:
    shown = re.findall(r"^ +(?:-(\w), |    )--([\w-]+)", HELP, re.MULTILINE)
    short = {(name, letter) for letter, name in shown if letter}
    assert {name for _, name in shown} == {*gnu_options.LONG, *gnu_options.OWN}
    assert short == {(name, code) for name, code in gnu_options.LONG.items() if len(code) == 1} | {
        ("check", "c"),
        ("check", "C"),
    }
    assert max(map(len, HELP.splitlines())) <= 120
