"""Which job writes and reads which file: what is not there, what two jobs write, and who comes after whom."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from gpumerge_cli.errors import OutputError, input_error, output_error
from gpumerge_cli.jobs.document import Mistake
from gpumerge_cli.jobs.expand import Folder

_DESCRIPTOR = re.compile(r"-|/dev/(stdout|stderr|fd/.*)|/proc/self/fd/.*")


JOB_FILE = "the job file"
"""What is called so is read, not written."""


class Files:
    """The files of all jobs by their real paths. taken: those that no job may write, and what they are."""

    def __init__(self, folder: Folder, taken: Mapping[str, str], mistakes: list[Mistake]) -> None:
        self._folder = folder
        self._taken = dict(taken)
        self._replaced = {real for real, what in taken.items() if what != JOB_FILE}
        self._mistakes = mistakes
        self._writers: dict[str, tuple[int, str, int]] = {}
        self._outputs: dict[int, str] = {}
        self._stats: dict[str, os.stat_result | OSError] = {}

    def keeps(self, name: str, line: int, what: str) -> None:
        """A file that is read before any job runs, and what it is: no job may write it."""
        real = self._folder.real(name)
        self._judge_kept(name, line)
        if not self._is_device(name):
            self._taken.setdefault(real, what)

    def writes(self, number: int, job: str, written: Sequence[tuple[str, int]]) -> None:
        """Job `number`, called `job`, writes these files: (name, line); its output is the first of them."""
        for name, line in written:
            trouble = self._cannot_write(name)
            if trouble is not None:
                self._mistakes.append(Mistake(line, f"{trouble.where}: {trouble.what}", trouble.way_out))
                continue
            real = self._folder.real(name)
            if real in self._taken:
                self._wrong(line, f"{self._folder.path(name)} is {self._taken[real]}", "name another file")
            elif real in self._writers and self._writers[real][0] != number:
                _, first, where = self._writers[real]
                told = f"{self._folder.path(name)} is written by job {first} of line {where} already"
                self._wrong(line, told, "name another file")
            elif not self._is_device(name):
                self._writers[real] = (number, job, line)
        if written:
            self._outputs[number] = self._folder.real(written[0][0])

    def reads(self, number: int, inputs: Sequence[tuple[str, int]]) -> tuple[set[int], int, bool]:
        """Of a job that reads these: the jobs that make some, bytes of the others, and whether all others are there."""
        after: set[int] = set()
        nbytes, found = 0, True
        for name, line in inputs:
            self._judge_kept(name, line)
            writer = self._writers.get(self._folder.real(name), (number, "", 0))[0]
            if writer != number:
                after.add(writer)
                continue
            status = self._status(name)
            if isinstance(status, os.stat_result) and stat.S_ISDIR(status.st_mode):
                status = IsADirectoryError(errno.EISDIR, "")
            elif isinstance(status, os.stat_result) and not os.access(self._folder.path(name), os.R_OK):
                status = PermissionError(errno.EACCES, "")
            if isinstance(status, OSError):
                found = False
                trouble = input_error(status, self._folder.path(name))
                self._wrong(line, f"{trouble.where}: {trouble.what}", trouble.way_out)
            else:
                nbytes += status.st_size
        return after, nbytes, found

    def judge_replaced(self, number: int, inputs: Sequence[str], line: int) -> None:
        """A job that was killed may run again. One that replaces one input of several would merge it in twice."""
        output = self._outputs.get(number)
        if len(inputs) > 1 and output is not None and output in map(self._folder.real, inputs):
            self._wrong(
                line, f"it replaces {output}, one of its inputs: run again, it would merge that twice",
                "name another output",
            )  # fmt: skip

    def judge_cycles(self, after: Mapping[int, frozenset[int]], jobs: Mapping[int, tuple[str, int]]) -> None:
        """Jobs that wait for each other never start. jobs: (name, line) by number."""
        waiting = {number: set(others) for number, others in after.items()}
        while True:
            try:
                TopologicalSorter(waiting).prepare()
                return
            except CycleError as error:
                cycle: list[int] = error.args[1]
                names = " -> ".join(jobs[number][0] for number in cycle)
                first = min(cycle, key=lambda number: jobs[number][1])
                self._wrong(jobs[first][1], f"jobs wait for each other: {names}", "make one of them read another file")
                for number in cycle:
                    waiting[number] = set()

    def _judge_kept(self, name: str, line: int) -> None:
        real = self._folder.real(name)
        if real in self._replaced:
            self._wrong(
                line, f"{self._folder.path(name)} would be replaced: it is {self._taken[real]}", "name another one"
            )

    def _cannot_write(self, name: str) -> OutputError | None:
        path = self._folder.path(name)
        if not name or name.endswith("/"):
            return OutputError(f"{name!r} is no name of a file", where="output", way_out="name a file")
        if _DESCRIPTOR.fullmatch(name):
            return OutputError("a job writes a file", where=name, way_out="name one")
        status = self._status(name)
        if isinstance(status, OSError) and not isinstance(status, FileNotFoundError):
            return output_error(status, path)
        if isinstance(status, os.stat_result) and stat.S_ISDIR(status.st_mode):
            return output_error(IsADirectoryError(errno.EISDIR, ""), path)
        folder = os.path.dirname(os.path.realpath(path))
        if not os.path.isdir(folder):
            return OutputError("there is no such folder", where=folder, way_out="make it first")
        place = path if isinstance(status, os.stat_result) else folder
        return None if os.access(place, os.W_OK) else output_error(PermissionError(errno.EACCES, ""), path)

    def _is_device(self, name: str) -> bool:
        status = self._status(name)
        return isinstance(status, os.stat_result) and not stat.S_ISREG(status.st_mode)

    def _status(self, name: str) -> os.stat_result | OSError:
        if name not in self._stats:
            try:
                self._stats[name] = os.stat(self._folder.path(name))
            except (OSError, ValueError) as error:
                self._stats[name] = error if isinstance(error, OSError) else OSError(errno.EINVAL, "")
        return self._stats[name]

    def _wrong(self, line: int, what: str, way_out: str) -> None:
        self._mistakes.append(Mistake(line, what, way_out))
