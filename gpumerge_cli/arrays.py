"""Merging and sorting arrays from Python: NumPy arrays on the CPU or a GPU, CuPy arrays where they are."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from gpumerge_cli.backends.base import Backend, LaunchPolicy, LaunchRequest, SortRequest, Workspace
from gpumerge_cli.backends.select import select
from gpumerge_cli.engine.resources import cores
from gpumerge_cli.errors import UsageError
from gpumerge_cli.formats.record_options import Key, order_of
from gpumerge_cli.order import Order


def merge(
    *arrays: Any,
    key: str | None = None,
    kernel: str = "auto",
    backend: str = "auto",
    out: Any = None,
    descending: bool = False,
    device: int = 0,
    threads: int | None = None,
    block_size: int | None = None,
    items_per_thread: int | None = None,
    tile_size: int | None = None,
    tile_load: str | None = None,
    fan_in: int | None = None,
    transfer: str | None = None,
) -> Any:
    """Merge sorted 1-D arrays of one dtype into one sorted array, stably.

    arrays: NumPy arrays, or CuPy arrays, which are merged on their own device without a copy to the host; int8 to
    int64, uint8 to uint64 or float16 to float64; any lengths; not masked. They must be sorted (see is_sorted); this is
    not checked. Unsorted ones come out in no order: the CPU puts out every item once, a GPU some twice and others not.
    Order is NumPy's: NaN last, -0.0 equal to 0.0. Ties keep the order of the arrays. NumPy arrays may be structured or
    of dtypes S and V too. key: of structured arrays, the field whose order they are in, "a.b" for b inside a; fields of
    dtypes S and V are in the order of their bytes. Such arrays are copied into the backend's own memory to be merged.
    kernel: "auto", "basic", "tiled", "circular" or "path". backend: "auto", "cpu" or "gpu"; CuPy arrays
    need "auto" or "gpu". out: array for the result, of the common dtype and the summed length, that shares no memory
    with the inputs. descending: the inputs are in descending order, and so is the result. device: GPU for NumPy
    arrays. threads: host threads on the CPU (default: all cores). The other options are the command line's.

    Returns `out`, or a new array of the kind that came in. Raises UsageError for arrays or options that do not fit,
    DeviceError for a GPU that cannot be had.
    """
    if not arrays:
        raise UsageError("no arrays to merge", way_out="give at least one")
    on_device = [_is_cupy(array) for array in arrays]
    if any(on_device) and not all(on_device):
        raise UsageError("arrays lie partly in host and partly in device memory", way_out="move them to one side")
    order, items = _common_order(arrays, descending, key)
    total = sum(len(array) for array in arrays)
    shape = {"threads": threads, "block_size": block_size, "items_per_thread": items_per_thread, "tile_size": tile_size}
    for name, value in shape.items():
        if value is not None and (not isinstance(value, int | np.integer) or value < 1):
            raise UsageError(f"{name}={value!r} is no number of 1 or more")
    named: dict[str, Any] = {"kernel": kernel, "tile_load": tile_load, "transfer": transfer}
    request = LaunchRequest(
        **named, block_size=block_size, items_per_thread=items_per_thread, tile_size=tile_size, fan_in=fan_in
    )
    if any(on_device):
        return _merge_on_device(list(arrays), order, request, backend, out, total)
    runs = [np.ascontiguousarray(array, items) for array in arrays]
    target = np.empty(total, items) if out is None else _judged(out, items, total, arrays)
    chosen = select(backend, device, order, target.nbytes).backend
    policy = chosen.resolve(request, order, len(runs))
    if chosen.name == "gpu" or order.is_rows:
        _merge_in_workspace(chosen, runs, order, policy, target, threads or cores())
    else:
        chosen.merge_arrays(runs, order, policy, target, threads=threads or cores())
    return target


def sort(
    array: Any,
    *,
    values: Any = None,
    key: str | None = None,
    algorithm: str = "auto",
    kernel: str = "auto",
    backend: str = "auto",
    out: Any = None,
    descending: bool = False,
    device: int = 0,
    threads: int | None = None,
) -> Any:
    """Sort a 1-D array, stably; the array stays as it is.

    array: a NumPy array, or a CuPy array, which is sorted on its own device; of the dtypes that merge takes, in the
    same order. values: an array of the same length on the same side, of any dtype, put into the keys' order too. key:
    of structured NumPy arrays, the field to sort by. algorithm: "auto", "merge", "bottom-up", "iterative", "recursive"
    or "radix". out: array for the sorted keys. The other options are those of merge.

    Returns the sorted keys, or (keys, values) if values are given. Raises UsageError and DeviceError as merge does.
    """
    order, items = _common_order([array], descending, key)
    on_device = _is_cupy(array)
    if values is not None and (_is_cupy(values) != on_device or getattr(values, "shape", ())[:1] != array.shape):
        raise UsageError("values are not as many as keys, on their side", way_out="give an array of the same length")
    if threads is not None and (not isinstance(threads, int | np.integer) or threads < 1):
        raise UsageError(f"threads={threads!r} is no number of 1 or more")
    named: dict[str, Any] = {"kernel": kernel}
    request = SortRequest(algorithm, LaunchRequest(**named))  # type: ignore[arg-type]
    if on_device:
        if backend not in ("auto", "gpu"):
            raise UsageError(f"backend {backend!r} cannot sort CuPy arrays", way_out='use "gpu", or NumPy arrays')
        import cupy

        with array.device:
            gpu = select("gpu", array.device.id, order, array.nbytes).backend
            return _sorted(gpu, cupy.ascontiguousarray(array), values, order, items, request, out, 1, cupy.empty)
    chosen = select(backend, device, order, array.nbytes).backend
    run = np.ascontiguousarray(array, items)
    if chosen.name != "gpu" and not order.is_rows:
        return _sorted(chosen, run, values, order, items, request, out, threads or cores(), np.empty)
    if values is not None:
        # Rows of keys and their places: records that any backend sorts.
        if order.is_rows:
            raise UsageError("values go with keys that are numbers", way_out="make them fields of one structured array")
        pairs = np.empty(len(run), [("key", items), ("place", np.int64)])
        pairs["key"], pairs["place"] = run, np.arange(len(run))
        ranked = sort(pairs, key="key", algorithm=algorithm, backend=backend, descending=descending, device=device)
        keys = np.ascontiguousarray(ranked["key"])
        if out is not None:
            _judged(out, items, len(run), [array])[:] = keys
        return (keys if out is None else out), values[ranked["place"]]
    target = np.empty(len(run), items) if out is None else _judged(out, items, len(run), [array])
    workspace = chosen.workspace(order, run.nbytes, threads=threads or cores())
    try:
        _upload(workspace, [run])
        workspace.sort(chosen.resolve_sort(request, order, run.nbytes))
        target.view(np.uint8)[:] = workspace.download()
    finally:
        workspace.close()
    return target


def _sorted(
    backend: Backend,
    array: Any,
    values: Any,
    order: Order,
    items: Any,
    request: SortRequest,
    out: Any,
    threads: int,
    empty: Any,
) -> Any:
    """sort, of keys that lie where the backend works."""
    policy = backend.resolve_sort(request, order, array.nbytes)
    target = empty(len(array), items) if out is None else _judged(out, items, len(array), [array])
    if values is None:
        backend.sort_array(array, order, policy, target, threads=threads)
        return target
    ranks = backend.sort_ranks(array, order, policy, threads=threads)
    target[:] = array[ranks]
    return target, values[ranks]


def is_sorted(array: Any, *, key: str | None = None, descending: bool = False) -> bool:
    """Whether a 1-D NumPy or CuPy array is in order (NumPy's order; see merge). Raises UsageError as merge does."""
    order, items = _common_order([array], descending, key)
    if _is_cupy(array):
        backend: Backend = select("gpu", array.device.id, order, array.nbytes).backend
        with array.device:
            import cupy

            return backend.first_disorder(cupy.ascontiguousarray(array), order) is None
    run = np.ascontiguousarray(array, items)
    chosen = select("auto", 0, order, 0).backend
    if not order.is_rows:
        return chosen.first_disorder(run, order) is None
    workspace = chosen.workspace(order, run.nbytes)
    try:
        _upload(workspace, [run])
        return workspace.disorder() is None
    finally:
        workspace.close()


def _is_cupy(array: Any) -> bool:
    # CuPy is not imported for the question: where it is not loaded, no array can be its.
    cupy = sys.modules.get("cupy")
    return cupy is not None and isinstance(array, cupy.ndarray)


def _common_order(arrays: Any, descending: bool, key: str | None) -> tuple[Order, np.dtype[Any]]:
    """The order of the arrays, and the dtype they are merged in: native but for records, which stay as they are."""
    if key is not None and not isinstance(key, str):
        raise UsageError(f"key={key!r} is no field's name", way_out="name a field of the arrays' dtype")
    for array in arrays:
        _judge_mask(array)
        if not hasattr(array, "dtype") or not hasattr(array, "ndim"):
            raise UsageError(f"{type(array).__name__} is no array", way_out="give NumPy or CuPy arrays")
        if array.ndim != 1:
            raise UsageError(f"an array has {array.ndim} dimensions", way_out="merge 1-D arrays")
    first = arrays[0].dtype
    names = sorted({str(array.dtype if first.kind in "SV" else array.dtype.newbyteorder("=")) for array in arrays})
    if len(names) > 1:
        raise UsageError(f"arrays of different dtypes: {', '.join(names)}", way_out="convert them to one dtype")
    order = order_of(first, None if key is None else Key(field=key), descending=descending)
    return order, first if order.is_rows else order.dtype


def _judge_mask(array: Any) -> None:
    if isinstance(array, np.ma.MaskedArray):
        raise UsageError("masked items have no order", way_out="give array.compressed() or array.filled(value)")


def _judged(out: Any, items: np.dtype[Any], total: int, arrays: Any) -> Any:
    _judge_mask(out)
    fits = getattr(out, "dtype", None) == items and getattr(out, "shape", None) == (total,)
    if not fits or not out.flags.c_contiguous:
        raise UsageError(f"out is not a contiguous array of {total} items of {items}")
    if isinstance(out, np.ndarray) and not out.flags.writeable:
        raise UsageError("out is read-only", way_out="give an array that can be written to")
    if isinstance(out, np.ndarray) and any(np.shares_memory(out, array) for array in arrays):
        raise UsageError("out shares memory with an input", way_out="give an array of its own")
    return out


def _merge_on_device(
    arrays: list[Any], order: Order, request: LaunchRequest, backend: str, out: Any, total: int
) -> Any:
    import cupy

    if backend not in ("auto", "gpu"):
        raise UsageError(f"backend {backend!r} cannot merge CuPy arrays", way_out='use "gpu", or NumPy arrays')
    device = arrays[0].device
    if any(array.device != device for array in arrays):
        raise UsageError("arrays lie on different devices", way_out="move them to one")
    with device:
        gpu = select("gpu", device.id, order, total * order.width).backend
        target = cupy.empty(total, order.dtype) if out is None else _judged(out, order.dtype, total, arrays)
        if out is not None and any(cupy.shares_memory(out, array) for array in arrays):
            raise UsageError("out shares memory with an input", way_out="give an array of its own")
        runs = [cupy.ascontiguousarray(array) for array in arrays]
        gpu.merge_arrays(runs, order, gpu.resolve(request, order, len(runs)), target)
        return target


def _merge_in_workspace(
    backend: Backend, runs: list[Any], order: Order, policy: LaunchPolicy, target: Any, threads: int
) -> None:
    workspace = backend.workspace(order, target.nbytes, threads=threads)
    try:
        _upload(workspace, runs)
        workspace.merge(policy)
        target.view(np.uint8)[:] = workspace.download()
    finally:
        workspace.close()


def _upload(workspace: Workspace, runs: list[Any]) -> None:
    staging = workspace.staging(sum(run.nbytes for run in runs))
    position = 0
    for run in runs:
        staging[position : position + run.nbytes] = run.view(np.uint8)
        position += run.nbytes
    workspace.upload([run.nbytes for run in runs])
