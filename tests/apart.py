"""Runs cases in processes of their own. A case that crashes or hangs is reported, and all others still run."""

from __future__ import annotations

import argparse
import faulthandler
import multiprocessing
import os
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

_BATCH = 250
_PATIENCE = 300.0  # seconds
_SHOWN = 20
_fork = multiprocessing.get_context("fork")

Case = Callable[[int, Callable[[str], None]], tuple[Sequence[str], str]]
"""Says which case a number is, and runs it. Returns its kinds, and the error; "" if it is right."""


@dataclass(frozen=True)
class Ended:
    """A case that has run. kinds: the kinds that it counts for. wrong: the case and its error, or "" if it is right."""

    number: int
    kinds: Sequence[str]
    wrong: str


@dataclass
class _Child:
    """A process, the numbers of the cases that it has still to run, and its last message."""

    left: list[int]
    case: Case
    told: str = ""
    process: Any = None
    receiving: Any = None
    begun: list[int] = field(default_factory=list)

    def start(self) -> None:
        self.receiving, sending = _fork.Pipe(duplex=False)
        self.process = _fork.Process(target=_run, args=(self.case, self.left, sending), daemon=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads: these only wait
            self.process.start()
        sending.close()


def each(case: Case, numbers: Sequence[int], *, workers: int = 1, batch: int = _BATCH) -> Iterator[Ended]:
    """Run the cases with these numbers, `batch` cases in a process, and `workers` processes at a time.

    If a case ended its process, it runs again alone, and the result is reported. An earlier case may have overwritten
    memory.
    """
    waiting = [_Child(list(numbers[at : at + batch]), case) for at in range(0, len(numbers), batch)][::-1]
    running: list[_Child] = []
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                running.append(waiting.pop())
                running[-1].start()
            ready = wait([child.receiving for child in running], _PATIENCE)
            for child in [child for child in running if child.receiving in ready or not ready]:
                try:
                    what, told = child.receiving.recv() if child.receiving in ready else ("hangs", None)
                except EOFError:
                    what, told = "gone", None
                if what == "told":
                    child.told = told
                elif what == "begun":
                    child.begun.append(told)
                    child.told = ""
                elif what == "ended":
                    child.left.remove(told.number)
                    yield told
                else:
                    running.remove(child)
                    _end(child, kill=what == "hangs")
                    if child.left:
                        yield _lost(child, what)
                        child.left.pop(0)
                        if child.left:
                            waiting.append(_Child(child.left, case))
    finally:
        for child in running:
            _end(child, kill=True)


def run_numbered(
    program: str, about: str, case_of: Callable[[int, str], Case], backends: Sequence[str], compared: str,
    arguments: Sequence[str] | None,
) -> int:  # fmt: skip
    """The main function of a program of cases that a seed, a backend and a number decide; the exit code.

    program: as python -m takes it. about: its help. case_of: of a seed and a backend. backends: the default is first.
    compared: ends the sentence "5000 calls on ...".
    """
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--backend", choices=backends, default=backends[0])
    parser.add_argument("--workers", type=int, default=1, help="processes at a time")
    parser.add_argument("--seconds", type=float, help="end after so many, though cases are left")
    parser.add_argument("--only", type=int, metavar="N", help="case N alone")
    parser.add_argument("-o", metavar="FILE")
    wish = parser.parse_args(arguments)
    numbers = range(wish.cases) if wish.only is None else [wish.only]
    batch = max(100, -(-len(numbers) // (2 * wish.workers)))
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    done, begun = 0, time.monotonic()
    for ended in each(case_of(wish.seed, wish.backend), numbers, workers=wish.workers, batch=batch):
        done += 1
        counts.update(set(ended.kinds))
        if ended.wrong:
            again = f"python -m {program} --seed {wish.seed} --backend {wish.backend} --only {ended.number}"
            wrong.append(f"{ended.wrong}\n  again: {again}")
            print(wrong[-1], file=sys.stderr, flush=True)
        if wish.seconds and time.monotonic() - begun > wish.seconds:
            break
    report = [f"seed {wish.seed}, {len(numbers)} calls on {compared.format(backend=wish.backend)}"]
    left = f", {len(numbers) - done} not run" if done < len(numbers) else ""
    verdict = f"{done - len(wrong)} of {len(numbers)} right{left}, in {time.monotonic() - begun:.0f} s"
    return conclude(report, counts, wrong, verdict, wish.o)


def conclude(report: list[str], counts: Counter[str], wrong: list[str], verdict: str, file: str | None) -> int:
    """Print the report's first lines, what was tried how often, what was wrong and the verdict; the exit code.

    file: takes the same, if it is named.
    """
    report += [f"{counts[kind]:8} {kind}" for kind in sorted(counts)]
    text = "\n".join([*report, *wrong[:_SHOWN], verdict])
    print(text)
    if file:
        Path(file).write_text(f"{text}\n")
    return 1 if wrong else 0


def _lost(child: _Child, what: str) -> Ended:
    number = child.left[0]
    how = "it hangs" if what == "hangs" else _ending(child.process.exitcode)
    if what != "hangs":
        again = _Child([number], child.case)
        again.start()
        wrong = ""
        try:
            while again.receiving.poll(_PATIENCE):
                said, told = again.receiving.recv()
                wrong = told.wrong if said == "ended" else wrong
            how += ", and hangs alone"
            _end(again, kill=True)
        except EOFError:
            _end(again, kill=False)
            behind = f"is right alone, behind cases {child.begun[0]} to {number}"
            how += f", and alone: {_ending(again.process.exitcode) if again.process.exitcode else wrong or behind}"
    return Ended(number, ("lost",), f"{child.told or f'case {number}'}: {how}")


def _end(child: _Child, *, kill: bool) -> None:
    if kill:
        child.process.kill()
    child.process.join()
    child.receiving.close()


def _ending(code: int) -> str:
    return f"the process ended by {signal.Signals(-code).name}" if code < 0 else f"the process ended with {code}"


def _run(case: Case, numbers: Sequence[int], sending: Connection) -> None:
    faulthandler.disable()  # pytest has it on
    for number in numbers:
        sending.send(("begun", number))
        told = ""

        def tell(what: str) -> None:
            nonlocal told
            told = what
            sending.send(("told", what))

        try:
            kinds, wrong = case(number, tell)
        except Exception:
            kinds, wrong = ("raised",), traceback.format_exc(limit=-4)
        sending.send(("ended", Ended(number, tuple(kinds), wrong and f"{told or f'case {number}'}: {wrong}")))
    sending.close()
    os._exit(0)
