"""The speed at which threads write one file to the page cache, by calls or through a mapping."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np

from gpumerge_cli.errors import output_error
from gpumerge_cli.native.mapping import Mapping

CALLS, RESERVED, MAPPED = "pwrite", "pwrite after fallocate", "mapped after fallocate"
"""The ways of `writing_seconds`."""
_PIECE = 1 << 20


def writing_seconds(path: Path, way: str, threads: int, nbytes: int) -> float:
    """Seconds that so many threads take to write a new file `path` of `nbytes`, each its own range of it.

    The file is removed afterwards. Reserving its space, unmapping and closing count. Raises OutputError.
    """
    data = np.full(_PIECE, 1, np.uint8)
    descriptor = -1
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC)
        begun = time.perf_counter()
        if way != CALLS:
            os.posix_fallocate(descriptor, 0, nbytes)
        if way == MAPPED:
            mapping = Mapping(descriptor, nbytes)
            _in_ranges(lambda start, stop: mapping.write(start, data[: stop - start]), threads, nbytes)
            mapping.close()
        else:
            _in_ranges(lambda start, stop: os.pwrite(descriptor, data[: stop - start].data, start), threads, nbytes)
        os.close(descriptor)
        descriptor = -1
        return time.perf_counter() - begun
    except OSError as error:
        raise output_error(error, str(path)) from None
    finally:
        if descriptor >= 0:
            os.close(descriptor)
        path.unlink(missing_ok=True)


def _in_ranges(write: Callable[[int, int], object], threads: int, nbytes: int) -> None:
    """Call write(start, stop) for all pieces; each thread has a range of its own. Raises the first error."""
    errors: list[OSError] = []

    def work(low: int, high: int) -> None:
        try:
            for start in range(low, high, _PIECE):
                write(start, min(high, start + _PIECE))
        except OSError as error:
            errors.append(error)

    edges = [nbytes * number // threads for number in range(threads + 1)]
    workers = [threading.Thread(target=work, args=edge) for edge in pairwise(edges)]
    for thread in workers:
        thread.start()
    for thread in workers:
        thread.join()
    if errors:
        raise errors[0]
