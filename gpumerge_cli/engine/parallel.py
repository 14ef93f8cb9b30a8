"""Work shared by threads, item after item."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

T = TypeVar("T")


def for_each(items: Iterable[T], work: Callable[[T], None], workers: int, *, wait: bool = True) -> None:
    """Call `work` for every item, from so many threads, each taking the next one.

    Raises the first error of any thread, or one from outside (a signal); each thread then ends with its present item.
    wait: wait for the threads after an error, too; False if one may be stuck.
    """
    pending = iter(items)
    lock = threading.Lock()
    stopped = threading.Event()

    def take() -> None:
        while not stopped.is_set():
            with lock:
                try:
                    item = next(pending)
                except StopIteration:
                    return
            try:
                work(item)
            except BaseException:
                stopped.set()
                raise

    crew = Crew(take, workers)
    try:
        for future in crew.start():
            future.result()
    except BaseException:
        stopped.set()
        crew.stop(wait=wait)
        raise
    crew.close()


class Crew:
    """Threads that each do `work` once; as many as the system lets start, `workers` at most."""

    def __init__(self, work: Callable[[], None], workers: int) -> None:
        from concurrent.futures import ThreadPoolExecutor

        self._work = work
        self._workers = max(1, workers)
        self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix="gpumerge")
        self._active = 0
        self._stopped = False
        self._changed = threading.Condition()

    def start(self) -> list[Future[None]]:
        """Start them. Raises MemoryError if not one can be."""
        return started(self._pool, self._run, self._workers)

    def stop(self, *, wait: bool) -> None:
        """Let no more threads begin. wait: wait until those that have begun are done.

        The data that they use must stay until then. A pool does not know a thread whose start a signal interrupted.
        """
        with self._changed:
            self._stopped = True
        self._pool.shutdown(wait=False, cancel_futures=True)
        with self._changed:
            self._changed.wait_for(lambda: not wait or self._active == 0)

    def close(self) -> None:
        """End the threads, which are done."""
        self._pool.shutdown()

    def _run(self) -> None:
        with self._changed:
            if self._stopped:
                return
            self._active += 1
        try:
            self._work()
        finally:
            with self._changed:
                self._active -= 1
                self._changed.notify_all()


def started(pool: ThreadPoolExecutor, work: Callable[[], None], workers: int) -> list[Future[None]]:
    """Do `work` in so many threads of the pool, or in as many as the system lets it start.

    Raises MemoryError if that is none.
    """
    futures: list[Future[None]] = []
    for _ in range(workers):
        try:
            futures.append(pool.submit(work))
        except RuntimeError:  # no room for another stack, or no more threads allowed
            if not futures:
                raise MemoryError from None
            break
    return futures
