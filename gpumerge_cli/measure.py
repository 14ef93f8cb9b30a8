"""Spans: how long what took, and how many bytes it moved. Measuring never prints."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock


@dataclass(frozen=True)
class Span:
    """One timed stretch of work: `seconds` long, `nbytes` moved (0 if it moved none)."""

    name: str
    seconds: float
    nbytes: int = 0


class Stopwatch:
    """Collects spans from any number of threads."""

    def __init__(self) -> None:
        self._spans: list[Span] = []
        self._lock = Lock()

    @contextmanager
    def span(self, name: str, nbytes: int = 0) -> Iterator[None]:
        """Time the body as one span."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.add(Span(name, time.perf_counter() - start, nbytes))

    def add(self, *spans: Span) -> None:
        """Take spans that something else measured."""
        with self._lock:
            self._spans.extend(spans)

    def spans(self) -> list[Span]:
        """All spans so far, in the order they ended."""
        with self._lock:
            return list(self._spans)

    def total(self, name: str) -> Span:
        """All spans called `name`, added up."""
        chosen = [span for span in self.spans() if span.name == name]
        return Span(name, sum(span.seconds for span in chosen), sum(span.nbytes for span in chosen))
