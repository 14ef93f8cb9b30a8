"""The tree of pairwise merges, played through on a Python model of memory."""

from __future__ import annotations

import pytest

from gpumerge_cli.backends.gpu.tree import Run, levels, merge_runs

OUT, SCRATCH = 10_000, 20_000


@pytest.mark.parametrize("count", range(1, 18))
def test_is_stable_and_spares_the_inputs(count: int) -> None:
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

    def merge(a: Run, b: Run, to: int) -> None:
        written = range(to, to + a[1] + b[1])
        assert all(not set(written) & set(range(run[0], run[0] + run[1])) for run in (a, b))
        write(to, sorted(read(a) + read(b), key=lambda item: item[0]))

    if sum(length for _, length in runs) == 0:
        return
    merge_runs(runs, 1, OUT, SCRATCH, merge=merge, copy=lambda run, to: write(to, read(run)))
    expected = sorted((item for run in runs for item in read(run)), key=lambda item: item[0])
    assert read((OUT, len(expected))) == expected
    assert {at: memory[at] for at in before} == before


def test_levels() -> None:
    assert [levels(runs) for runs in (0, 1, 2, 3, 4, 5, 8, 9)] == [0, 0, 1, 2, 2, 3, 3, 4]
