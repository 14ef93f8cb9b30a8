"""Kills workers of a cluster at random moments while merges and sorts run, and holds each output against the local one.

python -m tests.cluster.kills --kills 100 prints the seed that repeats the moments, as far as machines repeat.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from gpumerge_cli.cluster.connect import Connection, connected
from gpumerge_cli.cluster.executor import Cluster
from gpumerge_cli.engine.job import Job
from gpumerge_cli.engine.run import run
from gpumerge_cli.order.equals import Equals
from tests.jobs_of import merge_job, sort_job, to

_ITEMS = 3_000_000
_EACH = 8
"""Kills of one job at most, so that many jobs have some: workers that are killed faster than they start do nothing."""


class Killer:
    """Kills one worker after the other, `most` in all, at random moments while it is asked to."""

    def __init__(self, cluster: Connection, chance: random.Random, longest: float, most: int) -> None:
        assert cluster.workers is not None
        self.kills = 0
        self._most = most
        self._workers = cluster.workers
        self._chance = chance
        self._longest = longest

    @contextmanager
    def at_work(self) -> Iterator[None]:
        ended, most = threading.Event(), min(self._most, self.kills + _EACH)

        def kill() -> None:
            while self.kills < most and not ended.wait(self._chance.uniform(0, self._longest)):
                process = self._chance.choice(self._workers.processes)
                if process.poll() is None:
                    os.kill(process.pid, signal.SIGKILL)
                    self.kills += 1

        thread = threading.Thread(target=kill)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


def files(folder: Path, rng: np.random.Generator) -> dict[str, list[str]]:
    """Inputs of several kinds, sorted and not."""
    found: dict[str, list[str]] = {"sorted": [], "shuffled": [], "lines": [], "loose": []}
    for number in range(3):
        keys = rng.integers(0, _ITEMS, _ITEMS, dtype=np.int32)
        for kind, items in (("sorted", np.sort(keys)), ("shuffled", keys)):
            name = str(folder / f"{kind}{number}.i32")
            items.tofile(name)
            found[kind].append(name)
        words = [b"%d some words" % key for key in keys[: _ITEMS // 4].tolist()]
        for kind, lines in (("lines", sorted(words)), ("loose", words)):
            name = str(folder / f"{kind}{number}.txt")
            Path(name).write_bytes(b"\n".join(lines) + b"\n")
            found[kind].append(name)
    return found


def jobs(found: dict[str, list[str]]) -> list[tuple[str, Job]]:
    """(suffix of the output, the job without output) of each."""
    memory = 8 << 20  # small pieces, many runs
    return [
        (".i32", merge_job(found["sorted"])),
        (".txt", merge_job(found["lines"], equals=Equals.FIRST)),
        (".i32", sort_job(found["shuffled"], memory=memory)),
        (".txt", sort_job(found["loose"], memory=memory)),
        (".i32", sort_job(found["shuffled"], memory=memory, equals=Equals.FIRST)),
    ]


def storm(cluster: Connection, folder: Path, kills: int, seed: int, longest: float = 1.0) -> int:
    """Run jobs until so many workers were killed; the number of jobs. Every output must be whole."""
    chance, rng = random.Random(seed), np.random.default_rng(seed)
    killer = Killer(cluster, chance, longest, kills)
    todo = jobs(files(folder, rng))
    expected = []
    for number, (suffix, job) in enumerate(todo):
        name = folder / f"expected{number}{suffix}"
        run(to(job, str(name)))
        expected.append(name.read_bytes())
    before = set(os.listdir(folder))
    done = 0
    while killer.kills < kills:
        number = done % len(todo)
        suffix, job = todo[number]
        name = folder / f"found{suffix}"
        start, had = time.perf_counter(), killer.kills
        with killer.at_work():
            run(to(job, str(name)), executor=Cluster(cluster.client, 60.0))
        print(f"job {number}: {time.perf_counter() - start:.1f} s, {killer.kills - had} kills", file=sys.stderr)
        assert name.read_bytes() == expected[number], f"seed {seed}: job {done} has another output"
        assert set(os.listdir(folder)) == before | {name.name}, f"seed {seed}: job {done} has left files"
        name.unlink()
        done += 1
    return done


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = parser.parse_args()
    print(f"seed {options.seed}")
    with tempfile.TemporaryDirectory() as folder, connected("local:2") as cluster:
        done = storm(cluster, Path(folder), options.kills, options.seed)
    print(f"{options.kills} kills, {done} jobs, all whole")


if __name__ == "__main__":
    main()
