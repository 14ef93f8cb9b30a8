"""What commands say on standard error of what they did and found."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gpumerge_cli.units import visible

if TYPE_CHECKING:
    from gpumerge_cli.report.model import MergeReport


def say(text: object) -> None:
    """Say `text` in one line, as messages of errors are said."""
    if sys.stderr is not None:
        print("gpumerge:", visible(str(text).replace("\n", " ")), file=sys.stderr, flush=True)


def say_merged(report: MergeReport, *, stats: bool) -> None:
    """Say what a merge did: in a table if `stats`, else in a line, which is there in no time: it takes no Rich."""
    if stats:
        from gpumerge_cli.report.terminal import show

        show(report)
    elif sys.stderr is not None:
        from gpumerge_cli.report.line import columns, line

        print(line(report, columns(sys.stderr)), file=sys.stderr)
