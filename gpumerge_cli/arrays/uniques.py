"""gpumerge_cli.unique."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, overload

from numpy.typing import NDArray

from gpumerge_cli.arrays.call import CallOptions
from gpumerge_cli.arrays.options import flag
from gpumerge_cli.arrays.prepared_calls import run_prepared
from gpumerge_cli.arrays.run import prepared_result, run_call
from gpumerge_cli.arrays.signatures import Indices, K, No, Yes
from gpumerge_cli.engine.job import BackendChoice
from gpumerge_cli.errors import UsageError
from gpumerge_cli.launch import SortRequest
from gpumerge_cli.units import quoted_value

if TYPE_CHECKING:
    from gpumerge_cli.arrays.key_parts import ArrayKey
    from gpumerge_cli.arrays.text_key import TextKey, TextKind
    from gpumerge_cli.order.equals import Kept

_SORT = SortRequest()
_SORT_PREPARED = partial(run_prepared, "sort")


class _Keywords(TypedDict, total=False):
    keep: Kept
    key: ArrayKey | None
    descending: bool
    text: TextKey | TextKind | None
    backend: BackendChoice
    device: int
    threads: int | None


@overload
def unique(
    array: NDArray[K], *, values: None = None, counts: No = False, **options: Unpack[_Keywords]
) -> NDArray[K]: ...
@overload
def unique(
    array: NDArray[K], *, values: None = None, counts: Yes, **options: Unpack[_Keywords]
) -> tuple[NDArray[K], Indices]: ...
@overload
def unique(array: Any, *, values: Any = None, counts: bool = False, **options: Unpack[_Keywords]) -> Any: ...
def unique(
    array: Any,
    *,
    values: Any = None,
    counts: bool = False,
    keep: Literal["first", "last"] = "first",
    key: ArrayKey | None = None,
    descending: bool = False,
    text: TextKey | TextKind | None = None,
    backend: BackendChoice = "auto",
    device: int = 0,
    threads: int | None = None,
) -> Any:
    """The different keys of a 1-D array, sorted; of several equal ones the first or the last.

    >>> import gpumerge_cli, numpy as np
    >>> gpumerge_cli.unique(np.array([3, 1, 3]))
    array([1, 3])
    >>> keys, prices, counts = gpumerge_cli.unique(np.array([3, 1, 3]), values=[30, 10, 31], counts=True, keep="last")
    >>> prices.tolist(), counts.tolist()
    ([10, 31], [1, 2])

    Parameters
    ----------
    array:
        An array that `sort` takes, in any order.
    values:
        An array as long as `array` and on its side, of any dtype: the value of the key that stays, stays.
    counts:
        Also return the number of equal keys of each.
    keep:
        "first" or "last": the one of several equal keys that stays, in the order of the array.
    key, descending, text, backend, device, threads:
        The same as for `sort`.

    Returns
    -------
    The keys, then the values if they are given, then int64 counts if they are asked for; on the side of the array. NaNs
    are equal, and so are -0.0 and 0.0. A call on a GPU waits.

    Raises
    ------
    As `sort`.
    """
    if keep not in ("first", "last"):
        raise UsageError(f"keep: invalid value {quoted_value(str(keep))}", way_out='use "first" or "last"')
    counts = flag("counts", counts)
    rows = None if values is None else (values,)
    found = prepared_result(
        _SORT_PREPARED, (array,), rows, key, descending, None, backend, threads, False, text, counts=True, keep=keep
    )
    if found is None:
        options = CallOptions(rows, key, descending, None, backend, device, threads, listed=False, text=text)
        found = run_call((array,), options, lambda on: on.sort(_SORT), counts=True, keep=keep)
    found = found if counts else found[:-1]
    return found if len(found) > 1 else found[0]
