"""Items from memory to a file, whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.formats.registry import open_sink, resolve_format


def write_array(
    path: str, format: str | None, dtype: np.dtype[Any] | None, count: int, blocks: Iterable[NDArray[Any]]
) -> None:
    """Write `count` items that come in 1-D `blocks`: of native `dtype`, or uint8 text (dtype None) of whole lines.

    format as in ItemRequest. Raises UsageError or OutputError.
    """
    chosen = resolve_format(path, format, None if dtype is None else dtype.str)
    sink = open_sink(path, chosen, dtype, count)
    position = 0
    try:
        for block in blocks:
            data = np.ascontiguousarray(block).view(np.uint8)
            sink.write_at(position, data)
            position += len(data)
        sink.commit()
    except BaseException:
        sink.abort()
        raise
