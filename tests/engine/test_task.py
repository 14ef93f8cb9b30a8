"""Tasks are pure data: pickled or as JSON, and done by another process from nothing but themselves, they give the bytes
of the run."""

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

from gpumerge_cli.backends.base import LaunchRequest, SortRequest
from gpumerge_cli.engine import stream as engine_stream
from gpumerge_cli.engine.job import Items, Resources
from gpumerge_cli.engine.run import run
from gpumerge_cli.engine.task import ChunkTask, Equals, InputName, Place, TaskWork
from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.record_options import RecordRequest
from gpumerge_cli.order import Lines, Order
from gpumerge_cli.order.rules import COMPARISONS, LineKey, LineOrder
from tests.jobs_of import merge_job
from tests.strategies import as_text

Write = Callable[[str, Any], str]
ROOT = Path(__file__).parents[2]

_ELSEWHERE = """
import json, pickle, sys
from gpumerge_cli.backends import cpu
from gpumerge_cli.engine.outlet import SinkOutlet
from gpumerge_cli.engine.resources import Shares
from gpumerge_cli.engine.site import opened_site
from gpumerge_cli.engine.station import Station
from gpumerge_cli.engine.task import ChunkTask, run
from gpumerge_cli.engine.workers import CpuWorker
from gpumerge_cli.formats.registry import open_sink, resolve_format

how, tasks, output = sys.argv[1:]
with open(tasks, "rb") as file:
    found = pickle.load(file) if how == "pickle" else [ChunkTask.from_dict(one) for one in json.load(file)]
work = found[0].work
sink = open_sink(output, resolve_format(work.inputs[0].name, "text", None), None, None)  # bytes as they come
sink.reserve(work.nbytes)
with opened_site(work, SinkOutlet([sink], work.equals)) as site:
    worker = CpuWorker(0, Station(site, cpu.create(), Shares(1, 1 << 16)))
    worker.start()
    counts = [sum(each) for each in zip(*(run(task, worker).counts for task in found))]
    worker.close()
sink.commit()
print(json.dumps(counts))
"""


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[ChunkTask]]:
    """The tasks that runs make."""
    tasks: list[ChunkTask] = []
    make = engine_stream.ChunkTask

    def kept(*values: Any) -> ChunkTask:
        tasks.append(make(*values))
        return tasks[-1]

    monkeypatch.setattr(engine_stream, "ChunkTask", kept)
    return tasks


def keys(write: Write, rng: np.random.Generator) -> tuple[list[str], Items]:
    runs = [np.sort(rng.integers(0, 999, 9000).astype(">i4")) for _ in range(3)]
    return [write(f"{number}.npy", run) for number, run in enumerate(runs)], Items()


