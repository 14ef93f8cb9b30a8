"""What the script shows of random inputs equals the model: every cut, its search, pieces, accesses and rounds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.engine.job import Resources
from gpumerge_cli.engine.load import LoadedRuns
from gpumerge_cli.explain.items import TracedRun, input_pair
from gpumerge_cli.explain.page import path_page
from gpumerge_cli.explain.path import search_for
from gpumerge_cli.launch import LaunchRequest
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.report.path_page import render
from gpumerge_cli.results.page import PageLaunch, PathPage
from gpumerge_cli.results.run import InputFile
from tests.strategies import special_values

EVERY_CUT = """() => {
  const slider = document.getElementById("rank"), said = [];
  const numbers = text => (text.match(/\\d+/g) ?? []).map(Number);
  for (let k = 0; k <= Number(slider.max); ++k) {
    slider.value = k;
    slider.dispatchEvent(new Event("input"));
    const [, i, j] = numbers(document.getElementById("sum").textContent);
    const steps = [...document.querySelectorAll("#search-steps tr")].map(row => {
      const cells = [...row.cells].map(cell => cell.textContent);
      return [...cells.slice(1, 5).map(Number), cells[5].includes(": yes")];
    });
    said.push([k, i, j, steps, [...document.querySelectorAll("#conditions .bad")].length]);
  }
  return said;
}"""
EVERY_LAUNCH = """wanted => {
  const shown = [];
  for (const sizes of wanted) {
    for (const [name, value] of sizes) {
      const select = document.getElementById(name);
      select.value = value;
      select.dispatchEvent(new Event("change"));
    }
    const cells = rows => [...rows].map(row => [...row.cells].map(cell => cell.textContent));
    const accesses = [], slider = document.getElementById("access-at");
    for (let at = 0; !document.getElementById("access").hidden && at <= Number(slider.max); ++at) {
      slider.value = at;
      slider.dispatchEvent(new Event("input"));
      const fetched = [...document.querySelectorAll("#arrays .fetched")].length;
      accesses.push([fetched, [...document.querySelectorAll("#lanes .active")].length]);
    }
    shown.push({
      launch: document.getElementById("launch-says").textContent,
      pieces: cells(document.querySelectorAll("#piece-rows tr")).map(row => row[1]),
      traffic: cells(document.querySelectorAll("#traffic tr.now")).map(row => row.slice(1)),
      accesses,
      written: document.getElementById("with-rounds").hidden ? null : document.getElementById("broken").textContent,
    });
  }
  return shown;
}"""


def drawn(rng: np.random.Generator) -> tuple[LoadedRuns, PathPage, tuple[TracedRun, TracedRun]]:
    """The page of two short random runs of numbers."""
    dtype = np.dtype(rng.choice(["int32", "uint8", "float64", "int64"]))
    values = np.sort(special_values(dtype)) if rng.random() < 0.2 else np.arange(rng.integers(1, 40)).astype(dtype)
    order = Order.of(dtype)
    keys = [np.sort(rng.choice(values, rng.integers(0, 30))) for _ in range(2)]
    runs = tuple(one[np.argsort(order.image(one), kind="stable")].view(np.uint8) for one in keys)
    files = tuple(InputFile(name, len(one), one.nbytes) for name, one in zip("AB", keys, strict=True))
    loaded = LoadedRuns(runs, order, files)
    pair = input_pair(loaded)
    return loaded, path_page(pair, order, Resources(), LaunchRequest(), 2, None), pair


def sums_of(launch: PageLaunch) -> list[float]:
    """The row of the table that sums up a launch: accesses, lanes active, sectors, bytes asked, bytes moved."""
    requests, lanes, asked, sectors = (
        sum(getattr(one, name) for one in launch.traffic) for name in ("requests", "lanes", "asked", "sectors")
    )
    return [requests, lanes / requests, sectors, asked, 32 * sectors]


@pytest.mark.parametrize("count", [1, pytest.param(199, marks=pytest.mark.thorough)])
def test_the_page_shows_what_the_model_counts(
    count: int, tmp_path: Path, opened: Callable[..., Any], rng: np.random.Generator
) -> None:
    for turn in range(count):
        _, model, pair = drawn(rng)
        file = tmp_path / f"{turn}.html"
        file.write_text(render(model), encoding="utf-8")
        total = pair[0].size + pair[1].size
        chosen = rng.choice(len(model.launches), 4, replace=False)
        launches = [model.launches[at] for at in chosen]
        wanted = [
            [(name, str(getattr(one, name))) for name in ("kernel", "blocks", "tile", "items", "threads")]
            for one in launches
        ]
        with opened(file) as page:
            cuts = page.evaluate(EVERY_CUT)
            shown = page.evaluate(EVERY_LAUNCH, wanted)
        file.unlink()
        searches = [search_for(*pair, k) for k in range(total + 1)]
        assert cuts == [
            [s.rank, s.found.i, s.found.j, [[p.low, p.high, p.i, p.j, p.b_first] for p in s.steps], 0] for s in searches
        ]
        for one, seen in zip(launches, shown, strict=True):
            check_launch(one, seen, total)


def check_launch(launch: PageLaunch, seen: dict[str, Any], total: int) -> None:
    assert seen["launch"].startswith(launch.launch)
    starts = launch.levels[-1][1]
    edges = zip(starts, [*starts[1:], total][: len(starts)], strict=True)
    assert seen["pieces"] == [f"{low}" if low + 1 == high else f"{low} to {high - 1}" for low, high in edges]
    if launch.traffic:
        row = [float(cell.removesuffix(" of 32").replace(",", "")) for cell in seen["traffic"][0][:5]]
        assert row == pytest.approx(sums_of(launch), abs=0.051)
        assert len(seen["traffic"]) == 1 + len(launch.traffic)
    steps = launch.warps[0].steps if launch.warps else ()
    assert seen["accesses"] == [[one.sectors, sum(at >= 0 for at in one.lanes)] for one in steps]
    assert (seen["written"] is None) == (not launch.rounds)
    assert seen["written"] in (None, "All outputs are correct.")
