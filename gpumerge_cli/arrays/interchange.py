"""Reads lists, and arrays of other libraries by the protocols that they offer, without a copy if they allow it.

Host memory is read by `__array__`, else by `__dlpack__`, else by Arrow's C interface, for which pyarrow is needed.
Memory of a GPU is read by `__cuda_array_interface__`, else by `__dlpack__`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Set
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np

from gpumerge_cli.backends.gpu import access as gpu
from gpumerge_cli.errors import DeviceError, GpumergeError, UsageError

# Device types of DLPack: host memory, pinned or not; CUDA's memory, also if host and device share it.
_OF_HOST = (1, 3, 11)
_OF_CUDA = (2, 13)
_PROTOCOLS = ("__array__", "__dlpack__", "__cuda_array_interface__", "__arrow_c_array__", "__arrow_c_stream__")
_STRUCTS = ("Struct", "StructType", "StructDtype")
_LEGACY_STREAM = 1
"""The default stream, in __cuda_array_interface__."""
_DEFAULT_STREAMS = (1, 2)  # the one of all threads, and that of a thread of its own
_EXACT = 1 << 53
"""Integers up to this one are float64 values."""
_NO_STREAM = -1
"""For DLPack: no stream has to wait."""


def is_cupy(array: Any) -> bool:
    """True if it is a CuPy array."""
    # Importing CuPy takes long. If it is not loaded, there are no CuPy arrays.
    cupy = sys.modules.get("cupy")
    return cupy is not None and isinstance(array, cupy.ndarray)


def as_array(given: Any, *, payload: bool = False) -> Any:
    """A NumPy or CuPy array with the items of `given`. It is a view of the same memory if possible.

    given: an array of any library, or a list or tuple, which numpy.asarray makes an array of. payload: the items are
    values, not keys. Nulls are refused in both, with different messages.

    Raises UsageError for an object that offers no protocol of arrays, for tables, nulls, and for memory that no
    backend can read; DeviceError for memory of a GPU if CuPy is missing or the GPU is unavailable.
    """
    if isinstance(given, np.ndarray) or is_cupy(given):
        return given
    if is_table(given):
        raise UsageError(f"{name_of(given)} is a table", way_out="give one of its columns")
    with _as_usage_error(given):
        if isinstance(given, list | tuple):
            return _from_list(given)
        if holds_structs(given):
            raise UsageError(f"{name_of(given)} holds structs", way_out="give one of their fields")
        nulls = _nulls(given)
        if nulls:
            raise _payload_has_nulls(given) if payload else has_nulls(name_of(given), nulls)
        if not lies_on_gpu(given):
            return _from_host(given)
        with gpu.cupy_errors():
            return _from_device(given)


def check_unmasked(array: Any) -> None:
    """Raises UsageError for a masked array."""
    masked = sys.modules.get("numpy.ma")  # NumPy does not import it by itself
    if masked is not None and isinstance(array, masked.MaskedArray):
        raise UsageError("masked items have no order", way_out="give array.compressed() or array.filled(value)")


def is_table(given: Any) -> bool:
    """Whether it is a table: a DataFrame of pandas, polars or cuDF, or a table or record batch of Arrow."""
    return hasattr(type(given), "columns")  # a Series of pandas has its labels as attributes


def holds_structs(given: Any) -> bool:
    """Whether its items are structs: those of pyarrow, polars, cuDF, and of pandas with a type of Arrow."""
    for name in ("type", "dtype"):
        kind = getattr(given, name, None)
        if type(getattr(kind, "pyarrow_dtype", kind)).__name__ in _STRUCTS:
            return True
    return False


def is_one_array(given: Any) -> bool:
    """Whether it is a single array, a list of numbers or a string; items of others are arrays, as rows of a 2-D one."""
    if isinstance(given, list | tuple):
        return bool(given) and isinstance(given[0], int | float | complex | str | bytes | np.generic)
    ndim = getattr(given, "ndim", None)
    if isinstance(given, str | bytes) or ndim == 0:
        return True
    if ndim != 1 and (ndim is not None or not any(hasattr(given, name) for name in _PROTOCOLS)):
        return False
    first = next(iter(given), None)
    return isinstance(first, str | bytes) or not hasattr(first, "__len__") or getattr(first, "ndim", 1) == 0


def check_listed(given: Any, argument: str) -> None:
    """Raises UsageError for a dict or a set, which would be gone through by its keys, where `argument` takes a list."""
    if isinstance(given, Mapping | Set):
        what = f"{argument} is a {name_of(given)}, not a list of arrays"
        way_out = f"give its values, as list({argument}.values())" if isinstance(given, Mapping) else "give a list"
        raise UsageError(what, way_out=way_out)


def name_of(given: Any) -> str:
    """The name of its type for messages: "polars.Series", "list"."""
    library = type(given).__module__.partition(".")[0]
    return type(given).__name__ if library == "builtins" else f"{library}.{type(given).__name__}"


@contextmanager
def _as_usage_error(given: Any) -> Iterator[None]:
    """Turn the other library's errors into a UsageError of one line."""
    try:
        yield
    except GpumergeError:
        raise
    except Exception as error:
        lines = str(error).strip().splitlines()
        detail = lines[0].rstrip(".") if lines else type(error).__name__
        raise UsageError(
            f"{name_of(given)} cannot be read as an array: {detail}", way_out="give a NumPy or a CuPy array"
        ) from error


