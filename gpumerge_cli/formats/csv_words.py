"""The words and options for CSV, which help lists without the code that reads it."""

from __future__ import annotations

from gpumerge_cli.order.rules import Spelling

SPELLING = Spelling("CSV", "record", "--csv", separator=b",", has_returns=True)
"""That of records."""
