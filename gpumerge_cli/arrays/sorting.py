"""gpumerge_cli.sort, argsort and is_sorted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from gpumerge_cli.arrays.counting import counted, judge_counts
from gpumerge_cli.arrays.device import Device
from gpumerge_cli.arrays.host import Host
from gpumerge_cli.arrays.keys import ArrayKeys
from gpumerge_cli.arrays.options import flag, host_threads, judge_out, same_side
from gpumerge_cli.arrays.payload import gathered, payload, readable
from gpumerge_cli.arrays.remembered import again
from gpumerge_cli.arrays.several import in_shares, sort_by_several
from gpumerge_cli.arrays.taking import taken
from gpumerge_cli.errors import UsageError
from gpumerge_cli.launch import Algorithm, KernelName, LaunchRequest, SortRequest

_USUAL = SortRequest("auto", LaunchRequest())


def sort(
    array: Any,
    *,
    values: Any = None,
    counts: bool = False,
    key: str | None = None,
    descending: bool = False,
    out: Any = None,
    algorithm: Algorithm | Literal["auto"] = "auto",
    kernel: KernelName | Literal["auto"] = "auto",
    backend: str = "auto",
    device: int = 0,
    devices: Sequence[int] | None = None,
    threads: int | None = None,
) -> Any:
    """Sort a 1-D array, stably; the array stays as it is.

    >>> import gpumerge_cli, numpy as np
    >>> gpumerge_cli.sort(np.array([2.5, np.nan, 1.0]))
    array([1. , 2.5, nan])
    >>> keys, rows = gpumerge_cli.sort(np.array([3, 1]), values=np.array([[30, 31], [10, 11]]))
    >>> rows.tolist()
    [[10, 11], [30, 31]]

    Parameters
    ----------
    array:
        An array that `merge` takes, in any order. Or a list of arrays on several GPUs, one on each: the shares of one
        array, which the GPUs sort together.
    values:
        An array as long as `array` and on its side, of any dtype: rows that go where their keys go.
    counts, key, descending, out, backend, device, threads:
        The same as for `merge`.
    devices:
        Numbers of GPUs that sort one array together. An array that lies on a GPU lies on one of them. Keys go without
        values then.
    algorithm:
        "auto", "merge", "bottom-up", "iterative", "recursive" or "radix": the same as the option of `gpumerge sort`.
    kernel:
        the kernel that merges, "auto" or a name from `gpumerge sort --help`, if the algorithm merges.

    Returns
    -------
    The sorted keys, `out` if it is given; or (keys, values) if values are given; with counts these come last, as from
    `merge`. They lie on the side of the array, in the order that `merge` describes. For shares it is a list of arrays,
    on the same GPUs and as long as the shares; joined, they are the sorted keys.

    Raises
    ------
    UsageError: an array or options that do not fit, nulls, a masked array. DeviceError: a GPU that cannot be had.
    """
    if flag("counts", counts):
        judge_counts(out=out, devices=devices, shares=in_shares(array))
        options: Any = {"algorithm": algorithm, "kernel": kernel, "backend": backend, "device": device}
        found = sort(array, values=values, key=key, descending=descending, threads=threads, **options)
        return counted(found, key, moved=values is not None)
    usual = (
        algorithm == kernel == "auto"
        and backend in ("auto", "gpu")
        and key is None
        and threads is None
        and devices is None
    )
    found = again("sort", (array,), descending, out, None if values is None else (values,)) if usual else None
    if found is not None:
        return found
    if devices is not None or in_shares(array):
        if values is not None or backend == "cpu":
            raise UsageError("several GPUs sort keys alone", way_out="leave devices, or values and backend, out")
        request = SortRequest(algorithm, LaunchRequest(kernel))
        return sort_by_several(array, devices, request, key=key, descending=descending, out=out)
    given = taken(array)
    keys = ArrayKeys.of([given], key, descending)
    on_device = same_side([given])
    request, workers = SortRequest(algorithm, LaunchRequest(kernel)), host_threads(threads)
    rows = None if values is None else payload([values], [given])
    if out is not None:
        judge_out(out, keys.dtype, len(given), [given, *(rows or ())])
    if on_device:
        on = Device([given], keys, backend)
        with on.current():
            rows = None if rows is None else [readable(each) for each in rows]
            if request == _USUAL:
                found = on.called("sort", (given,), out, rows)
                if found is not None:
                    return found
            run, target = on.run(given), on.empty(len(given)) if out is None else out
            if rows is None:
                on.sort(run, request, target.view(keys.items))
                return target
            return target, on.sort_along(run, request, rows, target.view(keys.items))
    run, target = keys.run(given), np.empty(len(given), keys.dtype) if out is None else out
    host = Host.of(backend, device, keys.order, run.nbytes, workers)
    if rows is None:
        host.sort(run, keys, request, target.view(keys.items))
        return target
    ranks = host.sorted_ranks(run, keys, request)
    moved = gathered(rows, ranks)
    target.view(keys.items)[:] = run[ranks]
    return target, moved


def argsort(
    array: Any,
    *,
    key: str | None = None,
    descending: bool = False,
    algorithm: Algorithm | Literal["auto"] = "auto",
    kernel: KernelName | Literal["auto"] = "auto",
    backend: str = "auto",
    device: int = 0,
    threads: int | None = None,
) -> Any:
    """The places of a 1-D array's items in their stable order: `array[argsort(array)]` is `sort(array)`.

    >>> import gpumerge_cli, numpy as np
    >>> gpumerge_cli.argsort(np.array([30, 10, 20, 10]))
    array([1, 3, 2, 0])
    >>> gpumerge_cli.argsort(np.array([30, 10, 20, 10]), descending=True)
    array([0, 2, 1, 3])

    Parameters
    ----------
    array:
        An array that `merge` takes, in any order.
    key, descending, algorithm, kernel, backend, device, threads:
        The same as for `sort`. Items that compare equal keep their order, also if descending.

    Returns
    -------
    An array of int64, as long as the array and on its side.

    Raises
    ------
    UsageError: an array or options that do not fit, nulls, a masked array. DeviceError: a GPU that cannot be had.
    """
    usual = algorithm == kernel == "auto" and backend in ("auto", "gpu") and key is None and threads is None
    found = again("argsort", (array,), descending) if usual else None
    if found is not None:
        return found
    given = taken(array)
    keys = ArrayKeys.of([given], key, descending)
    request, workers = SortRequest(algorithm, LaunchRequest(kernel)), host_threads(threads)
    if same_side([given]):
        on = Device([given], keys, backend)
        with on.current():
            found = on.called("argsort", (given,)) if request == _USUAL else None
            if found is not None:
                return found
            return on.kept(on.sorted_ranks(on.run(given), request))
    run = keys.run(given)
    return Host.of(backend, device, keys.order, run.nbytes, workers).sorted_ranks(run, keys, request)


def is_sorted(array: Any, *, key: str | None = None, descending: bool = False) -> bool:
    """True if a 1-D array is in the order that `merge` describes.

    >>> import gpumerge_cli, numpy as np
    >>> gpumerge_cli.is_sorted(np.array([1.0, 2.0, np.nan]))
    True
    >>> gpumerge_cli.is_sorted(np.array([1.0, 2.0, np.nan]), descending=True)
    False

    Parameters
    ----------
    array:
        An array that `merge` takes.
    key, descending:
        The same as for `merge`.

    Raises
    ------
    UsageError: an array that has no order, nulls, a masked array. DeviceError: a GPU that cannot be had.
    """
    found = again("is_sorted", (array,), descending) if key is None else None
    if found is not None:
        return bool(found)
    given = taken(array)
    keys = ArrayKeys.of([given], key, descending)
    if same_side([given]):
        on = Device([given], keys, "gpu")
        with on.current():
            found = on.called("is_sorted", (given,))
            if found is not None:
                return bool(found)
            return on.in_order(on.run(given))
    return Host.of("auto", 0, keys.order, 0, 1).in_order(keys.run(given), keys)
