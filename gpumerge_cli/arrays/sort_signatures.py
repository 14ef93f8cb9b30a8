"""The type of sort, as type checkers see it. See signatures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, TypeVar, Unpack, cast, overload

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.arrays.signatures import CallKeywords, Host, Indices
from gpumerge_cli.launch import Algorithm, KernelChoice

K = TypeVar("K", bound=np.generic)
V = TypeVar("V", bound=np.generic)
_Keys = NDArray[Any]
_Counts = Indices
_No = Literal[False]
_Yes = Literal[True]


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


Row = Sequence[Any] | OffersArray | OffersDlpack | OffersCuda | OffersArrow | OffersStream
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
        self, array: NDArray[K], *, values: None = None, counts: _No = False, **options: Unpack[SortKeywords]
    ) -> NDArray[K]: ...
    @overload
    def __call__(
        self, array: NDArray[K], *, values: NDArray[V], counts: _No = False, **options: Unpack[SortKeywords]
    ) -> tuple[NDArray[K], NDArray[V]]: ...
    @overload
    def __call__(
        self, array: NDArray[K], *, values: Row, counts: _No = False, **options: Unpack[SortKeywords]
    ) -> tuple[NDArray[K], NDArray[Any]]: ...
    @overload
    def __call__(
        self, array: NDArray[K], *, values: None = None, counts: _Yes, **options: Unpack[SortKeywords]
    ) -> tuple[NDArray[K], _Counts]: ...
    @overload
    def __call__(
        self, array: NDArray[K], *, values: NDArray[V], counts: _Yes, **options: Unpack[SortKeywords]
    ) -> tuple[NDArray[K], NDArray[V], _Counts]: ...
    @overload
    def __call__(
        self, array: NDArray[K], *, values: Row, counts: _Yes, **options: Unpack[SortKeywords]
    ) -> tuple[NDArray[K], NDArray[Any], _Counts]: ...
    @overload
    def __call__(
        self, array: NDArray[K], *, values: None = None, counts: bool, **options: Unpack[SortKeywords]
    ) -> NDArray[K] | tuple[NDArray[K], _Counts]: ...
    @overload
    def __call__(
        self, array: NDArray[K], *, values: NDArray[V], counts: bool, **options: Unpack[SortKeywords]
    ) -> tuple[NDArray[K], NDArray[V]] | tuple[NDArray[K], NDArray[V], _Counts]: ...
    @overload
    def __call__(
        self, array: NDArray[K], *, values: Row, counts: bool, **options: Unpack[SortKeywords]
    ) -> tuple[NDArray[K], NDArray[Any]] | tuple[NDArray[K], NDArray[Any], _Counts]: ...
    @overload
    def __call__(
        self, array: Host, *, values: None = None, counts: _No = False, **options: Unpack[SortKeywords]
    ) -> _Keys: ...
    @overload
    def __call__(
        self, array: Host, *, values: NDArray[V], counts: _No = False, **options: Unpack[SortKeywords]
    ) -> tuple[_Keys, NDArray[V]]: ...
    @overload
    def __call__(
        self, array: Host, *, values: Row, counts: _No = False, **options: Unpack[SortKeywords]
    ) -> tuple[_Keys, NDArray[Any]]: ...
    @overload
    def __call__(
        self, array: Host, *, values: None = None, counts: _Yes, **options: Unpack[SortKeywords]
    ) -> tuple[_Keys, _Counts]: ...
    @overload
    def __call__(
        self, array: Host, *, values: NDArray[V], counts: _Yes, **options: Unpack[SortKeywords]
    ) -> tuple[_Keys, NDArray[V], _Counts]: ...
    @overload
    def __call__(
        self, array: Host, *, values: Row, counts: _Yes, **options: Unpack[SortKeywords]
    ) -> tuple[_Keys, NDArray[Any], _Counts]: ...
    @overload
    def __call__(
        self, array: Host, *, values: None = None, counts: bool, **options: Unpack[SortKeywords]
    ) -> _Keys | tuple[_Keys, _Counts]: ...
    @overload
    def __call__(
        self, array: Host, *, values: NDArray[V], counts: bool, **options: Unpack[SortKeywords]
    ) -> tuple[_Keys, NDArray[V]] | tuple[_Keys, NDArray[V], _Counts]: ...
    @overload
    def __call__(
        self, array: Host, *, values: Row, counts: bool, **options: Unpack[SortKeywords]
    ) -> tuple[_Keys, NDArray[Any]] | tuple[_Keys, NDArray[Any], _Counts]: ...
    @overload
    def __call__(
        self, array: Any, *, values: None = None, counts: _No = False, **options: Unpack[SortKeywords]
    ) -> Any: ...
    @overload
    def __call__(
        self, array: Any, *, values: Row, counts: _No = False, **options: Unpack[SortKeywords]
    ) -> tuple[Any, Any]: ...
    @overload
    def __call__(
        self, array: Any, *, values: None = None, counts: _Yes, **options: Unpack[SortKeywords]
    ) -> tuple[Any, Any]: ...
    @overload
    def __call__(
        self, array: Any, *, values: Row, counts: _Yes, **options: Unpack[SortKeywords]
    ) -> tuple[Any, Any, Any]: ...
    @overload
    def __call__(self, array: Any, *, values: None = None, counts: bool, **options: Unpack[SortKeywords]) -> Any: ...
    @overload
    def __call__(self, array: Any, *, values: Row, counts: bool, **options: Unpack[SortKeywords]) -> Any: ...


def as_sort(function: Callable[..., Any]) -> SortFunction:
    """The same function, with the type of sort."""
    return cast("SortFunction", function)
