"""The profiler's counts of the ladder: the model counts as many sectors, and the tutorial shows them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from gpumerge_cli.engine.job import Resources
from gpumerge_cli.explain.accesses import block_accesses
from gpumerge_cli.explain.shape import launch_shape
from gpumerge_cli.explain.warps import traffic_of, warp_traces
from gpumerge_cli.launch import LaunchRequest
from tests.explain.test_path import INT32

DATA = Path(__file__).parents[2] / "data"
ITEMS = 6144
"""Items of each input of the model's merge."""
_STAGED = {"block_size": 128, "items_per_thread": 3, "tile_size": 384, "blocks": 2}
LAUNCHES = {
    "basic": LaunchRequest("basic", 256, 5),
    "tiled, full loading": LaunchRequest("tiled", tile_load="full", **_STAGED),  # type: ignore[arg-type]
    "tiled, exact loading": LaunchRequest("tiled", tile_load="exact", **_STAGED),  # type: ignore[arg-type]
    "circular": LaunchRequest("circular", **_STAGED),  # type: ignore[arg-type]
}
KERNELS = {
    "basic": "merge_basic",
    "tiled, full loading": "merge_tiled_full",
    "tiled, exact loading": "merge_tiled_exact",
    "circular": "merge_circular",
    "path": "merge_path",
}


def profiled(kernel: str) -> dict[str, str]:
    """The first row of a kernel in the profile of an H100, by the names of its columns."""
    lines = [line for line in (DATA / "results/h100/profile.md").read_text().splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return dict(zip(rows[0], next(row for row in rows if row[1] == kernel), strict=True))


@pytest.mark.parametrize("name", LAUNCHES)
def test_the_model_counts_the_sectors_that_the_profiler_counts(name: str) -> None:
    keys = np.random.default_rng(1).permutation(2 * ITEMS)
    a, b = (tuple(int(key) for key in np.sort(half)) for half in (keys[:ITEMS], keys[ITEMS:]))
    policy = launch_shape(Resources(), LAUNCHES[name], INT32, 2 * ITEMS, 1).policy
    traffic = traffic_of(warp_traces(block_accesses(a, b, policy), 4))
    for store, column in ((False, "sectors a load"), (True, "sectors a store")):
        mine = [one for one in traffic if one.store == store]
        each = sum(one.sectors for one in mine) / sum(one.requests for one in mine)
        assert each == pytest.approx(float(profiled(KERNELS[name])[column]), rel=0.03), column


def test_the_tutorial_shows_what_the_profiler_counted() -> None:
    text = (DATA / "manual/tutorial.md").read_text()
    names = re.search(r"^\| kernel \| (.*) \|$", text, re.MULTILINE)
    assert names is not None
    for name, kernel in KERNELS.items():
        row = re.search(rf"^\| {name} \| (.*) \|$", text, re.MULTILINE)
        assert row is not None, name
        for column, shown in zip(names[1].split(" | "), row[1].split(" | "), strict=True):
            counted = profiled(kernel)[column]
            same = shown == counted or (counted and float(shown) == round(float(counted)))
            assert same or (shown, counted) == ("bulk copies", ""), (name, column)
