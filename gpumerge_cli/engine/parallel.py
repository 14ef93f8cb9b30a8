"""Work shared by threads, item after item."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def for_each(items: Iterable[T], work: Callable[[T], None], workers: int, *, wait: bool = True) -> None:
    """Call `work` for every item, from so many threads, each taking the next one.

    The first error of any is raised, and one that comes from outside (a signal) too; the threads then end with the item
    that they are at. wait: for them, even so; not where one may be stuck.
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

    pool = ThreadPoolExecutor(max(1, workers), thread_name_prefix="gpumerge")
    try:
        for future in started(pool, take, max(1, workers)):
            future.result()
    except BaseException:
        stopped.set()
        pool.shutdown(wait=wait, cancel_futures=True)
        raise
    pool.shutdown()


def started(pool: ThreadPoolExecutor, work: Callable[[], None], workers: int) -> list[Future[None]]:
    """`work` from so many threads of the pool, or from as many as the system lets it start.

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
