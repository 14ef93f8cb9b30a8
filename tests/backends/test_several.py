"""Several GPUs in one sort: the division of the work, without one; the sort itself, with one listed twice, or two."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpumerge_cli.backends.base import LaunchRequest, SortRequest
from gpumerge_cli.backends.gpu import shares
from gpumerge_cli.backends.gpu.asked import Place, Plan
from gpumerge_cli.backends.gpu.exchange import even, sort_shares
from gpumerge_cli.backends.gpu.tree import Run
from gpumerge_cli.errors import DeviceError, UsageError
from gpumerge_cli.order import Order

Keys = np.ndarray[Any, np.dtype[Any]]


class Runs:
    """Sorted runs that are read as a device's are. rounds, keys: how often, and how many."""

    def __init__(self, runs: Sequence[Keys]) -> None:
        self.runs = runs
        self.rounds = 0
        self.keys = 0

    def read(self, slices: Sequence[shares.Slice]) -> list[Keys]:
        self.rounds += 1
        found = [self.runs[run][start:stop:step] for run, start, stop, step in slices]
        assert all(len(keys) for keys in found)
        self.keys += sum(map(len, found))
        return found

    def cuts(self, rank: int) -> list[int]:
        """Slowly: the runs of the first `rank` items of a stable sort of all."""
        owners = np.repeat(np.arange(len(self.runs)), [len(run) for run in self.runs])
        first = np.argsort(np.concatenate(self.runs), kind="stable")[:rank]
        return np.bincount(owners[first], minlength=len(self.runs)).tolist()


def drawn(rng: np.random.Generator, shape: str, count: int) -> Keys:
    if shape == "equal":
        return np.full(count, 7, np.uint32)
    if shape == "few":
        return rng.integers(0, 3, count).astype(np.uint32)
    if shape == "skewed":
        return (rng.random(count) ** 20 * 2**32).astype(np.uint32)
    return rng.integers(0, 2**32, count, dtype=np.uint32)


