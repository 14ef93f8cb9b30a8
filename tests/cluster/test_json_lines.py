"""JSON Lines by a cluster: the bytes are those of this machine alone, and so are the errors."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.cluster import sorting, workers
from gpumerge_cli.cluster.connect import Connection
from gpumerge_cli.cluster.executor import Cluster
from gpumerge_cli.engine.check import check_each
from gpumerge_cli.engine.executor import Executor
from gpumerge_cli.engine.local import LOCAL
from gpumerge_cli.engine.run import run
from gpumerge_cli.errors import GpumergeError, InputError
from gpumerge_cli.formats.items import Items
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.rules import LineKey, LineOrder
from tests.cluster.test_cluster import in_both
from tests.cluster.test_tables import PLACES
from tests.jobs_of import job_of, merge_job, sort_job, to

_LINES = 3000
ORDERS = {
    "value": (LineKey(end_field=0, name="k"),),
    "descending": (LineKey(end_field=0, name="a.b", reverse=True), LineKey(end_field=0, name="k")),
    "numbers": (LineKey("numeric", end_field=0, name="n"),),
    "text": (LineKey("bytes", end_field=0, name="t"), LineKey(end_field=0, name="k", reverse=True)),
}


@pytest.fixture
def machines(cluster: Connection, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    monkeypatch.setattr(workers, "_LEAST_TASK", 1 << 14)  # many tasks
    monkeypatch.setattr(sorting, "_LEAST_PIECE", 1 << 14)
    return Cluster(cluster.client, 30.0)


def items_by(keys: tuple[LineKey, ...]) -> Items:
    return Items(lines=LineOrder(keys, stable=True))


def random_lines(rng: np.random.Generator) -> bytes:
    """Lines whose keys are missing, null, equal, and of several spellings; the last one may lack its newline."""
    most = int(rng.choice([1, 20, 100_000]))
    lines = []
    for _ in range(int(rng.integers(0, _LINES))):
        value: dict[str, Any] = {"a": {"b": bool(rng.integers(0, 2))}, "n": str(rng.integers(0, most))}
        if rng.random() < 0.9:
            value["k"] = None if rng.random() < 0.1 else float(rng.integers(0, most)) / 2
        value["t"] = "é\n" * int(rng.integers(0, 3)) + "x" * int(rng.integers(0, 9))
        line = json.dumps(value, ensure_ascii=bool(rng.integers(0, 2)))
        lines.append(line + "\r" * int(rng.random() < 0.1))
    return "\n".join(lines).encode() + b"\n" * int(rng.integers(0, 2))


def check_job(names: list[str], items: Items, machines: Cluster, folder: Path, equals: Equals, parts: int) -> None:
    """Sort and merge in both ways. This machine alone counts the images of keys to the bytes of parts."""
    number = parts if parts > 1 else None
    job = sort_job(names, items=items, equals=equals, memory=4 << 20, parts=number)
    in_both(job, machines, folder, ".jsonl", same_parts=False)
    for one in folder.glob("*here*"):
        one.unlink()
    ordered = []
    for at, name in enumerate(names):
        ordered.append(str(folder / f"sorted{at}.jsonl"))
        run(to(sort_job((name,), items=items), ordered[-1]))
    job = merge_job(ordered, items=items, equals=equals, parts=number)
    in_both(job, machines, folder, ".jsonl", same_parts=False)


@pytest.mark.parametrize(
    "order", ["value", *(pytest.param(name, marks=pytest.mark.thorough) for name in ORDERS if name != "value")]
)
def test_random_lines(order: str, machines: Cluster, tmp_path: Path, rng: np.random.Generator) -> None:
    names = []
    equals, parts = Equals(rng.choice([one.value for one in (Equals.ALL, *PLACES)])), int(rng.integers(1, 4))
    for number in range(int(rng.integers(1, 5))):
        names.append(str(tmp_path / f"{number}.jsonl"))
        Path(names[-1]).write_bytes(b"\xef\xbb\xbf" * int(rng.integers(0, 2)) + random_lines(rng))
    check_job(names, items_by(ORDERS[order]), machines, tmp_path, equals, parts)


@pytest.mark.thorough
def test_compressed_inputs(machines: Cluster, tmp_path: Path, rng: np.random.Generator) -> None:
    names = [str(tmp_path / f"{number}.jsonl.gz") for number in range(2)]
    for name in names:
        Path(name).write_bytes(gzip.compress(random_lines(rng)))
    job = sort_job(names, items=items_by(ORDERS["value"]), memory=4 << 20)
    in_both(job, machines, tmp_path, ".jsonl")


def outcomes(name: str, items: Items, executor: Executor, folder: Path) -> Iterator[str]:
    """The errors of a merge and of a check, or what the check has counted."""
    output = folder / "out.jsonl"
    try:
        run(merge_job((name, name), str(output), items=items), executor=executor)
    except GpumergeError as error:
        yield str(error)
    assert not output.exists()
    for one in check_each(job_of("check", (name,), items=items), executor=executor):
        yield str(one) if isinstance(one, InputError) else str(one.items)


@pytest.mark.parametrize("line", [b'{"k": 1', b'{"k": [1]}', b'{"k": -1}'])
def test_errors_name_the_line(line: bytes, machines: Cluster, tmp_path: Path, rng: np.random.Generator) -> None:
    lines = [b'{"k": %d}' % number for number in range(4000)]
    lines[int(rng.integers(1, len(lines)))] = line
    name = tmp_path / "in.jsonl"
    name.write_bytes(b"\n".join(lines))
    items = items_by(ORDERS["value"])
    assert list(outcomes(str(name), items, machines, tmp_path)) == list(outcomes(str(name), items, LOCAL, tmp_path))


def test_values_of_two_types(machines: Cluster, tmp_path: Path) -> None:
    """Each task sees values of one type only."""
    numbers, texts = b'{"k": 1}\n' * 4000, b'{"k": "a"}\n' * 4000
    name = tmp_path / "in.jsonl"
    name.write_bytes(numbers + texts)
    found = list(outcomes(str(name), items_by(ORDERS["value"]), machines, tmp_path))
    assert len(found) == 2
    for one in found:
        assert one.startswith(f'{name}:4001: --field k is a string, "a", but a number, 1, at {name}:')


def test_blank_lines(machines: Cluster, tmp_path: Path) -> None:
    lines = [b'{"k": %d}' % (number // 2) for number in range(4000)]
    lines[2000:2001] = [b"", b" ", lines[2000], b""]
    name, items = tmp_path / "in.jsonl", items_by(ORDERS["value"])
    name.write_bytes(b"\n".join(lines))
    in_both(merge_job((str(name), str(name)), items=items, equals=Equals.FIRST), machines, tmp_path, ".jsonl")
    merged, checked = outcomes(str(name), items, machines, tmp_path)
    assert merged == (
        f"{name}:2001: a cluster writes all bytes of its inputs, and this line is blank; "
        "remove it, or leave --cluster out"
    )
    assert checked == "4000"


def test_rows_of_another_format_are_refused(machines: Cluster, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"k":1}\n')
    job = merge_job((str(tmp_path / "a.jsonl"),), str(tmp_path / "out.parquet"), items_by(ORDERS["value"]))
    with pytest.raises(GpumergeError, match="a cluster makes no Parquet of JSON Lines; leave --cluster out"):
        run(job, executor=machines)
    assert not (tmp_path / "out.parquet").exists()
