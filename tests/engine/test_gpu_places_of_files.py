"""Rules for places of equal items on a GPU, from end to end, against the CPU. A stand-in takes the GPU's place, too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gpumerge_cli.engine import local as engine_local
from gpumerge_cli.engine import local_sorts
from gpumerge_cli.engine.job import Resources
from gpumerge_cli.engine.memory import ChunkBudget
from gpumerge_cli.engine.run import run as run_job
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.record_options import RecordRequest
from gpumerge_cli.order.equals import CONTINUED, FOLLOWED, SINGLE, Equals
from gpumerge_cli.order.rules import LineKey, LineOrder
from gpumerge_cli.results.run import MergeReport
from tests.engine.fake_gpu import stand_in
from tests.jobs_of import merge_job, sort_job

if TYPE_CHECKING:
    from gpumerge_cli.backends.gpu.backend import GpuBackend

Write = Callable[[str, Any], str]
RULES = [Equals.FIRST, Equals.LAST, Equals.DUPLICATES, Equals.ALL_DUPLICATES, Equals.SINGLES]
BY_FIRST_FIELD = LineOrder((LineKey(end_field=0),), stable=True)


@pytest.fixture(params=["stand-in", pytest.param("gpu", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> GpuBackend:
    """The GPU's backend, or what stands in for it."""
    if request.param == "gpu":
        backend: GpuBackend = request.getfixturevalue("gpu_backend")
        return backend
    backend = stand_in(monkeypatch)
    monkeypatch.setattr(type(backend), "whole_sort", lambda *_: None)  # it has no parts of a workspace
    return backend


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sorts of many runs for small files."""
    cut = local_sorts.sort_pieces
    monkeypatch.setattr(local_sorts, "sort_pieces", lambda sources, size, **more: cut(sources, 3000, **more))
    monkeypatch.setattr(engine_local, "budget_of", lambda *_: ChunkBudget(3, 4096))


def same_as_on_cpu(
    names: Sequence[str], folder: Path, equals: Equals, items: Items, *, sorts: bool = False, **more: Any
) -> MergeReport:
    """The report of the GPU, whose output is that of the CPU."""
    reports = []
    for backend in ("gpu", "cpu"):
        on, output = Resources(backend, threads=3), str(folder / f"{backend}.out")
        if sorts:
            job = sort_job(tuple(names), output, items, on, equals=equals, **more)
        else:
            job = merge_job(names, output, items, on, equals=equals, **more)
        reports.append(run_job(job))
    report, by_cpu = reports
    assert (folder / "gpu.out").read_bytes() == (folder / "cpu.out").read_bytes(), equals
    assert (report.backend, by_cpu.backend) == ("gpu", "cpu")
    assert (report.items, report.dropped, report.written) == (by_cpu.items, by_cpu.dropped, by_cpu.written)
    return report


@pytest.mark.usefixtures("small_chunks", "device")
@pytest.mark.parametrize("equals", RULES)
def test_merges_of_numbers(equals: Equals, write: Write, tmp_path: Path, rng: np.random.Generator) -> None:
    """Groups of equals are far shorter than chunks, or go through several of them."""
    for dtype, most in (("int32", 4000), ("uint8", 3), ("float64", 60), (">i8", 1)):
        for inputs in (1, 2, 5):
            runs = [np.sort(rng.integers(0, most, 9000 // inputs)).astype(dtype) for _ in range(inputs)]
            if dtype == "float64":
                for run in runs:  # equal items that differ
                    run[run == 0] = rng.choice([0.0, -0.0], int((run == 0).sum()))
                    run[-20:] = np.nan
            names = [write(f"{number}.raw", run) for number, run in enumerate(runs)]
            same_as_on_cpu(names, tmp_path, equals, Items("raw", dtype), check=bool(rng.integers(2)))


@pytest.mark.one_of_each
@pytest.mark.usefixtures("small_pieces", "device")
@pytest.mark.parametrize("spills", [False, True])
@pytest.mark.parametrize("equals", RULES)
def test_sorts_of_numbers(equals: Equals, spills: bool, write: Write, tmp_path: Path, rng: np.random.Generator) -> None:
    for items in (0, 1, 9000):
        for most in (3, 4000):
            whole = rng.integers(0, most, items).astype("int32")
            names = [write(f"{number}.raw", part) for number, part in enumerate(np.split(whole, [items // 3]))]
            same_as_on_cpu(names, tmp_path, equals, Items("raw", "int32"), sorts=True, always_spill=spills)


@pytest.mark.one_of_each
@pytest.mark.usefixtures("small_chunks", "device")
@pytest.mark.parametrize("sorts", [False, True])
@pytest.mark.parametrize("equals", RULES)
def test_lines_and_records(equals: Equals, sorts: bool, write: Write, tmp_path: Path, rng: np.random.Generator) -> None:
    """Equal keys have other bytes behind them, which say the input and the place in it."""
    of_records, of_lines = Items(records=RecordRequest(9, 0, 3)), Items("text", lines=BY_FIRST_FIELD)
    for few in (1, 5, 900):
        runs = [
            [b"%03d %d%04d" % (rng.integers(few), run, at) for at in range(size)]
            for run, size in enumerate((900, 0, 700))
        ]
        if not sorts:
            runs = [sorted(run, key=lambda item: item[:3]) for run in runs]
        for end, items in ((b"", of_records), (b"\n", of_lines)):
            names = [write(f"{at}.bin", b"".join(item + end for item in run)) for at, run in enumerate(runs)]
            same_as_on_cpu(names, tmp_path, equals, items, sorts=sorts)


def test_a_rule_beside_its_neighbours() -> None:
    """A chunk of a sequence keeps what the sequence keeps there, whatever its edges."""
    for sequence in (b"", b"a", b"aa", b"aab", b"abbbc", b"aaaa", b"abcc", b"aabbcc"):
        places = [place for _, group in groupby(sequence) for place in places_of(len([*group]))]
        for low in range(len(sequence)):
            for high in range(low + 1, len(sequence) + 1):
                for equals in RULES:
                    ahead = low > 0 and sequence[low - 1] == sequence[low]
                    behind = high < len(sequence) and sequence[high - 1] == sequence[high]
                    rule = equals.beside(ahead=ahead, behind=behind)
                    assert rule.beside(ahead=False, behind=False) is equals
                    part = sequence[low:high]
                    same = [x == y for x, y in pairwise(part)]
                    known = [bool(rule.value & CONTINUED), *same, bool(rule.value & FOLLOWED)]
                    kept = [rule.value // SINGLE >> (known[at] + 2 * known[at + 1]) & 1 for at in range(len(part))]
                    wanted = [int(bool(equals.value & place)) for place in places[low:high]]
                    assert kept == wanted, (sequence, low, high, equals)


def places_of(count: int) -> list[int]:
    """The bits of the places in a group of so many items."""
    single, last, first, inner = SINGLE, SINGLE << 1, SINGLE << 2, SINGLE << 3
    return [single] if count == 1 else [first, *[inner] * (count - 2), last]
