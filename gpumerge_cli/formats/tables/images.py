"""Images of the values of Arrow arrays: bytes or integers that compare as the values do.

The order is NumPy's: NaN is the largest number, and -0.0 equals 0.0. Texts compare by their bytes. `reverse` turns
values round, so that NaN comes first, as in DuckDB and polars; nulls keep the place that KeyColumn.nulls gives them.

Fixed images have one size for a column. Line images have no NUL and no MARK, so that they are fields of lines. Their
order does not depend on KeyColumn.reverse: the rule of such a field reverses it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gpumerge_cli.formats.tables.key_columns import KeyColumn, plain_values
from gpumerge_cli.order.rows import escaped, unescaped

NULL_FIRST, VALUE, NULL_LAST = 0, 1, 2
"""The first byte of a fixed image that has a byte for nulls."""
_LINE_NULL_FIRST, _LINE_VALUE, _LINE_NULL_LAST = b"\3", b"v", b"\xff"
_BITS = 7
"""The bits of a value in each byte of a line image of fixed size. The highest bit is set, so that none is escaped."""
_WORDS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
_FLOATS: dict[int, Any] = {2: np.float16, 4: np.float32, 8: np.float64}
_LARGEST_WORD = 8
_BLOCK_ROWS = 1 << 14


def fixed_images(column: KeyColumn, array: Any, *, nullable: bool) -> NDArray[np.uint8]:
    """Images that compare by memcmp, uint8[rows, bytes].

    column: one with fixed_bytes. array: its values, an Array or ChunkedArray. nullable: whether images have a byte for
    nulls, which is the first of fixed_bytes + 1; without it there must be no null.
    """
    assert column.fixed_bytes is not None
    images = np.empty((len(array), column.fixed_bytes + nullable), np.uint8)
    is_word, at = _is_word(column.type), 0
    null = NULL_FIRST if column.nulls == "first" else NULL_LAST
    for chunk in _blocks(array):
        assert nullable or chunk.null_count == 0, "nulls need a byte"
        rows = images[at : at + len(chunk)]
        at += len(chunk)
        values: Any = _words_of(column.type, chunk) if is_word else ascending_images(column.type, chunk)
        if column.reverse:
            values = ~values
        if nullable:
            rows[:, 0] = VALUE
        if chunk.null_count:
            is_value = chunk.is_valid().to_numpy(zero_copy_only=False)
            values = values * (is_value if is_word else is_value[:, None])
            rows[:, 0] = np.where(is_value, VALUE, null)
        (_column_of_words(rows, values.dtype, int(nullable)) if is_word else rows[:, nullable:])[:] = values
    return images


def uint64_images(column: KeyColumn, array: Any) -> NDArray[np.uint64]:
    """Images as native integers, uint64[rows]: the number that the bytes of the fixed image are, without nulls.

    column: one with fixed_bytes of 8 or less. array: see fixed_images; it has no nulls.
    """
    assert column.fixed_bytes is not None
    assert array.null_count == 0, "nulls have no integer"
    images = np.empty(len(array), np.uint64)
    at = 0
    for chunk in _blocks(array):
        images[at : at + len(chunk)] = _integers(column.type, chunk)
        at += len(chunk)
    if column.reverse:
        np.subtract(np.uint64((1 << 8 * column.fixed_bytes) - 1), images, out=images)
    return images


def has_values(type: pa.DataType) -> bool:
    """Whether the native integers of values say the values. Those of floats do not tell -0.0 and NaNs apart."""
    is_number = pa.types.is_integer(type) or pa.types.is_temporal(type)
    return bool(is_number and type.bit_width <= 8 * _LARGEST_WORD)


def values_of_uint64(column: KeyColumn, images: NDArray[np.uint64]) -> Any:
    """The Array of values that have these native integers. column: one whose type has_values."""
    word: Any = _WORDS[column.type.bit_width // 8]
    words = (~images if column.reverse else images).astype(word)
    if not pa.types.is_unsigned_integer(column.type):
        words ^= word(1 << column.type.bit_width - 1)
    return pa.Array.from_buffers(column.type, len(words), [None, pa.py_buffer(words)], null_count=0)


def line_images(column: KeyColumn, array: Any) -> Any:
    """Images as fields of lines, a LargeBinaryArray without nulls. array: any values of the column, see fixed_images.

    A column with a kind has its texts, and empty ones for nulls: the rule of the field places them.
    """
    made = [_line_images(column, chunk) for chunk in _chunks(array)]
    return pa.concat_arrays(made) if made else pa.array([], pa.large_binary())


def value_of_fixed(image: bytes, column: KeyColumn, *, nullable: bool) -> bytes | None:
    """The value in a fixed image: its image in ascending order, None for a null. nullable: see fixed_images."""
    if nullable and image[0] != VALUE:
        return None
    value = image[nullable:]
    return _complement(value) if column.reverse else value


def fixed_of_value(value: bytes | None, column: KeyColumn, *, nullable: bool) -> bytes:
    """The fixed image of a value, see value_of_fixed."""
    assert column.fixed_bytes is not None
    if value is None:
        assert nullable, "nulls need a byte"
        return bytes([NULL_FIRST if column.nulls == "first" else NULL_LAST]) + bytes(column.fixed_bytes)
    return bytes([VALUE]) * nullable + (_complement(value) if column.reverse else value)


def value_of_line(image: bytes, column: KeyColumn) -> bytes | None:
    """The value in a line image: of fixed size its image in ascending order, else its bytes; None for a null."""
    if column.kind:
        return unescaped(image)
    if image[:1] != _LINE_VALUE:
        return None
    return unescaped(image[1:]) if column.fixed_bytes is None else _unpacked(image[1:], column.fixed_bytes)


def line_of_value(value: bytes | None, column: KeyColumn) -> bytes:
    """The line image of a value, see value_of_line."""
    if column.kind:
        return escaped(value or b"")
    if value is None:
        return _LINE_NULL_FIRST if (column.nulls == "first") != column.reverse else _LINE_NULL_LAST
    return _LINE_VALUE + (escaped(value) if column.fixed_bytes is None else _packed_one(value))


def _line_images(column: KeyColumn, chunk: Any) -> Any:
    import pyarrow.compute as pc

    if pa.types.is_null(column.type):
        return pa.array([line_of_value(None, column)] * len(chunk), pa.large_binary())
    if column.fixed_bytes is None:
        texts = _escaped(large_binary(chunk))
        if column.kind:
            return texts.fill_null(_scalar(b""))
        images = pc.binary_join_element_wise(_scalar(_LINE_VALUE), texts, _scalar(b""))
    else:
        images = _packed(ascending_images(column.type, chunk))
        if not chunk.null_count:
            return images
        images = pc.if_else(chunk.is_valid(), images, _scalar(None))
    return images.fill_null(_scalar(line_of_value(None, column)))


def _scalar(value: bytes | None) -> Any:
    return pa.scalar(value, pa.large_binary())


def _complement(value: bytes) -> bytes:
    return bytes(255 - byte for byte in value)


def _blocks(array: Any) -> Iterator[Any]:
    """The values as plain arrays of few rows, so that what is made of them stays in a cache. See _chunks."""
    for chunk in _chunks(array):
        for at in range(0, len(chunk), _BLOCK_ROWS):
            yield chunk.slice(at, _BLOCK_ROWS)


def _chunks(array: Any) -> Iterator[Any]:
    """The values as plain arrays: without dictionaries, runs and extensions."""
    for chunk in array.chunks if isinstance(array, pa.ChunkedArray) else [array]:
        yield plain_values(chunk)


def ascending_images(type: pa.DataType, chunk: Any) -> NDArray[np.uint8]:
    """The images in ascending order of values without nulls, uint8[rows, bytes]; any bytes for nulls."""
    if _is_word(type):
        words = _words_of(type, chunk)
        big: NDArray[np.uint8] = words.astype(words.dtype.newbyteorder(">")).view(np.uint8)
        return big.reshape(len(chunk), words.itemsize)
    raw: NDArray[np.uint8] = raw_values(chunk, np.dtype((np.uint8, type.byte_width)))
    if pa.types.is_fixed_size_binary(type):
        return raw
    flipped = raw[:, ::-1].copy()  # a decimal is a little-endian integer with a sign
    flipped[:, 0] ^= 0x80
    return flipped


def _integers(type: pa.DataType, chunk: Any) -> Any:
    """The same as integers."""
    if _is_word(type):
        return _words_of(type, chunk)
    rows = np.zeros((len(chunk), _LARGEST_WORD), np.uint8)
    rows[:, _LARGEST_WORD - type.byte_width :] = ascending_images(type, chunk)
    return rows.view(">u8").reshape(-1)


def _column_of_words(rows: NDArray[np.uint8], dtype: np.dtype[Any], at: int) -> Any:
    """The big-endian words of a dtype that are at a byte of each row, as an array to fill."""
    kind: Any = {"names": ["word"], "formats": [dtype.newbyteorder(">")], "offsets": [at], "itemsize": rows.shape[1]}
    return rows.view(np.dtype(kind)).reshape(-1)["word"]


def _is_word(type: pa.DataType) -> bool:
    """Whether values are numbers of at most 8 bytes."""
    return not pa.types.is_fixed_size_binary(type) and type.bit_width <= 8 * _LARGEST_WORD


def _words_of(type: pa.DataType, chunk: Any) -> Any:
    """The images of numbers of at most 8 bytes, which are unsigned integers of their size."""
    if pa.types.is_boolean(type):
        chunk, type = chunk.cast(pa.uint8()), pa.uint8()
    word: Any = _WORDS[type.bit_width // 8]
    bits = raw_values(chunk, np.dtype(word))
    if pa.types.is_unsigned_integer(type):
        return bits
    top = word(1 << type.bit_width - 1)
    return float_images(bits.view(_FLOATS[bits.itemsize])) if pa.types.is_floating(type) else bits ^ top


def float_images(floats: Any) -> Any:
    """The images of an array of floats, unsigned integers. NaNs of any sign are one value, and so are zeros."""
    with np.errstate(invalid="ignore"):  # NaNs that signal
        floats = floats + floats.dtype.type(0)  # which makes 0.0 of -0.0
    bits = floats.view(_WORDS[floats.itemsize])
    top = bits.dtype.type(1 << 8 * bits.itemsize - 1)
    signs = bits.view(f"i{bits.itemsize}") >> 8 * bits.itemsize - 1
    images = bits ^ (signs.view(bits.dtype) | top)
    images[np.isnan(floats)] = ~bits.dtype.type(0)
    return images


def raw_values(chunk: Any, dtype: np.dtype[Any]) -> Any:
    """The values in memory as NumPy sees them without a copy; any for nulls. chunk: an array of fixed size."""
    data = chunk.buffers()[1]
    if data is None or not len(chunk):
        return np.zeros(len(chunk), dtype)
    return np.frombuffer(data, dtype, len(chunk), chunk.offset * dtype.itemsize)


def large_binary(chunk: Any) -> Any:
    """Texts as a LargeBinaryArray. chunk: an array of any type of texts or bytes, or of nulls."""
    if pa.types.is_fixed_size_binary(chunk.type):
        chunk = chunk.cast(pa.binary())
    return chunk.cast(pa.large_string() if pa.types.is_string_view(chunk.type) else pa.large_binary()).cast(
        pa.large_binary()
    )


def _escaped(texts: Any) -> Any:
    """See order.rows.escaped."""
    offsets = np.frombuffer(texts.buffers()[1], np.int64, len(texts) + 1, 8 * texts.offset) if len(texts) else [0, 0]
    data = texts.buffers()[2]
    size = int(offsets[-1] - offsets[0])
    if not size or np.frombuffer(data, np.uint8, size, int(offsets[0])).min() > 2:
        return texts
    import pyarrow.compute as pc

    for byte in (b"\2", b"\1", b"\0"):
        texts = pc.replace_substring(texts, byte, escaped(byte))
    return texts


def _packed(images: NDArray[np.uint8]) -> Any:
    """A LargeBinaryArray of line images of values that have these images."""
    rows, width = images.shape
    size = 1 + -(-8 * width // _BITS)
    texts = np.full((rows, size), _LINE_VALUE[0], np.uint8)
    for at in range(size - 1):
        first, skipped = divmod(_BITS * at, 8)
        both = images[:, first].astype(np.uint16) << 8
        if first + 1 < width:
            both |= images[:, first + 1]
        texts[:, 1 + at] = (both >> (9 - skipped)) | 0x80
    offsets = np.arange(0, size * (rows + 1), size, dtype=np.int64)
    return pa.Array.from_buffers(pa.large_binary(), rows, [None, pa.py_buffer(offsets), pa.py_buffer(texts)])


def _packed_one(image: bytes) -> bytes:
    size = -(-8 * len(image) // _BITS)
    bits = int.from_bytes(image, "big") << _BITS * size - 8 * len(image)
    return bytes(bits >> _BITS * (size - 1 - at) & 0x7F | 0x80 for at in range(size))


def _unpacked(text: bytes, width: int) -> bytes:
    bits = 0
    for byte in text:
        bits = bits << _BITS | byte & 0x7F
    return (bits >> _BITS * len(text) - 8 * width).to_bytes(width, "big")
