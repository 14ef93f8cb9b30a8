"""The C library's memory, which batches of tables take and free again and again."""

from __future__ import annotations

import ctypes

from gpumerge_cli.formats.tables import HAS_GLIBC

_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_THRESHOLD = -1, -2, -3  # of <malloc.h>
_KEPT = 128 << 20
_MORE = 4 << 20
_LARGE_BLOCK = 32 << 20


def keep_freed_memory(*, large: bool) -> None:
    """Make glibc use freed memory again rather than return it to the system, for the rest of the process.

    large: blocks of up to 32 MiB, too, which otherwise stay as they are. With other C libraries this does nothing.
    """
    if HAS_GLIBC:
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_TRIM_THRESHOLD, _KEPT)
        mallopt(_M_TOP_PAD, _MORE)
        if large:
            mallopt(_M_MMAP_THRESHOLD, _LARGE_BLOCK)
