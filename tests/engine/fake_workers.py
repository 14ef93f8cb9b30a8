"""Crews of workers that fail to start, fail, stall, or run out of memory at random chunks: devices in name only.

Each does its work with the CPU's workspaces, so results can be held against the oracle on any machine.
"""

from __future__ import annotations

import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal

import numpy as np
import pytest

from gpumerge_cli.backends import select as backends_select
from gpumerge_cli.backends.base import Backend, Workspace
from gpumerge_cli.engine.executor import ReadyWorkers
from gpumerge_cli.engine.launches import policy_of
from gpumerge_cli.engine.local import LocalTeam
from gpumerge_cli.engine.memory import ChunkBudget
from gpumerge_cli.engine.passes import Pass
from gpumerge_cli.engine.threads import Worker
from gpumerge_cli.engine.workers import CpuWorker, DeviceWorker, PassSetup
from gpumerge_cli.errors import DeviceError, DeviceMemoryError, UsageError
from gpumerge_cli.native.calls import ChunkWork
from gpumerge_cli.order.kinds import Order

Trouble = Literal["none", "no start", "refuses", "slow start", "fails", "stalls", "no memory", "no memory at all"]
TROUBLES: tuple[Trouble, ...] = (
    "none", "no start", "refuses", "slow start", "fails", "stalls", "no memory", "no memory at all",
)  # fmt: skip
_FEW_CASES = 3
"""A test of so many cases, or fewer, runs each with every team."""
CREWS = ("one", "many", "a lone device", "one of each", "troubled", "all others lost")


def mark_shared_cases(items: Iterable[pytest.Item]) -> None:
    """Where a test has many cases, each runs with one of the teams; with the other teams it is for thorough runs.

    Which team it is goes by the name of the case, so that each gets cases of all kinds.
    """
    cases: dict[str, list[tuple[pytest.Function, str, str]]] = {}
    for item in items:
        team = item.callspec.params.get("team") if isinstance(item, pytest.Function) and "[" in item.name else None
        if team is not None and item.get_closest_marker("thorough") is None:
            name, _, case = item.nodeid.partition("[")
            cases.setdefault(name, []).append((item, case.replace(team, ""), team))
    for found in cases.values():
        teams = sorted({team for _, _, team in found})
        if len(found) > _FEW_CASES * len(teams):
            for item, case, team in found:
                if teams[zlib.crc32(case.encode()) % len(teams)] != team:
                    item.add_marker(pytest.mark.thorough)


class Chance:
    """Random numbers that several threads may draw."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._lock = threading.Lock()

    def below(self, most: int) -> int:
        with self._lock:
            return int(self._rng.integers(0, most))

    def one_in(self, number: int) -> bool:
        return self.below(number) == 0


class FakeDevice:
    """The CPU's backend as a device with a trouble of its own."""

    name = "gpu"
    remote = False

    def __init__(self, trouble: Trouble, chance: Chance) -> None:
        if trouble == "no start":
            raise DeviceError("no GPU can be used: a test", way_out="use another")
        if trouble == "refuses":
            raise UsageError("--block-size 7 is not for this device", way_out="use another")
        if trouble == "slow start":
            time.sleep(0.01 * chance.below(30))
        self._backend = backends_select.host()
        self._trouble = trouble
        self._chance = chance
        self._warm = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    def chunk_workers(self, work: ChunkWork, *_: Any) -> None:
        return None

    def workspace(self, order: Order, capacity: int, *, threads: int = 1) -> Workspace:
        workspace = self._backend.workspace(order, capacity, threads=threads)
        for step in ("upload", "merge", "sort", "outputs"):
            setattr(workspace, step, self._troubled(getattr(workspace, step)))
        return workspace

    def _troubled(self, step: Callable[..., Any]) -> Callable[..., Any]:
        def act(*arguments: Any, **options: Any) -> Any:
            self._act(step.__name__)
            return step(*arguments, **options)

        return act

    def _act(self, step: str) -> None:
        if not self._warm:  # the two items of the start
            self._warm = step == "outputs"
            return
        if self._trouble == "fails" and self._chance.one_in(12):
            raise DeviceError("the device is lost", way_out="start again")
        if self._trouble == "stalls" and self._chance.one_in(6):
            time.sleep(0.02)
        if step == "upload" and self._trouble == "no memory" and self._chance.one_in(3):
            raise DeviceMemoryError("the device is out of memory", way_out="close others")
        if step == "upload" and self._trouble == "no memory at all":
            raise DeviceMemoryError("the device is out of memory", way_out="close others")


def workers_of(kind: str, work: Pass, chosen: ChunkBudget, seed: int) -> list[Worker]:
    """The workers of a team."""
    chance = Chance(seed)
    setup = PassSetup(work, backends_select.host(), lambda *_: chosen)

    def device(number: int, trouble: Trouble, threads: int = 2, times: int = 2) -> Worker:
        feed = lambda *_: ChunkBudget(threads, times * chosen.chunk_bytes)  # noqa: E731
        create: Callable[[], Backend] = partial(FakeDevice, trouble, chance)  # type: ignore[assignment]
        return DeviceWorker(f"gpu {number}", work, create, feed)

    host: list[Worker] = [CpuWorker(number, setup) for number in range(3)]
    if kind == "one":
        return host[:1]
    if kind == "many":
        return [CpuWorker(number, setup) for number in range(9)]
    if kind == "a lone device":
        return [device(0, "none", 3)]
    if kind == "one of each":
        return [*host, *(device(number, trouble) for number, trouble in enumerate(TROUBLES))]
    if kind == "troubled":
        picked = [TROUBLES[chance.below(len(TROUBLES))] for _ in range(3)]
        return [
            *host[:1],
            *(device(number, trouble, 1 + chance.below(3)) for number, trouble in enumerate(picked)),
        ]
    # A device that works starts last, behind others that are lost.
    lost: list[Trouble] = ["no start", "fails", "no memory at all", "slow start"]
    return [device(number, trouble) for number, trouble in enumerate(lost)]


@contextmanager
def working(kind: str, seed: int) -> Iterator[None]:
    """Until the body ends, merges and external sorts are done by a team of this kind."""

    really = LocalTeam.ready

    def ready(local: LocalTeam, work: Pass) -> ReadyWorkers:
        if work.action not in ("merge", "sort"):
            return really(local, work)
        backend = backends_select.host()
        return local.ready_with(
            workers_of(
                kind,
                work,
                local.chunk_budget(work, 1.0, backend, policy_of(backend, work)),
                seed,
            )
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalTeam, "ready", ready)
        yield
