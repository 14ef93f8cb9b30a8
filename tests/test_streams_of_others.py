"""Calls on arrays of a GPU while the current stream is one of another GPU. A stand-in of CuPy refuses all work."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests import needs

pytest.importorskip("cupy", reason=needs.reason("cupy"), exc_type=ImportError)

import gpumerge_cli
from gpumerge_cli.arrays import device, prepared_calls
from gpumerge_cli.backends.gpu import backend, streams  # noqa: F401 - the backend holds CuPy itself, as it is loaded here
from gpumerge_cli.errors import DeviceError, UsageError
from tests.calls_of_streams import ON_A_STREAM
from tests.fake_kernels import driver_error


class OnGpu:
    """Stands for an array of int32 on GPU 0."""

    dtype, itemsize, ndim, strides = np.dtype(np.int32), 4, 1, (4,)
    flags, data = SimpleNamespace(c_contiguous=True), SimpleNamespace(ptr=4096, device_id=0)

    def __init__(self, count: int) -> None:
        self.size, self.shape, self.nbytes = count, (count,), 4 * count
        self.device = Gpu()

    def __len__(self) -> int:
        return self.size

    def astype(self, dtype: Any) -> Any:
        raise driver_error("CUDA_ERROR_INVALID_HANDLE")


class Gpu:
    """Stands for GPU 0."""

    id = 0

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass


class Refusing:
    """Stands for a backend or for CuPy's functions on a device: whatever is asked for fails."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)

        def refused(*arguments: Any, **options: Any) -> Any:
            raise self._error

        return refused


@pytest.fixture(params=["by CuPy", "by the backend"])
def stream_of(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of the GPU whose stream is the current one. All work on GPU 0 is refused."""
    error = driver_error("CUDA_ERROR_INVALID_HANDLE")
    if request.param == "by the backend":
        error = DeviceError("the GPU failed: CUDA_ERROR_INVALID_HANDLE", way_out="use --backend cpu")
    number = [1]
    context = [0]
    driver = SimpleNamespace(
        ctxGetCurrent=lambda: context[0], ctxSetCurrent=lambda given: context.__setitem__(0, given),
        ctxGetDevice=lambda: context[0], streamGetCtx=lambda stream: number[0],
    )  # fmt: skip
    runtime = SimpleNamespace(getDevice=lambda: 0, streamIsCapturing=lambda stream: False)
    cupy = Refusing(error)
    cupy.__dict__.update(
        ndarray=OnGpu,
        may_share_memory=lambda a, b: False,
        cuda=SimpleNamespace(
            runtime=runtime, driver=driver, get_current_stream=lambda: SimpleNamespace(ptr=77),
            get_allocator=lambda: None,
        ),
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(streams, "cupy", cupy)
    monkeypatch.setattr(prepared_calls, "_ready", {})
    monkeypatch.setattr(device, "gpu", SimpleNamespace(create=lambda number: Refusing(error)))
    return number


@pytest.mark.parametrize("name", ON_A_STREAM)
def test_a_stream_of_another_gpu_is_named(stream_of: list[int], name: str) -> None:
    with pytest.raises(UsageError, match="the current stream is of GPU 1, and the arrays lie on GPU 0"):
        ON_A_STREAM[name](OnGpu(3))
    stream_of[0] = 0
    with pytest.raises(DeviceError, match="CUDA_ERROR_INVALID_HANDLE"):
        ON_A_STREAM[name](OnGpu(3))


def test_counts_of_keys_that_are_there(stream_of: list[int]) -> None:
    """The keys are sorted at once, and the counts are a step of their own."""
    from gpumerge_cli.arrays.counting import counted

    with pytest.raises(UsageError, match="the current stream is of GPU 1"):
        counted(OnGpu(3), None, 1, "first", moved=False)
    assert gpumerge_cli.sort(np.array([2, 1]), counts=True)[1].tolist() == [1, 1]
