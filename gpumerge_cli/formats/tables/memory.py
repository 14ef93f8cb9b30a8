"""The C library's memory, which batches of tables take and free again and again."""

from __future__ import annotations

import ctypes

from gpumerge_cli.formats.tables import HAS_GLIBC

_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3  # of <malloc.h>
_KEPT = 128 << 20
_MORE = 4 << 20
_LARGE_BLOCK = 32 << 20
_BATCH = 2 << 20


def keep_freed_memory(*, large: bool) -> None:
    """Make glibc use freed memory again rather than return it to the system, for the rest of the process.

    large: blocks of up to 32 MiB, else of 2 MiB, which is a column of a batch. A sort, whose memory has a limit, takes
    a sixth longer with blocks of 1 MiB, and a fourth more memory with large ones. With other C libraries this does
    nothing.
    """
    if HAS_GLIBC:
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_TRIM_THRESHOLD, _KEPT)
        mallopt(_M_TOP_PAD, _MORE)
        mallopt(_M_MMAP_THRESHOLD, _LARGE_BLOCK if large else _BATCH)
