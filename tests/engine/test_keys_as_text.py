"""The keys of lines as text: they compare as the lines do, in every order."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from gpumerge_cli.dataclass import replace
from gpumerge_cli.engine.line_keys import line_keys
from gpumerge_cli.native.comparison import Comparison
from gpumerge_cli.order.kinds import Order
from tests.line_cases import cases, lines


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_keys_in_text_compare_as_lines_do(data: st.DataObject) -> None:
    rules = replace(data.draw(cases()).order, stable=True)
    order = Order.lines(rules)
    keys = line_keys(order)
    if keys is None:
        assert not rules.keys
        return
    compare = Comparison(order)
    some = data.draw(lines(rules, most=6))
    for wanted in some:
        text = keys.format(wanted)
        assert text.isprintable()
        found = keys.parse(text, "--of")
        for line in some:
            expected = compare(line, wanted)
            assert (keys.compare(line, found) > 0) - (keys.compare(line, found) < 0) == (expected > 0) - (expected < 0)
