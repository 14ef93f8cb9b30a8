"""Passes over runs, simulated on a Python model of memory."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gpumerge_cli.backends.gpu.tree import Run, merge_runs, passes

OUT, SCRATCH = 10_000, 20_000


@pytest.mark.parametrize("fan_in", [2, 4, 8, 16])
@pytest.mark.parametrize("count", [*range(1, 18), 33, 40])
def test_is_stable_and_spares_the_inputs(count: int, fan_in: int) -> None:
    memory: dict[int, tuple[int, int]] = {}
    runs: list[Run] = []
    for number in range(count):
        length = (number * 5) % 7
        runs.append((100 * number, length))
        memory.update({100 * number + at: (at // 2, 10 * number + at) for at in range(length)})
    before = dict(memory)

    def read(run: Run) -> list[tuple[int, int]]:
        return [memory[run[0] + at] for at in range(run[1])]

    def write(at: int, items: list[tuple[int, int]]) -> None:
        memory.update({at + place: item for place, item in enumerate(items)})

    def merge(group: Sequence[Run], to: int) -> None:
        assert 2 <= len(group) <= fan_in
        written = range(to, to + sum(length for _, length in group))
        assert all(not set(written) & set(range(run[0], run[0] + run[1])) for run in group)
        write(to, sorted((item for run in group for item in read(run)), key=lambda item: item[0]))

    def copy(run: Run, to: int) -> None:
        assert not set(range(to, to + run[1])) & set(range(run[0], run[0] + run[1]))
        write(to, read(run))

    if sum(length for _, length in runs) == 0:
        return
    for group, to in merge_runs(runs, 1, OUT, SCRATCH, fan_in=fan_in):
        if len(group) > 1:
            merge(group, to)
        else:
            copy(group[0], to)
    expected = sorted((item for run in runs for item in read(run)), key=lambda item: item[0])
    assert read((OUT, len(expected))) == expected
    assert {at: memory[at] for at in before} == before


def test_passes() -> None:
    assert [passes(runs, 2) for runs in (0, 1, 2, 3, 4, 5, 8, 9)] == [0, 0, 1, 2, 2, 3, 3, 4]
    assert [passes(runs, 16) for runs in (1, 2, 16, 17, 256, 257)] == [0, 1, 1, 2, 2, 3]


def test_one_pass_needs_no_scratch() -> None:
    runs = [(100 * number, 3) for number in range(16)]
    assert list(merge_runs(runs, 4, OUT, 0, fan_in=16)) == [(runs, OUT)]
