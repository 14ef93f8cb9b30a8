"""The progress of readings of inputs before the work can begin: of compressed ones, and to prepare some formats."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from gpumerge_cli.formats.compressed import compression_of
from gpumerge_cli.formats.format import Layout
from gpumerge_cli.formats.naming import known_size

Advance = Callable[[int, int], None]
OnStage = Callable[[str], None]


class ReadingProgress:
    """Reports readings of files to `advance` as the first half of the work; from any thread.

    total: bytes that they go over, 0 if there are none. Standard input is not counted, whose size nobody knows.
    """

    def __init__(self, names: Sequence[str], layouts: Sequence[Layout], advance: Advance | None) -> None:
        pairs = zip(names, layouts, strict=True)
        counts = [is_packed(name, layout) + layout.format.readings(layout.items) for name, layout in pairs]
        self._sizes = [known_size(name) * count if count else 0 for name, count in zip(names, counts, strict=True)]
        self.total = sum(self._sizes)
        self._advance = advance
        self._done = 0.0
        self._lock = threading.Lock()
        self._readings = [layout.format.readings(layout.items) for layout in layouts]
        self._counts = [max(1, count) for count in counts]

    def of(self, number: int) -> Callable[[float], None]:
        """A function to call with the share of file `number` by which one pass has gone on."""
        size = self._sizes[number] / self._counts[number]

        def went_on(share: float) -> None:
            with self._lock:
                self._done = min(float(self.total), self._done + share * size)
                if self._advance is not None and self.total:
                    self._advance(int(self._done) // 2, self.total)

        return went_on

    def prepared(self, number: int, share: float) -> None:
        """File `number` was prepared by a further share."""
        self.of(number)(share)

    def leave_out_preparing(self) -> None:
        """Nothing is copied as the files are prepared."""
        self.total -= sum(
            size // count * readings
            for size, count, readings in zip(self._sizes, self._counts, self._readings, strict=True)
        )

    def rest(self, advance: Advance | None) -> Advance | None:
        """A function that takes the work's progress, which is the second half where there were readings."""
        if advance is None or not self.total:
            return advance
        return lambda done, total: advance((total + done) // 2, total)


def is_packed(name: str, layout: Layout) -> bool:
    """Whether an input must be decompressed before it can be read."""
    return not layout.items.plain and layout.copy is None and compression_of(name) != ""
