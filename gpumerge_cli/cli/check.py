"""gpumerge check: are the files in order?"""

from __future__ import annotations

from typing import Annotated

import typer

from gpumerge_cli.cli import line_options, options, tasks
from gpumerge_cli.cli.keyspec import csv_names, header_lines

EPILOG = options.EPILOG


def check(
    context: typer.Context,
    files: options.Files = None,
    files0_from: options.Files0From = None,
    dtype: options.Dtype = None,
    format: options.Format = None,
    record_size: options.RecordSize = None,
    key_offset: options.KeyOffset = None,
    key_size: options.KeySize = None,
    key: options.KeyField = None,
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
    random_source: line_options.RandomSource = None,
    sort_word: line_options.SortWord = None,
    sort_key: line_options.SortKey = None,
    field_separator: line_options.FieldSeparator = None,
    stable: line_options.Stable = False,
    unique: Annotated[
        bool, typer.Option("--unique", "-u", help="Items that compare equal are in disorder, too, as in sort -cu.")
    ] = False,
    zero_terminated: line_options.ZeroTerminated = False,
    header: line_options.Header = 0,
    csv: line_options.Csv = False,
    reverse: options.Reverse = False,
    backend: options.Backend = "auto",
    device: options.Device = 0,
    threads: options.Threads = None,
    debug: options.Debug = False,
) -> None:
    """Check that each file is in order.

    Says nothing and exits 0 if all are; otherwise names the first disorder on standard error and exits 1. Each file is
    judged alone: the last item of one and the first of the next may be in any order.
    """
    from gpumerge_cli.engine.request import BackendRequest, CheckRequest, ItemRequest
    from gpumerge_cli.formats.record_options import RecordRequest

    header = header_lines(header, (sort_key or ()) if csv else ())
    text = line_options.said_order(
        ignore_leading_blanks=ignore_leading_blanks,
        dictionary_order=dictionary_order,
        ignore_case=ignore_case,
        ignore_nonprinting=ignore_nonprinting,
        general_numeric_sort=general_numeric_sort,
        human_numeric_sort=human_numeric_sort,
        month_sort=month_sort,
        numeric_sort=numeric_sort,
        version_sort=version_sort,
        random_sort=random_sort,
        random_source=random_source,
        reverse=reverse,
        sort=sort_word,
        sort_key=sort_key,
        field_separator=field_separator,
        stable=stable,
        unique=unique,
        zero_terminated=zero_terminated,
        csv_names=(lambda separator: csv_names(files or (), separator, header)) if csv else None,
    )
    records = RecordRequest(record_size, key_offset, key_size, key)
    request = CheckRequest(
        options.names_of(files, files0_from),
        ItemRequest(format, dtype, text, reverse, header, csv, records=records),
        BackendRequest(backend, device, threads),
        unique=unique,
    )
    if not tasks.hand_over(context, tasks.Task(request)):
        tasks.perform(tasks.Task(request))