SHAPES = ("uniform", "equal", "few", "skewed")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("devices", range(1, 9))
def test_cuts_are_those_of_a_stable_sort(rng: np.random.Generator, shape: str, devices: int) -> None:
    for most in (1, 5, 3000, 60_000):
        counts = rng.integers(0, most + 1, devices)
        counts[rng.integers(devices)] = most
        runs = Runs([np.sort(drawn(rng, SHAPES[rng.integers(4)] if n % 2 else shape, n)) for n in counts])
        total = int(counts.sum())
        for rank in {0, total, total // 2, *rng.integers(0, total + 1, 5).tolist()}:
            assert shares.cuts(runs.read, counts.tolist(), rank) == runs.cuts(rank), (counts, rank)


@given(runs=st.lists(st.lists(st.integers(0, 5), max_size=8).map(sorted), min_size=1, max_size=8))
def test_every_rank_of_small_runs(runs: list[list[int]]) -> None:
    held = Runs([np.array(run, np.uint8) for run in runs])
    counts = [len(run) for run in runs]
    for rank in range(sum(counts) + 1):
        assert shares.cuts(held.read, counts, rank) == held.cuts(rank)


def test_searches_read_little(rng: np.random.Generator) -> None:
    runs = Runs([np.sort(drawn(rng, "uniform", 3_000_000)) for _ in range(4)])
    shares.cuts(runs.read, [3_000_000] * 4, 6_000_000)
    assert runs.rounds <= 3
    assert runs.keys <= 4 * 3 * 2048
    step = 1 << 8
    shuffled = [rng.permutation(run) for run in runs.runs]
    about = shares.estimates([run[::step] for run in shuffled], step, [3_000_000] * 4, 6_000_000)
    off = shares.slack(step, [3_000_000] * 4)
    exact = runs.cuts(6_000_000)
    assert all(abs(a - b) <= off for a, b in zip(about, exact, strict=True))


@pytest.mark.parametrize("shape", SHAPES)
def test_estimates_know_ties_by_run(rng: np.random.Generator, shape: str) -> None:
    counts = [200_000, 0, 50_000, 100_000]
    parts = [drawn(rng, shape, count) for count in counts]
    step = 64
    runs = Runs([np.sort(part) for part in parts])
    for rank in (0, 100_000, 175_000, 350_000):
        about = shares.estimates([part[::step] for part in parts], step, counts, rank)
        exact = runs.cuts(rank)
        assert all(abs(a - b) <= shares.slack(step, counts) for a, b in zip(about, exact, strict=True)), (about, exact)


@given(total=st.integers(0, 10**12), weights=st.lists(st.floats(0.01, 10), min_size=1, max_size=8))
def test_shares_are_all_there_is(total: int, weights: list[float]) -> None:
    ranges = shares.fair(total, weights)
    assert [ranges[0][0], *(stop for _, stop in ranges)] == [start for start, _ in ranges] + [total]
    assert all(start <= stop for start, stop in ranges)
    for (start, stop), weight in zip(ranges, weights, strict=True):
        assert abs(stop - start - total * weight / sum(weights)) <= 1 + total * 1e-9


@given(
    cuts=st.tuples(st.integers(0, 100), st.integers(0, 100)),
    slack=st.integers(0, 20),
    wanted=st.tuples(st.integers(0, 100), st.integers(0, 100)).map(lambda pair: (min(pair), max(pair))),
)
def test_what_is_missing_is_sent_once(cuts: shares.Range, slack: int, wanted: shares.Range) -> None:
    landing = shares.landing(cuts, slack, 100)
    missing = landing.missing(wanted)
    if missing is None:
        assert wanted[0] < landing.room[0] or wanted[1] > landing.room[1]
        return
    there = [*range(*landing.sent), *(item for part in missing for item in range(*part))]
    assert len(there) == len(set(there)) or not set(range(*wanted)) & set(range(*landing.sent))
    assert set(range(*wanted)) <= set(there)
    assert all(landing.room[0] <= start < stop <= landing.room[1] for start, stop in missing)


@given(sizes=st.lists(st.integers(0, 30), min_size=1, max_size=8), start=st.integers(0, 99), count=st.integers(0, 99))
def test_bytes_are_located(sizes: list[int], start: int, count: int) -> None:
    everything = [(device, byte) for device, size in enumerate(sizes) for byte in range(size)]
    found = shares.located(list(accumulate(sizes)), start, start + count)
    assert [(d, first + k) for d, first, n in found for k in range(n)] == everything[start : start + count]
    assert all(a[0] < b[0] for a, b in pairwise(found))


class Event:
    done = False


class Memory:
    """Bytes of a device that are spoiled as soon as nobody refers to them."""

    def __init__(self, nbytes: int) -> None:
        self.bytes = np.full(nbytes, 0xA5, np.uint8)
        self.address = self.bytes.ctypes.data

    def __del__(self) -> None:
        self.bytes[:] = 0x5A
        OLD.append(self.bytes)  # so that late writers spoil nothing else


OLD: list[Any] = []


class Stand:
    """A team without devices. Streams run late, one step at a time, in any order that events allow."""

    def __init__(self, rng: np.random.Generator, members: int, linked: bool) -> None:
        self.linked = linked
        self.fetched: list[tuple[int, int, int]] = []
        self._rng, self._members = rng, members
        self._streams: dict[object, list[Callable[[], bool]]] = {}
        self._own = threading.local()
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return self._members

    @contextmanager
    def on(self, member: int) -> Iterator[None]:
        before, self._own.stream = getattr(self._own, "stream", None), member
        with self._lock:
            self._streams.setdefault(member, [])
        yield
        self._own.stream = before

    def way(self, source: int, to: int) -> Any:
        return self.on((source, to))  # type: ignore[arg-type]

    def queue(self, step: Callable[[], object]) -> None:
        with self._lock:
            self._streams[self._own.stream].append(lambda: step() is not False)

    def room(self, nbytes: int) -> Memory:
        return Memory(nbytes)

    def event(self) -> Event:
        event = Event()
        self.queue(lambda: setattr(event, "done", True))
        return event

    def wait(self, event: Event) -> None:
        self.queue(lambda: event.done)

    def fetch(self, source: int, address: int, to: int, target: int, nbytes: int) -> None:
        self.fetched.append((source, to, nbytes))
        self.queue(lambda: ctypes.memmove(target, address, nbytes))

    def copy(self, address: int, target: int, nbytes: int) -> None:
        self.queue(lambda: ctypes.memmove(target, address, nbytes))

    def packed(self, address: int, size: int, items: range) -> Callable[[], Any]:
        found: list[Any] = []
        rows = at(address, items.stop * size, np.uint8).reshape(items.stop, size)
        self.queue(lambda: found.append(rows[items.start : items.stop : items.step].copy().reshape(-1)))
        stream = self._own.stream

        def bytes_() -> Any:
            self.run(stream)
            return found[0]

        return bytes_

    def synchronize(self) -> None:
        for stream in list(self._streams):
            self.run(stream)

    def run(self, last: object) -> None:
        """Let streams run until one has nothing left to do."""
        with self._lock:
            while self._streams.get(last):
                waiting = [stream for stream, steps in self._streams.items() if steps]
                steps = self._streams[waiting[self._rng.integers(len(waiting))]]
                if steps[0]():
                    del steps[0]


class Workers:
    """Does in NumPy what the kernels do on the GPUs of a team."""

    def __init__(self, order: Order, team: Stand, fan_in: int = 16, most_cut: int = 16) -> None:
        self.order, self.fan_in, self.most_cut = order, fan_in, most_cut
        self._team = team
        self._item = np.dtype((np.void, order.item_bytes))

    def sort(self, member: int, items: Run, out: int) -> None:
        self._team.queue(lambda: self._sorted([items], out))

    def merge(self, member: int, runs: Sequence[Run], out: int) -> None:
        assert len(runs) <= self.fan_in

        def step() -> None:
            for run in runs:
                keys = self._keys(run)
                assert (keys[1:] >= keys[:-1]).all()
            self._sorted(runs, out)

        self._team.queue(step)

    def cuts(self, member: int, runs: Sequence[Run], rank: int) -> Callable[[], list[int]]:
        found: list[list[int]] = []
        self._team.queue(lambda: found.append(Runs([self._keys(run) for run in runs]).cuts(rank)))
        stream = member

        def cuts() -> list[int]:
            self._team.run(stream)
            return found[0]

        return cuts

    def _keys(self, run: Run) -> Keys:
        return self.order.image(self.order.keys(at(run[0], run[1] * self._item.itemsize, np.uint8)))

    def _sorted(self, runs: Sequence[Run], out: int) -> None:
        items = np.concatenate([at(run[0], run[1] * self._item.itemsize, self._item) for run in runs])
        keys = np.concatenate([self._keys(run) for run in runs])
        at(out, items.nbytes, self._item)[:] = items[np.argsort(keys, kind="stable")]


def at(address: int, nbytes: int, dtype: Any) -> Any:
    if nbytes == 0:
        return np.empty(0, dtype)
    return np.frombuffer((ctypes.c_uint8 * nbytes).from_address(address), dtype)


PAIRS = Order.records(12, 4, np.dtype(np.uint32))
PLANS = (
    Plan(overlapped=1),
    Plan(overlapped=1 << 30),
    Plan(pieces=(0.5, 0.3, 0.2), direct=True, overlapped=1),
    Plan(pieces=(1.0,), returned=(1.0,), overlapped=1),
)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("members", [1, 2, 3, 8])
@pytest.mark.parametrize("linked", [True, False])
def test_shares_are_sorted_as_one(rng: np.random.Generator, shape: str, members: int, linked: bool) -> None:
    for most in (0, 1, 40, 3000):
        for plan in PLANS:
            counts = rng.integers(0, most + 1, members).tolist()
            records = np.arange(3 * sum(counts), dtype=np.uint32).reshape(-1, 3)
            records[:, 1] = drawn(rng, shape, len(records))
            expected = records[np.argsort(records[:, 1], kind="stable")]
            lay = [int(rng.integers(members))] * members if rng.random() < 0.3 else list(range(members))
            ends = np.cumsum([0, *counts])
            parts = [np.ascontiguousarray(records[a:b]) for a, b in pairwise(ends)]
            given_ = [Place(lay[k], part.ctypes.data, len(part)) for k, part in enumerate(parts)]
            out = np.zeros_like(records)
            ranges = even(len(records), members)
            takers = list(range(members))
            if lay[0] == lay[-1] and rng.random() < 0.7:
                ranges, takers = [(0, len(records))], lay[:1]
            targets = [Place(to, out.ctypes.data + 12 * a, b - a) for to, (a, b) in zip(takers, ranges, strict=True)]
            team = Stand(rng, members, linked)
            workers = Workers(PAIRS, team, fan_in=int(rng.choice([2, 16])), most_cut=int(rng.choice([1, 16])))
            sort_shares(team, workers, given_, targets, plan)
            assert (out == expected).all(), (counts, plan, lay)
            again = np.concatenate(parts)
            assert (again == records).all()


def test_what_changes_hands_is_little_more_than_must(rng: np.random.Generator) -> None:
    """Three quarters of what two devices exchange are under way before the last quarter is sorted."""
    values = rng.permutation(200_000).astype(np.uint32)
    out = np.zeros_like(values)
    team = Stand(rng, 2, linked=True)
    halves = [Place(k, values.ctypes.data + 400_000 * k, 100_000) for k in range(2)]
    targets = [Place(k, out.ctypes.data + 400_000 * k, 100_000) for k in range(2)]
    sort_shares(team, Workers(Order.of("uint32"), team), halves, targets, Plan(overlapped=1))
    assert (out == np.arange(200_000)).all()
    assert all(source != to for source, to, _ in team.fetched)
    assert sum(nbytes for _, _, nbytes in team.fetched) < 1.05 * 400_000
    assert sum(nbytes for _, _, nbytes in sorted(team.fetched[:2])) > 0.7 * 400_000


def test_a_device_that_fails_ends_the_sort(rng: np.random.Generator) -> None:
    team = Stand(rng, 2, linked=True)
    workers = Workers(Order.of("uint32"), team)

    def fail(member: int, items: Run, out: int) -> None:
        raise MemoryError("no room")

    workers.sort = fail  # type: ignore[method-assign]
    values = np.zeros(100, np.uint32)
    halves = [Place(k, values.ctypes.data + 200 * k, 50) for k in range(2)]
    with pytest.raises(MemoryError, match="no room"):
        sort_shares(team, workers, halves, halves, Plan(overlapped=1))


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
            pytest.skip("there is one GPU")
        return found[1]
    return found[0]


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
    from gpumerge_cli.backends.gpu.hands import GpuHands
    from gpumerge_cli.backends.gpu.several import SeveralGpus
    from gpumerge_cli.backends.gpu.spread import Spread
    from gpumerge_cli.backends.gpu.team import Team

    backend = SeveralGpus(numbers)
    size = order.item_bytes
    for count in (0, 1, 3, 1000, 70_001):
        for plan in (None, *PLANS):
            for request in (SortRequest("auto"), SortRequest("merge")):
                for unique in (None, "first"):
                    data = rng.integers(0, 256 if rng.random() < 0.5 else 2, count * size).astype(np.uint8)
                    keys = order.image(order.keys(data))
                    ranks = np.argsort(keys, kind="stable")
                    if unique:
                        ahead = np.concatenate(([True], keys[ranks][1:] != keys[ranks][:-1]))[:count]
                        ranks = ranks[ahead]
                    expected = data.reshape(-1, size)[ranks].tobytes()
                    policy = backend.resolve_sort(request, order, len(data))
                    spread = Spread(Team(backend._devices), order, len(data), backend.limits, plan)
                    for start in range(0, len(data), 7777):
                        part = data[start : start + 7777]
                        spread.part(start, len(part))[:] = part
                        spread.send(start, len(part))
                    left = spread.sort(len(data), policy, unique)  # type: ignore[arg-type]
                    got = b"".join(spread.receive(at, min(9999, left - at)).tobytes() for at in range(0, left, 9999))
                    assert got == expected, (order.describe(), count, plan, request, unique)
                    spread.close()
    assert GpuHands.most_cut == 16


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
    workspace.sort(policy, "first")
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
        for plan in (None, Plan(overlapped=1), Plan(overlapped=1, direct=True)):
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
    with pytest.raises(UsageError, match="which is none of"):
        gpumerge_cli.sort(array, devices=[count])


@pytest.mark.parametrize(
    ("count", "said"),
    [(0, "none is there"), (1, "there is 1, numbered 0"), (2, "numbered 0 and 1"), (8, "numbered 0 to 7")],
)
def test_which_gpus_there_are(count: int, said: str) -> None:
    pytest.importorskip("cupy")
    from gpumerge_cli.backends.gpu.device import numbered

    assert said in numbered(count)


def test_devices_that_make_no_sense_are_refused() -> None:
    import gpumerge_cli
    from gpumerge_cli.backends import gpu

    with pytest.raises(UsageError, match="GPU 1 is named 2 times"):
        gpu.create((1, 0, 1))
    with pytest.raises(UsageError, match="devices names no GPU"):
        gpumerge_cli.sort(np.zeros(3), devices=[])
    with pytest.raises(UsageError, match="several GPUs sort keys alone"):
        gpumerge_cli.sort(np.zeros(3), devices=[0], values=np.zeros(3))


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
    early.begin([3])
    wait()
    monkeypatch.setattr(early, "_DRIVER", "libcuda.so.1")
    monkeypatch.setattr(early.ctypes, "CDLL", Driver)
    early.begin([0, 3])
    early.begin([0])
    wait()
    assert [name for (name,) in calls] == ["cuInit", "cuDeviceGet", "cuDevicePrimaryCtxRetain"]
