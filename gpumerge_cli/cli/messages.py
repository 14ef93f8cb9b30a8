"""Lines that commands print on standard error about their work."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from gpumerge_cli.secret_values import concealed
from gpumerge_cli.units import visible
from gpumerge_cli.urls import shown

if TYPE_CHECKING:
    from gpumerge_cli.engine.job import Job
    from gpumerge_cli.results.run import MergeReport


def print_message(text: object) -> None:
    """Print `text` on one line of standard error, as errors are printed."""
    if sys.stderr is not None:
        print("gpumerge:", visible(concealed(str(text)).replace("\n", " ")), file=sys.stderr, flush=True)


def tell_of_suffix(job: Job, say: Callable[[str], None] = print_message) -> None:
    """Print one line on a terminal if a job wrote plain text under a name that other commands give other data.

    It comes behind the job: no warning stands ahead of an error.
    """
    if not job.items.plain or job.output.compression is not None or sys.stderr is None or not sys.stderr.isatty():
        return
    from gpumerge_cli.formats.codecs import CODECS
    from gpumerge_cli.formats.compressed import compression_of, suffix_of
    from gpumerge_cli.formats.foreign import foreign_of

    name = shown(job.output.name)
    suffix, foreign = compression_of(name), foreign_of(suffix_of(name))
    if suffix:
        say(f"warning: {name}: plain text was written, not {CODECS[suffix].name} data; add --compressed to compress it")
    elif foreign is not None and not foreign.text and not job.items.tells_format:
        say(f"warning: {name}: plain text was written, and its suffix means {foreign.name}; name it .txt")


def print_report(report: MergeReport, *, stats: bool) -> None:
    """Print the report of a merge: a table if `stats`, otherwise one line, which needs no import of Rich."""
    if stats:
        from gpumerge_cli.report.terminal import show_report

        show_report(report)
    elif sys.stderr is not None:
        from gpumerge_cli.report.line import columns, summary_line

        print(summary_line(report, columns(sys.stderr)), file=sys.stderr)
