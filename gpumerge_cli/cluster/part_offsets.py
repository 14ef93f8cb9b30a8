"""The offsets of results in the output, for results whose sizes are not known ahead."""

from __future__ import annotations

from gpumerge_cli.dataclass import dataclass, field, replace
from gpumerge_cli.engine.task import Position, Task


@dataclass(frozen=True)
class _Joined:
    """Neighbouring tasks joined to one, and the bytes of their results."""

    task: Task
    nbytes: int

    def joined(self, task: Task, nbytes: int) -> _Joined:
        """With the task behind it."""
        return _Joined(self.task.of([self.task.chunk, task.chunk]), self.nbytes + nbytes)


@dataclass
class PartOffsets:
    """Finds the offsets of results in each part of an output from the sizes of those ahead.

    The tasks of a part are numbered in its order, and their sizes may come in any order.
    """

    least: int = 0
    """Bytes that a task writes at least, but for the last one of each part: smaller neighbours become one task."""
    _numbers: dict[int, tuple[int, int]] = field(default_factory=dict)  # (part, number in it) of each turn
    _counts: dict[int, int] = field(default_factory=dict)
    _known: dict[int, dict[int, tuple[Task, int]]] = field(default_factory=dict)  # sizes that wait for those ahead
    _next: dict[int, tuple[int, int]] = field(default_factory=dict)  # (number, offset) of each part
    _small: dict[int, _Joined] = field(default_factory=dict)  # by part: what is smaller than `least`

    def number(self, task: Task) -> None:
        """Add a new task; the tasks of a part come in its order."""
        part = task.position.part
        self._numbers[task.turn] = part, self._counts.get(part, 0)
        self._counts[part] = self._counts.get(part, 0) + 1

    def add_size(self, task: Task, nbytes: int) -> list[Task]:
        """The tasks whose offsets follow from the result of `task`, which has `nbytes`."""
        part, number = self._numbers.pop(task.turn)
        sizes = self._known.setdefault(part, {})
        sizes[number] = task, nbytes
        at, offset = self._next.get(part, (0, 0))
        found = []
        while at in sizes:
            ready, size = sizes.pop(at)
            found += self._joined(replace(ready, position=Position(part, offset)), size)
            at, offset = at + 1, offset + size
        self._next[part] = at, offset
        return found

    def _joined(self, task: Task, nbytes: int) -> list[Task]:
        part = task.position.part
        ahead = self._small.pop(part, None)
        whole = _Joined(task, nbytes) if ahead is None else ahead.joined(task, nbytes)
        if whole.nbytes >= self.least:
            return [whole.task]
        self._small[part] = whole
        return []

    def rest(self) -> list[Task]:
        """The last tasks, once all sizes are known and no further task comes; none until then."""
        if self._numbers:
            return []
        found = [one.task for one in self._small.values()]
        self._small.clear()
        return found
