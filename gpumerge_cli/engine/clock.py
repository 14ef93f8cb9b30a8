"""The times of a run, for its report."""

from __future__ import annotations

import time

from gpumerge_cli.dataclass import dataclass, field
from gpumerge_cli.measure import Stopwatch


@dataclass
class Clock:
    """The times of a run."""

    before: float = 0.0
    """Seconds that the process had run before the call."""
    called: float = field(default_factory=time.perf_counter)
    """The time of the call, in seconds of time.perf_counter."""
    started: float = 0.0
    """The begin of the work; 0 until then."""
    stopwatch: Stopwatch = field(init=False)
    """Takes the spans of the stages."""

    def __post_init__(self) -> None:
        self.stopwatch = Stopwatch(self.called - self.before)

    def start(self) -> None:
        """The work begins."""
        self.started = time.perf_counter()
