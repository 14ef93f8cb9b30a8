"""Images of the text in arrays: unsigned integers that order as their values do."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.arrays.options import shortened
from gpumerge_cli.engine.times import lacks_year
from gpumerge_cli.errors import InputError
from gpumerge_cli.native.texts import text_ranks
from gpumerge_cli.order.key_kinds import TEXT_PADDING
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.times import format_of

Images = NDArray[np.uint64]


def text_images(
    arrays: Sequence[NDArray[Any]], order: Order, threads: int, others: Sequence[NDArray[Any]] = ()
) -> list[Images]:
    """For each array, the images of its texts. They order, and equal each other, as the texts of all these arrays do.

    arrays: 1-D, of any dtypes S, V and U; then `others`, which messages call items. order: that of a text as a line.
    Raises InputError for an invalid text.
    """
    parts = [_as_bytes(array) for array in (*arrays, *others)]
    ends = list(accumulate(map(len, parts), initial=0))
    width = max(part.itemsize for part in parts)
    texts = np.zeros(ends[-1] * width + TEXT_PADDING, np.uint8)
    rows = texts[: ends[-1] * width].view(f"S{width}")
    for start, part in zip(ends, parts, strict=False):
        rows[start : start + len(part)] = part
    images = np.empty(ends[-1], np.uint64)
    fault = text_ranks(order, texts, width, images, threads)
    if fault is not None:
        number = sum(end <= fault for end in ends[1:])
        name = f"array {number}" if number < len(arrays) else "items"
        raise _invalid(bytes(rows[fault]), order, f"{name}, index {fault - ends[number]}")
    return np.split(images, ends[1:-1])


def _as_bytes(array: NDArray[Any]) -> NDArray[np.bytes_]:
    if array.dtype.kind == "U":
        if array.size and array.dtype.isnative and _is_ascii(array):
            return array.astype("S")
        return np.array([text.encode("utf-8", "surrogatepass") for text in array.tolist()], "S")
    return np.ascontiguousarray(array).view(f"S{array.itemsize}") if array.itemsize else array.astype("S1")


def _is_ascii(array: NDArray[Any]) -> bool:
    return bool(array.itemsize == 0 or np.ascontiguousarray(array).view(np.uint32).max() < 128)


def _invalid(value: bytes, order: Order, where: str) -> InputError:
    assert order.text is not None
    [key] = order.text.keys
    what = f"{shortened(repr(value.decode('utf-8', 'replace')))} {key.kind.complaint}"
    if lacks_year(order, 0, value):
        return InputError(what, where=where, way_out="give the year, text=TextKey(..., year=2024)")
    form = "time_format if its time has another form, or " if key.kind.timed and not format_of(key.parameters) else ""
    word = key.kind.word
    way_out = f'give {form}invalid="last" to have such texts last, in text=TextKey({word!r}, ...)'
    return InputError(what, where=where, way_out=way_out)