def _nulls(given: Any) -> int:
    """The number of missing items; 0 if the type does not know it."""
    count = getattr(given, "null_count", None)  # a number in Arrow, a method in polars
    if count is not None:
        return int(count() if callable(count) else count)
    # Pandas' own dtypes have nulls. In a Series of a NumPy dtype NaN and NaT are items like others.
    dtype = getattr(given, "dtype", None)
    if dtype is not None and not isinstance(dtype, np.dtype) and hasattr(given, "isna"):
        return int(given.isna().sum())
    return 0


def has_nulls(what: str, count: int) -> UsageError:
    """The error for keys with nulls. what: names the array. count: 0 if it is unknown."""
    some = f"{count} null{'s' if count > 1 else ''}" if count else "nulls"
    return UsageError(f"{what} has {some}, and a null has no order", way_out="drop or fill them first")


def _payload_has_nulls(given: Any) -> UsageError:
    what = f"values: {name_of(given)} has nulls, which an array of its dtype cannot hold"
    return UsageError(what, way_out="fill them, or give an array of objects")


def offers_cuda_array(given: Any) -> bool:
    """Whether an object offers `__cuda_array_interface__`. Columns of texts of cuDF raise errors of any kind for it."""
    try:
        return hasattr(given, "__cuda_array_interface__")
    except Exception:
        return False


def lies_on_gpu(given: Any) -> bool:
    """Whether an object of another library offers memory of a GPU. Raises UsageError if no backend can read it."""
    if offers_cuda_array(given):
        return True
    if not hasattr(given, "__dlpack_device__"):
        return False
    kind = int(given.__dlpack_device__()[0])
    if kind not in _OF_HOST + _OF_CUDA:
        raise UsageError(
            f"{name_of(given)} lies on a device of DLPack's type {kind}, which no backend reaches",
            way_out="move it to the host",
        )
    return kind in _OF_CUDA


def _from_device(given: Any) -> Any:
    try:
        import cupy
    except ImportError as error:
        raise DeviceError(
            f"{name_of(given)} lies on a GPU, and CuPy cannot be imported ({error})",
            way_out="install gpumerge[cuda13] or gpumerge[cuda12], or move it to the host",
        ) from error
    interface = getattr(given, "__cuda_array_interface__", None)
    if interface is None:
        return cupy.from_dlpack(_Captured(given) if _is_captured(cupy, given.__dlpack_device__()[1]) else given)
    if interface.get("mask") is not None:
        raise has_nulls(name_of(given), 0)
    dtype, stream = np.dtype(interface.get("typestr", "<i8")), interface.get("stream")
    dated = dtype.kind in "mM"
    if dated:  # CuPy's functions refuse dates, its arrays hold them
        interface = {**interface, "typestr": f"{dtype.byteorder}i8"}
    # CuPy would copy an array of another device to the current one. Work on it is queued on a stream of its own device.
    with _on(cupy, _device_of(cupy, interface["data"][0])):
        if stream is None and not dated:
            return cupy.asarray(given)
        # CuPy would make the host wait for the stream on which the items are made.
        array = cupy.asarray(_Made(given, interface))
        if array.size and stream is not None:
            _wait_for(cupy, stream)
        return array.view(dtype) if dated else array


def _device_of(cupy: Any, address: int) -> int | None:
    """The number of the device that holds the memory at an address, if one does."""
    device = cupy.cuda.runtime.pointerGetAttributes(address).device if address else -1
    return device if device >= 0 else None


