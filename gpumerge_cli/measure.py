"""Spans of time: how long a piece of work took, when it ran, and how many bytes it moved. Measuring never prints."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from gpumerge_cli.dataclass import dataclass, field, replace

MOST_STRETCHES = 2000
COMPILE = "compile"
"""The stage of compiling. It happens inside other stages, and their times leave it out."""
_FIRST_SLOT = 1e-3


@dataclass(frozen=True)
class Span:
    """One timed piece of work."""

    name: str
    seconds: float
    """Its duration."""
    nbytes: int = 0
    """The bytes that it moved; 0 if it moved none."""
    stopped: float = field(default_factory=time.perf_counter)
    """Its end, in seconds of time.perf_counter; by default now, for a span that is made when it ends."""


@dataclass(frozen=True)
class Stretch:
    """Work of one thread on one stage: a span, or several spans that lie close together."""

    stage: str
    """The name of the stage."""
    lane: str
    """The name of the worker that the thread works for ("cpu 3", "gpu 0"), or "thread N" if it works for none."""
    start: float
    """Seconds since the run began."""
    stop: float
    """Seconds since the run began."""
    seconds: float
    """The time that the thread was busy between start and stop; all of the time if `spans` is 1."""
    nbytes: int
    """The bytes that were moved."""
    spans: int = 1


class Stopwatch:
    """Collects spans from any number of threads, in bounded memory.

    Sums stay exact. Once there are many spans, neighbouring ones are joined to one stretch. most: how many stretches
    are kept; there is at least one for each stage and thread.
    """

    def __init__(self, origin: float = 0.0, most: int = MOST_STRETCHES) -> None:
        self.origin = origin
        """The begin of the run, in seconds of time.perf_counter."""
        self._most = most
        self._totals: dict[str, tuple[float, int]] = {}
        self._tracks: dict[tuple[str, str, int], list[Stretch]] = {}
        self._threads: dict[int, int] = {}
        self._lanes: dict[int, str] = {}
        self._compiled: dict[int, list[Span]] = {}
        self._kept = 0
        self._slot = 0.0
        self._lock = threading.Lock()

    @contextmanager
    def span(self, name: str) -> Iterator[None]:
        """Time the body as one span, which moves no bytes."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.add(Span(name, time.perf_counter() - start))

    def name_lane(self, lane: str) -> None:
        """From now on the calling thread works for the worker of this name."""
        with self._lock:
            self._lanes[threading.get_ident()] = lane

    def add(self, *spans: Span) -> None:
        """Take spans of the calling thread. Spans of one stage must come in the order in which they ended."""
        with self._lock:
            thread = self._threads.setdefault(threading.get_ident(), len(self._threads))
            lane = self._lanes.get(threading.get_ident(), f"thread {thread}")
            for given in spans:
                if given.name == COMPILE:
                    self._compiled.setdefault(thread, []).append(given)
                span = self._without_compiling(given, thread) if thread in self._compiled else given
                seconds, nbytes = self._totals.get(span.name, (0.0, 0))
                self._totals[span.name] = seconds + span.seconds, nbytes + span.nbytes
                stop = span.stopped - self.origin
                stretch = Stretch(span.name, lane, max(0.0, stop - span.seconds), stop, span.seconds, span.nbytes)
                self._keep(self._tracks.setdefault((span.name, lane, thread), []), stretch)
            if self._kept > max(self._most, len(self._tracks)):
                self._coarsen()

    def _without_compiling(self, span: Span, thread: int) -> Span:
        """`span` without the seconds that its thread spent compiling in it."""
        if span.name == COMPILE:
            return span
        start = span.stopped - span.seconds
        inside = sum(
            one.seconds
            for one in self._compiled[thread]
            if start <= one.stopped - one.seconds and one.stopped <= span.stopped
        )
        return replace(span, seconds=max(0.0, span.seconds - inside)) if inside else span

    def total(self, name: str) -> Span:
        """All spans called `name`, added up."""
        with self._lock:
            return Span(name, *self._totals.get(name, (0.0, 0)))

    def timeline(self) -> tuple[Stretch, ...]:
        """All stretches, by their start. Times are rounded to microseconds."""
        with self._lock:
            found = [
                Stretch(
                    one.stage, one.lane, round(one.start, 6), round(one.stop, 6), round(one.seconds, 6), one.nbytes,
                    one.spans,
                )
                for track in self._tracks.values()
                for one in track
            ]  # fmt: skip
        return tuple(sorted(found, key=lambda one: (one.start, one.stop)))

    def _keep(self, track: list[Stretch], new: Stretch) -> None:
        """Join `new` to the last of `track` if both begin in one slot of time."""
        if self._slot and track and track[-1].start // self._slot == new.start // self._slot:
            last = track[-1]
            track[-1] = Stretch(
                new.stage, new.lane, min(last.start, new.start), max(last.stop, new.stop), last.seconds + new.seconds,
                last.nbytes + new.nbytes, last.spans + new.spans,
            )  # fmt: skip
        else:
            track.append(new)
            self._kept += 1

    def _coarsen(self) -> None:
        """Double the slots of time until half of the stretches are left, so that adding a span stays cheap."""
        while self._kept > max(self._most // 2, len(self._tracks)):
            self._slot = 2 * self._slot or _FIRST_SLOT
            self._kept = 0
            for track in self._tracks.values():
                old = track[:]
                track.clear()
                for stretch in old:
                    self._keep(track, stretch)
