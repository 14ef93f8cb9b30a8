"""Host threads that share one chunk."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

# A piece shorter than this is done before another thread would have started.
_SHORTEST_PIECE = 1 << 15


class ThreadTeam:
    """A team of `threads` threads. A team of one works on the caller's thread."""

    def __init__(self, threads: int) -> None:
        self.size = max(1, threads)
        self._pool: ThreadPoolExecutor | None = None
        if self.size > 1:
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(self.size)

    def __enter__(self) -> ThreadTeam:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def pieces(self, count: int) -> list[tuple[int, int]]:
        """Equal pieces of 0..count, one a thread, or fewer if they would be short."""
        number = max(1, min(self.size, count // _SHORTEST_PIECE))
        edges = [count * piece // number for piece in range(number + 1)]
        return list(pairwise(edges))

    def run(self, work: Callable[..., Any], calls: list[tuple[Any, ...]]) -> list[Any]:
        """The results of work(*arguments) for each of `calls`, which run at once."""
        if self._pool is None or len(calls) == 1:
            return [work(*arguments) for arguments in calls]
        return [future.result() for future in [self._pool.submit(work, *arguments) for arguments in calls]]

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()
