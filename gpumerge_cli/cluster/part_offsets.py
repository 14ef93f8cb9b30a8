"""The places of results in the output, where they are known only once sizes are, and the parts that they make up."""

from __future__ import annotations

from gpumerge_cli.dataclass import dataclass, field, replace
from gpumerge_cli.engine.task import Position, Task


@dataclass(frozen=True)
class _Joined:
    """Neighbouring tasks joined to one, and the bytes that they put out."""

    task: Task
    nbytes: int

    def joined(self, task: Task, nbytes: int) -> _Joined:
        """With the task behind it."""
        return _Joined(self.task.of([self.task.chunk, task.chunk]), self.nbytes + nbytes)


@dataclass
class PartOffsets:
    """The ends of results in each part of an output, by which tasks get their places.

    least: bytes that a task puts out at least, but for the last one of each part: smaller neighbours are joined to one
    task. The tasks of a part are numbered in its order, and their sizes may come in any order.
    """

    least: int = 0
    _numbers: dict[int, tuple[int, int]] = field(default_factory=dict)  # (part, number in it) of each turn
    _given: dict[int, int] = field(default_factory=dict)
    _known: dict[int, dict[int, tuple[Task, int]]] = field(default_factory=dict)  # not all ahead of them are
    _next: dict[int, tuple[int, int]] = field(default_factory=dict)  # (number, place) of each part
    _held: dict[int, _Joined] = field(default_factory=dict)  # by part: what is smaller than `least`

    def number(self, task: Task) -> None:
        """Take note of a new task; those of a part come in its order."""
        part = task.position.part
        self._numbers[task.turn] = part, self._given.get(part, 0)
        self._given[part] = self._given.get(part, 0) + 1

    def known(self, task: Task, nbytes: int) -> list[Task]:
        """The tasks whose places are known now that `task` is known to put out `nbytes`."""
        part, number = self._numbers.pop(task.turn)
        known = self._known.setdefault(part, {})
        known[number] = task, nbytes
        at, offset = self._next.get(part, (0, 0))
        found = []
        while at in known:
            ready, size = known.pop(at)
            found += self._placed(replace(ready, position=Position(part, offset)), size)
            at, offset = at + 1, offset + size
        self._next[part] = at, offset
        return found

    def _placed(self, task: Task, nbytes: int) -> list[Task]:
        part = task.position.part
        ahead = self._held.pop(part, None)
        whole = _Joined(task, nbytes) if ahead is None else ahead.joined(task, nbytes)
        if whole.nbytes >= self.least:
            return [whole.task]
        self._held[part] = whole
        return []

    def rest(self) -> list[Task]:
        """The last tasks, once the sizes of all are known and no further one comes; none until then."""
        if self._numbers:
            return []
        found = [one.task for one in self._held.values()]
        self._held.clear()
        return found
