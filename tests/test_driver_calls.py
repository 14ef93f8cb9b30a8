"""Counts of what the driver is asked for, with a stand-in for CUPTI."""

from __future__ import annotations

import ctypes
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from tests import driver_calls


class Cupti:
    """Stands for the library: `call` is a call of the driver."""

    def __init__(self) -> None:
        self.said: Any = None
        self.cuptiSubscribe, self.cuptiEnableDomain, self.cuptiUnsubscribe = self.subscribe, self.enable, self.end

    def subscribe(self, subscriber: Any, callback: Any, data: Any) -> int:
        self.told = callback
        return 0

    def enable(self, enable: int, subscriber: Any, domain: int) -> int:
        assert (enable, domain) == (1, 1)
        self.said = self.told
        return 0

    def end(self, subscriber: Any) -> int:
        self.said = None
        return 0

    def call(self, name: bytes) -> None:
        for site in (0, 1):  # as it begins, and as it ends
            if self.said is not None:
                self.said(None, 1, 307, ctypes.pointer(driver_calls._Said(site, name)))


def test_calls_are_counted_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Cupti()
    monkeypatch.setattr(driver_calls, "cupti", lambda: library)
    with driver_calls.asked() as calls:
        for name in (
            b"cuLaunchKernel",
            b"cuLaunchKernelEx",
            b"cuStreamSynchronize",
            b"cuLaunchHostFunc",
            b"cuMemcpyDtoHAsync_v2",
        ):
            library.call(name)
    library.call(b"cuLaunchKernel")
    assert calls.total() == 5
    assert (driver_calls.launches(calls), driver_calls.waits(calls), driver_calls.copies(calls)) == (2, 1, 1)
    assert driver_calls.waits(Counter({"cuMemcpyDtoH_v2": 2, "cuCtxSynchronize": 1, "cuMemsetD8Async": 5})) == 3


@pytest.mark.parametrize("library", [None, SimpleNamespace(cuptiSubscribe=lambda *given: 7)])
def test_nothing_is_counted_without_it(monkeypatch: pytest.MonkeyPatch, library: Any) -> None:
    monkeypatch.setattr(driver_calls, "cupti", lambda: library)
    with pytest.raises(pytest.skip.Exception), driver_calls.asked():
        pass
