"""Threads that share work. The first error stops all of them, and signals are seen."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

POLL_SECONDS = 0.2
"""Seconds between two checks of a waiting thread for a signal: some platforms do not interrupt an endless wait."""

PART_BYTES = 8 << 20
"""Bytes of an array or file that one of several threads moves at once, to or from a device or a file."""
FEEDING_THREADS = 8
"""The most threads that move bytes to and from a device at once."""

T = TypeVar("T")


def for_each(items: Iterable[T], work: Callable[[T], None], workers: int, *, waits: bool = True) -> None:
    """Call `work` for every item, from so many threads, each taking the next one; from the calling one if it is one.

    Raises the first error of any thread, or one from outside; each thread then ends with its present item. waits: see
    ThreadGroup.
    """
    if workers <= 1:
        for item in items:
            work(item)
        return
    pending = iter(items)
    lock = threading.Lock()
    group = ThreadGroup(waits=waits)

    def take() -> None:
        while not group.stopped:
            with lock:
                try:
                    item = next(pending)
                except StopIteration:
                    return
            work(item)

    group.run([("gpumerge", take)] * workers)


class ThreadGroup:
    """Threads that share one work, as many as the system lets start. They do nothing more once it has stopped.

    halt: called after an error, makes threads that wait for something come back.
    waits: after an error from outside, such as a signal, threads that have begun are waited for. False if one may never
    come back, as one that writes to a pipe nobody reads.
    """

    def __init__(self, halt: Callable[[], None] = lambda: None, *, waits: bool = True) -> None:
        self._halt = halt
        self.changed = threading.Condition()
        """Guards the state of the group and is notified of its changes; users guard theirs by it, too."""
        self.stopped = False
        self._waits = waits
        self._error: BaseException | None = None
        self._launched = self._begun = self._apart = self._ended = 0

    def run(self, works: Iterable[tuple[str, Callable[[], None]]], is_over: Callable[[], bool] = lambda: False) -> None:
        """Do each work in a thread of that name, and wait for all threads.

        Raises the first error of any, or one from outside. is_over: whether threads that are apart are not waited for.
        """
        try:
            for name, work in works:
                if not self.launch(name, work):
                    break
            with self.changed:
                while self._ended < self._launched and not (self.idle and (self.stopped or is_over())):
                    self.changed.wait(POLL_SECONDS)
        except BaseException as error:
            self._fail(error)
            with self.changed:
                self.changed.wait_for(lambda: not self._waits or self.idle)
            raise
        if self._error is not None:
            raise self._error

    def launch(self, name: str, work: Callable[[], None]) -> bool:
        """Start a thread; False if the system lets no more start. Raises MemoryError if there is none at all."""
        thread = threading.Thread(target=partial(self._do, work), name=name, daemon=True)
        with self.changed:
            self._launched += 1
        try:
            thread.start()
        except RuntimeError:  # no room for another stack, or no more threads allowed
            with self.changed:
                self._launched -= 1
                if not self._launched:
                    raise MemoryError from None
            return False
        return True

    def stop(self) -> None:
        """Let no more threads begin. Those that have begun see it."""
        with self.changed:
            self.stopped = True
            self.changed.notify_all()

    def _fail(self, error: BaseException) -> None:
        self._error = self._error or error
        self.stop()
        self._halt()

    @contextmanager
    def apart(self) -> Iterator[None]:
        """The calling thread need not be waited for meanwhile."""
        with self.changed:
            self._apart += 1
            self.changed.notify_all()
        try:
            yield
        finally:
            with self.changed:
                self._apart -= 1

    @property
    def idle(self) -> bool:
        """Whether no thread is at work, but for those that are apart."""
        return self._begun == self._ended + self._apart

    def _do(self, work: Callable[[], None]) -> None:
        with self.changed:
            if self.stopped:
                self._launched -= 1
                self.changed.notify_all()
                return
            self._begun += 1
        try:
            work()
        except BaseException as error:
            self._fail(error)
        finally:
            with self.changed:
                self._ended += 1
                self.changed.notify_all()