def lines(write: Write, rng: np.random.Generator) -> tuple[list[str], Items]:
    order = LineOrder((LineKey("numeric", start_field=1, end_field=1, reverse=True), LineKey()), separator=ord(":"))
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
@pytest.mark.parametrize("how", ["pickle", "json"])
@pytest.mark.parametrize("inputs", [keys, lines, records])
def test_another_process_gives_the_same_bytes(
    write: Write, tmp_path: Path, rng: np.random.Generator, made: list[ChunkTask], how: str, inputs: Any
) -> None:
    names, items = inputs(write, rng)
    # The names say no more than the task does.
    output = tmp_path / f"out{Path(names[0]).suffix}"
    report = run(merge_job(names, str(output), items, Resources("cpu", threads=2)))
    assert len(made) == report.chunks > 10
    shuffled = random.Random(int(rng.integers(0, 1 << 30))).sample(made, len(made))
    told = tmp_path / "tasks"
    data = pickle.dumps(shuffled) if how == "pickle" else json.dumps([one.as_dict() for one in shuffled]).encode()
    told.write_bytes(data)
    copy = tmp_path / "copy"
    done = subprocess.run(
        [sys.executable, "-c", _ELSEWHERE, how, str(told), str(copy)], cwd=ROOT, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    expected = output.read_bytes()
    if output.suffix == ".npy":
        expected = np.load(output).astype("=i4").tobytes()  # a task's result has no header yet, and native keys
    assert copy.read_bytes() == expected
    assert json.loads(done.stdout) == [one.items for one in report.inputs]


_LETTERS = st.binary(min_size=16, max_size=16)
_KEYS = st.builds(
    LineKey, st.sampled_from(COMPARISONS), st.integers(0, 9), st.integers(0, 9), st.none() | st.integers(0, 9),
    st.integers(0, 9), *[st.booleans()] * 6,
)  # fmt: skip
_RULES = st.builds(
    LineOrder, st.lists(_KEYS, max_size=3).map(tuple), st.none() | st.integers(0, 255), st.booleans(), st.booleans(),
    st.sampled_from([0, 10]), _LETTERS, st.booleans(),
)  # fmt: skip
_ORDERS = st.one_of(
    st.builds(lambda rules: Lines("lines", rules=rules), _RULES),
    st.sampled_from(["int8", "uint64", "float32"]).map(Order.of),
    st.builds(lambda down: Order.records(100, 3, 10, descending=down), st.booleans()),
    st.just(Order.records(16, 8, np.dtype(">f8"))),
)
_LAUNCHES = st.builds(LaunchRequest, st.sampled_from(["auto", "tiled"]), st.none() | st.integers(1, 999))
_ITEMS = st.builds(
    Items, st.none() | st.sampled_from(["text", "raw"]), st.none() | st.text(), st.none() | _RULES,
    st.booleans(), st.integers(0, 3), st.booleans(), st.builds(RecordRequest, st.none() | st.integers(1, 99)),
)  # fmt: skip
_WORKS = st.builds(
    TaskWork, st.sampled_from(["merge", "sort"]),
    st.lists(st.builds(InputName, st.text(), st.text(), st.integers(0, 1 << 62)), max_size=3).map(tuple),
    _ITEMS, _ORDERS, st.sampled_from(Equals), st.booleans(),
    _LAUNCHES | st.builds(SortRequest, st.sampled_from(["auto", "radix"]), _LAUNCHES), st.floats(1, 1e9),
)  # fmt: skip
_RANGES = st.lists(st.tuples(st.integers(0, 1 << 62), st.integers(0, 1 << 62)), max_size=4).map(tuple)


@settings(max_examples=200)
@given(task=st.builds(ChunkTask, _WORKS, st.integers(0, 99), _RANGES, st.builds(Place, st.integers(0, 9),
                                                                                st.integers(0, 1 << 62))))  # fmt: skip
def test_any_task_comes_back_as_it_was(task: ChunkTask) -> None:
    assert pickle.loads(pickle.dumps(task)) == task
    assert ChunkTask.from_dict(json.loads(json.dumps(task.as_dict()))) == task


@pytest.mark.parametrize(
    "change",
    [{"turn": "one"}, {"turn": True}, {"ranges": [[0]]}, {"place": {"part": 0}}, {"more": 1}, {"work": None},
     {"place": {"part": 0, "offset": 0, "odd": 1}}, {"ranges": 7}],
)  # fmt: skip
def test_what_is_no_task_is_told(change: dict[str, Any]) -> None:
    work = TaskWork("merge", (), Items(), Order.of("int32"), Equals.ALL, True, LaunchRequest(), 4.0)
    told = ChunkTask(work, 0, ((0, 4),), Place(0, 0)).as_dict()
    with pytest.raises(InputError, match="a task cannot be read"):
        ChunkTask.from_dict(told | change)


def test_an_input_that_has_changed_since_is_told(write: Write, tmp_path: Path) -> None:
    from gpumerge_cli.engine.outlet import SinkOutlet
    from gpumerge_cli.engine.site import opened_site
    from gpumerge_cli.formats.registry import open_sink, resolve_format

    name = write("a.i32", np.arange(10, dtype=np.int32))
    inputs = (InputName(name, "raw", 44),)
    work = TaskWork("merge", inputs, Items(), Order.of("int32"), Equals.ALL, True, LaunchRequest(), 4.0)
    sink = open_sink(str(tmp_path / "out.i32"), resolve_format(name, None, None), np.dtype(np.int32), None)
    with (
        pytest.raises(InputError, match="it holds 40 bytes, the task says 44"),
        opened_site(work, SinkOutlet([sink], work.equals)),
    ):
        pass
    sink.abort()
