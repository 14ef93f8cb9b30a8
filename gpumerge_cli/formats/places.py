"""The column of compare, where items have names for their fields: it says which of two inputs hold an item."""

from __future__ import annotations

from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.equals import Margin

OTHER_COLUMNS = "write one column alone, by -12, -13 or -23"
"""The way out if the items have a field of the column's title."""


def refuse_delimiter(margin: Margin) -> None:
    """Raise UsageError if options ask for a text between columns other than a tab. margin: for lines of text."""
    if any((text or b"").strip(b"\t") for text in margin.columns):
        what = "--output-delimiter: one column of the output says which files hold an item"
        raise UsageError(what, way_out="leave it out")
