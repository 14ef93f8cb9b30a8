"""gpumerge_cli.sort, argsort and is_sorted."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, overload

from gpumerge_cli.arrays.call import CallOptions
from gpumerge_cli.arrays.multi_gpu import in_shares, sort_on_gpus
from gpumerge_cli.arrays.options import wants_counts
from gpumerge_cli.arrays.prepared_calls import run_prepared
from gpumerge_cli.arrays.run import prepared_result, run_call
from gpumerge_cli.arrays.signatures import Host, Indices
from gpumerge_cli.arrays.sort_signatures import as_sort
from gpumerge_cli.engine.job import BackendChoice
from gpumerge_cli.errors import UsageError
from gpumerge_cli.launch import Algorithm, KernelChoice, LaunchRequest, SortRequest

if TYPE_CHECKING:
    from gpumerge_cli.arrays.key_parts import ArrayKey
    from gpumerge_cli.arrays.text_key import TextKey, TextKind

_USUAL = SortRequest()
_SORT_PREPARED = partial(run_prepared, "sort")
_ARGSORT_PREPARED = partial(run_prepared, "argsort")
_IS_SORTED_PREPARED = partial(run_prepared, "is_sorted")


class _ArgsortKeywords(TypedDict, total=False):
    key: ArrayKey | None
    descending: bool
    text: TextKey | TextKind | None
    algorithm: Algorithm | Literal["auto"]
    kernel: KernelChoice
    backend: BackendChoice
    device: int
    threads: int | None


@as_sort
def sort(
    array: Any,
    *,
    values: Any = None,
    counts: bool = False,
    key: ArrayKey | None = None,
    descending: bool = False,
    text: TextKey | TextKind | None = None,
    out: Any = None,
    algorithm: Algorithm | Literal["auto"] = "auto",
    kernel: KernelChoice = "auto",
    backend: BackendChoice = "auto",
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
    counts, key, descending, text, out, backend, device, threads:
        The same as for `merge`.
    devices:
        Numbers of GPUs that sort one array together. An array that lies on a GPU lies on one of them. Values are
        not possible then.
    algorithm:
        "auto", "merge", "bottom-up", "iterative", "recursive" or "radix": the same as the option of `gpumerge sort`.
    kernel:
        the kernel that merges, "auto" or a name from `gpumerge help sort`, if the algorithm merges.

    Returns
    -------
    The sorted keys, `out` if it is given; or (keys, values) if values are given; with counts these come last, as from
    `merge`. They lie on the side of the array, in the order that `merge` describes. For shares it is a list of arrays,
    on the same GPUs and as long as the shares; joined, they are the sorted keys.

    Raises
    ------
    UsageError: an array and options that do not match, nulls, a masked array. InputError: a text that its kind cannot
    read. DeviceError: an unavailable GPU.
    """
    shares = in_shares(array)
    if counts is not False:
        counts = wants_counts(counts, out=out, devices=devices, shares=shares)
    request = _request(algorithm, kernel)
    rows = None if values is None else (values,)
    if request is _USUAL and devices is None and not shares:
        found = prepared_result(
            _SORT_PREPARED, (array,), rows, key, descending, out, backend, threads, False, text, counts
        )
        if found is not None:
            return found
    options = CallOptions(rows, key, descending, out, backend, device, threads, listed=False, text=text)
    if devices is not None or shares:
        if text is not None:
            raise UsageError("the CPU reads text, so text cannot be combined with devices", way_out="use one")
        if values is not None or backend == "cpu":
            raise UsageError("several GPUs sort only keys", way_out="leave devices, or values and backend, out")
        return sort_on_gpus(array, devices, request, options)
    return run_call((array,), options, lambda on: on.sort(request), counts=counts)


@overload
def argsort(array: Host, **options: Unpack[_ArgsortKeywords]) -> Indices: ...
@overload
def argsort(array: Any, **options: Unpack[_ArgsortKeywords]) -> Any: ...
def argsort(
    array: Any,
    *,
    key: ArrayKey | None = None,
    descending: bool = False,
    text: TextKey | TextKind | None = None,
    algorithm: Algorithm | Literal["auto"] = "auto",
    kernel: KernelChoice = "auto",
    backend: BackendChoice = "auto",
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
    key, descending, text, algorithm, kernel, backend, device, threads:
        The same as for `sort`. Items that compare equal keep their order, also if descending.

    Returns
    -------
    An array of int64, as long as the array and on its side.

    Raises
    ------
    UsageError: an array and options that do not match, nulls, a masked array. InputError: a text that its kind cannot
    read. DeviceError: an unavailable GPU.
    """
    request = _request(algorithm, kernel)
    if request is _USUAL:
        found = prepared_result(_ARGSORT_PREPARED, (array,), None, key, descending, None, backend, threads, False, text)
        if found is not None:
            return found
    options = CallOptions(None, key, descending, None, backend, device, threads, text=text)
    return run_call((array,), options, lambda on: on.argsort(request))


def is_sorted(
    array: Any, *, key: ArrayKey | None = None, descending: bool = False, text: TextKey | TextKind | None = None
) -> bool:
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
    key, descending, text:
        The same as for `merge`.

    Raises
    ------
    UsageError: an array that has no order, nulls, a masked array. InputError: a text that its kind cannot read.
    DeviceError: an unavailable GPU.
    """
    found = prepared_result(_IS_SORTED_PREPARED, (array,), None, key, descending, text=text)
    if found is None:
        found = run_call((array,), CallOptions(None, key, descending, text=text), lambda on: on.is_sorted())
    return bool(found)


def _request(algorithm: Algorithm | Literal["auto"], kernel: KernelChoice) -> SortRequest:
    """The request for these options. Raises UsageError for an unknown algorithm."""
    return _USUAL if algorithm == kernel == "auto" else SortRequest(algorithm, LaunchRequest(kernel))
