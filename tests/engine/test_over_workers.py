"""The tests of merges and sorts once more, over teams of workers of which some fail: the bytes are the oracle's."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.backends import select as backends_select
from gpumerge_cli.backends.base import Backend
from gpumerge_cli.engine.run import run
from gpumerge_cli.errors import GpumergeError
from gpumerge_cli.formats.output_file import OutputFile
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.results.run import MergeReport
from tests.engine.fake_workers import CREWS, working
from tests.engine.test_heads import test_disorder_anywhere_gives_what_sort_gives  # noqa: F401
from tests.engine.test_merge_files import (  # noqa: F401
    test_a_stream_is_written_in_order,
    test_any_keys,
    test_disorder_is_found_wherever_it_is,
    test_empty_inputs,
    test_keys_in_many_chunks,
    test_lines_in_many_chunks,
    test_no_check_merges_all_the_same,
    test_output_may_be_an_input,
)
from tests.engine.test_output_parts import test_each_part_of_csv_has_the_header  # noqa: F401
from tests.engine.test_output_parts import test_every_way_to_sort as test_every_way_to_sort_to_parts  # noqa: F401
from tests.engine.test_output_parts import test_keys as test_keys_to_parts  # noqa: F401
from tests.engine.test_record_files import test_many_chunks, test_unique_and_every_kind_of_output  # noqa: F401
from tests.engine.test_sets import test_disorder_is_told_with_its_place as test_sets_tell_disorder  # noqa: F401
from tests.engine.test_sets import test_numbers as test_sets_of_numbers  # noqa: F401
from tests.engine.test_sets import test_records as test_sets_of_records  # noqa: F401
from tests.engine.test_sort_files import (  # noqa: F401
    small_pieces,
    test_every_algorithm,
    test_many_equal_lines_and_nothing_at_all,
    test_records_keep_the_order_of_equal_keys,
)
from tests.engine.test_sort_files import test_keys as test_keys_are_sorted  # noqa: F401
from tests.engine.test_sort_files import test_lines as test_lines_are_sorted  # noqa: F401
from tests.engine.test_unique_files import test_keys_across_chunks, test_lines_across_chunks  # noqa: F401
from tests.jobs_of import merge_job
from tests.oracles import merged_keys
from tests.strategies import as_text

Write = Callable[[str, Any], str]


@pytest.fixture
def backend() -> Backend:
    """The CPU's backend. The team decides which workers run."""
    return backends_select.host()


# The other tests run with one worker, too.
ORDINARY = ("one", "a lone device")


@pytest.fixture(
    autouse=True,
    params=[pytest.param(name, marks=pytest.mark.thorough) if name in ORDINARY else name for name in CREWS],
)
def team(request: pytest.FixtureRequest, seed: int) -> Iterator[str]:
    """The team that does the work; its seed is printed."""
    with working(request.param, seed):
        yield request.param


def merged(names: list[str], output: Path, **more: Any) -> MergeReport:
    return run(merge_job(names, str(output), **more))


@pytest.mark.usefixtures("small_chunks")
def test_the_report_says_what_became_of_each(team: str, write: Write, tmp_path: Path, rng: np.random.Generator) -> None:
    runs = [np.sort(rng.integers(0, 10**6, 100_000)) for _ in range(2)]
    names = [write(f"{number}.i64", run) for number, run in enumerate(runs)]
    report = merged(names, tmp_path / "out.i64")
    assert (tmp_path / "out.i64").read_bytes() == merged_keys(runs).tobytes()
    each = report.worker_reports
    assert sum(one.nbytes for one in each) == report.nbytes
    assert sum(one.chunks for one in each if not one.note) <= report.chunks
    assert all(0 <= one.first <= one.last <= report.wall for one in each)
    assert sum(one.share for one in report.kinds) == pytest.approx(1)
    assert {one.lane for one in report.timeline if one.stage == "kernel"} <= {one.name for one in each if one.nbytes}
    notes = {one.name: one.note for one in each if one.note}
    if team == "one of each":
        assert notes["gpu 1"] == "did not start: no GPU can be used: a test; use another"
        assert notes["gpu 2"] == "did not start: --block-size 7 is not for this device; use another"
    if team == "all others lost":
        assert notes["gpu 0"].startswith("did not start: ")
        assert all(note.startswith(("did not start: ", "lost: ")) for note in notes.values())
    if team in ("one", "many", "a lone device"):
        assert not notes


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("unique", [False, True])
def test_an_error_that_is_no_workers_own_ends_the_run(
    team: str, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unique: bool
) -> None:
    names = [write(f"{number}.txt", as_text([b"%06d" % x for x in range(20_000)])) for number in range(2)]
    threads = threading.active_count()

    def full(*arguments: Any) -> None:
        raise GpumergeError("no room")

    monkeypatch.setattr(OutputFile, "write_at", full)
    monkeypatch.setattr(OutputFile, "target", lambda *arguments: None)
    with pytest.raises(GpumergeError, match="no room"):
        merged(names, tmp_path / "out.txt", equals=Equals.of(unique))
    assert sorted(os.listdir(tmp_path)) == ["0.txt", "1.txt"]
    for _ in range(100):  # a device that is still starting ends once it has
        if threading.active_count() <= threads:
            break
        time.sleep(0.05)
    assert threading.active_count() <= threads
