"""Sets, joins, diffs, comparisons, counts and sums by a cluster: outputs are those of this machine alone."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from struct import pack
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

from gpumerge_cli.cli.batch_jobs import commands
from gpumerge_cli.cluster import sorting, workers
from gpumerge_cli.cluster.connect import Connection
from gpumerge_cli.cluster.executor import Cluster
from gpumerge_cli.dataclass import replace
from gpumerge_cli.engine.executor import Executor
from gpumerge_cli.engine.job import Job
from gpumerge_cli.engine.local import LOCAL
from gpumerge_cli.engine.run import run
from gpumerge_cli.errors import GpumergeError
from gpumerge_cli.results.run import MergeReport
from tests.cluster.troubled import Here
from tests.formats.tables.random_tables import read
from tests.jobs_of import to

pq = pytest.importorskip("pyarrow.parquet")
feather = pytest.importorskip("pyarrow.feather")

Row = tuple[int, int | None, str, int]
"""(a key, a time, a text, a number)."""
TABLES = (".parquet", ".arrow")
KINDS = (".txt", ".csv", ".bin", ".jsonl", *TABLES)
KEYS: dict[str, dict[str, Any]] = {
    ".txt": {"key": ["1,1"], "field-separator": [" "]},
    ".bin": {"record-size": [11], "key-size": [4]},
    ".csv": {"field": ["id:n"]},
}
TIMED: dict[str, dict[str, Any]] = {
    ".txt": {"field": ["1,2:n"], "field-separator": [" "], "header": [False]},
    ".bin": {"record-size": [11], "key-size": [8]},
    ".csv": {"field": ["id:n,at:n"]},
    ".jsonl": {"field": ["id,at"]},
}


class Case(NamedTuple):
    """A command and its options. files: numbers of the files of `written`."""

    command: str
    options: dict[str, Any]
    files: tuple[int, int] = (0, 1)


def random_rows(rng: random.Random, *, unique: bool, nulls: bool) -> list[Row]:
    count, most = rng.choice([0, 1, 400, 800]), rng.choice([4, 60, 3000])
    keys = rng.sample(range(3000), count) if unique else rng.choices(range(most), k=count)
    times = [None if nulls and rng.random() < 0.2 else rng.randrange(20) for _ in keys]
    pairs = sorted(zip(keys, times, strict=True), key=lambda pair: (pair[0], pair[1] is None, pair[1] or 0))
    return [(key, time, rng.choice("xyz"), rng.randrange(100)) for key, time in pairs]


def written(rng: random.Random, suffix: str, folder: Path) -> list[str]:
    """Four files: two of rows with equal keys, an old one and a new one of rows with keys of their own."""
    nulls = suffix in TABLES or suffix == ".jsonl"
    old = random_rows(rng, unique=True, nulls=False)
    new = [(*row[:3], row[3] + (rng.random() < 0.2)) for row in old if rng.random() < 0.9]
    found = [*(random_rows(rng, unique=False, nulls=nulls) for _ in range(2)), old, new]
    return [put(folder / f"{number}{suffix}", rows) for number, rows in enumerate(found)]


def put(path: Path, rows: Sequence[Row]) -> str:
    """A file of rows."""
    suffix = path.suffix
    if suffix == ".txt":
        path.write_text("".join(f"{key:06} {time:02} {text} {one}\n" for key, time, text, one in rows))
    elif suffix == ".csv":
        path.write_text("id,at,a,b\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    elif suffix == ".bin":
        path.write_bytes(b"".join(pack(">IIcH", key, time or 0, text.encode(), one) for key, time, text, one in rows))
    elif suffix == ".jsonl":
        lines = [json.dumps(dict(zip(("id", "at", "a", "b"), row, strict=True))) + "\n" for row in rows]
        path.write_text("".join(lines))
    else:
        columns = list(zip(*rows, strict=True)) or [()] * 4
        types = (pa.int64(), pa.int32(), pa.string(), pa.int64())
        arrays = [pa.array(column, type) for column, type in zip(columns, types, strict=True)]
        table = pa.table(arrays, names=["id", "at", "a", "b"])
        if suffix == ".parquet":
            pq.write_table(table, path, row_group_size=50)
        else:
            feather.write_feather(table, str(path), compression="uncompressed", chunksize=50)
    return str(path)


def cases_of(suffix: str) -> Iterator[Case]:
    """All cases of a format."""
    by_key = KEYS.get(suffix, {"field": ["id"]})
    for name in ("union", "intersect", "difference", "symmetric"):
        yield Case(name, by_key)
        yield Case(name, by_key | {"distinct": [True]})
    fields = {"field": ["1"], "field-separator": [" "], "header": [False]} if suffix == ".txt" else by_key
    for type in ("inner", "left", "right", "outer", "anti", "semi"):
        yield Case("join", fields | {"type": [type]})
    timed = TIMED.get(suffix, {"field": ["id", "at"]})
    for direction in ("backward", "forward") if suffix == ".bin" else ("backward", "forward", "nearest"):
        asof = timed | {"type": ["asof"], "direction": [direction]}
        yield Case("join", asof)
        if suffix != ".bin":  # whose keys have no distances
            yield Case("join", asof | {"tolerance": [1]})
    yield Case("diff", by_key, (2, 3))
    yield Case("diff", by_key | {"multi": [True]})
    yield Case("diff", by_key | {"total": [True]}, (2, 3))
    for rule in ({"unique": ["last"]}, {"only": ["singles"]}, {"only": ["duplicates"]}):
        yield Case("merge", by_key | rule)
    if suffix == ".bin":
        return
    yield from cases_of_text(suffix, by_key)


def cases_of_text(suffix: str, by_key: dict[str, Any]) -> Iterator[Case]:
    """Those in which a column or a text is added, or keys are stated."""
    for command in ("merge", "union", "sort"):
        yield Case(command, by_key | {"count": ["ahead"]})
    column = "4" if suffix == ".txt" else "b"
    for command in ("merge", "sort"):
        yield Case(command, by_key | {"sum": [column]})
        yield Case(command, by_key | {"sum": [column], "unique": ["last"]})
    first, last = ("000002", "000050") if suffix == ".txt" else ("2", "50")
    for command in ("merge", "intersect"):
        yield Case(command, by_key | {"from": [first], "to": [last]})
    if suffix != ".jsonl":
        yield Case("diff", by_key | {"ignore": ["2" if suffix == ".txt" else "at"]}, (2, 3))
    if suffix == ".csv":
        return
    hidden = [(), ("without-first",), ("without-second", "without-both"), ("without-first", "without-both")]
    for names in hidden:
        yield Case("compare", by_key | {name: [True] for name in names})
    yield Case("compare", by_key | {"total": [True]})


def job_of(case: Case, names: Sequence[str]) -> Job:
    """The job of a case, in many pieces."""
    files = [names[number] for number in case.files]
    made = commands(has_settings=False)[case.command].parse(case.options, files)
    if Path(files[0]).suffix not in TABLES:
        return made
    from gpumerge_cli.formats.tables.settings import GroupSize

    return replace(made, output=replace(made.output, group=GroupSize(60, None)))


def outcome(job: Job, executor: Executor, output: Path) -> tuple[Any, ...]:
    """The output and the numbers of a report, or the error."""
    try:
        is_total = job.operation.title == "diff" and job.output.name == os.devnull
        report = run(job if is_total else to(job, str(output)), executor=executor)
    except GpumergeError as error:
        assert not output.exists()
        return (str(error).replace(output.name, "OUT"),)
    assert isinstance(report, MergeReport)
    content: Any = None
    if not is_total:
        content = read(str(output)) if output.suffix in TABLES else output.read_bytes()
        output.unlink()
    if isinstance(content, pa.Table):
        content = (content.schema, content.schema.metadata, content.to_pydict())
    written = 0 if output.suffix in TABLES else report.written
    return content, written, report.items, report.dropped, report.joined, report.difference


def in_both(job: Job, machines: Executor, folder: Path, suffix: str) -> None:
    """Do it here and by the machines; nothing may differ, and nothing else be left."""
    before = set(os.listdir(folder))
    here, there = (
        outcome(job, one, folder / f"{which}{suffix}") for one, which in ((LOCAL, "here"), (machines, "there"))
    )
    assert here == there
    assert set(os.listdir(folder)) == before


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "_LEAST_PIECE", 1 << 11)
    monkeypatch.setattr(workers, "_LEAST_TASK", 1 << 12)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("suffix", KINDS)
def test_random_cases(suffix: str, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    names = written(rng, suffix, tmp_path)
    for case in rng.sample(list(cases_of(suffix)), 5):
        print(case)
        in_both(job_of(case, names), Here(seed, 7), tmp_path, suffix)


@pytest.mark.thorough
@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("suffix", KINDS)
def test_all_cases(suffix: str, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    for number in range(3):
        folder = tmp_path / str(number)
        folder.mkdir()
        names = written(rng, suffix, folder)
        for case in cases_of(suffix):
            print(case)
            in_both(job_of(case, names), Here(rng.getrandbits(32), 7), folder, suffix)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_processes(suffix: str, cluster: Connection, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    names = written(rng, suffix, tmp_path)
    machines = Cluster(cluster.client, 30.0)
    by_key = KEYS.get(suffix, {"field": ["id"]})
    for case in (
        Case("symmetric", by_key), Case("join", by_key | {"type": ["outer"]}), Case("merge", by_key | {"sum": ["b"]}),
        Case("diff", by_key, (2, 3)),
    ):  # fmt: skip
        in_both(job_of(case, names), machines, tmp_path, suffix)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("suffix", [".txt", ".jsonl", ".parquet"])
def test_parts(suffix: str, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    names = written(rng, suffix, tmp_path)
    job = job_of(Case("union", KEYS.get(suffix, {"field": ["id"]})), names)
    found = []
    for which, executor in (("here", LOCAL), ("there", Here(seed, 7))):
        parted = replace(job, output=replace(job.output, parts=3, name=str(tmp_path / f"{which}{{part}}{suffix}")))
        run(parted, executor=executor)
        parts = sorted(tmp_path.glob(f"{which}*"))
        assert len(parts) == 3
        is_table = suffix in TABLES
        found.append(
            pa.concat_tables([read(str(part)) for part in parts]).to_pydict()
            if is_table
            else b"".join(part.read_bytes() for part in parts)
        )
    assert found[0] == found[1]


def rows(*keys: int) -> list[Row]:
    return [(key, 0, "x", number) for number, key in enumerate(keys)]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("suffix", KINDS)
def test_errors_are_those_of_this_machine(
    suffix: str, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # errors name files as the job does
    rng = random.Random(seed)
    keys = list(range(2000))
    at = rng.randrange(1, 2000)
    names = [put(Path(f"0{suffix}"), rows(*keys))]
    keys[at] = keys[at - 1]
    names.append(put(Path(f"1{suffix}"), rows(*keys)))  # a key is there twice
    keys[at] = keys[at - 1] - 1
    names.append(put(Path(f"2{suffix}"), rows(*keys)))  # disorder
    by_key = KEYS.get(suffix, {"field": ["id"]})
    fields = {"field": ["1"], "field-separator": [" "], "header": [False]} if suffix == ".txt" else by_key
    for case, what in (
        (Case("diff", by_key, (0, 1)), "its key equals the key of the item before it"),
        (Case("diff", by_key, (0, 2)), "disorder"),
        (Case("join", fields, (0, 2)), "disorder"),
        (Case("union", by_key, (0, 2)), "disorder"),
    ):
        found = [outcome(job_of(case, names), one, tmp_path / f"out{suffix}") for one in (LOCAL, Here(seed, 0))]
        assert len(found[0]) == 1
        assert what in found[0][0]
        assert found[0] == found[1]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("command", "options", "line", "what"),
    [
        ("merge", {"sum": ["b"]}, {"id": 3000, "b": "x"}, "is not a number"),
        ("diff", {}, {"id": 3000, "change": 1}, "the output adds"),
    ],
)
def test_values_of_json(command: str, options: Any, line: Any, what: str, tmp_path: Path) -> None:
    names = [put(tmp_path / f"{number}.jsonl", rows(*range(3000))) for number in range(2)]
    with open(names[1], "a") as file:
        file.write(json.dumps(line) + "\n")
    job = job_of(Case(command, options | {"field": ["id"]}), names)
    found = [outcome(job, one, tmp_path / "out.jsonl") for one in (LOCAL, Here(1, 0))]
    assert what in found[0][0]
    assert found[0] == found[1]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("command", ["join", "diff", "union"])
def test_keys_of_two_types(command: str, tmp_path: Path) -> None:
    names = [str(tmp_path / f"{number}.jsonl") for number in range(2)]
    for name, text in zip(names, ('{"id": %d}\n', '{"id": "%06d"}\n'), strict=True):
        Path(name).write_text("".join(text % number for number in range(2000)))
    job = job_of(Case(command, {"field": ["id"]}), names)
    found = [outcome(job, one, tmp_path / "out.jsonl") for one in (LOCAL, Here(1, 0))]
    assert "is a string" in found[0][0]
    assert found[0] == found[1]


def test_pairs_of_json_that_are_no_objects(tmp_path: Path) -> None:
    names = [str(tmp_path / f"{number}.jsonl") for number in range(2)]
    for name in names:
        Path(name).write_text("".join(f"[{number}]\n" for number in range(3000)))
    (message,) = outcome(job_of(Case("join", {"field": ["0"]}), names), Here(1, 0), tmp_path / "out.jsonl")
    assert message.startswith("joined lines are not two objects: [")


@pytest.mark.parametrize(
    ("suffix", "case", "what"),
    [
        (".csv", Case("diff", {"changes": ["CHANGES"]}, (2, 3)), "--changes: the file is written by one machine"),
        (".csv", Case("union", {"count-to": ["COUNTS"]}), "--count-to: the file is written by one machine"),
        (".parquet", Case("merge", {"source": ["source"]}), "--source: the column is made by one machine"),
        (
            ".jsonl", Case("join", {"type": ["asof"], "field": ["a:h"]}),
            "--type asof: some texts of --field a:h may have no number, and a cluster cannot look past them",
        ),
    ],
)  # fmt: skip
def test_what_one_machine_does(suffix: str, case: Case, what: str, tmp_path: Path, seed: int) -> None:
    names = written(random.Random(seed), suffix, tmp_path)
    options = {"field": ["id:n" if suffix == ".csv" else "id"]} | {
        name: [str(tmp_path / values[0]) if str(values[0]).isupper() else values[0]]
        for name, values in case.options.items()
    }
    (message,) = outcome(job_of(case._replace(options=options), names), Here(1, 0), tmp_path / f"out{suffix}")
    assert message.startswith(what)
    assert "leave" in message
    assert len(os.listdir(tmp_path)) == 4


def test_no_sets_by_gpus(tmp_path: Path, seed: int) -> None:
    job = job_of(Case("union", {"field": ["id"]}), written(random.Random(seed), ".csv", tmp_path))
    job = replace(job, resources=replace(job.resources, backend="gpu"))
    (message,) = outcome(job, Here(1, 0), tmp_path / "out.csv")
    assert message == "a cluster makes sets and counts by the CPU alone; leave --backend gpu out"
