"""gpumerge check: are the files in order?"""

from __future__ import annotations

from gpumerge_cli.cli import options
from gpumerge_cli.errors import DisorderError


def check(
    files: options.Files = None,
    files0_from: options.Files0From = None,
    dtype: options.Dtype = None,
    format: options.Format = None,
    record_size: options.RecordSize = None,
    key_offset: options.KeyOffset = None,
    key_size: options.KeySize = None,
    key: options.KeyField = None,
    numeric_sort: options.Numeric = False,
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
    from gpumerge_cli.engine.check import check_files
    from gpumerge_cli.engine.request import BackendRequest, ItemRequest
    from gpumerge_cli.formats.records import RecordRequest
    from gpumerge_cli.lines import LineKey, LineOrder

    text = LineOrder((LineKey("numeric", reverse=reverse),), reverse=reverse) if numeric_sort else None
    records = RecordRequest(record_size, key_offset, key_size, key)
    try:
        check_files(
            options.names_of(files, files0_from),
            ItemRequest(format, dtype, text, reverse, records=records),
            BackendRequest(backend, device, threads),
        )
    except DisorderError as error:
        error.exit_code = 1
        raise
