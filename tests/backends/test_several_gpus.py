"""Several GPUs in one sort, with one listed twice, or all; and which GPUs there are."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.backends.gpu.team_interface import ExchangePlan
from gpumerge_cli.errors import DeviceError, UsageError
from gpumerge_cli.launch import LaunchRequest, SortRequest
from gpumerge_cli.order.equals import SINGLE, Equals
from gpumerge_cli.order.kinds import Order
from tests import needs
from tests.backends.team import PAIRS, PLANS


def teams() -> list[tuple[int, ...]]:
    """One device twice, which shows all but the link; all devices, where there are more."""
    import cupy

    count = cupy.cuda.runtime.getDeviceCount()
    return [(0, 0), *([tuple(range(count))] if count > 1 else [])]


@pytest.fixture(params=["one device twice", "all devices"])
def numbers(request: pytest.FixtureRequest, gpu_backend: object) -> tuple[int, ...]:
    found = teams()
    if request.param == "all devices":
        if len(found) < 2:
            pytest.skip("needs two GPUs; run it on a machine with them")
        return found[1]
    return found[0]


PLACES = [Equals.FIRST, Equals.LAST, Equals.DUPLICATES, Equals.ALL_DUPLICATES, Equals.SINGLES]
ORDERS = [
    Order.of("int32"),
    Order.of("float32", descending=True),
    Order.of("uint8"),
    Order.of("int64"),
    PAIRS,
    Order.records(16, 0, np.dtype(np.int64)),
]


@pytest.mark.gpu
@pytest.mark.parametrize("order", ORDERS, ids=Order.describe)
def test_devices_sort_as_numpy_does(rng: np.random.Generator, numbers: tuple[int, ...], order: Order) -> None:
    from gpumerge_cli.backends.gpu.several import SeveralGpus
    from gpumerge_cli.backends.gpu.spread import Spread
    from gpumerge_cli.backends.gpu.team import DeviceTeam
    from gpumerge_cli.backends.gpu.team_kernels import GpuTeamKernels

    backend = SeveralGpus(numbers)
    size = order.item_bytes
    for count in (0, 1, 3, 1000, 70_001):
        for plan in (None, *PLANS):
            for request in (SortRequest("auto"), SortRequest("merge")):
                for equals in (Equals.ALL, PLACES[rng.integers(len(PLACES))]):
                    data = rng.integers(0, 256 if rng.random() < 0.5 else 2, count * size).astype(np.uint8)
                    keys = order.image(order.keys(data))
                    ranks = np.argsort(keys, kind="stable")
                    if equals.is_by_place and count:
                        same = keys[ranks][1:] == keys[ranks][:-1]
                        ahead, behind = np.concatenate([[False], same]), np.concatenate([same, [False]])
                        ranks = ranks[(equals.value // SINGLE >> (ahead + 2 * behind) & 1).astype(bool)]
                    expected = data.reshape(-1, size)[ranks].tobytes()
                    policy = backend.resolve_sort(request, order, len(data))
                    spread = Spread(DeviceTeam(backend._devices), order, len(data), backend.limits, plan)
                    for start in range(0, len(data), 7777):
                        part = data[start : start + 7777]
                        spread.part(start, len(part))[:] = part
                        spread.send(start, len(part))
                    left = spread.sort(len(data), policy, equals)
                    got = b"".join(spread.receive(at, min(9999, left - at)).tobytes() for at in range(0, left, 9999))
                    assert got == expected, (order.describe(), count, plan, request, equals)
                    spread.close()
    assert GpuTeamKernels.most_cut == 16


@pytest.mark.gpu
def test_the_workspace_of_several(rng: np.random.Generator, numbers: tuple[int, ...]) -> None:
    """A workspace filled by parts sorts on all devices. Staged chunks, and lines, go to one device."""
    from gpumerge_cli.backends.gpu.several import SeveralGpus

    backend = SeveralGpus(numbers)
    order = Order.of("int32")
    values = rng.integers(-1000, 1000, 50_000).astype(np.int32)
    workspace = backend.workspace(order, values.nbytes)
    for start in range(0, values.nbytes, 60_000):
        part = values.view(np.uint8)[start : start + 60_000]
        workspace.part(start, len(part))[:] = part
        workspace.send(start, len(part))
    workspace.adopt([80_000, 120_000])
    policy = backend.resolve_sort(SortRequest("auto"), order, values.nbytes)
    workspace.sort(policy, Equals.FIRST)
    workspace.synchronize()
    assert workspace.counts == [20_000, 30_000]
    assert workspace.download().view(np.int32).tolist() == np.unique(values).tolist()
    assert workspace.dropped == 50_000 - len(np.unique(values))
    assert [span.name for span in workspace.spans] == ["kernel"]
    workspace.close()

    runs = [np.sort(values[:20_000]), np.sort(values[20_000:])]
    workspaces = [backend.workspace(order, values.nbytes) for _ in range(3)]
    for workspace in workspaces:
        workspace.staging(values.nbytes).view(np.int32)[:] = np.concatenate(runs)
        workspace.upload([80_000, 120_000])
        assert workspace.disorder() is None
        workspace.merge(backend.resolve(LaunchRequest(), order))
        assert (workspace.download().view(np.int32) == np.sort(values)).all()
        workspace.close()

    lines = Order.lines()
    text = np.frombuffer(b"".join(b"%d\n" % n for n in values[:5000]), np.uint8)
    workspace = backend.workspace(lines, len(text))
    workspace.part(0, len(text))[:] = text
    workspace.send(0, len(text))
    workspace.adopt([len(text)])
    policy = backend.resolve_sort(SortRequest("auto"), lines, len(text))
    assert "on one GPU at a time" in policy.why
    workspace.sort(policy)
    workspace.synchronize()
    assert workspace.receive(0, len(text)).tobytes().splitlines() == sorted(text.tobytes().splitlines())
    workspace.close()


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["int32", "float32", "int64"])
def test_arrays_on_several_devices(rng: np.random.Generator, numbers: tuple[int, ...], name: str) -> None:
    import cupy

    from gpumerge_cli.backends.gpu.several import SeveralGpus

    backend = SeveralGpus(numbers)
    order = Order.of(name)
    for count in (0, 1, 17, 100_003, 3_000_000):
        values = rng.integers(0, 99, count).astype(order.dtype)
        if order.kind == "float" and count > 17:
            values[::1000] = np.nan
            values[5::1000] = -0.0
        expected = values[np.argsort(order.image(values), kind="stable")].tobytes()
        policy = backend.resolve_sort(SortRequest("auto"), order, values.nbytes)
        for plan in (None, ExchangePlan(overlapped=1), ExchangePlan(overlapped=1, direct=True)):
            with cupy.cuda.Device(0):
                array, out = cupy.asarray(values), cupy.empty(count, order.dtype)
            backend.sort_arrays([array], order, policy, [out], plan)
            assert out.get().tobytes() == expected, (count, plan)
            edges = np.sort(rng.integers(0, count + 1, len(numbers) - 1)).tolist()
            parts, outs = [], []
            for number, (start, stop) in zip(numbers, pairwise([0, *edges, count]), strict=True):
                with cupy.cuda.Device(number):
                    parts.append(cupy.asarray(values[start:stop]))
                    outs.append(cupy.empty(stop - start, order.dtype))
            backend.sort_arrays(parts, order, policy, outs, plan)
            assert b"".join(one.get().tobytes() for one in outs) == expected, (count, plan, edges)
            assert b"".join(one.get().tobytes() for one in parts) == values.tobytes()


@pytest.mark.gpu
def test_sort_over_devices_from_python(rng: np.random.Generator, gpu_backend: object) -> None:
    import cupy

    import gpumerge_cli

    count = cupy.cuda.runtime.getDeviceCount()
    devices = list(range(count))
    values = rng.integers(-(2**31), 2**31, 300_000).astype(np.int32)
    assert (gpumerge_cli.sort(values, devices=devices) == np.sort(values)).all()
    with cupy.cuda.Device(0):
        array = cupy.asarray(values)
        target = cupy.empty_like(array)
    assert (gpumerge_cli.sort(array, devices=devices).get() == np.sort(values)).all()
    assert gpumerge_cli.sort(array, devices=devices, out=target, descending=True) is target
    assert (target.get() == np.sort(values)[::-1]).all()
    days = values.astype("M8[D]")
    days[7] = np.datetime64("NaT", "D")
    assert (np.sort(days) == gpumerge_cli.sort(days, devices=devices))[:-1].all()
    shares_ = []
    for number in devices:
        with cupy.cuda.Device(number):
            shares_.append(cupy.asarray(values[number::count]))
    found = gpumerge_cli.sort(shares_)
    assert [one.device.id for one in found] == devices
    assert (np.concatenate([one.get() for one in found]) == np.sort(values)).all()
    with pytest.raises(DeviceError, match=rf"no GPU {count}: there (is|are) {count}, numbered 0"):
        gpumerge_cli.sort(values, devices=[0, count])
    with pytest.raises(UsageError, match="which is not one of"):
        gpumerge_cli.sort(array, devices=[count])


@pytest.mark.parametrize(
    ("count", "said"),
    [(0, "none is there"), (1, "there is 1, numbered 0"), (2, "numbered 0 and 1"), (8, "numbered 0 to 7")],
)
def test_which_gpus_there_are(count: int, said: str) -> None:
    needs.library("cupy")
    from gpumerge_cli.backends.gpu.device import gpu_numbers

    assert said in gpu_numbers(count)


def test_devices_that_make_no_sense_are_refused() -> None:
    import gpumerge_cli
    from gpumerge_cli.backends.gpu import access as gpu

    with pytest.raises(UsageError, match="GPU 1 is named 2 times"):
        gpu.create((1, 0, 1))
    with pytest.raises(UsageError, match="devices names no GPU"):
        gpumerge_cli.sort(np.zeros(3), devices=[])
    with pytest.raises(UsageError, match="several GPUs sort only keys"):
        gpumerge_cli.sort(np.zeros(3), devices=[0], values=np.zeros(3))
    wrong: list[dict[str, Any]] = [{"backend": "fast"}, {"threads": -4}, {"device": "x"}]
    for options in wrong:
        with pytest.raises(UsageError, match=f"{next(iter(options))}="):
            gpumerge_cli.sort(np.zeros(3), devices=[0], **options)


def test_the_drivers_start_needs_no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without one, or with one that fails, nothing happens; each GPU is begun once."""
    from gpumerge_cli.backends.gpu import early

    calls: list[tuple[str, ...]] = []

    class Driver:
        def __init__(self, name: str) -> None:
            if name != "libcuda.so.1":
                raise OSError(name)

        def __getattr__(self, name: str) -> Callable[..., int]:
            return lambda *arguments: calls.append((name,)) or 0

    def wait() -> None:
        for thread in threading.enumerate():
            if thread.name.startswith("GPU "):
                thread.join()

    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    monkeypatch.setattr(early, "_begun", set())
    monkeypatch.setattr(early, "_DRIVER", "libnone.so")
    early.make_contexts([3])
    wait()
    monkeypatch.setattr(early, "_DRIVER", "libcuda.so.1")
    monkeypatch.setattr(early.ctypes, "CDLL", Driver)
    early.make_contexts([0, 3])
    early.make_contexts([0])
    wait()
    assert [name for (name,) in calls] == ["cuInit", "cuDeviceGet", "cuDevicePrimaryCtxRetain"]
