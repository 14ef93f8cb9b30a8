"""Report files: checked before the work begins, written whole at its end."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gpumerge_cli.errors import UsageError, output_error
from gpumerge_cli.replacement import Replacement, Stream, is_stream

if TYPE_CHECKING:
    from gpumerge_cli.results.compared import Report

MERGE_SUFFIXES = (".json", ".md", ".html")
COMPARE_SUFFIXES = (".json", ".csv", ".md", ".html")
BENCH_SUFFIXES = COMPARE_SUFFIXES

WriteReport = Callable[["Report"], None]


def suffix_of_report(path: str, suffixes: tuple[str, ...], option: str = "--report") -> str:
    """The suffix of a report's file, in lower case. Raises UsageError, naming `option`, if it is not one of these."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in suffixes:
        raise UsageError(
            f"{option}: {path!r} has no suffix of a report", way_out=f"end the name in one of {', '.join(suffixes)}"
        )
    return suffix


@contextmanager
def report_file(path: str | None, suffixes: tuple[str, ...], option: str = "--report") -> Iterator[WriteReport]:
    """A function that writes a report to `path` in the format of its suffix; it does nothing if `path` is None.

    The file appears whole when the function is called; until then an earlier file stays unchanged. A pipe or
    device is opened at once and written directly. Raises UsageError for a suffix that is not among `suffixes`, naming
    `option`, and OutputError if the file cannot be written: both before the body runs.
    """
    if path is None:
        yield lambda _report: None
        return
    suffix = suffix_of_report(path, suffixes, option)
    with text_file(path) as write:
        yield lambda report: write(_renderer(suffix)(report))


@contextmanager
def text_file(path: str) -> Iterator[Callable[[str], None]]:
    """A function that writes a whole text to `path`; see report_file. Raises OutputError."""
    try:
        made = Stream(path) if is_stream(path) else Replacement(path)
    except OSError as error:
        raise output_error(error, path) from error

    def write(text: str) -> None:
        try:
            with open(made.descriptor, "w", encoding="utf-8", errors="backslashreplace", closefd=False) as file:
                file.write(text)
            made.commit()
        except OSError as error:
            raise output_error(error, path) from error

    try:
        yield write
    finally:
        made.abort()


def _renderer(suffix: str) -> Callable[[Any], str]:
    if suffix == ".csv":
        from gpumerge_cli.report.csv import render
    elif suffix == ".md":
        from gpumerge_cli.report.markdown import render
    elif suffix == ".html":
        from gpumerge_cli.report.html import render
    else:
        from gpumerge_cli.report.json import render
    return render
