"""What CUDA's driver is asked for, by us, by CuPy and by CUDA's own libraries: counted by CUPTI."""

from __future__ import annotations

import ctypes
import ctypes.util
import glob
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest

_PLACES = ("/usr/local/cuda*/lib*/libcupti.so*", "/usr/local/cuda*/extras/CUPTI/lib64/libcupti.so*")
_DRIVER = 1  # CUPTI_CB_DOMAIN_DRIVER_API
_ENTER = 0  # CUPTI_API_ENTER


class _Said(ctypes.Structure):
    """The beginning of CUpti_CallbackData."""

    _fields_ = (("site", ctypes.c_int), ("function", ctypes.c_char_p))


_Callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.POINTER(_Said))


@cache
def cupti() -> Any:
    """The library; None if there is none."""
    named = ctypes.util.find_library("cupti")
    for place in ([named] if named else []) + [found for pattern in _PLACES for found in sorted(glob.glob(pattern))]:
        try:
            return ctypes.CDLL(place)
        except OSError:
            continue
    return None


@contextmanager
def asked() -> Iterator[Counter[str]]:
    """The calls of the driver's functions in the body, by name. Skips a test where there is no CUPTI."""
    library = cupti()
    if library is None:
        pytest.skip("needs CUPTI, which counts calls of the driver; install the CUDA toolkit")
    calls: Counter[str] = Counter()

    @_Callback
    def say(data: int, domain: int, number: int, said: Any) -> None:
        if said.contents.site == _ENTER:
            calls[said.contents.function.decode()] += 1

    subscriber = ctypes.c_void_p()
    if library.cuptiSubscribe(ctypes.byref(subscriber), say, None):
        pytest.skip("needs CUPTI, which another profiler may hold; end that profiler")
    try:
        library.cuptiEnableDomain(1, subscriber, _DRIVER)
        yield calls
    finally:
        library.cuptiUnsubscribe(subscriber)


def launches(calls: Counter[str]) -> int:
    """The kernels that were queued."""
    return _of(calls, "cuLaunchKernel", "cuLaunchCooperative")


def waits(calls: Counter[str]) -> int:
    """The calls that wait for the device."""
    return sum(count for name, count in calls.items() if "Synchronize" in name or _copies_at_once(name))


def copies(calls: Counter[str]) -> int:
    """The copies and fills of memory."""
    return _of(calls, "cuMemcpy", "cuMemset")


def _of(calls: Counter[str], *beginnings: str) -> int:
    return sum(count for name, count in calls.items() if name.startswith(beginnings))


def _copies_at_once(name: str) -> bool:
    """Copies to or from the host without a stream wait for it; their names lack Async."""
    return name.startswith(("cuMemcpyDtoH", "cuMemcpyHtoD")) and "Async" not in name
