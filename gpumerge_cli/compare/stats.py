"""Statistics of a handful of timings."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from gpumerge_cli.dataclass import replace
from gpumerge_cli.results.compared import Measured


def relative_spread(seconds: Sequence[float]) -> float:
    """(slowest - fastest) / median; 0 where that means nothing."""
    middle = median(seconds)
    return (max(seconds) - min(seconds)) / middle if middle > 0 else 0.0


def with_ratios(row: Measured, ceiling: float, basic: float) -> Measured:
    """`row` with median, spread and ratios filled in from its `seconds`; unchanged if it was not timed.

    ceiling: seconds of a copy of the same bytes. basic: median seconds of the basic kernel, 0 if it was not timed.
    """
    if not row.seconds:
        return row
    middle = median(row.seconds)
    return replace(
        row,
        median=middle,
        spread=relative_spread(row.seconds),
        share_of_copy=ceiling / middle if middle > 0 else 0.0,
        copies=middle / ceiling if ceiling > 0 else 0.0,
        speed_up=basic / middle if middle > 0 else 0.0,
    )
