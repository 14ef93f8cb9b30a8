"""The types of merge and the sets, as type checkers see them: what a call returns, by what it is given.

A call with NumPy arrays, or lists of numbers, returns NumPy arrays. Arrays of other libraries may lie on a GPU. The
result is then an array of CuPy, which has no types, so only the number of arrays is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict, TypeVar, Unpack, cast, overload

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.arrays.keys import Array
from gpumerge_cli.arrays.options import Tuning
from gpumerge_cli.engine.job import BackendChoice

if TYPE_CHECKING:
    from gpumerge_cli.arrays.key_parts import ArrayKey
    from gpumerge_cli.arrays.text_key import TextKey, TextKind

K = TypeVar("K", bound=np.generic)
V = TypeVar("V", bound=np.generic)
Host = NDArray[Any] | Sequence[float]
"""Keys in host memory: an array of NumPy, or a list or tuple of numbers."""
Strings = list[str] | tuple[str, ...]
"""Values that become an array of strings. One string is not taken for a list of its letters."""
Indices = NDArray[np.int64]
_Rows = Iterable[NDArray[V]]
No = Literal[False]
Yes = Literal[True]


class CallKeywords(TypedDict, total=False):
    """The options of merge, sort and the sets. See gpumerge_cli.merge."""

    key: ArrayKey | None
    descending: bool
    text: TextKey | TextKind | None
    out: Any
    backend: BackendChoice
    device: int
    threads: int | None


class MergeKeywords(CallKeywords, Tuning, total=False):
    """The options of merge alone."""

    check: bool


class SetKeywords(CallKeywords, total=False):
    """The options of all sets. See gpumerge_cli.union."""

    distinct: bool
    check: bool


class MergeFunction(Protocol):
    """The type of gpumerge_cli.merge."""

    @overload
    def __call__(
        self, *arrays: NDArray[K], values: None = None, counts: No = False, **options: Unpack[MergeKeywords]
    ) -> NDArray[K]: ...
    @overload
    def __call__(
        self, *arrays: NDArray[K], values: _Rows[V], counts: No = False, **options: Unpack[MergeKeywords]
    ) -> tuple[NDArray[K], NDArray[V]]: ...
    @overload
    def __call__(
        self, *arrays: NDArray[K], values: Iterable[Strings], counts: No = False, **options: Unpack[MergeKeywords]
    ) -> tuple[NDArray[K], NDArray[np.str_]]: ...
    @overload
    def __call__(
        self, *arrays: NDArray[K], values: Iterable[Any], counts: No = False, **options: Unpack[MergeKeywords]
    ) -> tuple[NDArray[K], NDArray[Any]]: ...
    @overload
    def __call__(
        self, *arrays: NDArray[K], values: None = None, counts: Yes, **options: Unpack[MergeKeywords]
    ) -> tuple[NDArray[K], Indices]: ...
    @overload
    def __call__(
        self, *arrays: NDArray[K], values: _Rows[V], counts: Yes, **options: Unpack[MergeKeywords]
    ) -> tuple[NDArray[K], NDArray[V], Indices]: ...
    @overload
    def __call__(
        self, *arrays: NDArray[K], values: Iterable[Strings], counts: Yes, **options: Unpack[MergeKeywords]
    ) -> tuple[NDArray[K], NDArray[np.str_], Indices]: ...
    @overload
    def __call__(
        self, *arrays: NDArray[K], values: Iterable[Any], counts: Yes, **options: Unpack[MergeKeywords]
    ) -> tuple[NDArray[K], NDArray[Any], Indices]: ...
    @overload
    def __call__(
        self, *arrays: NDArray[K], values: None = None, counts: bool, **options: Unpack[MergeKeywords]
    ) -> NDArray[K] | tuple[NDArray[K], Indices]: ...
    @overload
    def __call__(
        self, *arrays: NDArray[K], values: _Rows[V], counts: bool, **options: Unpack[MergeKeywords]
    ) -> tuple[NDArray[K], NDArray[V]] | tuple[NDArray[K], NDArray[V], Indices]: ...
    @overload
    def __call__(
        self, *arrays: NDArray[K], values: Iterable[Strings], counts: bool, **options: Unpack[MergeKeywords]
    ) -> tuple[NDArray[K], NDArray[np.str_]] | tuple[NDArray[K], NDArray[np.str_], Indices]: ...
    @overload
    def __call__(
        self, *arrays: NDArray[K], values: Iterable[Any], counts: bool, **options: Unpack[MergeKeywords]
    ) -> tuple[NDArray[K], NDArray[Any]] | tuple[NDArray[K], NDArray[Any], Indices]: ...
    @overload
    def __call__(
        self, *arrays: Host, values: None = None, counts: No = False, **options: Unpack[MergeKeywords]
    ) -> Array: ...
    @overload
    def __call__(
        self, *arrays: Host, values: _Rows[V], counts: No = False, **options: Unpack[MergeKeywords]
    ) -> tuple[Array, NDArray[V]]: ...
    @overload
    def __call__(
        self, *arrays: Host, values: Iterable[Strings], counts: No = False, **options: Unpack[MergeKeywords]
    ) -> tuple[Array, NDArray[np.str_]]: ...
    @overload
    def __call__(
        self, *arrays: Host, values: Iterable[Any], counts: No = False, **options: Unpack[MergeKeywords]
    ) -> tuple[Array, NDArray[Any]]: ...
    @overload
    def __call__(
        self, *arrays: Host, values: None = None, counts: Yes, **options: Unpack[MergeKeywords]
    ) -> tuple[Array, Indices]: ...
    @overload
    def __call__(
        self, *arrays: Host, values: _Rows[V], counts: Yes, **options: Unpack[MergeKeywords]
    ) -> tuple[Array, NDArray[V], Indices]: ...
    @overload
    def __call__(
        self, *arrays: Host, values: Iterable[Strings], counts: Yes, **options: Unpack[MergeKeywords]
    ) -> tuple[Array, NDArray[np.str_], Indices]: ...
    @overload
    def __call__(
        self, *arrays: Host, values: Iterable[Any], counts: Yes, **options: Unpack[MergeKeywords]
    ) -> tuple[Array, NDArray[Any], Indices]: ...
    @overload
    def __call__(
        self, *arrays: Host, values: None = None, counts: bool, **options: Unpack[MergeKeywords]
    ) -> Array | tuple[Array, Indices]: ...
    @overload
    def __call__(
        self, *arrays: Host, values: _Rows[V], counts: bool, **options: Unpack[MergeKeywords]
    ) -> tuple[Array, NDArray[V]] | tuple[Array, NDArray[V], Indices]: ...
    @overload
    def __call__(
        self, *arrays: Host, values: Iterable[Strings], counts: bool, **options: Unpack[MergeKeywords]
    ) -> tuple[Array, NDArray[np.str_]] | tuple[Array, NDArray[np.str_], Indices]: ...
    @overload
    def __call__(
        self, *arrays: Host, values: Iterable[Any], counts: bool, **options: Unpack[MergeKeywords]
    ) -> tuple[Array, NDArray[Any]] | tuple[Array, NDArray[Any], Indices]: ...
    @overload
    def __call__(
        self, *arrays: Any, values: None = None, counts: No = False, **options: Unpack[MergeKeywords]
    ) -> Any: ...
    @overload
    def __call__(
        self, *arrays: Any, values: Iterable[Any], counts: No = False, **options: Unpack[MergeKeywords]
    ) -> tuple[Any, Any]: ...
    @overload
    def __call__(
        self, *arrays: Any, values: None = None, counts: Yes, **options: Unpack[MergeKeywords]
    ) -> tuple[Any, Any]: ...
    @overload
    def __call__(
        self, *arrays: Any, values: Iterable[Any], counts: Yes, **options: Unpack[MergeKeywords]
    ) -> tuple[Any, Any, Any]: ...
    @overload
    def __call__(self, *arrays: Any, values: None = None, counts: bool, **options: Unpack[MergeKeywords]) -> Any: ...
    @overload
    def __call__(self, *arrays: Any, values: Iterable[Any], counts: bool, **options: Unpack[MergeKeywords]) -> Any: ...


class SetFunction(Protocol):
    """The type of gpumerge_cli.union and the other sets."""

    @overload
    def __call__(
        self, *arrays: NDArray[K], values: None = None, counts: No = False, **options: Unpack[SetKeywords]
    ) -> NDArray[K]: ...
    @overload
    def __call__(
        self, *arrays: NDArray[K], values: _Rows[V], counts: No = False, **options: Unpack[SetKeywords]
    ) -> tuple[NDArray[K], NDArray[V]]: ...
    @overload
    def __call__(
        self, *arrays: NDArray[K], values: Iterable[Strings], counts: No = False, **options: Unpack[SetKeywords]
    ) -> tuple[NDArray[K], NDArray[np.str_]]: ...
    @overload
    def __call__(
        self, *arrays: NDArray[K], values: Iterable[Any], counts: No = False, **options: Unpack[SetKeywords]
    ) -> tuple[NDArray[K], NDArray[Any]]: ...
    @overload
    def __call__(
        self, *arrays: NDArray[K], values: None = None, counts: Yes, **options: Unpack[SetKeywords]
    ) -> tuple[NDArray[K], Indices]: ...
    @overload
    def __call__(
        self, *arrays: NDArray[K], values: _Rows[V], counts: Yes, **options: Unpack[SetKeywords]
    ) -> tuple[NDArray[K], NDArray[V], Indices]: ...
    @overload
    def __call__(
        self, *arrays: NDArray[K], values: Iterable[Strings], counts: Yes, **options: Unpack[SetKeywords]
    ) -> tuple[NDArray[K], NDArray[np.str_], Indices]: ...
    @overload
    def __call__(
        self, *arrays: NDArray[K], values: Iterable[Any], counts: Yes, **options: Unpack[SetKeywords]
    ) -> tuple[NDArray[K], NDArray[Any], Indices]: ...
    @overload
    def __call__(
        self, *arrays: NDArray[K], values: None = None, counts: bool, **options: Unpack[SetKeywords]
    ) -> NDArray[K] | tuple[NDArray[K], Indices]: ...
    @overload
    def __call__(
        self, *arrays: NDArray[K], values: _Rows[V], counts: bool, **options: Unpack[SetKeywords]
    ) -> tuple[NDArray[K], NDArray[V]] | tuple[NDArray[K], NDArray[V], Indices]: ...
    @overload
    def __call__(
        self, *arrays: NDArray[K], values: Iterable[Strings], counts: bool, **options: Unpack[SetKeywords]
    ) -> tuple[NDArray[K], NDArray[np.str_]] | tuple[NDArray[K], NDArray[np.str_], Indices]: ...
    @overload
    def __call__(
        self, *arrays: NDArray[K], values: Iterable[Any], counts: bool, **options: Unpack[SetKeywords]
    ) -> tuple[NDArray[K], NDArray[Any]] | tuple[NDArray[K], NDArray[Any], Indices]: ...
    @overload
    def __call__(
        self, *arrays: Host, values: None = None, counts: No = False, **options: Unpack[SetKeywords]
    ) -> Array: ...
    @overload
    def __call__(
        self, *arrays: Host, values: _Rows[V], counts: No = False, **options: Unpack[SetKeywords]
    ) -> tuple[Array, NDArray[V]]: ...
    @overload
    def __call__(
        self, *arrays: Host, values: Iterable[Strings], counts: No = False, **options: Unpack[SetKeywords]
    ) -> tuple[Array, NDArray[np.str_]]: ...
    @overload
    def __call__(
        self, *arrays: Host, values: Iterable[Any], counts: No = False, **options: Unpack[SetKeywords]
    ) -> tuple[Array, NDArray[Any]]: ...
    @overload
    def __call__(
        self, *arrays: Host, values: None = None, counts: Yes, **options: Unpack[SetKeywords]
    ) -> tuple[Array, Indices]: ...
    @overload
    def __call__(
        self, *arrays: Host, values: _Rows[V], counts: Yes, **options: Unpack[SetKeywords]
    ) -> tuple[Array, NDArray[V], Indices]: ...
    @overload
    def __call__(
        self, *arrays: Host, values: Iterable[Strings], counts: Yes, **options: Unpack[SetKeywords]
    ) -> tuple[Array, NDArray[np.str_], Indices]: ...
    @overload
    def __call__(
        self, *arrays: Host, values: Iterable[Any], counts: Yes, **options: Unpack[SetKeywords]
    ) -> tuple[Array, NDArray[Any], Indices]: ...
    @overload
    def __call__(
        self, *arrays: Host, values: None = None, counts: bool, **options: Unpack[SetKeywords]
    ) -> Array | tuple[Array, Indices]: ...
    @overload
    def __call__(
        self, *arrays: Host, values: _Rows[V], counts: bool, **options: Unpack[SetKeywords]
    ) -> tuple[Array, NDArray[V]] | tuple[Array, NDArray[V], Indices]: ...
    @overload
    def __call__(
        self, *arrays: Host, values: Iterable[Strings], counts: bool, **options: Unpack[SetKeywords]
    ) -> tuple[Array, NDArray[np.str_]] | tuple[Array, NDArray[np.str_], Indices]: ...
    @overload
    def __call__(
        self, *arrays: Host, values: Iterable[Any], counts: bool, **options: Unpack[SetKeywords]
    ) -> tuple[Array, NDArray[Any]] | tuple[Array, NDArray[Any], Indices]: ...
    @overload
    def __call__(
        self, *arrays: Any, values: None = None, counts: No = False, **options: Unpack[SetKeywords]
    ) -> Any: ...
    @overload
    def __call__(
        self, *arrays: Any, values: Iterable[Any], counts: No = False, **options: Unpack[SetKeywords]
    ) -> tuple[Any, Any]: ...
    @overload
    def __call__(
        self, *arrays: Any, values: None = None, counts: Yes, **options: Unpack[SetKeywords]
    ) -> tuple[Any, Any]: ...
    @overload
    def __call__(
        self, *arrays: Any, values: Iterable[Any], counts: Yes, **options: Unpack[SetKeywords]
    ) -> tuple[Any, Any, Any]: ...
    @overload
    def __call__(self, *arrays: Any, values: None = None, counts: bool, **options: Unpack[SetKeywords]) -> Any: ...
    @overload
    def __call__(self, *arrays: Any, values: Iterable[Any], counts: bool, **options: Unpack[SetKeywords]) -> Any: ...


def as_merge(function: Callable[..., Any]) -> MergeFunction:
    """The same function, with the type of merge."""
    return cast("MergeFunction", function)


def as_set(function: Callable[..., Any]) -> SetFunction:
    """The same function, with the type of a set."""
    return cast("SetFunction", function)
