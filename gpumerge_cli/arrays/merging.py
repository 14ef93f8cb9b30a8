"""gpumerge_cli.merge."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from gpumerge_cli.arrays.call import CallOptions
from gpumerge_cli.arrays.options import Tuning, launch_request, wants_counts
from gpumerge_cli.arrays.prepared_calls import run_prepared
from gpumerge_cli.arrays.run import prepared_result, run_call
from gpumerge_cli.arrays.signatures import as_merge
from gpumerge_cli.engine.job import BackendChoice
from gpumerge_cli.errors import UsageError
from gpumerge_cli.launch import LaunchRequest

if TYPE_CHECKING:
    from gpumerge_cli.arrays.key_parts import ArrayKey
    from gpumerge_cli.arrays.text_key import TextKey, TextKind

_USUAL = LaunchRequest()
_MERGE_PREPARED = partial(run_prepared, "merge")


@as_merge
def merge(
    *arrays: Any,
    values: Iterable[Any] | None = None,
    counts: bool = False,
    key: ArrayKey | None = None,
    descending: bool = False,
    text: TextKey | TextKind | None = None,
    check: bool = False,
    out: Any = None,
    backend: BackendChoice = "auto",
    device: int = 0,
    threads: int | None = None,
    **tuning: Unpack[Tuning],
) -> Any:
    """Merge sorted 1-D arrays of one dtype into one sorted array, stably.

    >>> import gpumerge_cli, numpy as np
    >>> gpumerge_cli.merge(np.array([1, 4, 9]), np.array([2, 4]))
    array([1, 2, 4, 4, 9])
    >>> names = [np.array(["a", "b"]), np.array(["c", "d"])]
    >>> keys, moved = gpumerge_cli.merge(np.array([1, 4]), np.array([2, 4]), values=names)
    >>> " ".join(moved)
    'a c b d'

    Parameters
    ----------
    arrays:
        One or more, of any lengths: NumPy and CuPy arrays, lists and tuples of numbers, of which numpy.asarray makes
        arrays, and anything that offers `__array__`, `__cuda_array_interface__`, `__dlpack__` or, with pyarrow
        installed, Arrow's C interface: Series of polars and pandas, Arrow arrays, tensors of PyTorch. A ColumnArray
        holds texts, or values and nulls. A dict of columns becomes a structured array, or stays a dict if one of them
        is a ColumnArray. Arrays on a GPU are merged there. Lists take the dtype of the arrays beside them, or
        numpy.result_type of all lists, if it holds every value; an empty list takes any. dtypes: int8 to int64, uint8
        to uint64, float16 to float64, bool, datetime64, timedelta64, S, V, structured ones, and U with `text`. Each
        array must be sorted; this is checked only with `check`. For unsorted ones the order of the result is not
        defined: the CPU puts out every item once, a GPU may put out some twice and others not at all.
    values:
        One array for each of `arrays`, of the same length and on the same side: rows that go where their keys go. They
        have any dtype and any number of dimensions; all arrays have the same dtype, and shapes that differ in the
        length alone. For tables, give the numbers of their rows, and take the rows that come back.
    counts:
        Keep the first of several equal keys, and say how many there are.
    key:
        The field that structured arrays are sorted by; "a.b" for b inside a. Or a list of fields, the first one first:
        ["city", "amount:r"] or ["city", ("amount", "descending")]. `descending` turns all of them round.
    descending:
        The arrays are in descending order, and so is the result.
    text:
        The kind of value that the text in S, U or V is read as, by the CPU: "size", "time" or another word of
        data/manual/keys.md, or a TextKey with the parameters of the kind. Texts are equal if their values are; the
        items stay as they are. Arrays of S, or of U, may then differ in width, and the result has the largest one.
    check:
        Read all arrays first, and raise a DisorderError if one is not in order. On a GPU the call then waits.
    out:
        Array for the merged keys: NumPy's, or CuPy's for arrays on a GPU; contiguous, of the arrays' dtype in native
        byte order and of their total length. It shares no memory with them.
    backend, device:
        "auto", "cpu" or "gpu", and the GPU's number, for arrays in host memory.
    threads:
        Threads of the host that the CPU merges with; all cores by default.
    tuning:
        kernel ("auto" or a name from `gpumerge help merge`), block_size, items_per_thread, tile_size, tile_load,
        fan_in, transfer: the same as the options of `gpumerge merge`.

    Returns
    -------
    The merged keys, `out` if it is given; or (keys, values) if values are given. With counts, an array of int64 comes
    last: (keys, counts) or (keys, values, counts). NumPy arrays for arrays in host memory, CuPy arrays for arrays on a
    GPU; with counts a call on a GPU waits for the number of keys. The order is NumPy's: NaN and NaT last, -0.0 equal to
    0.0, False before True, bytes as memcmp has them. A descending order is its reverse, NaN and NaT first. Equal keys
    keep the order of the arrays and of their items.

    Raises
    ------
    UsageError: arrays or options that do not match, nulls, masked arrays. InputError: a text that its kind cannot read.
    DisorderError: `check` found an item that goes before its predecessor. `where` of both names the array and the
    index. DeviceError: an unavailable GPU.
    """
    if not arrays:
        raise UsageError("no arrays to merge", way_out="give at least one")
    counts = counts is not False and wants_counts(counts, out=out)
    request = _USUAL
    if tuning:
        request = launch_request(tuning)
    else:
        found = prepared_result(
            _MERGE_PREPARED, arrays, values, key, descending, out, backend, threads, check, text, counts
        )
        if found is not None:
            return found
    return run_call(
        arrays,
        CallOptions(values, key, descending, out, backend, device, threads, check, text=text),
        lambda on: on.merge(request),
        counts=counts,
    )
