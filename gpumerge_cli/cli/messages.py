"""Lines that commands print on standard error about their work."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gpumerge_cli.secret_values import concealed
from gpumerge_cli.units import visible

if TYPE_CHECKING:
    from gpumerge_cli.results.run import MergeReport


def print_message(text: object) -> None:
    """Print `text` on one line of standard error, as errors are printed."""
    if sys.stderr is not None:
        print("gpumerge:", visible(concealed(str(text)).replace("\n", " ")), file=sys.stderr, flush=True)


def print_report(report: MergeReport, *, stats: bool) -> None:
    """Print the report of a merge: a table if `stats`, otherwise one line, which needs no import of Rich."""
    if stats:
        from gpumerge_cli.report.terminal import show_report

        show_report(report)
    elif sys.stderr is not None:
        from gpumerge_cli.report.line import columns, summary_line

        print(summary_line(report, columns(sys.stderr)), file=sys.stderr)
