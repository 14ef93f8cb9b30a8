"""The progress of readings of inputs before the work can begin: of compressed ones, and of CSV."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from gpumerge_cli.formats.compressed import compression_of
from gpumerge_cli.formats.format import Content
from gpumerge_cli.formats.naming import size_told

Advance = Callable[[int, int], None]


class Openings:
    """The readings of files, told to `advance` as the first half of everything; from any thread.

    total: bytes that they go over, 0 if there are none. Standard input is not counted, whose size nobody knows.
    """

    def __init__(self, names: Sequence[str], formats: Sequence[Content], advance: Advance | None) -> None:
        counts = [_count(name, chosen) for name, chosen in zip(names, formats, strict=True)]
        self._sizes = [size_told(name) * count if count else 0 for name, count in zip(names, counts, strict=True)]
        self.total = sum(self._sizes)
        self._advance = advance
        self._done = 0.0
        self._lock = threading.Lock()
        self._csv = [chosen.csv for chosen in formats]
        self._counts = [max(1, _count(name, chosen)) for name, chosen in zip(names, formats, strict=True)]

    def of(self, number: int) -> Callable[[float], None]:
        """A function to call with the share of file `number` by which one pass has gone on."""
        size = self._sizes[number] / self._counts[number]

        def went_on(share: float) -> None:
            with self._lock:
                self._done = min(float(self.total), self._done + share * size)
                if self._advance is not None and self.total:
                    self._advance(int(self._done) // 2, self.total)

        return went_on

    def copied(self, number: int, share: float) -> None:
        """The records of CSV in file `number` were copied by a further share."""
        self.of(number)(share)

    def leave_out_copies(self) -> None:
        """The records of CSV need no copies."""
        self.total -= sum(
            size // count for size, count, csv in zip(self._sizes, self._counts, self._csv, strict=True) if csv
        )

    def rest(self, advance: Advance | None) -> Advance | None:
        """A function that takes the work's progress, which is the second half where there were readings."""
        if advance is None or not self.total:
            return advance
        return lambda done, total: advance((total + done) // 2, total)


def is_packed(name: str, chosen: Content) -> bool:
    """Whether an input must be decompressed before it can be read."""
    return not chosen.plain and chosen.copy is None and compression_of(name) != ""


def _count(name: str, chosen: Content) -> int:
    return is_packed(name, chosen) + chosen.csv
