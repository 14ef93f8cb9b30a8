"""The ordering options of merge and check come to what sort's come to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpumerge_cli.cli.gnu import parse_sort
from gpumerge_cli.cli.job_parts import line_order_of
from gpumerge_cli.cli.keyspec import parse_key
from gpumerge_cli.cli.options.commands import command
from gpumerge_cli.cli.options.typed import MergeOptions
from gpumerge_cli.cli.scan import read_words
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.rules import LineOrder


def ordered(*arguments: str) -> LineOrder:
    """The order that merge makes of these options."""
    values = read_words(command("merge"), arguments)
    assert isinstance(values, MergeOptions)
    return line_order_of(values, [*map(parse_key, values.key)])


def test_no_option_makes_the_plain_order() -> None:
    assert ordered() == ordered("-u") == ordered("-s") == LineOrder(stable=True)
    assert ordered("--last-resort") == LineOrder()


ARGUMENT = st.one_of(
    st.sampled_from("bdfgihMnVRrsz").map("-{}".format),
    st.sampled_from(["-k1", "-k2,2n", "-k1.2b,3.4r", "-k0", "-t,", "-t\\0", "-txx", "--sort=month", "--sort=x"]),
    st.sampled_from(["--ignore-case", "--numeric-sort", "--reverse", "--stable", "--zero-terminated"]),
)  # fmt: skip


@given(st.lists(ARGUMENT, max_size=6, unique_by=lambda argument: argument[:2] in ("-t", "--") or argument))
def test_options_make_the_order_that_stable_sorts_make(arguments: list[str]) -> None:
    try:
        expected = parse_sort([*arguments, "-s"]).order
        last_resort = parse_sort([argument for argument in arguments if argument not in ("-s", "--stable")]).order
    except UsageError:
        with pytest.raises(UsageError) as caught:
            ordered(*arguments)
        assert caught.value.exit_code == 2
    else:
        assert ordered(*arguments) == expected
        assert ordered(*arguments, "--last-resort") == last_resort


def test_keys_have_a_long_name() -> None:
    assert ordered("--key", "2n", "--key=1") == parse_sort(["-s", "-k2n", "-k1"]).order
