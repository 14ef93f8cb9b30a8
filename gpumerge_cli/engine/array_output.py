"""Items from memory to a file, whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.errors import OutputError
from gpumerge_cli.formats.base import STDIO
from gpumerge_cli.formats.compressed import compression_of
from gpumerge_cli.formats.format import Layout
from gpumerge_cli.formats.registry import open_sink
from gpumerge_cli.units import format_bytes

if TYPE_CHECKING:
    from gpumerge_cli.order.key_types import Dtype


def write_array(
    path: str,
    layout: Layout,
    dtype: Dtype | None,
    count: int,
    blocks: Iterable[NDArray[Any]],
    *,
    settle: Callable[[], None] = lambda: None,
) -> None:
    """Write `count` items of `dtype`, given as 1-D `blocks` of keys in native byte order, or of bytes.

    dtype None: lines of text. settle: called once, before the output gets its name. Raises OutputError.
    """
    if dtype is not None:
        _check_space(path, count * dtype.itemsize)
    sink = open_sink(path, layout, dtype, count, most=count * (1 if dtype is None else dtype.itemsize))
    position = 0
    try:
        for block in blocks:
            data = sink.encode(np.ascontiguousarray(block).view(np.uint8))
            sink.write_at(position, data)
            position += len(data)
        sink.finish()
        settle()
        sink.commit()
    except BaseException:
        sink.abort()
        raise


def _check_space(path: str, nbytes: int) -> None:
    """Raise OutputError if the file system has no room for `nbytes`, before any is written."""
    folder = os.path.dirname(os.path.realpath(path))
    if path == STDIO or compression_of(path) or not os.path.isdir(folder) or path.startswith("/dev/"):
        return
    free = shutil.disk_usage(folder).free
    if nbytes > free:
        raise OutputError(
            f"{format_bytes(nbytes)} do not fit into the {format_bytes(free)} that are free",
            where=path,
            way_out="make fewer items, or write elsewhere",
        )
