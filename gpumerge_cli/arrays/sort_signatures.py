"""The type of sort, as type checkers see it. See signatures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, Unpack, cast, overload

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.arrays.keys import Array
from gpumerge_cli.arrays.signatures import CallKeywords, Host, Indices, K, No, Strings, V, Yes
from gpumerge_cli.launch import Algorithm, KernelChoice


class OffersArray(Protocol):
    """An array of any library in host memory."""

    @property
    def __array__(self) -> Any: ...


class OffersDlpack(Protocol):
    """An array of any library, in host memory or on a GPU."""

    @property
    def __dlpack__(self) -> Any: ...


class OffersCuda(Protocol):
    """An array on a GPU."""

    @property
    def __cuda_array_interface__(self) -> Any: ...


class OffersArrow(Protocol):
    """A column that pyarrow reads."""

    @property
    def __arrow_c_array__(self) -> Any: ...


class OffersStream(Protocol):
    """A column in several pieces that pyarrow reads."""

    @property
    def __arrow_c_stream__(self) -> Any: ...


ValueArray = Sequence[Any] | OffersArray | OffersDlpack | OffersCuda | OffersArrow | OffersStream
"""One array of values. It is not Any, which may be None: so the result is known for values that may be None."""


class SortKeywords(CallKeywords, total=False):
    """The options of sort alone."""

    algorithm: Algorithm | Literal["auto"]
    kernel: KernelChoice
    devices: Sequence[int] | None


class SortFunction(Protocol):
    """The type of gpumerge_cli.sort."""

    @overload
    def __call__(
        self, array: NDArray[K], *, values: None = None, counts: No = False, **options: Unpack[SortKeywords]
    ) -> NDArray[K]: ...
    @overload
    def __call__(
        self, array: NDArray[K], *, values: NDArray[V], counts: No = False, **options: Unpack[SortKeywords]
    ) -> tuple[NDArray[K], NDArray[V]]: ...
    @overload
    def __call__(
        self, array: NDArray[K], *, values: Strings, counts: No = False, **options: Unpack[SortKeywords]
    ) -> tuple[NDArray[K], NDArray[np.str_]]: ...
    @overload
    def __call__(
        self, array: NDArray[K], *, values: ValueArray, counts: No = False, **options: Unpack[SortKeywords]
    ) -> tuple[NDArray[K], NDArray[Any]]: ...
    @overload
    def __call__(
        self, array: NDArray[K], *, values: None = None, counts: Yes, **options: Unpack[SortKeywords]
    ) -> tuple[NDArray[K], Indices]: ...
    @overload
    def __call__(
        self, array: NDArray[K], *, values: NDArray[V], counts: Yes, **options: Unpack[SortKeywords]
    ) -> tuple[NDArray[K], NDArray[V], Indices]: ...
    @overload
    def __call__(
        self, array: NDArray[K], *, values: Strings, counts: Yes, **options: Unpack[SortKeywords]
    ) -> tuple[NDArray[K], NDArray[np.str_], Indices]: ...
    @overload
    def __call__(
        self, array: NDArray[K], *, values: ValueArray, counts: Yes, **options: Unpack[SortKeywords]
    ) -> tuple[NDArray[K], NDArray[Any], Indices]: ...
    @overload
    def __call__(
        self, array: NDArray[K], *, values: None = None, counts: bool, **options: Unpack[SortKeywords]
    ) -> NDArray[K] | tuple[NDArray[K], Indices]: ...
    @overload
    def __call__(
        self, array: NDArray[K], *, values: NDArray[V], counts: bool, **options: Unpack[SortKeywords]
    ) -> tuple[NDArray[K], NDArray[V]] | tuple[NDArray[K], NDArray[V], Indices]: ...
    @overload
    def __call__(
        self, array: NDArray[K], *, values: Strings, counts: bool, **options: Unpack[SortKeywords]
    ) -> tuple[NDArray[K], NDArray[np.str_]] | tuple[NDArray[K], NDArray[np.str_], Indices]: ...
    @overload
    def __call__(
        self, array: NDArray[K], *, values: ValueArray, counts: bool, **options: Unpack[SortKeywords]
    ) -> tuple[NDArray[K], NDArray[Any]] | tuple[NDArray[K], NDArray[Any], Indices]: ...
    @overload
    def __call__(
        self, array: Host, *, values: None = None, counts: No = False, **options: Unpack[SortKeywords]
    ) -> Array: ...
    @overload
    def __call__(
        self, array: Host, *, values: NDArray[V], counts: No = False, **options: Unpack[SortKeywords]
    ) -> tuple[Array, NDArray[V]]: ...
    @overload
    def __call__(
        self, array: Host, *, values: Strings, counts: No = False, **options: Unpack[SortKeywords]
    ) -> tuple[Array, NDArray[np.str_]]: ...
    @overload
    def __call__(
        self, array: Host, *, values: ValueArray, counts: No = False, **options: Unpack[SortKeywords]
    ) -> tuple[Array, NDArray[Any]]: ...
    @overload
    def __call__(
        self, array: Host, *, values: None = None, counts: Yes, **options: Unpack[SortKeywords]
    ) -> tuple[Array, Indices]: ...
    @overload
    def __call__(
        self, array: Host, *, values: NDArray[V], counts: Yes, **options: Unpack[SortKeywords]
    ) -> tuple[Array, NDArray[V], Indices]: ...
    @overload
    def __call__(
        self, array: Host, *, values: Strings, counts: Yes, **options: Unpack[SortKeywords]
    ) -> tuple[Array, NDArray[np.str_], Indices]: ...
    @overload
    def __call__(
        self, array: Host, *, values: ValueArray, counts: Yes, **options: Unpack[SortKeywords]
    ) -> tuple[Array, NDArray[Any], Indices]: ...
    @overload
    def __call__(
        self, array: Host, *, values: None = None, counts: bool, **options: Unpack[SortKeywords]
    ) -> Array | tuple[Array, Indices]: ...
    @overload
    def __call__(
        self, array: Host, *, values: NDArray[V], counts: bool, **options: Unpack[SortKeywords]
    ) -> tuple[Array, NDArray[V]] | tuple[Array, NDArray[V], Indices]: ...
    @overload
    def __call__(
        self, array: Host, *, values: Strings, counts: bool, **options: Unpack[SortKeywords]
    ) -> tuple[Array, NDArray[np.str_]] | tuple[Array, NDArray[np.str_], Indices]: ...
    @overload
    def __call__(
        self, array: Host, *, values: ValueArray, counts: bool, **options: Unpack[SortKeywords]
    ) -> tuple[Array, NDArray[Any]] | tuple[Array, NDArray[Any], Indices]: ...
    @overload
    def __call__(
        self, array: Any, *, values: None = None, counts: No = False, **options: Unpack[SortKeywords]
    ) -> Any: ...
    @overload
    def __call__(
        self, array: Any, *, values: ValueArray, counts: No = False, **options: Unpack[SortKeywords]
    ) -> tuple[Any, Any]: ...
    @overload
    def __call__(
        self, array: Any, *, values: None = None, counts: Yes, **options: Unpack[SortKeywords]
    ) -> tuple[Any, Any]: ...
    @overload
    def __call__(
        self, array: Any, *, values: ValueArray, counts: Yes, **options: Unpack[SortKeywords]
    ) -> tuple[Any, Any, Any]: ...
    @overload
    def __call__(self, array: Any, *, values: None = None, counts: bool, **options: Unpack[SortKeywords]) -> Any: ...
    @overload
    def __call__(self, array: Any, *, values: ValueArray, counts: bool, **options: Unpack[SortKeywords]) -> Any: ...


def as_sort(function: Callable[..., Any]) -> SortFunction:
    """The same function, with the type of sort."""
    return cast("SortFunction", function)
