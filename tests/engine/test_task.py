"""Tasks and jobs are pure data: done by another process from nothing but themselves, they give the bytes of the run."""

from __future__ import annotations

import json
import pickle
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpumerge_cli.engine import tasks as engine_tasks
from gpumerge_cli.engine.job import Destination, Job, Operation, Resources
from gpumerge_cli.engine.run import run
from gpumerge_cli.engine.task import Position, Task
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.record_options import RecordRequest
from gpumerge_cli.launch import LaunchRequest, SortRequest
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.key_kinds import CHOSEN_KINDS
from gpumerge_cli.order.rules import LineKey, LineOrder
from tests.jobs_of import merge_job
from tests.strategies import as_text

Write = Callable[[str, Any], str]
ROOT = Path(__file__).parents[2]

_ELSEWHERE = """
import json, pickle, sys
from gpumerge_cli.backends import select as backends_select
from gpumerge_cli.engine.inputs import open_inputs
from gpumerge_cli.engine.writers import SinkWriter
from gpumerge_cli.engine.passes import Pass
from gpumerge_cli.engine.memory import ChunkBudget
from gpumerge_cli.engine.workers import CpuWorker, PassSetup
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.registry import layout_of, open_sink

shipped, output = sys.argv[1:]
with open(shipped, "rb") as file:
    job, tasks = pickle.load(file)
sink = open_sink(output, layout_of(job.inputs[0], Items("text")), None, None)  # bytes as they come
with open_inputs(job.inputs, job.items) as inputs:
    sink.reserve(inputs.nbytes)
    writer = SinkWriter([sink], planned=job.operation.keeps_sizes)
    work = Pass.of(job, "merge", inputs, writer)
    worker = CpuWorker(0, PassSetup(work, backends_select.host(), lambda *_: ChunkBudget(1, 1 << 16)))
    worker.start()
    counts = [sum(each) for each in zip(*(worker.do(task).counts for task in tasks))]
    worker.close()
sink.commit()
print(json.dumps(counts))
"""


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Task]]:
    """The tasks that runs make."""
    tasks: list[Task] = []

    def kept(*values: Any) -> Task:
        tasks.append(Task(*values))
        return tasks[-1]

    monkeypatch.setattr(engine_tasks, "Task", kept)
    return tasks


def keys(write: Write, rng: np.random.Generator) -> tuple[list[str], Items]:
    runs = [np.sort(rng.integers(0, 999, 9000).astype(">i4")) for _ in range(3)]
    return [write(f"{number}.npy", run) for number, run in enumerate(runs)], Items()


def lines(write: Write, rng: np.random.Generator) -> tuple[list[str], Items]:
    order = LineOrder((LineKey("numeric", start_field=1, end_field=1, reverse=True), LineKey()), separator=b":")
    runs = [
        sorted((b"%d:%d" % tuple(pair) for pair in rng.integers(0, 99, (4000, 2))),
               key=lambda line: (-int(line.split(b":")[1]), line))
        for _ in range(3)
    ]  # fmt: skip
    return [write(f"{number}.txt", as_text(run)) for number, run in enumerate(runs)], Items("text", lines=order)


def records(write: Write, rng: np.random.Generator) -> tuple[list[str], Items]:
    runs = []
    for _ in range(2):
        rows = rng.integers(0, 256, (5000, 20)).astype(np.uint8)
        runs.append(rows[np.argsort(np.ascontiguousarray(rows[:, 3:8]).view("S5")[:, 0], kind="stable")])
    items = Items(records=RecordRequest(size=20, offset=3, width=5))
    return [write(f"{number}.rec", run) for number, run in enumerate(runs)], items


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("inputs", [keys, lines, records])
def test_another_process_gives_the_same_bytes(
    write: Write, tmp_path: Path, rng: np.random.Generator, made: list[Task], inputs: Any
) -> None:
    names, items = inputs(write, rng)
    # The names say no more than the job does.
    output = tmp_path / f"out{Path(names[0]).suffix}"
    job = merge_job(names, str(output), items, Resources("cpu", threads=2))
    report = run(job)
    assert len(made) == report.chunks > 10
    shuffled = random.Random(int(rng.integers(0, 1 << 30))).sample(made, len(made))
    shipped = tmp_path / "tasks"
    shipped.write_bytes(pickle.dumps((job, shuffled)))
    copy = tmp_path / "copy"
    done = subprocess.run(
        [sys.executable, "-c", _ELSEWHERE, str(shipped), str(copy)], cwd=ROOT, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    expected = output.read_bytes()
    if output.suffix == ".npy":
        expected = np.load(output).astype("=i4").tobytes()  # a task's result has no header yet, and native keys
    assert copy.read_bytes() == expected
    assert json.loads(done.stdout) == [one.items for one in report.inputs]


_LETTERS = st.binary(min_size=16, max_size=16)
_KEYS = st.builds(
    LineKey, st.sampled_from(list(CHOSEN_KINDS)), st.integers(0, 9), st.integers(0, 9), st.none() | st.integers(0, 9),
    st.integers(0, 9), *[st.booleans()] * 6,
)  # fmt: skip
_RULES = st.builds(
    LineOrder, st.lists(_KEYS, max_size=3).map(tuple), st.none() | st.integers(0, 255), st.booleans(), st.booleans(),
    st.sampled_from([0, 10]), _LETTERS, st.booleans(),
)  # fmt: skip
_LAUNCHES = st.builds(LaunchRequest, st.sampled_from(["auto", "tiled"]), st.none() | st.integers(1, 999))
_ITEMS = st.builds(
    Items, st.none() | st.sampled_from(["text", "raw"]), st.none() | st.text(), st.none() | _RULES,
    st.booleans(), st.integers(0, 3), st.booleans(), st.booleans(),
    st.builds(RecordRequest, st.none() | st.integers(1, 99)),
)  # fmt: skip
_OPERATIONS = st.builds(
    Operation, st.sampled_from(["merge", "sort", "check"]), st.sampled_from(Equals), st.booleans(), st.booleans(),
    launch=_LAUNCHES | st.builds(SortRequest, st.sampled_from(["auto", "radix"]), _LAUNCHES),
)  # fmt: skip
_JOBS = st.builds(
    Job, st.lists(st.text()).map(tuple), _ITEMS, _OPERATIONS,
    st.builds(Destination, st.text(), st.none() | st.integers(1, 9), st.booleans()),
    st.builds(Resources, st.sampled_from(["auto", "cpu"]), threads=st.none() | st.integers(1, 9)),
)  # fmt: skip
_RANGES = st.lists(st.tuples(st.integers(0, 1 << 62), st.integers(0, 1 << 62)), max_size=4).map(tuple)


@settings(max_examples=100)
@given(job=_JOBS)
def test_any_job_comes_back_as_it_was(job: Job) -> None:
    assert pickle.loads(pickle.dumps(job)) == job
    assert hash(pickle.loads(pickle.dumps(job))) == hash(job)


@given(
    task=st.builds(Task, st.integers(0, 99), _RANGES, st.builds(Position, st.integers(0, 9), st.integers(0, 1 << 62)))
)
def test_any_task_comes_back_as_it_was(task: Task) -> None:
    assert pickle.loads(pickle.dumps(task)) == task
