"""gpumerge_cli.rank and rank_of: ranks in a merge of arrays, without merging them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.arrays.call import CallOptions
from gpumerge_cli.arrays.device import DeviceCall
from gpumerge_cli.arrays.host import HostCall
from gpumerge_cli.arrays.host_ranks import as_listed
from gpumerge_cli.arrays.interchange import check_listed, is_one_array, is_table, lies_on_gpu, name_of
from gpumerge_cli.arrays.options import short_repr
from gpumerge_cli.arrays.prepared_calls import run_prepared_ranks
from gpumerge_cli.arrays.record_columns import as_given_array
from gpumerge_cli.arrays.run import prepared_result, run_call
from gpumerge_cli.arrays.searching import Side
from gpumerge_cli.arrays.signatures import Host, Indices
from gpumerge_cli.errors import UsageError

if TYPE_CHECKING:
    from gpumerge_cli.arrays.key_parts import ArrayKey
    from gpumerge_cli.arrays.text_key import TextKey, TextKind


class _Keywords(TypedDict, total=False):
    key: ArrayKey | None
    descending: bool
    text: TextKey | TextKind | None
    check: bool


@overload
def rank(arrays: Sequence[Host], at: Any, **options: Unpack[_Keywords]) -> Indices: ...
@overload
def rank(arrays: Sequence[Any], at: Any, **options: Unpack[_Keywords]) -> Any: ...
def rank(
    arrays: Sequence[Any],
    at: Any,
    *,
    key: ArrayKey | None = None,
    descending: bool = False,
    text: TextKey | TextKind | None = None,
    check: bool = False,
) -> Any:
    """The co-ranks of ranks of a merge: how many items of each array are among the first `at` of the merge.

    >>> import gpumerge_cli, numpy as np
    >>> runs = [np.array([1, 4, 9]), np.array([2, 4])]
    >>> gpumerge_cli.rank(runs, 3).tolist()
    [2, 1]
    >>> gpumerge_cli.rank(runs, [0, 4, 5]).tolist()
    [[0, 0], [2, 2], [3, 2]]

    Parameters
    ----------
    arrays:
        Sorted 1-D arrays that `merge` takes, in host memory or on one GPU.
    at:
        A rank from 0 to the number of all items, or an array of ranks of any shape.
    key, descending, text, check:
        The same as for `merge`.

    Returns
    -------
    int64, of the shape of `at` with one more dimension, of an item for each array. The items of the arrays ahead of a
    row, merged, are the first `at` items of `merge`. Rows are unique, since equal items go in the order of the arrays.
    In host memory each takes O(k log n) comparisons. For arrays on a GPU it is a CuPy array, and all of their items are
    read once.

    Raises
    ------
    UsageError: unusable arrays or ranks. InputError: a text that its kind cannot read, and unsorted arrays in host
    memory, if the search meets the disorder. DeviceError: an unavailable GPU.
    """
    options = CallOptions(key=key, descending=descending, check=check, text=text)
    return run_call(_listed(arrays), options, lambda on: on.co_ranks(_ranks_within(at, on.call.total)))


@overload
def rank_of(arrays: Sequence[Host], items: Any, *, side: Side = "left", **options: Unpack[_Keywords]) -> Indices: ...
@overload
def rank_of(arrays: Sequence[Any], items: Any, *, side: Side = "left", **options: Unpack[_Keywords]) -> Any: ...
def rank_of(
    arrays: Sequence[Any],
    items: Any,
    *,
    side: Side = "left",
    key: ArrayKey | None = None,
    descending: bool = False,
    text: TextKey | TextKind | None = None,
    check: bool = False,
) -> Any:
    """The ranks that items have, or would have, in the merge of arrays, as by NumPy's searchsorted.

    >>> import gpumerge_cli, numpy as np
    >>> runs = [np.array([1, 4, 9]), np.array([2, 4])]
    >>> gpumerge_cli.rank_of(runs, [4, 5]).tolist()
    [2, 4]
    >>> int(gpumerge_cli.rank_of(runs, 4, side="right"))
    4

    Parameters
    ----------
    arrays:
        Sorted 1-D arrays that `merge` takes, in host memory or on one GPU.
    items:
        A key or an array of keys of any shape, which the arrays' dtype can hold. For structured arrays, values of the
        field `key`; for a list of several fields, items of the arrays' dtype.
    side:
        "left" counts the items ahead of all that equal the key, "right" also counts the equal ones.
    key, descending, text, check:
        The same as for `merge`.

    Returns
    -------
    int64, of the shape of `items`: a CuPy array for arrays on a GPU.

    Raises
    ------
    UsageError: arrays or items that do not match. InputError: a text that its kind cannot read. DisorderError: `check`
    found an array out of order. DeviceError: an unavailable GPU.
    """
    listed = _listed(arrays)
    known_side = isinstance(side, str) and side in ("left", "right")

    def found(on: HostCall | DeviceCall) -> Any:
        if not known_side:
            raise UsageError(f"side={short_repr(side)} is not a side", way_out='use "left" or "right"')
        if on.call.imaged is None and (lies_on_gpu(items) or hasattr(items, "__array__")):
            return on.ranks_of(as_given_array(items), side)
        return on.ranks_of(items, side)

    if known_side:
        usual = partial(run_prepared_ranks, items, side == "right")
        ranks = prepared_result(usual, listed, None, key, descending, check=check, text=text)
        if ranks is not None:
            return ranks
    return run_call(listed, CallOptions(key=key, descending=descending, check=check, text=text), found)


def _listed(arrays: Sequence[Any]) -> list[Any]:
    """The arrays of a list of them. Raises UsageError for anything else."""
    if is_table(arrays):
        raise UsageError(f"{name_of(arrays)} is a table", way_out="give a list of columns, as [table['key']]")
    check_listed(arrays, "arrays")
    if not isinstance(arrays, Iterable) or is_one_array(arrays):
        raise UsageError("arrays is not a list of arrays", way_out="give one in brackets, too: [array]")
    given = list(arrays)
    if not given:
        raise UsageError("no arrays to rank", way_out="give at least one")
    return given


def _ranks_within(at: Any, total: int) -> NDArray[np.int64]:
    """Ranks from 0 to `total` as an array. Raises UsageError for anything else."""
    ranks = as_listed(at, f"at={short_repr(at)} is not an array of ranks")
    if ranks.size and ranks.dtype.kind not in "iu":
        raise UsageError(f"at={short_repr(at)} is not a rank", way_out="give whole numbers")
    if ranks.size and not 0 <= int(ranks.min()) <= int(ranks.max()) <= total:
        raise UsageError(f"a rank lies outside of 0 to {total}", way_out="the merge has no more items")
    return ranks.astype(np.int64)