def _on(cupy: Any, device: int | None) -> AbstractContextManager[Any]:
    """A context in which the device of this number is the current one. None: no other than now."""
    return nullcontext() if device in (None, cupy.cuda.runtime.getDevice()) else cupy.cuda.Device(device)


def _wait_for(cupy: Any, stream: int) -> None:
    """Make the current stream of the current device wait for another, unless a graph captures only the current one.

    Such a graph runs later, when a wait would not be for the work that is queued now.
    """
    runtime, current = cupy.cuda.runtime, cupy.cuda.get_current_stream()
    if stream == (current.ptr or _LEGACY_STREAM):
        return
    if runtime.streamIsCapturing(current.ptr) and (stream in _DEFAULT_STREAMS or not runtime.streamIsCapturing(stream)):
        return
    made = cupy.cuda.Event(disable_timing=True)
    runtime.eventRecord(made.ptr, stream)
    current.wait_event(made)


def _is_captured(cupy: Any, device: int) -> bool:
    with _on(cupy, device):
        return bool(cupy.cuda.runtime.streamIsCapturing(cupy.cuda.get_current_stream().ptr))


class _Captured:
    """Wraps an object of DLPack for a call in a graph: its library makes no stream wait."""

    def __init__(self, given: Any) -> None:
        self._given = given

    def __dlpack_device__(self) -> Any:
        return self._given.__dlpack_device__()

    def __dlpack__(self, **options: Any) -> Any:
        return self._given.__dlpack__(**{**options, "stream": _NO_STREAM})


class _Made:
    """Wraps an object whose items will exist when the current stream goes on. It keeps the object alive."""

    def __init__(self, given: Any, interface: dict[str, Any]) -> None:
        self.given = given
        self.__cuda_array_interface__ = {**interface, "stream": None}


def _from_list(given: Any) -> Any:
    """The array that NumPy makes of a list or tuple.

    Raises UsageError for lists of different lengths in it, and for integers that NumPy would round to floats.
    """
    try:
        found = np.asarray(given)
    except ValueError as error:
        raise UsageError(
            f"the items of a {name_of(given)} have different shapes", way_out="give a list of numbers for each array"
        ) from error
    if found.dtype.kind == "f" and found.size and np.nanmax(np.abs(found), initial=0) >= _EXACT:
        items = np.asarray(given, object).reshape(-1)
        if any(
            isinstance(item, int) and item != each for item, each in zip(items, found.reshape(-1).tolist(), strict=True)
        ):
            what = f"{found.dtype}, the dtype of a {name_of(given)} of such numbers, does not hold all of its integers"
            raise UsageError(what, way_out="give a NumPy array of a dtype that does")
    return found


def _from_host(given: Any) -> Any:
    of_arrow = hasattr(given, "__arrow_c_array__") or hasattr(given, "__arrow_c_stream__")
    if hasattr(given, "__array__"):
        array = np.asarray(given)
        if array.dtype.kind != "O" or not of_arrow or getattr(given, "dtype", None) == array.dtype:
            return array
        return _known_to_arrow(given, array)
    if hasattr(given, "__dlpack__"):
        return np.from_dlpack(given)
    if not of_arrow:
        raise UsageError(
            f"expected an array, got {name_of(given)}",
            way_out="give a list, a NumPy or CuPy array, or one with __array__, __dlpack__ or Arrow's C interface",
        )
    if not _has_pyarrow():
        raise UsageError(
            f"{name_of(given)} offers Arrow's C interface, which pyarrow reads; it is not installed",
            way_out="install pyarrow, or give a NumPy array",
        )
    import pyarrow

    column = _arrow_column(given)
    if pyarrow.types.is_struct(column.type):
        raise UsageError(f"{name_of(given)} is a table", way_out="give one of its columns")
    return column.to_numpy(zero_copy_only=False)


def _has_pyarrow() -> bool:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return False
    return True


def _known_to_arrow(given: Any, objects: Any) -> Any:
    """The items in Arrow's type for them (pandas' dates with a time zone have one); `objects` if there is none."""
    if not _has_pyarrow():
        return objects
    import pyarrow

    try:
        column = _arrow_column(given)
    except pyarrow.ArrowException:
        return objects
    if isinstance(column.type, pyarrow.BaseExtensionType):
        return objects
    return column.to_numpy(zero_copy_only=False)


def _arrow_column(given: Any) -> Any:
    import pyarrow

    stream = hasattr(given, "__arrow_c_stream__")
    column = pyarrow.chunked_array(given) if stream else pyarrow.array(given)
    if column.null_count:
        raise has_nulls(name_of(given), column.null_count)
    return column
